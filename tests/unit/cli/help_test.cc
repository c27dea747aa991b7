// SPDX-License-Identifier: Apache-2.0
// What is written from the command table: help, manual pages, completion.
#include "controller/cli/help.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sstream>

#include "ipc/fd.h"
#include "ipc/result.h"

namespace bailiff::controller::cli {
namespace {

using testing::HasSubstr;

// Runs a program with `input` as its standard input; gives its output, both streams, and its
// status.
std::pair<std::string, int> RunWith(std::vector<std::string> words, const std::string& input) {
  char name[] = "/tmp/bailiff-help-XXXXXX";
  const ipc::Fd in(mkostemp(name, O_CLOEXEC));
  EXPECT_TRUE(in.valid());
  unlink(name);
  EXPECT_TRUE(ipc::WriteAll(in.get(), input, "test").ok());
  EXPECT_EQ(lseek(in.get(), 0, SEEK_SET), 0);
  auto pipe = ipc::MakePipe();
  EXPECT_TRUE(pipe.ok());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipe->write.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipe->write.get(), STDERR_FILENO);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  char locale[] = "LC_ALL=C.UTF-8";
  char manwidth[] = "MANWIDTH=80";
  char* environment[] = {locale, manwidth, nullptr};
  pid_t pid = -1;
  const int failed = posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environment);
  posix_spawn_file_actions_destroy(&actions);
  pipe->write.reset();
  if (failed != 0)
    return {words[0] + " cannot be started: it must be installed for this test", 127};
  const auto text = ipc::ReadToEnd(pipe->read.get(), 1 << 22, "test");
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return {text.ok() ? *text : "", status};
}

// Justified lines have their blanks stretched.
std::string OneBlank(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c != ' ' || result.empty() || result.back() != ' ') result += c;
  }
  return result;
}

TEST(Help, names_every_verb_option_and_exit_status) {
  const std::string help = GeneralHelp();
  for (const VerbRow& row : Verbs()) {
    std::string name(row.noun);
    if (!row.word.empty()) name.append(" ").append(row.word);
    EXPECT_THAT(help, HasSubstr("  " + name));
    const std::string verb = VerbHelp(row);
    for (const Option& option : row.options)
      EXPECT_THAT(verb, HasSubstr("--" + std::string(option.name)));
    for (const Argument& argument : row.arguments)
      EXPECT_THAT(verb, HasSubstr(std::string(argument.name)));
  }
  for (const ExitRow& row : ExitStatuses())
    EXPECT_THAT(help, HasSubstr("  " + std::string(row.codes)));
}

TEST(Help, lines_fit_a_terminal) {
  std::vector<std::string> texts = {GeneralHelp(), NounHelp("check")};
  for (const VerbRow& row : Verbs()) texts.push_back(VerbHelp(row));
  for (const std::string& text : texts) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 110U) << line;
  }
}

TEST(Manual, bailiff_1_is_clean_roff_and_holds_the_table) {
  const std::string page = ManualPage();
  const auto [shown, status] = RunWith({"/usr/bin/man", "-l", "--warnings=all", "-"}, page);
  EXPECT_EQ(status, 0) << shown;
  EXPECT_EQ(shown.find("warning"), shown.npos) << shown;
  EXPECT_EQ(shown.find("groff:"), shown.npos);
  const std::string text = OneBlank(shown);
  for (const VerbRow& row : Verbs()) {
    std::string name(row.noun);
    if (!row.word.empty()) name.append(" ").append(row.word);
    EXPECT_THAT(text, HasSubstr("bailiff " + name));
  }
  EXPECT_THAT(shown, HasSubstr("EXIT STATUS"));
}

TEST(Manual, bailiff_errors_7_is_clean_roff_and_holds_every_code) {
  const std::string page = ErrorsManualPage();
  const auto [shown, status] = RunWith({"/usr/bin/man", "-l", "--warnings=all", "-"}, page);
  EXPECT_EQ(status, 0) << shown;
  EXPECT_EQ(shown.find("warning"), shown.npos) << shown;
  const auto [rows, count] = AllErrors();
  for (std::size_t i = 0; i < count; ++i) EXPECT_THAT(shown, HasSubstr(std::string(rows[i].name)));
}

TEST(Completion, every_script_names_every_verb_and_option) {
  for (const Shell shell : {Shell::kBash, Shell::kZsh, Shell::kFish}) {
    const std::string script = CompletionScript(shell);
    for (const VerbRow& row : Verbs()) {
      EXPECT_THAT(script, HasSubstr(std::string(row.noun)));
      EXPECT_THAT(script, HasSubstr(std::string(row.word)));
      for (const Option& option : row.options)
        EXPECT_THAT(script, HasSubstr(std::string(option.name)));
    }
  }
}

// What bash offers for a line; `words` ends with the word being completed.
std::string Offered(const std::string& words, int at) {
  const std::string script = CompletionScript(Shell::kBash) + "compopt() { :; }\nCOMP_WORDS=(" +
                             words + ")\nCOMP_CWORD=" + std::to_string(at) +
                             "\n_bailiff\nprintf '%s ' \"${COMPREPLY[@]}\"\n";
  const auto [shown, status] = RunWith({"/bin/bash", "--norc", "-s"}, script);
  EXPECT_EQ(status, 0) << shown;
  return shown;
}

TEST(Completion, bash_offers_what_fits) {
  EXPECT_EQ(RunWith({"/bin/bash", "-n"}, CompletionScript(Shell::kBash)).second, 0);
  EXPECT_EQ(Offered("bailiff im", 1), "image ");
  EXPECT_EQ(Offered("bailiff image ''", 2), "import list show remove export ");
  EXPECT_EQ(Offered("bailiff --json --data-dir /d check re", 5), "recover ");
  EXPECT_EQ(Offered("bailiff run --mem", 2), "--memory ");
  EXPECT_EQ(Offered("bailiff run --image x --exit ''", 5), "outcome ");
  EXPECT_EQ(Offered("bailiff completion ''", 2), "bash zsh fish ");
  EXPECT_EQ(Offered("bailiff check list --st", 3), "--state ");
  EXPECT_EQ(Offered("bailiff check list --state p", 4), "pending ");
}

}  // namespace
}  // namespace bailiff::controller::cli
