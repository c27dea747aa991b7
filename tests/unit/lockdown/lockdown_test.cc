// SPDX-License-Identifier: Apache-2.0
// A locked helper as the kernel sees it, and what becomes of one that calls something else.
#include "policy/lockdown.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "arena.h"

namespace bailiff::policy {
namespace {

using arena::Ended;
using arena::RunLocked;
using testing::HasSubstr;

class LockedHelper : public testing::TestWithParam<Role> {
 protected:
  Ended Try(const std::function<void()>& body) const {
    const bool files = GetParam() == Role::kSnapshotter || GetParam() == Role::kImporter;
    return RunLocked(GetParam(), files ? in_ : "", files ? out_ : "", body);
  }
  // The body must not come back; "survived" tells when it did.
  void ExpectKilled(const char* what, const std::function<void()>& body) const {
    const Ended ended = Try([&body] {
      body();
      arena::Say("survived", 0);
    });
    EXPECT_TRUE(ended.killed(SIGSYS)) << what << " status " << ended.status << ' ' << ended.said;
  }
  void ExpectTrapped(const char* what, long number, const std::function<void()>& body) const {
    const Ended ended = Try([&body] {
      body();
      arena::Say("survived", 0);
    });
    EXPECT_TRUE(ended.exited(kForbiddenCallExit)) << what << " status " << ended.status;
    EXPECT_EQ(ended.said, "SIGSYS: " + std::string(RoleName(GetParam())) + ": system call " +
                              std::to_string(number) + " (arch 0xc000003e) is not allowed\n")
        << what;
  }

  arena::TemporaryDirectory directory_;
  std::string in_ = directory_.Make("in");
  std::string out_ = directory_.Make("out");
};

INSTANTIATE_TEST_SUITE_P(Roles, LockedHelper,
                         testing::Values(Role::kCollector, Role::kSnapshotter, Role::kImporter,
                                         Role::kWarden),
                         [](const auto& one) { return std::string(RoleName(one.param)); });

TEST_P(LockedHelper, h05_ForbiddenCallIsNamedAndFinal) {
  ExpectTrapped("getxattr", SYS_getxattr, [] { syscall(SYS_getxattr, "/", "user.x", nullptr, 0); });
#ifndef BAILIFF_SANITIZE  // filter_sanitizer.cc
  ExpectTrapped("sigaction", SYS_rt_sigaction, [] { signal(SIGSYS, SIG_IGN); });
  ExpectTrapped("sigprocmask", SYS_rt_sigprocmask, [] {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
  });
#endif
}

TEST_P(LockedHelper, h05_ForbiddenCallInSignalHandlerStateStaysFinal) {
  // A second forbidden call cannot happen: the handler ends the process in its own frame.
  const Ended ended = Try([] {
    syscall(SYS_getppid);
    syscall(SYS_getppid);
  });
  EXPECT_TRUE(ended.exited(kForbiddenCallExit));
}

TEST_P(LockedHelper, h05_LibraryCanStillSayWhatWentWrong) {
  const Ended words = Try([] { dprintf(2, "%s %d\n", "words", 7); });
  EXPECT_EQ(words.said, "words 7\n");
  EXPECT_TRUE(words.exited(0));
}

TEST_P(LockedHelper, h05_AbortEndsTheProcess) {
  const Ended ended = Try([] { abort(); });
  EXPECT_FALSE(ended.exited(0));
  EXPECT_TRUE(ended.exited(kForbiddenCallExit) || ended.killed(SIGSYS) || ended.killed(SIGABRT));
}

TEST_P(LockedHelper, h05_NewerCallsGiveEnosys) {
  const Ended ended = Try([] {
    arena::Say("fchmodat2", syscall(452, -1, "x", 0, 0));
    arena::Say("future", syscall(4000));
  });
  EXPECT_EQ(ended.said, "fchmodat2=ENOSYS\nfuture=ENOSYS\n");
}

TEST_P(LockedHelper, NoNewProcess) {
  ExpectKilled("fork", [] { syscall(SYS_fork); });
  ExpectKilled("clone", [] { syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); });
  ExpectKilled("clone3", [] { syscall(SYS_clone3, nullptr, 0); });
  ExpectKilled("execve", [] { syscall(SYS_execve, "/bin/sh", nullptr, nullptr); });
  ExpectKilled("execveat", [] { syscall(SYS_execveat, 3, "", nullptr, nullptr, AT_EMPTY_PATH); });
}

TEST_P(LockedHelper, NoSocketAndNoSignal) {
  ExpectKilled("socket", [] { syscall(SYS_socket, AF_INET, SOCK_STREAM, 0); });
  ExpectKilled("socketpair", [] { syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, nullptr); });
  ExpectKilled("connect", [] { syscall(SYS_connect, 3, nullptr, 0); });
  ExpectKilled("kill", [] { syscall(SYS_kill, 1, 0); });
  ExpectKilled("pidfd_getfd", [] { syscall(SYS_pidfd_getfd, 3, 0, 0); });
  ExpectTrapped("sendmsg beside the channel", SYS_sendmsg,
                [] { syscall(SYS_sendmsg, 4, nullptr, 0); });
}

TEST_P(LockedHelper, NoExecutableMemory) {
  const auto map = [](long protection) {
    return syscall(SYS_mmap, nullptr, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  };
#ifndef BAILIFF_SANITIZE  // filter_sanitizer.cc
  ExpectTrapped("mmap", SYS_mmap, [&] { map(PROT_READ | PROT_EXEC); });
  ExpectTrapped("mmap with its high half set", SYS_mmap,
                [&] { map((1L << 32) | PROT_READ | PROT_EXEC); });
  ExpectTrapped("mprotect", SYS_mprotect,
                [] { syscall(SYS_mprotect, 4096, 4096, PROT_READ | PROT_EXEC); });
#endif
  ExpectKilled("pkey_mprotect", [] { syscall(SYS_pkey_mprotect, 4096, 4096, PROT_EXEC, -1); });
  ExpectKilled("personality", [] { syscall(SYS_personality, 0x0400000); });
  ExpectKilled("memfd_create", [] { syscall(SYS_memfd_create, "x", 0); });
  const Ended ended = Try([&] { arena::Say("plain memory", map(PROT_READ | PROT_WRITE)); });
  EXPECT_EQ(ended.said, "plain memory=ok\n");
}

TEST_P(LockedHelper, b06_ForeignNumbersAreKilled) {
  ExpectKilled("x32 socket", [] { syscall(0x40000000L | 41, AF_INET, SOCK_STREAM, 0); });
  ExpectKilled("x32 ptrace", [] { syscall(0x40000000L | 101, 0, 0, 0, 0); });
  const Ended ended = Try([] {
    long result = 20;  // i386 getpid
    __asm__ volatile("int $0x80" : "+a"(result) : : "memory");
    arena::Say("survived", 0);
  });
  // Without CONFIG_IA32_EMULATION the instruction itself faults.
  EXPECT_TRUE(ended.killed(SIGSYS) || ended.killed(SIGSEGV)) << ended.status << ended.said;
}

TEST_P(LockedHelper, b07_IoUringIsKilled) {
  ExpectKilled("setup", [] { syscall(SYS_io_uring_setup, 8, nullptr); });
  ExpectKilled("enter", [] { syscall(SYS_io_uring_enter, 3, 1, 0, 0, nullptr, 0); });
  ExpectKilled("register", [] { syscall(SYS_io_uring_register, 3, 0, nullptr, 0); });
}

TEST_P(LockedHelper, ChangingTheViewOrTheNamespacesIsKilled) {
  ExpectKilled("unshare", [] { syscall(SYS_unshare, 0x10000000); });
  ExpectKilled("setns", [] { syscall(SYS_setns, 3, 0); });
  ExpectKilled("mount", [] { syscall(SYS_mount, nullptr, "/", nullptr, 32, nullptr); });
  ExpectKilled("chroot", [] { syscall(SYS_chroot, "/"); });
  ExpectKilled("open_tree", [] { syscall(SYS_open_tree, -100, "/", 1); });
  ExpectKilled("open_by_handle_at", [] { syscall(SYS_open_by_handle_at, 3, nullptr, 0); });
  ExpectKilled("ptrace", [] { syscall(SYS_ptrace, 0, 0, 0, 0); });
  ExpectKilled("bpf", [] { syscall(SYS_bpf, 0, nullptr, 0); });
  ExpectKilled("keyctl", [] { syscall(SYS_keyctl, 0, 0); });
}

// What the controller reads before it sends work. The process opens its own status before the lock
// and copies it out afterwards, so the view and the filter stay as they are in production.
TEST_P(LockedHelper, ProcShowsNothingLeft) {
  const Ended ended = arena::Run([] {
    arena::EnterOwnNamespaces();
    std::uint32_t abi = 0;
    const int watcher_pipe = 4;
    int ends[2];
    if (pipe(ends) != 0 || ends[0] != watcher_pipe) _exit(97);
    const pid_t locked = fork();
    if (locked == 0) {
      const Result<void> done =
          GetParam() == Role::kWarden ? LockWarden() : LockHelper(GetParam(), &abi);
      if (!done.ok()) _exit(96);
      // Closing the other end tells the watcher; reading the channel waits for its answer.
      close(ends[1]);
      char byte = 0;
      iovec part{&byte, 1};
      msghdr header{};
      header.msg_iov = &part;
      header.msg_iovlen = 1;
      recvmsg(3, &header, 0);
      _exit(0);
    }
    close(ends[1]);
    char byte = 0;
    if (read(ends[0], &byte, 1) != 0) _exit(95);
    std::ifstream status("/proc/" + std::to_string(locked) + "/status");
    std::string line;
    while (std::getline(status, line)) {
      for (const char* name : {"CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:", "NoNewPrivs:",
                               "Seccomp:", "Threads:"}) {
        if (line.starts_with(name)) dprintf(2, "%s\n", line.c_str());
      }
    }
    kill(locked, SIGKILL);
    waitpid(locked, nullptr, 0);
  });
  // The warden alone keeps one: CAP_KILL (5), to end a child that has another id.
  const std::string left = GetParam() == Role::kWarden ? "0000000000000020" : "0000000000000000";
  EXPECT_EQ(ended.said, "Threads:\t1\nCapInh:\t0000000000000000\nCapPrm:\t" + left + "\nCapEff:\t" +
                            left +
                            "\nCapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\n"
                            "NoNewPrivs:\t1\nSeccomp:\t2\n");
}

}  // namespace
}  // namespace bailiff::policy
