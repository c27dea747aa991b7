// SPDX-License-Identifier: Apache-2.0
// The calls of probe.cc that take more than one line. Each answers as a system call does: at least
// 0, or -1 with errno.
#pragma once

#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

namespace bailiff::probe {

inline constexpr unsigned kTimeNamespace = 0x80;  // CLONE_NEWTIME

inline long Clone3(std::uint64_t flags) {
  clone_args arguments{};
  arguments.flags = flags;
  arguments.exit_signal = SIGCHLD;
  const long pid = syscall(SYS_clone3, &arguments, sizeof arguments);
  if (pid == 0) _exit(0);
  return pid;
}

inline long CloneOld(unsigned long flags) {
  const long pid = syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, 0);
  if (pid == 0) _exit(0);
  return pid;
}

// The same call by the 32-bit entry: another table of numbers that a filter of one architecture
// would misread (b06). 20 is getpid there.
inline long Int80() {
  long result = 0;
  asm volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
  return result;
}

inline long X32() { return syscall(0x40000000 | SYS_getpid); }

inline long Vsock() { return socket(AF_VSOCK, SOCK_STREAM, 0); }

inline long ConnectAbstract(const char* name) {
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (fd < 0) return -1;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path + 1, name, sizeof address.sun_path - 2);
  return connect(fd, reinterpret_cast<sockaddr*>(&address),
                 static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + std::strlen(name)));
}

// Listens on the name in the cell's own network namespace until it is killed.
inline long ListenAbstract() {
  const char name[] = "bailiff-test-abstract";
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path + 1, name, sizeof address.sun_path - 2);
  if (bind(fd, reinterpret_cast<sockaddr*>(&address),
           static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + sizeof name)) < 0)
    return -1;
  if (listen(fd, 1) < 0) return -1;
  std::printf("abstract_listen up\n");
  std::fflush(stdout);
  return pause();
}

// The environment as it was given, sorted; no shell that would add to it.
inline int Environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  std::sort(entries.begin(), entries.end());
  for (const std::string& entry : entries) std::printf("%s\n", entry.c_str());
  return 0;
}

// 192.0.2.0/24 is for documentation: nobody answers there (RFC 5737).
inline long Reach(int type) {
  const int fd = socket(AF_INET, type, 0);
  if (fd < 0) return -1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(53);
  address.sin_addr.s_addr = htonl(0xC0000201);
  return connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
}

// The loopback of the cell is up: nobody listens, so the kernel itself answers.
inline long ReachLoopback() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(1);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
}

inline long Remount(const char* path) {
  return mount(nullptr, path, nullptr, MS_REMOUNT | MS_BIND, nullptr);
}

inline long RemountBySetattr() {
  mount_attr attributes{};
  attributes.attr_clr = MOUNT_ATTR_RDONLY;
  return mount_setattr(AT_FDCWD, "/source", 0, &attributes, sizeof attributes);
}

inline long RunMemfd() {
  const int fd = static_cast<int>(syscall(SYS_memfd_create, "probe", MFD_CLOEXEC));
  if (fd < 0) return -1;
  const int self = open("/bin/busybox", O_RDONLY | O_CLOEXEC);
  char buffer[65536];
  ssize_t got = 0;
  while ((got = read(self, buffer, sizeof buffer)) > 0) {
    if (write(fd, buffer, static_cast<std::size_t>(got)) != got) return -1;
  }
  char name[] = "true";
  char* const arguments[] = {name, nullptr};
  char* const none[] = {nullptr};
  return syscall(SYS_execveat, fd, "", arguments, none, AT_EMPTY_PATH);
}

inline long Traced() {
  // Another process of the cell: its parent.
  return ptrace(PTRACE_ATTACH, getppid(), nullptr, nullptr);
}

inline long FillScratch() {
  const int fd = open("/scratch/fill", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return -1;
  static char block[65536];
  for (int i = 0; i < 65536; ++i) {
    if (write(fd, block, sizeof block) < 0) {
      const int error = errno;
      unlink("/scratch/fill");
      errno = error;
      return -1;
    }
  }
  return 0;
}

inline long FillInodes() {
  char name[64];
  for (int i = 0; i < 100000; ++i) {
    std::snprintf(name, sizeof name, "/scratch/inode%d", i);
    const int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) {
      const int error = errno;
      for (int j = 0; j < i; ++j) {
        std::snprintf(name, sizeof name, "/scratch/inode%d", j);
        unlink(name);
      }
      errno = error;
      return -1;
    }
    close(fd);
  }
  return 0;
}

inline long ForkFlood() {
  // Children wait; the parent counts how many the limit let live.
  for (int i = 0; i < 4096; ++i) {
    const pid_t pid = fork();
    if (pid < 0) {
      const int error = errno;
      std::printf("fork_count %d\n", i);
      std::fflush(stdout);
      errno = error;
      return -1;
    }
    if (pid == 0) {
      pause();
      _exit(0);
    }
  }
  return 0;
}

inline long SetTime() {
  timeval now{};
  gettimeofday(&now, nullptr);
  return settimeofday(&now, nullptr);
}

inline long Raise(int resource) {
  rlimit limit{};
  getrlimit(resource, &limit);
  ++limit.rlim_max;
  return setrlimit(resource, &limit);
}

inline long PerfOpen() {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  return syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0);
}

inline long Segv() {
  raise(SIGSEGV);  // ignored: sent by itself to pid 1, or not; the next line is a true fault
  volatile std::uintptr_t nowhere = 8;
  *reinterpret_cast<volatile int*>(nowhere) = 1;
  return 0;
}

}  // namespace bailiff::probe
