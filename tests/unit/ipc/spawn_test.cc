// SPDX-License-Identifier: Apache-2.0
// A victim is started by Spawn and tells what it inherited; then its spawner dies.
#include "ipc/spawn.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <sstream>

#include "ipc/frame.h"

namespace bailiff::ipc {
namespace {

constexpr std::uint32_t kId = 1900000123;

SpawnRequest Victim(const Fd& program) {
  SpawnRequest request;
  request.name = "victim";
  request.executable = program.get();
  request.namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID;
  request.uid_map = {{0, kId, 1}};
  request.gid_map = {{0, kId, 1}};
  return request;
}

class Spawning : public testing::Test {
 protected:
  Spawning()
      : program_(std::move(OpenAt(AT_FDCWD, BAILIFF_TEST_BINARY_DIR "/tests/spawn_victim", O_PATH))
                     .value()) {}

  // "name value" lines of the victim's one frame.
  std::map<std::string, std::string> Report(const Child& child) {
    FrameReader reader;
    std::map<std::string, std::string> facts;
    const auto frame = reader.Receive(child.channel.get(), FrameReader::Wait::kBlock);
    if (!frame.ok() || !frame->has_value()) return facts;
    std::istringstream lines{std::string(**frame)};
    for (std::string line; std::getline(lines, line);)
      facts[line.substr(0, line.find(' '))] = line.substr(line.find(' ') + 1);
    return facts;
  }
  static int Wait(Child& child) {
    child.channel.reset();  // what the victim waits for
    siginfo_t info{};
    EXPECT_EQ(waitid(P_PIDFD, static_cast<id_t>(child.pidfd.get()), &info, WEXITED | __WALL), 0);
    return info.si_status;
  }
  Fd program_;
};

TEST_F(Spawning, NothingOfTheSpawnerIsInherited) {
  // Everything a caller could set: a mask, an ignored signal, a umask, a variable, a working
  // directory, open descriptors.
  sigset_t set;
  sigfillset(&set);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  umask(0);
  setenv("SECRET", "x", 1);
  ASSERT_EQ(chdir("/tmp"), 0);
  const int leaked = open("/etc/passwd", O_RDONLY);  // not close-on-exec on purpose
  auto child = Spawn(Victim(program_));
  ASSERT_TRUE(child.ok()) << child.error().why;
  auto facts = Report(*child);
  close(leaked);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  EXPECT_EQ(facts["fds"], "0 1 2 3");
  EXPECT_EQ(facts["environment"], "0");
  EXPECT_EQ(facts["umask"], "77");
  EXPECT_EQ(facts["cwd"], "/");
  EXPECT_EQ(facts["ignored"], "0");
  EXPECT_EQ(facts["blocked"], "0");
  EXPECT_EQ(facts["uid"], "0 0 0");
  EXPECT_EQ(facts["gid"], "0 0 0");
  EXPECT_EQ(facts["groups"], "0");
  EXPECT_EQ(facts["session"], "own");
  EXPECT_EQ(facts["deathsig"], "9");
  EXPECT_EQ(facts["oom"], "1000");
  EXPECT_EQ(facts["argv0"], "victim");
  Wait(*child);
}

TEST_F(Spawning, DescriptorsComeInTheirOrderAndLimitsAreSet) {
  SpawnRequest request = Victim(program_);
  auto a = MakePipe();
  auto b = MakePipe();
  request.descriptors = {a->write.get(), b->read.get()};
  request.limits = {{RLIMIT_NOFILE, 32}, {RLIMIT_CORE, 0}};
  auto child = Spawn(request);
  ASSERT_TRUE(child.ok()) << child.error().why;
  auto facts = Report(*child);
  EXPECT_EQ(facts["fds"], "0 1 2 3 4 5");
  EXPECT_EQ(facts["nofile"], "32 32");
  EXPECT_EQ(facts["core"], "0 0");
  EXPECT_EQ(facts["mode4"], "write");
  EXPECT_EQ(facts["mode5"], "read");
  Wait(*child);
}

TEST_F(Spawning, a13_standard_input_is_null_even_when_ours_is_closed) {
  const pid_t pid = fork();
  if (pid == 0) {
    close(0);
    close(1);
    close(2);
    auto child = Spawn(Victim(program_));
    if (!child.ok()) _exit(2);
    auto facts = Report(*child);
    Wait(*child);
    _exit(facts["fd0"] == "/dev/null" && facts["fd1"] == "/dev/null" && facts["fds"] == "0 1 2 3"
              ? 0
              : 3);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(Spawning, WhatIsNoProgramIsSaidInTheDiagnosis) {
  const Fd directory = std::move(OpenAt(AT_FDCWD, "/etc/passwd", O_PATH)).value();
  auto child = Spawn(Victim(directory));
  ASSERT_TRUE(child.ok());
  pollfd ended{child->pidfd.get(), POLLIN, 0};
  ASSERT_EQ(poll(&ended, 1, 5000), 1);
  EXPECT_EQ(Wait(*child), 127);
  char text[256] = {};
  ASSERT_GT(read(child->diagnosis.get(), text, sizeof text - 1), 0);
  EXPECT_NE(std::string(text).find("execveat"), std::string::npos);
}

TEST_F(Spawning, e03_child_ends_with_its_spawner) {
  int relay[2];
  ASSERT_EQ(pipe2(relay, O_CLOEXEC), 0);
  const pid_t spawner = fork();
  if (spawner == 0) {
    auto child = Spawn(Victim(program_));
    if (!child.ok()) _exit(1);
    Report(*child);
    const pid_t pid = child->pid;
    if (write(relay[1], &pid, sizeof pid) != sizeof pid) _exit(1);
    pause();
  }
  pid_t victim = -1;
  ASSERT_EQ(read(relay[0], &victim, sizeof victim), static_cast<ssize_t>(sizeof victim));
  const Fd pidfd(static_cast<int>(syscall(434 /* pidfd_open */, victim, 0)));
  ASSERT_TRUE(pidfd.valid());
  kill(spawner, SIGKILL);
  waitpid(spawner, nullptr, 0);
  pollfd end{pidfd.get(), POLLIN, 0};
  EXPECT_EQ(poll(&end, 1, 1000), 1) << "the child outlived its spawner by a second";
}

}  // namespace
}  // namespace bailiff::ipc
