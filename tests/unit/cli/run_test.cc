// SPDX-License-Identifier: Apache-2.0
// What `run` does around an attempt: its flags, the streams it passes on, the line it draws.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "controller/cli/interrupts.h"
#include "controller/cli/output.h"
#include "controller/cli/progress_line.h"
#include "controller/cli/record_text.h"
#include "controller/cli/run_flags.h"
#include "controller/cli/stream_forwarder.h"

namespace bailiff::controller::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> Codes(std::vector<const char*> flags,
                               std::optional<RunFlags>* out = nullptr) {
  std::vector<const char*> words = {"bailiff", "run", "--image", "busybox", "--source", "."};
  words.insert(words.end(), flags.begin(), flags.end());
  words.insert(words.end(), {"--", "/bin/sh", "-c", "true"});
  const Result<Command> command = ParseCommandLine(static_cast<int>(words.size()), words.data());
  EXPECT_TRUE(command.ok());
  policy::Faults faults;
  std::optional<RunFlags> parsed = ParseRunFlags(*command, faults);
  EXPECT_EQ(parsed.has_value(), faults.empty());
  if (out != nullptr) *out = parsed;
  std::vector<std::string> codes;
  for (const policy::Fault& fault : faults.list()) codes.emplace_back(Info(fault.error.code).name);
  return codes;
}

TEST(RunFlags, R16_12_to_R16_16_defaults_are_the_profile_of_the_source) {
  std::optional<RunFlags> flags;
  EXPECT_THAT(Codes({}, &flags), ElementsAre());
  const policy::Limits& limits = flags->recipe.limits;
  EXPECT_EQ(limits.memory_bytes, 512ULL << 20);
  EXPECT_EQ(limits.cpu_millis, 1000U);
  EXPECT_EQ(limits.pids, 64U);
  EXPECT_EQ(limits.timeout_ms, 30'000U);
  EXPECT_EQ(limits.scratch_bytes, 64ULL << 20);
  EXPECT_EQ(limits.max_output_bytes, 1ULL << 20);
  EXPECT_EQ(flags->recipe.executable, "/bin/sh");
  EXPECT_THAT(flags->recipe.arguments, ElementsAre("-c", "true"));
}

TEST(RunFlags, smallest_and_largest_of_every_bound_and_one_beyond) {
  struct Bound {
    const char* smallest[2];
    const char* largest[2];
    const char* below[2];
    const char* above[2];
    const char* name;
  };
  const std::vector<Bound> bounds = {
      {{"--timeout", "1ms"},
       {"--timeout", "300s"},
       {"--timeout", "0"},
       {"--timeout", "300001ms"},
       "timeout"},
      {{"--output", "256"},
       {"--output", "1M"},
       {"--output", "255"},
       {"--output", "1048577"},
       "output"},
      {{"--memory", "16M"},
       {"--memory", "4G"},
       {"--memory", "16777215"},
       {"--memory", "4294967297"},
       "memory"},
      {{"--scratch", "1M"},
       {"--scratch", "1G"},
       {"--scratch", "1048575"},
       {"--scratch", "1073741825"},
       "scratch"},
      {{"--pids", "1"}, {"--pids", "256"}, {"--pids", "0"}, {"--pids", "257"}, "pids"},
      {{"--cpu", "0.1"}, {"--cpu", "4"}, {"--cpu", "0.099"}, {"--cpu", "4.001"}, "cpu"},
  };
  for (const Bound& bound : bounds) {
    EXPECT_THAT(Codes({bound.smallest[0], bound.smallest[1]}), ElementsAre()) << bound.name;
    EXPECT_THAT(Codes({bound.largest[0], bound.largest[1]}), ElementsAre()) << bound.name;
    EXPECT_THAT(Codes({bound.below[0], bound.below[1]}),
                ElementsAre("recipe." + std::string(bound.name) + ".low"));
    EXPECT_THAT(Codes({bound.above[0], bound.above[1]}),
                ElementsAre("recipe." + std::string(bound.name) + ".high"));
  }
}

TEST(RunFlags, all_faults_are_told_at_once) {
  EXPECT_THAT(Codes({"--memory", "8M", "--timeout", "soon", "--env", "LD_PRELOAD=x", "--env",
                     "NOEQUALS", "--env", "A=1", "--env", "A=2", "--toolchain", "abc"}),
              testing::UnorderedElementsAre("units.text.form", "cli.option.value",
                                            "cli.option.value", "cli.option.twice",
                                            "recipe.memory.low", "recipe.environment.loader"));
}

TEST(RunFlags, the_message_is_the_one_of_the_first_screen) {
  const char* words[] = {"bailiff", "run",      "--image", "b",  "--memory",
                         "8M",      "--source", ".",       "--", "/bin/true"};
  const Result<Command> command = ParseCommandLine(10, words);
  policy::Faults faults;
  ASSERT_FALSE(ParseRunFlags(*command, faults).has_value());
  EXPECT_EQ(ErrorText(faults.list().front().error),
            "bailiff: memory 8 MiB: below the smallest bound, 16 MiB [recipe.memory.low]\n"
            "  fix: --memory 16M or more\n");
}

TEST(RunFlags, a_writable_source_is_visible_in_the_recipe) {
  std::optional<RunFlags> flags;
  EXPECT_THAT(Codes({"--writable-source"}, &flags), ElementsAre());
  EXPECT_EQ(flags->recipe.executable, "/bin/sh");
  EXPECT_THAT(flags->recipe.arguments[1], HasSubstr("cp -R /source/. /scratch/source"));
  EXPECT_EQ(flags->recipe.arguments.back(), "true");
}

TEST(StreamForwarder, a_reader_that_does_not_read_never_holds_the_controller) {
  auto pipe = ipc::MakePipe();
  ASSERT_TRUE(pipe.ok());
  StreamForwarder forwarder(pipe->write.get(), false);
  std::string sent;
  for (int i = 0; i < 1024; ++i) {
    const std::string piece(1024, static_cast<char>('a' + i % 26));
    sent += piece;
    forwarder.Take(piece);  // a blocking write would hang here: a pipe holds 64 KiB
  }
  const pid_t reader = fork();
  if (reader == 0) {
    pipe->write.reset();
    const auto got = ipc::ReadToEnd(pipe->read.get(), 1 << 21, "pipe");
    _exit(got.ok() && *got == sent ? 0 : 1);
  }
  forwarder.Drain(-1);
  pipe->write.reset();
  int status = -1;
  ASSERT_EQ(waitpid(reader, &status, 0), reader);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(forwarder.error(), 0);
}

TEST(StreamForwarder, a_reader_that_has_gone_is_remembered_and_nothing_more) {
  std::signal(SIGPIPE, SIG_IGN);
  auto pipe = ipc::MakePipe();
  ASSERT_TRUE(pipe.ok());
  pipe->read.reset();
  StreamForwarder forwarder(pipe->write.get(), false);
  forwarder.Take("x");
  forwarder.Take("y");
  forwarder.Drain(-1);
  EXPECT_EQ(forwarder.error(), EPIPE);
}

TEST(StreamForwarder, an_interruption_ends_the_waiting) {
  auto pipe = ipc::MakePipe();
  auto stop = ipc::MakePipe();
  ASSERT_TRUE(pipe.ok() && stop.ok());
  StreamForwarder forwarder(pipe->write.get(), false);
  forwarder.Take(std::string(1 << 20, 'x'));
  ASSERT_TRUE(ipc::WriteAll(stop->write.get(), "!", "stop").ok());
  forwarder.Drain(stop->read.get());
  EXPECT_FALSE(forwarder.at_line_start());
}

TEST(StreamForwarder, a12_escapes_for_a_terminal_and_knows_where_the_cursor_is) {
  auto pipe = ipc::MakePipe();
  ASSERT_TRUE(pipe.ok());
  StreamForwarder forwarder(pipe->write.get(), true);
  EXPECT_TRUE(forwarder.at_line_start());
  forwarder.Take("a\x1b[2J");
  EXPECT_FALSE(forwarder.at_line_start());
  forwarder.Take("\n\xe2\x82");
  EXPECT_TRUE(forwarder.at_line_start());
  forwarder.Drain(-1);
  pipe->write.reset();
  EXPECT_EQ(*ipc::ReadToEnd(pipe->read.get(), 1 << 10, "pipe"), "a\\x1b[2J\n\\xe2\\x82");
}

TEST(Progress, line_is_the_one_of_the_first_screen) {
  ProgressFigures figures;
  figures.elapsed_ms = 14'200;
  figures.memory_bytes = 88ULL << 20;
  figures.pids = 9;
  figures.output_bytes = 21ULL << 10;
  figures.memory_limit = 512ULL << 20;
  figures.pids_limit = 64;
  figures.output_limit = 1ULL << 20;
  EXPECT_EQ(ProgressLine::Text(figures, 171),
            "running 00:14  cpu 171%  memory 88/512 MiB  pids 9/64  output 21 KiB/1 MiB");
  figures.memory_bytes.reset();
  figures.pids.reset();
  EXPECT_EQ(ProgressLine::Text(figures, -1), "running 00:14  output 21 KiB/1 MiB");
}

TEST(Interrupts, a_signal_is_seen_and_names_its_exit_status) {
  const pid_t child = fork();
  if (child == 0) {
    auto interrupts = Interrupts::Block();
    if (!interrupts.ok() || interrupts->Pending()) _exit(1);
    raise(SIGTERM);
    if (!interrupts->Pending()) _exit(2);
    _exit(Interrupts::ExitStatus());
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 143);
}

TEST(Record, summary_says_outcome_end_reasons_and_cleanup) {
  policy::CommandRecord record;
  record.outcome = policy::Outcome::kFailed;
  record.process.state = policy::ProcessEnd::State::kExited;
  record.process.code = 2;
  record.reasons = {policy::Reason::kPidsLimitHit};
  record.cleanup.confirmed = true;
  record.usage.wall_us = 18'200'000;
  policy::Limits limits;
  EXPECT_EQ(
      SummaryLine(record, std::string(64, 'a'), limits, Output(Globals{})),
      "failed  exit 2 in 18.2 s  pids_limit_hit (64)  cleanup confirmed  evidence aaaaaaaaaaaa");
  record.process = {};
  record.process.state = policy::ProcessEnd::State::kNotStarted;
  record.process.error = ENOENT;
  EXPECT_EQ(ProcessText(record.process), "not started: ENOENT");
  record.process = {};
  record.process.state = policy::ProcessEnd::State::kSignalled;
  record.process.signal = 9;
  EXPECT_EQ(ProcessText(record.process), "SIGKILL");
}

}  // namespace
}  // namespace bailiff::controller::cli
