// SPDX-License-Identifier: Apache-2.0
// The real warden, driven frame by frame: what it reports, and what becomes of the cell when
// somebody dies.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "policy/cell.h"
#include "tests/support/cell_host.h"

namespace bailiff::test {
namespace {

using policy::CellStep;

CellOptions Command(std::vector<std::string> argv) {
  CellOptions options;
  options.argv = std::move(argv);
  return options;
}
CellOptions Shell(const std::string& script) { return Command({"/bin/sh", "-c", script}); }

int ExitOf(CellOptions options) {
  CellUnderTest cell(std::move(options));
  const auto status = cell.Run();
  return status && WIFEXITED(*status) ? WEXITSTATUS(*status) : -1;
}

int SignalOf(CellOptions options) {
  CellUnderTest cell(std::move(options));
  const auto status = cell.Run();
  return status && WIFSIGNALED(*status) ? WTERMSIG(*status) : -1;
}

// True once the process behind `pidfd` is gone, within a second (design, section 3).
bool GoneWithinASecond(const ipc::Fd& pidfd) {
  pollfd wait{pidfd.get(), POLLIN, 0};
  return poll(&wait, 1, 1000) == 1;
}

ipc::Fd OpenPid(pid_t pid) { return ipc::Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))); }

TEST(Warden, a08_exit_codes_are_raw) {
  EXPECT_EQ(ExitOf(Command({"/bin/true"})), 0);
  EXPECT_EQ(ExitOf(Command({"/bin/false"})), 1);
  EXPECT_EQ(ExitOf(Shell("exit 125")), 125);
  EXPECT_EQ(ExitOf(Shell("exit 126")), 126);
  EXPECT_EQ(ExitOf(Shell("exit 127")), 127);
  EXPECT_EQ(ExitOf(Shell("exit 255")), 255);
}

TEST(Warden, a08_output_and_status_of_a_script) {
  CellUnderTest cell(Command({"/bin/script", "one"}));
  const auto status = cell.Run();
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(WEXITSTATUS(*status), 3);
  EXPECT_EQ(cell.out(), "script one\n");
  EXPECT_EQ(cell.WaitWarden(), 0);
}

TEST(Warden, a05_exit_137_is_not_signal_9) {
  EXPECT_EQ(ExitOf(Shell("exit 137")), 137);
  EXPECT_EQ(SignalOf(Shell("exit 137")), -1);
}

TEST(Warden, a05_a_signal_of_pid_1_to_itself_is_ignored) {
  CellUnderTest cell(Shell("kill -9 $$; echo survived"));
  const auto status = cell.Run();
  ASSERT_TRUE(status.has_value());
  EXPECT_TRUE(WIFEXITED(*status));
  EXPECT_EQ(cell.out(), "survived\n");
}

TEST(Warden, a05_a_fault_of_pid_1_is_its_signal) {
  EXPECT_EQ(SignalOf(Command({"/bin/probe", "pid1_segv"})), SIGSEGV);
}

TEST(Warden, a05_killed_from_outside_is_signal_9) {
  CellUnderTest cell(Command({"/bin/sleep", "1000"}));
  ASSERT_TRUE(cell.Start());
  const pid_t candidate = cell.candidate_pid();
  ASSERT_GT(candidate, 0);
  ASSERT_EQ(kill(candidate, SIGKILL), 0);
  const auto ended = cell.Finish();
  ASSERT_TRUE(ended && ended->has_ended());
  EXPECT_EQ(ended->ended().wait_status(), SIGKILL);
}

struct Failure {
  const char* executable;
  int error;
};

TEST(Warden, a08_exec_failure_is_errno_and_never_a_status) {
  for (const Failure& failure :
       {Failure{"/bin/nothing", ENOENT}, Failure{"/bin/unreadable", EACCES},
        Failure{"/bin/garbage", ENOEXEC}, Failure{"/bin/lost", ENOENT}, Failure{"/bin", EACCES},
        Failure{"/bin/true/x", ENOTDIR}}) {
    CellUnderTest cell(Command({failure.executable}));
    const auto built = cell.Next();
    ASSERT_TRUE(built && built->has_built()) << failure.executable;
    cell.Release();
    const auto failed = cell.Next();
    ASSERT_TRUE(failed && failed->has_exec_failed()) << failure.executable;
    EXPECT_EQ(failed->exec_failed().step(), static_cast<unsigned>(CellStep::kExecute));
    EXPECT_EQ(failed->exec_failed().error(), failure.error) << failure.executable;
    EXPECT_FALSE(cell.Next().has_value());
    EXPECT_EQ(cell.WaitWarden(), 0);
  }
}

TEST(Warden, an_image_without_mount_points_is_named) {
  CellOptions options;
  options.image = "/data/incomplete";
  CellUnderTest cell(options);
  const auto failed = cell.Next();
  ASSERT_TRUE(failed && failed->has_exec_failed());
  EXPECT_EQ(failed->exec_failed().step(), static_cast<unsigned>(CellStep::kMountPoints));
  EXPECT_EQ(failed->exec_failed().error(), ENOENT);
  EXPECT_NE(cell.Diagnosis().find("sys"), std::string::npos);
}

TEST(Warden, a_mount_point_that_is_a_link_is_refused) {
  CellOptions options;
  options.image = "/data/linked";
  CellUnderTest cell(options);
  const auto failed = cell.Next();
  ASSERT_TRUE(failed && failed->has_exec_failed());
  EXPECT_EQ(failed->exec_failed().step(), static_cast<unsigned>(CellStep::kMountPoints));
  EXPECT_EQ(failed->exec_failed().error(), ELOOP);
}

TEST(Warden, an_order_outside_its_bounds_builds_nothing) {
  CellOptions relative;
  relative.executable = "bin/true";
  CellOptions no_bytes;
  no_bytes.scratch_bytes = 0;
  CellOptions too_many;
  too_many.argv.assign(66, "x");
  CellOptions hidden;
  hidden.argv = {"/bin/true", std::string("a\0b", 3)};
  for (const CellOptions& options : {relative, no_bytes, too_many, hidden}) {
    CellUnderTest cell(options);
    const auto failed = cell.Next();
    ASSERT_TRUE(failed && failed->has_exec_failed());
    EXPECT_EQ(failed->exec_failed().step(), static_cast<unsigned>(CellStep::kOrder));
  }
}

TEST(Warden, a_message_out_of_turn_ends_it) {
  CellUnderTest cell(Command({"/bin/true"}));
  const auto built = cell.Next();
  ASSERT_TRUE(built && built->has_built());
  cell.Release();
  wire::ToWarden again;
  again.mutable_release();
  cell.Send(again);
  std::optional<wire::FromWarden> last;
  while (auto message = cell.Next()) last = message;
  // Either the command was quicker than the second frame, or the warden ended in its place.
  const int status = cell.WaitWarden();
  EXPECT_TRUE((last && last->has_ended() && status == 0) ||
              (WIFEXITED(status) && WEXITSTATUS(status) == 1));
}

TEST(Warden, a_second_order_is_refused) {
  CellUnderTest cell(Command({"/bin/true"}));
  ASSERT_TRUE(cell.Next().has_value());
  wire::ToWarden again;
  again.mutable_order()->set_candidate_id(0);
  cell.Send(again);
  EXPECT_FALSE(cell.Next().has_value());
  EXPECT_EQ(WEXITSTATUS(cell.WaitWarden()), 1);
}

TEST(Warden, a01_exit_of_the_command_ends_every_writer) {
  CellUnderTest cell(Shell("sleep 300 & setsid sleep 300 & printf 'done\\n'; exit 3"));
  const auto status = cell.Run();
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(WEXITSTATUS(*status), 3);
  EXPECT_EQ(cell.out(), "done\n");
}

TEST(Warden, c02_a_stop_is_not_an_end) {
  CellUnderTest cell(Command({"/bin/sleep", "1000"}));
  ASSERT_TRUE(cell.Start());
  const pid_t candidate = cell.candidate_pid();
  ASSERT_EQ(kill(candidate, SIGSTOP), 0);
  ASSERT_EQ(kill(candidate, SIGCONT), 0);
  ASSERT_EQ(kill(candidate, SIGSTOP), 0);
  ASSERT_EQ(kill(candidate, SIGKILL), 0);
  const auto ended = cell.Finish();
  ASSERT_TRUE(ended && ended->has_ended());
  EXPECT_EQ(ended->ended().wait_status(), SIGKILL);
}

TEST(Warden, usage_is_the_whole_cell) {
  CellUnderTest cell(Shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"));
  ASSERT_TRUE(cell.Start());
  const auto ended = cell.Finish();
  ASSERT_TRUE(ended && ended->has_ended());
  EXPECT_GT(ended->ended().user_us() + ended->ended().system_us(), 1000U);
  EXPECT_GT(ended->ended().max_rss_kib(), 100U);
}

TEST(Warden, kill_before_and_after_release_leaves_nothing) {
  for (const bool released : {false, true}) {
    CellUnderTest cell(Command({"/bin/sleep", "1000"}));
    const auto built = cell.Next();
    ASSERT_TRUE(built && built->has_built());
    const ipc::Fd candidate = OpenPid(cell.candidate_pid());
    ASSERT_TRUE(candidate.valid());
    if (released) {
      cell.Release();
      ASSERT_TRUE(cell.Next().has_value());
    }
    cell.Kill();
    const auto last = cell.Next();
    ASSERT_TRUE(last.has_value());
    if (released) {
      ASSERT_TRUE(last->has_ended());
      EXPECT_EQ(last->ended().wait_status(), SIGKILL);
    } else {
      ASSERT_TRUE(last->has_exec_failed());
      EXPECT_EQ(last->exec_failed().step(), static_cast<unsigned>(CellStep::kDied));
    }
    EXPECT_TRUE(GoneWithinASecond(candidate));
    EXPECT_EQ(cell.WaitWarden(), 0);
  }
}

TEST(Warden, a_closed_channel_ends_the_cell) {
  CellUnderTest cell(Command({"/bin/sleep", "1000"}));
  ASSERT_TRUE(cell.Start());
  const ipc::Fd candidate = OpenPid(cell.candidate_pid());
  ASSERT_TRUE(candidate.valid());
  cell.CloseChannel();
  EXPECT_TRUE(GoneWithinASecond(candidate));
}

TEST(Warden, the_wardens_death_ends_the_cell) {
  CellUnderTest cell(Shell("setsid sleep 1000 & sleep 1000"));
  ASSERT_TRUE(cell.Start());
  const ipc::Fd candidate = OpenPid(cell.candidate_pid());
  ASSERT_TRUE(candidate.valid());
  ASSERT_EQ(kill(cell.warden_pid(), SIGKILL), 0);
  EXPECT_TRUE(GoneWithinASecond(candidate));
}

struct Told {
  pid_t candidate = 0;
  pid_t warden = 0;
  char name[64] = {};
};

// A process in the controller's place, killed: with the warden stopped beforehand too, so that it
// is the kernel and not the warden's code that ends the cell.
TEST(Warden, the_controllers_death_ends_the_cell_within_a_second) {
  for (const bool stopped : {false, true}) {
    int told[2];
    ASSERT_EQ(pipe2(told, O_CLOEXEC), 0);
    const pid_t controller = fork();
    ASSERT_GE(controller, 0);
    if (controller == 0) {
      // On the heap and never freed: its destructor must not run here.
      auto* const cell = new CellUnderTest(Command({"/bin/sleep", "1000"}));
      Told word;
      word.candidate = cell->Start() ? cell->candidate_pid() : 0;
      word.warden = cell->warden_pid();
      cell->name().copy(word.name, sizeof word.name - 1);
      if (stopped) kill(cell->warden_pid(), SIGSTOP);
      if (write(told[1], &word, sizeof word) != sizeof word) _exit(1);
      for (;;) pause();
    }
    close(told[1]);
    Told word;
    ASSERT_EQ(read(told[0], &word, sizeof word), static_cast<ssize_t>(sizeof word));
    close(told[0]);
    const ipc::Fd candidate = OpenPid(word.candidate);
    const ipc::Fd warden = OpenPid(word.warden);
    ASSERT_TRUE(candidate.valid() && warden.valid());
    ASSERT_EQ(kill(controller, SIGKILL), 0);
    EXPECT_TRUE(GoneWithinASecond(candidate)) << "stopped " << stopped;
    EXPECT_TRUE(GoneWithinASecond(warden));
    int status = 0;
    waitpid(controller, &status, 0);
    EXPECT_TRUE(CellHost::Get().RemoveCgroups(word.name)) << "the cell's cgroups are not empty";
  }
}

// perf.md: 4 MiB at most. VmHWM of the warden while the command runs.
TEST(Warden, peak_memory_is_within_its_bound) {
  CellUnderTest cell(Command({"/bin/sleep", "1000"}));
  ASSERT_TRUE(cell.Start());
  const auto text = ipc::ReadFileAt(
      AT_FDCWD, ("/proc/" + std::to_string(cell.warden_pid()) + "/status").c_str(), 65536);
  ASSERT_TRUE(text.ok());
  const std::size_t at = text->find("VmHWM:");
  ASSERT_NE(at, std::string::npos);
  const long peak = std::strtol(text->c_str() + at + 6, nullptr, 10);
  RecordProperty("warden_peak_kib", static_cast<int>(peak));
  EXPECT_GT(peak, 0);
#ifndef BAILIFF_SANITIZE
  EXPECT_LE(peak, 4096);
#endif
}

}  // namespace
}  // namespace bailiff::test
