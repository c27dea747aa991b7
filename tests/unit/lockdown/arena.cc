// SPDX-License-Identifier: Apache-2.0
#include "arena.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "ipc/bounds.h"
#include "policy/lockdown.h"
#include "policy/view.h"

namespace bailiff::policy::arena {
namespace {

[[noreturn]] void Broken(const char* step) {
  dprintf(2, "arena broken at %s: %s\n", step, strerrorname_np(errno));
  _exit(99);
}

void WriteText(const char* path, const std::string& text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    Broken(path);
  close(fd);
}

int Open(const std::string& path) {
  const int fd = open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) Broken(path.c_str());
  return fd;
}

int CloneOf(const std::string& path, MountUse use) {
  const int directory = Open(path);
  Result<ipc::Fd> tree = CloneTree(directory, use);
  if (!tree.ok()) Broken("CloneTree");
  close(directory);
  return tree.value().release();
}

// A helper is pid 1 of its namespace, whose signals to itself mean nothing. The present process
// stays behind and ends as its child does.
void BecomeFirstProcess() {
  const pid_t pid = fork();
  if (pid == 0) return;
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) Broken("first process");
  if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
  signal(WTERMSIG(status), SIG_DFL);
  kill(getpid(), WTERMSIG(status));
  Broken("the same end");
}

void TwoFinishedPipes() {
  for (int number = ipc::kFirstJobFd; number < ipc::kFirstJobFd + 2; ++number) {
    int ends[2];
    if (pipe(ends) != 0) Broken("pipe");
    if (ends[0] != number && dup2(ends[0], number) < 0) Broken("dup2");
    close(ends[1]);
    if (ends[0] != number) close(ends[0]);
  }
}

}  // namespace

bool Ended::exited(int code) const { return WIFEXITED(status) && WEXITSTATUS(status) == code; }
bool Ended::killed(int signal) const { return WIFSIGNALED(status) && WTERMSIG(status) == signal; }

Ended Run(const std::function<void()>& body) {
  int words[2];
  int channel[2];
  if (pipe2(words, O_CLOEXEC) != 0) abort();
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) != 0) abort();
  const pid_t pid = fork();
  if (pid == 0) {
    const int null_fd = open("/dev/null", O_RDWR);
    const int sources[] = {null_fd, null_fd, words[1], channel[1]};
    std::vector<int> copies;
    for (const int fd : sources) copies.push_back(fcntl(fd, F_DUPFD, 100));
    for (int number = 0; number < 4; ++number)
      dup2(copies[static_cast<std::size_t>(number)], number);
    close_range(4, ~0U, 0);
    body();
    _exit(0);
  }
  close(words[1]);
  close(channel[1]);
  Ended ended;
  char buffer[4096];
  ssize_t got = 0;
  while ((got = read(words[0], buffer, sizeof buffer)) > 0)
    ended.said.append(buffer, static_cast<std::size_t>(got));
  close(words[0]);
  close(channel[0]);
  waitpid(pid, &ended.status, 0);
  return ended;
}

void EnterOwnNamespaces(unsigned long more) {
  const std::string uid = std::to_string(geteuid());
  const std::string gid = std::to_string(getegid());
  if (unshare(static_cast<int>(CLONE_NEWUSER | CLONE_NEWNS | more)) != 0) Broken("unshare");
  prctl(PR_SET_DUMPABLE, 1UL);
  WriteText("/proc/self/setgroups", "deny");
  WriteText("/proc/self/uid_map", "0 " + uid + " 1");
  WriteText("/proc/self/gid_map", "0 " + gid + " 1");
}

Ended RunLocked(Role role, const std::string& in, const std::string& out,
                const std::function<void()>& body) {
  return Run([&] {
    EnterOwnNamespaces();  // the controller's
    std::vector<ViewMount> mounts;
    if (!in.empty()) mounts.push_back({CloneOf(in, MountUse::kViewInput), "in"});
    if (!out.empty()) mounts.push_back({CloneOf(out, MountUse::kViewOutput), "out"});
    EnterOwnNamespaces(CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS);  // the helper's
    BecomeFirstProcess();
    if (Result<void> view = EnterView(mounts); !view.ok()) {
      errno = view.error().system_error;
      Broken(("EnterView " + view.error().subject + ' ' + view.error().why).c_str());
    }
    if (role == Role::kCollector) TwoFinishedPipes();
    std::uint32_t abi = 0;
    const Result<void> locked = role == Role::kWarden ? LockWarden() : LockHelper(role, &abi);
    if (!locked.ok()) {
      errno = locked.error().system_error;
      Broken(locked.error().subject.c_str());
    }
    body();
  });
}

void Say(const char* what, long result) {
  const int error = errno;
  char line[200];
  const int length =
      snprintf(line, sizeof line, "%s=%s\n", what, result >= 0 ? "ok" : strerrorname_np(error));
  if (write(2, line, static_cast<std::size_t>(length)) != length) _exit(98);
}

TemporaryDirectory::TemporaryDirectory() {
  char name[] = "/tmp/bailiff-lockdown-XXXXXX";
  if (mkdtemp(name) == nullptr) ADD_FAILURE() << "mkdtemp";
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryDirectory::Make(const char* name) const {
  const std::string path = path_ + '/' + name;
  EXPECT_EQ(mkdir(path.c_str(), 0755), 0) << path;
  return path;
}

std::string TemporaryDirectory::Write(const char* name, const char* content) const {
  const std::string path = path_ + '/' + name;
  std::ofstream(path) << content;
  return path;
}

}  // namespace bailiff::policy::arena
