// SPDX-License-Identifier: Apache-2.0
// Reports what it was started with in one frame, then waits for its channel to close.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <string>

#include "ipc/frame.h"

extern char** environ;

namespace {

std::string Link(int fd) {
  char target[4096];
  const ssize_t length =
      readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), target, sizeof target);
  return length < 0 ? "?" : std::string(target, static_cast<std::size_t>(length));
}

std::string Mode(int fd) {
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0) return "closed";
  return (flags & O_ACCMODE) == O_WRONLY   ? "write"
         : (flags & O_ACCMODE) == O_RDONLY ? "read"
                                           : "both";
}

}  // namespace

int main(int, char** argv) {
  std::string facts;
  const auto say = [&](const std::string& name, const std::string& value) {
    facts += name + ' ' + value + '\n';
  };
  std::set<int> open_fds;
  DIR* directory = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(directory))
      open_fds.insert(atoi(entry->d_name));
  }
  closedir(directory);
  std::string fds;
  for (const int fd : open_fds) fds += (fds.empty() ? "" : " ") + std::to_string(fd);
  say("fds", fds);
  say("fd0", Link(0));
  say("fd1", Link(1));
  say("mode4", Mode(4));
  say("mode5", Mode(5));
  int variables = 0;
  for (char** entry = environ; *entry != nullptr; ++entry) ++variables;
  say("environment", std::to_string(variables));
  const mode_t mask = umask(0);
  char text[64];
  snprintf(text, sizeof text, "%o", mask);
  say("umask", text);
  char cwd[256];
  say("cwd", getcwd(cwd, sizeof cwd) == nullptr ? "?" : cwd);
  int ignored = 0;
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) ++ignored;
  }
  say("ignored", std::to_string(ignored));
  sigset_t blocked;
  sigprocmask(SIG_BLOCK, nullptr, &blocked);
  int count = 0;
  for (int signal = 1; signal < NSIG; ++signal) count += sigismember(&blocked, signal) == 1 ? 1 : 0;
  say("blocked", std::to_string(count));
  uid_t r = 1;
  uid_t e = 1;
  uid_t s = 1;
  getresuid(&r, &e, &s);
  say("uid", std::to_string(r) + ' ' + std::to_string(e) + ' ' + std::to_string(s));
  getresgid(&r, &e, &s);
  say("gid", std::to_string(r) + ' ' + std::to_string(e) + ' ' + std::to_string(s));
  say("groups", std::to_string(getgroups(0, nullptr)));
  say("session", getsid(0) == getpid() ? "own" : "shared");
  int deathsig = 0;
  prctl(PR_GET_PDEATHSIG, &deathsig);
  say("deathsig", std::to_string(deathsig));
  char oom[16] = {};
  const int fd = open("/proc/self/oom_score_adj", O_RDONLY | O_CLOEXEC);
  const ssize_t got = read(fd, oom, sizeof oom - 1);
  say("oom", std::string(oom, got > 0 ? static_cast<std::size_t>(got) - 1 : 0));
  close(fd);
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  say("nofile", std::to_string(limit.rlim_cur) + ' ' + std::to_string(limit.rlim_max));
  getrlimit(RLIMIT_CORE, &limit);
  say("core", std::to_string(limit.rlim_cur) + ' ' + std::to_string(limit.rlim_max));
  say("argv0", argv[0]);
  if (!bailiff::ipc::SendFrame(bailiff::ipc::kChannelFd, facts).ok()) return 1;
  bailiff::ipc::FrameReader reader;
  while (reader.Receive(bailiff::ipc::kChannelFd, bailiff::ipc::FrameReader::Wait::kBlock).ok() &&
         !reader.closed()) {
  }
  return 0;
}
