// SPDX-License-Identifier: Apache-2.0
#include "controller/cli/command_line.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <set>

#include "controller/cli/suggest.h"

namespace bailiff::controller::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<Command> Parse(std::vector<const char*> words) {
  words.insert(words.begin(), "bailiff");
  return ParseCommandLine(static_cast<int>(words.size()), words.data());
}

// Words for a verb that is complete: required options, one word an argument, a command.
std::vector<std::string> CompleteLine(const VerbRow& row) {
  std::vector<std::string> words{std::string(row.noun)};
  if (!row.word.empty()) words.emplace_back(row.word);
  for (const Option& option : row.options) {
    if (!option.required) continue;
    words.push_back("--" + std::string(option.name));
    words.emplace_back("x");
  }
  for (const Argument& argument : row.arguments) {
    words.emplace_back(argument.words.empty() ? "x"
                                              : argument.words.substr(0, argument.words.find('|')));
  }
  if (row.takes_command) {
    words.emplace_back("--");
    words.emplace_back("/bin/true");
  }
  return words;
}

Result<Command> ParseWords(const std::vector<std::string>& words) {
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  return Parse(pointers);
}

TEST(CommandTable, every_verb_has_one_row_and_every_line_parses) {
  std::set<Verb> seen;
  for (const VerbRow& row : Verbs()) {
    EXPECT_TRUE(seen.insert(row.verb).second) << row.noun << " " << row.word;
    EXPECT_EQ(&RowOf(row.verb), FindVerb(row.noun, row.word));
    EXPECT_FALSE(row.summary.empty());
    const Result<Command> command = ParseWords(CompleteLine(row));
    ASSERT_TRUE(command.ok()) << row.noun << " " << row.word << ": " << command.error().subject
                              << command.error().why;
    EXPECT_EQ(command->row, row.verb == Verb::kHelp ? nullptr : &row);
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(Verb::kHelp) + 1);
}

TEST(CommandTable, an_option_name_means_one_thing) {
  for (const VerbRow& row : Verbs()) {
    for (const Option& option : row.options) {
      for (const Option& global : GlobalOptions()) EXPECT_NE(option.name, global.name);
      for (const VerbRow& other : Verbs()) {
        for (const Option& same : other.options) {
          EXPECT_TRUE(same.name != option.name || same.value.empty() == option.value.empty())
              << same.name;
        }
      }
    }
  }
}

TEST(CommandLine, every_alias_of_the_seed_means_its_verb) {
  const std::vector<std::pair<std::string, Verb>> expected = {
      {"check-recipe", Verb::kRecipeDigest},    {"check-source-paths", Verb::kCheckCreate},
      {"check-command", Verb::kCheckCreate},    {"check-run", Verb::kCheckRun},
      {"check-run-command", Verb::kCheckRun},   {"check-show", Verb::kCheckShow},
      {"check-command-show", Verb::kCheckShow}, {"check-evidence", Verb::kEvidenceShow},
      {"check-cancel", Verb::kCheckCancel},     {"check-cancel-command", Verb::kCheckCancel},
      {"check-recover", Verb::kCheckRecover},   {"check-recover-command", Verb::kCheckRecover}};
  ASSERT_EQ(Aliases().size(), expected.size());
  for (const auto& [name, verb] : expected) {
    std::vector<std::string> words = CompleteLine(RowOf(verb));
    words.erase(words.begin(), words.begin() + 2);
    words.insert(words.begin(), name);
    const Result<Command> command = ParseWords(words);
    ASSERT_TRUE(command.ok()) << name;
    EXPECT_EQ(command->row->verb, verb) << name;
    EXPECT_EQ(command->alias, name);
  }
}

TEST(CommandLine, R14_15_the_documented_line_of_the_seed) {
  const auto command = Parse({"--data-dir", "/d", "check-run", "source-check-1", "0"});
  ASSERT_TRUE(command.ok());
  EXPECT_EQ(command->row->verb, Verb::kCheckRun);
  EXPECT_EQ(command->globals.data_dir, "/d");
  EXPECT_THAT(command->arguments, ElementsAre("source-check-1", "0"));
}

// A script's unset variable: bailiff run --source "$source".
TEST(CommandLine, no_option_takes_an_empty_value) {
  std::size_t tried = 0;
  for (const VerbRow& row : Verbs()) {
    for (const Option& option : row.options) {
      if (option.value.empty()) continue;
      std::vector<std::string> words = {std::string(row.noun)};
      if (!row.word.empty()) words.emplace_back(row.word);
      words.push_back("--" + std::string(option.name));
      words.emplace_back();
      const auto command = ParseWords(words);
      ASSERT_FALSE(command.ok()) << row.noun << " " << row.word << " --" << option.name;
      EXPECT_EQ(command.error().code, ErrorCode::kOptionValue) << row.noun << " --" << option.name;
      EXPECT_EQ(command.error().why, "the value is empty");
      ++tried;
    }
  }
  EXPECT_GT(tried, 20U);
}

TEST(CommandLine, docker_executable_is_for_aliases_and_absolute) {
  EXPECT_TRUE(Parse({"check-run-command", "a", "0", "--docker", "/usr/bin/docker"}).ok());
  EXPECT_EQ(Parse({"check-run-command", "a", "0", "--docker", "docker"}).error().code,
            ErrorCode::kOptionValue);
  EXPECT_EQ(Parse({"check", "run", "a", "0", "--docker", "/usr/bin/docker"}).error().code,
            ErrorCode::kOptionUnknown);
}

TEST(CommandLine, global_options_stand_before_or_after_the_verb) {
  for (const auto& words : std::vector<std::vector<const char*>>{
           {"--json", "--data-dir=/d", "--color", "never", "image", "list"},
           {"image", "list", "--color=never", "--data-dir", "/d", "--json"},
           {"--json", "image", "list", "--data-dir", "/d", "--color", "never"}}) {
    const auto command = Parse(words);
    ASSERT_TRUE(command.ok()) << command.error().subject << command.error().why;
    EXPECT_TRUE(command->globals.json);
    EXPECT_EQ(command->globals.data_dir, "/d");
    EXPECT_EQ(command->globals.color, Color::kNever);
  }
}

TEST(CommandLine, run_keeps_everything_after_the_dashes_as_it_is) {
  const auto command = Parse({"run", "--image", "busybox", "--env", "A=[1,2]", "--source", ".",
                              "--env=B=", "--", "/bin/sh", "-c", "--json", "--", "", "[x]"});
  ASSERT_TRUE(command.ok()) << command.error().why;
  EXPECT_THAT(command->argv, ElementsAre("/bin/sh", "-c", "--json", "--", "", "[x]"));
  EXPECT_FALSE(command->globals.json);
  EXPECT_THAT(command->All("env"), ElementsAre("A=[1,2]", "B="));
}

TEST(CommandLine, dashes_end_the_options_of_a_verb_that_runs_nothing) {
  const auto command = Parse({"check", "cancel", "a", "1", "--", "--not an option"});
  ASSERT_TRUE(command.ok());
  EXPECT_THAT(command->arguments, ElementsAre("a", "1", "--not an option"));
}

struct Wrong {
  std::vector<const char*> words;
  ErrorCode code;
  const char* subject;
  const char* fix;
};

TEST(CommandLine, wrong_use_says_what_and_how_to_mend_it) {
  const std::vector<Wrong> wrong = {
      {{}, ErrorCode::kVerbMissing, "", "bailiff --help"},
      {{"iamge", "list"}, ErrorCode::kVerbUnknown, "\"iamge\"", "bailiff image"},
      {{"zzzzzz"}, ErrorCode::kVerbUnknown, "\"zzzzzz\"", "bailiff --help"},
      {{"image"}, ErrorCode::kVerbMissing, "\"image\"", "bailiff image --help"},
      {{"image", "lsit"}, ErrorCode::kVerbUnknown, "\"image lsit\"", "bailiff image list"},
      {{"check-shwo", "a"}, ErrorCode::kVerbUnknown, "\"check-shwo\"", "bailiff check-show"},
      {{"image", "list", "--jsno"}, ErrorCode::kOptionUnknown, "--jsno", "--json"},
      {{"image", "list", "--qqqqqqqqq=1"},
       ErrorCode::kOptionUnknown,
       "--qqqqqqqqq",
       "bailiff image list --help"},
      {{"--frob", "image", "list"}, ErrorCode::kOptionUnknown, "--frob", ""},
      {{"image", "list", "-x"}, ErrorCode::kOptionUnknown, "-x", ""},
      {{"image", "show"}, ErrorCode::kArgumentMissing, "IMG", "bailiff image show --help"},
      {{"image", "show", ""}, ErrorCode::kArgumentMissing, "IMG", "bailiff image show --help"},
      {{"image", "show", "a", "b"},
       ErrorCode::kArgumentExtra,
       "\"b\"",
       "bailiff image show --help"},
      {{"image", "list", "--color", "pink"}, ErrorCode::kOptionValue, "--color \"pink\"", ""},
      {{"image", "list", "--data-dir"}, ErrorCode::kOptionValue, "", ""},
      {{"image", "list", "--data-dir="}, ErrorCode::kOptionValue, "", ""},
      {{"run", "--source", ".", "--", "/bin/true"},
       ErrorCode::kOptionMissing,
       "--image",
       "--image IMG"},
      {{"run", "--image", "b", "--", "/bin/true"},
       ErrorCode::kOptionMissing,
       "--source",
       "--source REV|DIR"},
      {{"run", "--image", "b", "--source", "."},
       ErrorCode::kCommandMissing,
       "",
       "bailiff run … -- /bin/true"},
      {{"run", "--image", "b", "--source", ".", "/bin/true"},
       ErrorCode::kArgumentExtra,
       "\"/bin/true\"",
       "put -- before the command"},
      {{"run", "--image", "b", "--image", "c", "--source", ".", "--", "x"},
       ErrorCode::kOptionTwice,
       "--image",
       "give --image once"},
      {{"run", "--image", "b", "--source", ".", "--backend", "docker", "--", "x"},
       ErrorCode::kOptionValue,
       "--backend \"docker\"",
       "--backend native"},
      {{"run", "--image", "b", "--source", ".", "--exit", "code", "--", "x"},
       ErrorCode::kOptionValue,
       "--exit \"code\"",
       "--exit outcome"},
      {{"completion", "tcsh"}, ErrorCode::kArgumentValue, "\"tcsh\"", "bailiff completion --help"},
      {{"run", "--json=5", "--image", "b", "--source", ".", "--", "x"},
       ErrorCode::kOptionValue,
       "",
       ""},
  };
  for (const Wrong& line : wrong) {
    std::string shown;
    for (const char* word : line.words) shown += std::string(word) + " ";
    const auto command = Parse(line.words);
    ASSERT_FALSE(command.ok()) << shown;
    EXPECT_EQ(command.error().code, line.code) << shown << command.error().why;
    EXPECT_EQ(Info(command.error().code).exit, 64) << shown;
    EXPECT_THAT(command.error().subject, HasSubstr(line.subject)) << shown;
    EXPECT_THAT(command.error().fix, HasSubstr(line.fix)) << shown;
  }
}

TEST(CommandLine, help_is_had_in_every_place) {
  for (const auto& words : std::vector<std::vector<const char*>>{{"--help"},
                                                                 {"-h"},
                                                                 {"help"},
                                                                 {"image", "--help"},
                                                                 {"run", "--help"},
                                                                 {"image", "import", "-h"}}) {
    const auto command = Parse(words);
    ASSERT_TRUE(command.ok()) << words[0];
    EXPECT_TRUE(command->help);
  }
  EXPECT_EQ(Parse({"image", "--help"})->help_noun, "image");
  EXPECT_EQ(Parse({"--version"})->row->verb, Verb::kVersion);
}

TEST(CommandLine, errors_are_json_when_json_was_asked_for_anywhere_before_the_dashes) {
  const char* asked[] = {"bailiff", "frob", "--json"};
  EXPECT_TRUE(WantsJson(3, asked));
  const char* not_asked[] = {"bailiff", "run", "--", "--json"};
  EXPECT_FALSE(WantsJson(4, not_asked));
}

TEST(CommandLine, a_revision_is_told_from_a_directory) {
  EXPECT_TRUE(LooksLikeDigest("0123456789ab"));
  EXPECT_TRUE(LooksLikeDigest(std::string(64, 'f')));
  EXPECT_FALSE(LooksLikeDigest("0123456789a"));
  EXPECT_FALSE(LooksLikeDigest(std::string(65, 'f')));
  EXPECT_FALSE(LooksLikeDigest("0123456789AB"));
  EXPECT_FALSE(LooksLikeDigest("./0123456789ab"));
}

TEST(Suggest, counts_edits) {
  EXPECT_EQ(EditDistance("list", "list"), 0U);
  EXPECT_EQ(EditDistance("lsit", "list"), 1U);
  EXPECT_EQ(EditDistance("", "abc"), 3U);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3U);
  EXPECT_EQ(EditDistance(std::string(1000, 'a'), "a"), 64U);
}

class OpenNamedTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/bailiff-open-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    root_ = name;
    ASSERT_EQ(mkdir((root_ + "/dir").c_str(), 0700), 0);
    const int fd = open((root_ + "/file").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    ASSERT_GE(fd, 0);
    close(fd);
    ASSERT_EQ(symlink("dir", (root_ + "/dirlink").c_str()), 0);
    ASSERT_EQ(symlink("file", (root_ + "/filelink").c_str()), 0);
    ASSERT_EQ(mkfifo((root_ + "/fifo").c_str(), 0600), 0);
  }
  void TearDown() override {
    for (const char* name : {"/dirlink", "/filelink", "/file", "/fifo"})
      unlink((root_ + name).c_str());
    rmdir((root_ + "/dir").c_str());
    rmdir(root_.c_str());
  }
  ErrorCode CodeOf(std::vector<std::string> words) {
    Result<Command> command = ParseWords(words);
    EXPECT_TRUE(command.ok());
    const Result<void> opened = OpenNamed(*command);
    return opened.ok() ? ErrorCode::kSystem : opened.error().code;
  }
  std::string root_;
};

TEST_F(OpenNamedTest, what_is_imported_is_not_reached_through_a_link) {
  EXPECT_EQ(CodeOf({"source", "import", root_ + "/dir"}), ErrorCode::kSystem);
  EXPECT_EQ(CodeOf({"source", "import", root_ + "/dir/"}), ErrorCode::kSystem);
  EXPECT_EQ(CodeOf({"source", "import", root_ + "/dirlink"}), ErrorCode::kFileKind);
  EXPECT_EQ(CodeOf({"source", "import", root_ + "/dirlink/"}), ErrorCode::kFileKind);
  EXPECT_EQ(CodeOf({"source", "import", root_ + "/file"}), ErrorCode::kFileKind);
  EXPECT_EQ(CodeOf({"source", "import", root_ + "/none"}), ErrorCode::kFileMissing);
  EXPECT_EQ(CodeOf({"image", "import", root_ + "/file"}), ErrorCode::kSystem);
  EXPECT_EQ(CodeOf({"image", "import", root_ + "/filelink"}), ErrorCode::kFileKind);
  EXPECT_EQ(CodeOf({"image", "import", root_ + "/dir"}), ErrorCode::kSystem);
  EXPECT_EQ(CodeOf({"image", "import", root_ + "/dir/"}), ErrorCode::kSystem);
  EXPECT_EQ(CodeOf({"image", "import", root_ + "/dirlink"}), ErrorCode::kFileKind);
  EXPECT_EQ(CodeOf({"image", "import", root_ + "/dirlink/"}), ErrorCode::kFileKind);
  EXPECT_EQ(CodeOf({"image", "import", root_ + "/fifo"}), ErrorCode::kFileKind);
  EXPECT_EQ(CodeOf({"image", "import", "/dev/zero"}), ErrorCode::kFileKind);
  EXPECT_EQ(CodeOf({"run", "--image", "b", "--source", root_ + "/dirlink", "--", "/x"}),
            ErrorCode::kFileKind);
}

TEST_F(OpenNamedTest, a_document_may_be_a_link_or_a_fifo) {
  EXPECT_EQ(CodeOf({"recipe", "check", root_ + "/filelink"}), ErrorCode::kSystem);
  EXPECT_EQ(CodeOf({"recipe", "check", root_ + "/fifo"}), ErrorCode::kSystem);
  EXPECT_EQ(CodeOf({"recipe", "check", root_ + "/dir"}), ErrorCode::kFileKind);
}

TEST_F(OpenNamedTest, an_image_goes_to_a_name_that_is_new) {
  EXPECT_EQ(CodeOf({"image", "export", "b", root_ + "/new"}), ErrorCode::kSystem);
  EXPECT_EQ(CodeOf({"image", "export", "b", root_ + "/file"}), ErrorCode::kFileExists);
  EXPECT_EQ(CodeOf({"image", "export", "b", root_ + "/dir"}), ErrorCode::kFileExists);
  EXPECT_EQ(CodeOf({"image", "export", "b", root_ + "/filelink"}), ErrorCode::kFileExists);
  EXPECT_EQ(CodeOf({"image", "export", "b", root_ + "/none/new"}), ErrorCode::kFileMissing);
  EXPECT_EQ(CodeOf({"--json", "image", "export", "b", "-"}), ErrorCode::kArgumentValue);
}

TEST_F(OpenNamedTest, an_export_goes_to_a_name_that_is_new) {
  Result<Command> command =
      ParseWords(std::vector<std::string>{"source", "export", "0123456789ab", root_ + "/new/"});
  ASSERT_TRUE(command.ok());
  ASSERT_TRUE(OpenNamed(*command).ok());
  EXPECT_EQ(command->opened[1].name, "new");
  EXPECT_TRUE(command->opened[1].fd.valid());
  EXPECT_EQ(CodeOf({"source", "export", "0123456789ab", root_ + "/dir"}), ErrorCode::kFileExists);
  EXPECT_EQ(CodeOf({"source", "export", "0123456789ab", root_ + "/dir/.."}),
            ErrorCode::kFileExists);
  EXPECT_EQ(CodeOf({"source", "export", "0123456789ab", "/"}), ErrorCode::kFileExists);
  EXPECT_EQ(CodeOf({"source", "export", "0123456789ab", root_ + "/none/new"}),
            ErrorCode::kFileMissing);
}

TEST_F(OpenNamedTest, everything_opened_is_close_on_exec) {
  Result<Command> command =
      ParseWords(std::vector<std::string>{"source", "import", root_ + "/dir"});
  ASSERT_TRUE(OpenNamed(*command).ok());
  EXPECT_EQ(fcntl(command->opened[0].fd.get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  command = ParseWords(std::vector<std::string>{"recipe", "check", "-"});
  ASSERT_TRUE(OpenNamed(*command).ok());
  EXPECT_EQ(fcntl(command->opened[0].fd.get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  EXPECT_GT(command->opened[0].fd.get(), 2);
}

TEST(DataDirectory, default_is_absolute_whatever_the_environment_says) {
  if (geteuid() == 0) {
    EXPECT_EQ(*DefaultDataDirectory(), "/var/lib/bailiff");
    return;
  }
  setenv("HOME", "/home/x", 1);
  setenv("XDG_STATE_HOME", "relative", 1);
  EXPECT_EQ(*DefaultDataDirectory(), "/home/x/.local/state/bailiff");
  setenv("XDG_STATE_HOME", "/state", 1);
  EXPECT_EQ(*DefaultDataDirectory(), "/state/bailiff");
  unsetenv("XDG_STATE_HOME");
  setenv("HOME", "relative", 1);
  EXPECT_EQ(DefaultDataDirectory().error().code, ErrorCode::kDataDirectoryUnnamed);
}

}  // namespace
}  // namespace bailiff::controller::cli
