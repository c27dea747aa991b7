// SPDX-License-Identifier: Apache-2.0
#include "ipc/spawn.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "ipc/bounds.h"
#include "ipc/fault.h"
#include "ipc/frame.h"

namespace bailiff::ipc {
namespace {

constexpr int kScratchFds = 256;  // above every number a child keeps
// ioprio_set(2). <linux/ioprio.h> of newer kernels names a parameter `class` and is no C++.
constexpr int kIoprioWhoProcess = 1;
constexpr int kIoprioNone = 0;

[[noreturn]] void ChildFail(const char* step) {
  const int error = errno;
  dprintf(kDiagnosisFd, "spawn: %s: %s\n", step,
          strerrorname_np(error) != nullptr ? strerrorname_np(error) : "?");
  _exit(127);
}

// Nothing a parent can set survives into the child: a helper behaves the same whoever called us.
void ResetInherited() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) sigaction(signal, &action, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  umask(077);
  if (chdir("/") != 0) ChildFail("chdir");
  setsid();
  personality(PER_LINUX);
  prctl(PR_SET_TIMERSLACK, 0UL);
  syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr);
  sched_param normal{};
  sched_setscheduler(0, SCHED_OTHER, &normal);
  setpriority(PRIO_PROCESS, 0, 0);
  syscall(SYS_ioprio_set, kIoprioWhoProcess, 0, kIoprioNone);
}

void PlaceDescriptors(const std::vector<int>& wanted, int executable, int* executable_at) {
  std::vector<int> high;
  for (const int fd : wanted) {
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, kScratchFds);
    if (copy < 0) ChildFail("F_DUPFD");
    high.push_back(copy);
  }
  const int program = fcntl(executable, F_DUPFD_CLOEXEC, kScratchFds);
  if (program < 0) ChildFail("F_DUPFD");
  int next = 0;
  for (const int fd : high) {
    if (dup2(fd, next++) < 0) ChildFail("dup2");
  }
  if (dup3(program, next, O_CLOEXEC) < 0) ChildFail("dup3");
  *executable_at = next;
  if (close_range(static_cast<unsigned>(next) + 1, ~0U, 0) != 0) ChildFail("close_range");
}

void RaiseOomScore() {
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, "1000", 4) != 4) ChildFail("oom_score_adj");
  close(fd);
}

// What the child has of the spawner until it is released.
struct Start {
  int sync;  // it writes one byte when its maps may be written; ends when the spawner does
  int go;    // an eventfd
};

// An eventfd and not a byte on the socket: the kernel takes the writer of a socket for about to
// sleep and puts the reader on the same CPU, behind it.
void AwaitRelease(const Start& start) {
  for (;;) {
    pollfd polls[2] = {{start.go, POLLIN, 0}, {start.sync, POLLIN, 0}};
    if (poll(polls, 2, -1) < 0 && errno != EINTR) ChildFail("poll");
    if (polls[0].revents != 0)
      return;  // first: the spawner closes the socket once it has released us
    if (polls[1].revents != 0) _exit(127);  // the spawner is gone
  }
}

[[noreturn]] void RunChild(const SpawnRequest& request, const Start& start, int null_fd,
                           int diagnosis, int channel) {
  if (dup2(diagnosis, kDiagnosisFd) < 0) _exit(127);
  if (prctl(PR_SET_DUMPABLE, 1UL) != 0) ChildFail("PR_SET_DUMPABLE");
  const char ready = 'd';
  if (write(start.sync, &ready, 1) != 1) ChildFail("ready");
  // Made here and not by clone(2): it takes longer than all the others together, and the spawner
  // has the maps to write meanwhile. It belongs to the new user namespace either way.
  if ((request.namespaces & CLONE_NEWNET) != 0 && unshare(CLONE_NEWNET) != 0)
    ChildFail("network namespace");
  AwaitRelease(start);
  if (!request.tasks.empty()) {
    for (const int tasks : request.tasks) {
      if (write(tasks, "0", 1) != 1) ChildFail("tasks");
    }
  }
  if (request.clear_groups && setgroups(0, nullptr) != 0) ChildFail("setgroups");
  if (setresgid(request.gid, request.gid, request.gid) != 0) ChildFail("setresgid");
  if (setresuid(request.uid, request.uid, request.uid) != 0) ChildFail("setresuid");
  if (prctl(PR_SET_DUMPABLE, 1UL) != 0)
    ChildFail("PR_SET_DUMPABLE");  // set*id cleared it; the next file is ours only with it
  RaiseOomScore();
  ResetInherited();
  std::vector<int> wanted = {null_fd, null_fd, kDiagnosisFd, channel};
  wanted.insert(wanted.end(), request.descriptors.begin(), request.descriptors.end());
  int executable = -1;
  PlaceDescriptors(wanted, request.executable, &executable);
  // After the descriptors: their scratch numbers may lie above the new RLIMIT_NOFILE.
  for (const ResourceLimit& limit : request.limits) {
    rlimit now{};
    if (getrlimit(limit.resource, &now) != 0) ChildFail("getrlimit");
    now.rlim_cur = now.rlim_max = std::min(limit.value, now.rlim_max);
    if (setrlimit(limit.resource, &now) != 0) ChildFail("setrlimit");
  }
  if (prctl(PR_SET_PDEATHSIG, static_cast<unsigned long>(SIGKILL)) != 0)
    ChildFail("PR_SET_PDEATHSIG");
  // The signal is not sent for a parent that died before prctl, and getppid() is 0 in a new pid
  // namespace: ask the channel instead.
  pollfd parent{kChannelFd, POLLIN, 0};
  if (poll(&parent, 1, 0) < 0 || (parent.revents & (POLLHUP | POLLERR)) != 0) _exit(127);
  char* const arguments[] = {const_cast<char*>(request.name), nullptr};
#ifdef BAILIFF_TESTING
  std::string fault;
  if (const char* set = getenv("BAILIFF_HELPER_FAULT"); set != nullptr)
    fault = std::string("BAILIFF_FAULT=") + set;
  char* const environment[] = {fault.empty() ? nullptr : fault.data(), nullptr};
#else
  char* const environment[] = {nullptr};
#endif
  syscall(SYS_execveat, executable, "", arguments, environment, AT_EMPTY_PATH);
  ChildFail("execveat");
}

Result<void> WriteMap(pid_t pid, const char* file, const std::vector<IdMap>& lines) {
  std::string text;
  for (const IdMap& line : lines) {
    text += std::to_string(line.inside) + ' ' + std::to_string(line.outside) + ' ' +
            std::to_string(line.count) + '\n';
  }
  return WriteFileAt(AT_FDCWD, ("/proc/" + std::to_string(pid) + '/' + file).c_str(), text);
}

Result<void> Release(pid_t pid, int sync, int go, const SpawnRequest& request) {
  char byte = 0;
  ssize_t got = -1;
  do {
    got = read(sync, &byte, 1);
  } while (got < 0 && errno == EINTR);
  if (got != 1)
    return Error{ErrorCode::kSpawn, request.name, "the child ended before it was ready", 0, {}};
  if (!request.uid_map.empty()) {
    BAILIFF_TRY(WriteMap(pid, "uid_map", request.uid_map));
    if (!request.clear_groups) {
      // Already "deny" by inheritance in one-id mode; the kernel demands it before a gid map of
      // one's own.
      BAILIFF_TRY(
          WriteFileAt(AT_FDCWD, ("/proc/" + std::to_string(pid) + "/setgroups").c_str(), "deny"));
    }
    BAILIFF_TRY(WriteMap(pid, "gid_map", request.gid_map));
  }
  if (eventfd_write(go, 1) != 0) return SystemError("eventfd_write", "child");
  return {};
}

}  // namespace

Result<Child> Spawn(const SpawnRequest& request) {
  BAILIFF_TRY_ASSIGN(ChannelPair channel, MakeChannel());
  BAILIFF_TRY_ASSIGN(Pipe diagnosis, MakePipe(O_NONBLOCK));
  BAILIFF_TRY_ASSIGN(const Fd null_fd, OpenAt(AT_FDCWD, "/dev/null", O_RDWR));
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
    return SystemError("socketpair", "spawn");
  Fd sync(pair[0]);
  Fd child_sync(pair[1]);
  const Fd go(eventfd(0, EFD_CLOEXEC));
  if (!go.valid()) return SystemError("eventfd", "spawn");

  int pidfd = -1;
  clone_args arguments{};
  arguments.flags = (request.namespaces & ~std::uint64_t{CLONE_NEWNET}) | CLONE_PIDFD;
  arguments.pidfd = reinterpret_cast<std::uintptr_t>(&pidfd);
  arguments.exit_signal = SIGCHLD;
  if (request.cgroup >= 0) {
    arguments.flags |= CLONE_INTO_CGROUP;
    arguments.cgroup = static_cast<std::uint64_t>(request.cgroup);
  }
  const long pid = syscall(SYS_clone3, &arguments, sizeof arguments);
  if (pid < 0) return SystemError("clone3", request.name);
  if (pid == 0) {
    // Our ends must not live on in the child, or it could not tell that we died.
    close(channel.ours.get());
    close(sync.get());
    RunChild(request, {child_sync.get(), go.get()}, null_fd.get(), diagnosis.write.get(),
             channel.theirs.get());
  }
  Child child{static_cast<pid_t>(pid), Fd(pidfd), std::move(channel.ours),
              std::move(diagnosis.read)};
  child_sync.reset();
  Result<void> released = Result<void>();
  if (const int error = BAILIFF_FAULT(SpawnCloned))
    released = SystemError("clone3", request.name, error);
  if (released.ok()) released = Release(child.pid, sync.get(), go.get(), request);
  if (const int error = BAILIFF_FAULT(SpawnReleased); error != 0 && released.ok()) {
    released = SystemError("spawn", request.name, error);
  }
  if (!released.ok()) {
    syscall(SYS_pidfd_send_signal, child.pidfd.get(), SIGKILL, nullptr, 0);
    siginfo_t info;
    waitid(P_PIDFD, static_cast<id_t>(child.pidfd.get()), &info, WEXITED | __WALL);
    return std::move(released).error();
  }
  return child;
}

}  // namespace bailiff::ipc
