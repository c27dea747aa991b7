// SPDX-License-Identifier: Apache-2.0
// The candidate's lock: ordinary programs run under it, and what it refuses is refused with an
// error that they can go on from.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>

#include "arena.h"
#include "policy/lockdown.h"

namespace bailiff::policy {
namespace {

using arena::Ended;
using arena::Say;

Ended AsCandidate(const std::function<void()>& body) {
  return arena::Run([&body] {
    arena::EnterOwnNamespaces(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS);
    if (const Result<void> locked = LockCandidate(); !locked.ok()) {
      dprintf(2, "%s: %s\n", locked.error().subject.c_str(), locked.error().why.c_str());
      _exit(97);
    }
    body();
  });
}

// Runs a shell script in `directory` with its standard output on the pipe.
Ended Script(const std::string& directory, const std::string& script) {
  return AsCandidate([&] {
    dup2(2, 1);
    if (chdir(directory.c_str()) != 0) _exit(96);
    const char* const arguments[] = {"sh", "-ec", script.c_str(), nullptr};
    const char* const environment[] = {"PATH=/usr/bin:/bin", "LC_ALL=C", nullptr};
    execve("/bin/sh", const_cast<char* const*>(arguments), const_cast<char* const*>(environment));
    _exit(95);
  });
}

TEST(Candidate, b06_ArgumentsWithHighBitsAreRefusedLikeThoseWithout) {
  const Ended ended = AsCandidate([] {
    const unsigned long high = 0x5A5AUL << 32;
    Say("TIOCSTI", syscall(SYS_ioctl, 0, TIOCSTI, "x"));
    Say("TIOCSTI high", syscall(SYS_ioctl, 0, high | TIOCSTI, "x"));
    Say("TIOCLINUX high", syscall(SYS_ioctl, 0, high | TIOCLINUX, "x"));
    Say("vsock", syscall(SYS_socket, AF_VSOCK, SOCK_STREAM, 0));
    Say("vsock high", syscall(SYS_socket, high | AF_VSOCK, SOCK_STREAM, 0));
    Say("packet", syscall(SYS_socket, AF_PACKET, SOCK_RAW, 0));
    Say("alg", syscall(SYS_socket, AF_ALG, SOCK_SEQPACKET, 0));
    Say("netlink audit", syscall(SYS_socket, AF_NETLINK, SOCK_RAW, NETLINK_AUDIT));
    Say("netlink route", syscall(SYS_socket, AF_NETLINK, SOCK_RAW, high | NETLINK_ROUTE));
    Say("unix", syscall(SYS_socket, high | AF_UNIX, SOCK_STREAM, 0));
    Say("personality", syscall(SYS_personality, high | 0x0400000));
    Say("clone user", syscall(SYS_clone, high | CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
    Say("unshare", syscall(SYS_unshare, CLONE_NEWUSER));
    Say("device", syscall(SYS_mknodat, AT_FDCWD, "/tmp/x", high | S_IFCHR | 0600, 0x103));
  });
  EXPECT_EQ(ended.said,
            "TIOCSTI=EPERM\nTIOCSTI high=EPERM\nTIOCLINUX high=EPERM\nvsock=EAFNOSUPPORT\n"
            "vsock high=EAFNOSUPPORT\npacket=EAFNOSUPPORT\nalg=EAFNOSUPPORT\n"
            "netlink audit=EAFNOSUPPORT\nnetlink route=ok\nunix=ok\npersonality=EPERM\n"
            "clone user=EPERM\nunshare=EPERM\ndevice=EPERM\n");
}

TEST(Candidate, b07_IoUringIsAbsent) {
  const Ended ended = AsCandidate([] {
    char parameters[120] = {};
    Say("setup", syscall(SYS_io_uring_setup, 8, parameters));
    Say("enter", syscall(SYS_io_uring_enter, 3, 1, 0, 0, nullptr, 0));
    Say("register", syscall(SYS_io_uring_register, 3, 0, nullptr, 0));
  });
  EXPECT_EQ(ended.said, "setup=ENOSYS\nenter=ENOSYS\nregister=ENOSYS\n");
}

TEST(Candidate, KernelInterfacesAreRefused) {
  const Ended ended = AsCandidate([] {
    Say("keyctl", syscall(SYS_keyctl, 0, -3, 0, 0, 0));
    Say("add_key", syscall(SYS_add_key, "user", "x", "y", 1, -3));
    Say("bpf", syscall(SYS_bpf, 0, nullptr, 0));
    Say("ptrace", syscall(SYS_ptrace, 0, 0, 0, 0));
    Say("process_vm_readv", syscall(SYS_process_vm_readv, getpid(), nullptr, 0, nullptr, 0, 0));
    Say("userfaultfd", syscall(SYS_userfaultfd, 1));
    Say("perf", syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0));
    Say("mount", syscall(SYS_mount, nullptr, "/", nullptr, 32, nullptr));
    Say("clone3", syscall(SYS_clone3, nullptr, 0));
  });
  EXPECT_EQ(ended.said,
            "keyctl=EPERM\nadd_key=EPERM\nbpf=EPERM\nptrace=EPERM\nprocess_vm_readv=EPERM\n"
            "userfaultfd=EPERM\nperf=EPERM\nmount=EPERM\nclone3=ENOSYS\n");
}

TEST(Candidate, b06_ForeignAbisAreKilled) {
  EXPECT_TRUE(AsCandidate([] { syscall(0x40000000L | 41, 2, 1, 0); }).killed(SIGSYS));
  const Ended ended = AsCandidate([] {
    long result = 20;
    __asm__ volatile("int $0x80" : "+a"(result) : : "memory");
  });
  EXPECT_TRUE(ended.killed(SIGSYS) || ended.killed(SIGSEGV)) << ended.status;
}

TEST(Candidate, HasNoRightsLeftAcrossExec) {
  const Ended ended =
      Script("/", "grep -E '^(Cap...|NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\\t'");
  EXPECT_EQ(ended.said,
            "CapInh:0000000000000000\nCapPrm:0000000000000000\nCapEff:0000000000000000\n"
            "CapBnd:0000000000000000\nCapAmb:0000000000000000\nNoNewPrivs:1\nSeccomp:2\n");
}

TEST(Candidate, CompilerMakeAndShellRun) {
  arena::TemporaryDirectory directory;
  directory.Write("a.c",
                  "#include <pthread.h>\n#include <stdio.h>\n"
                  "static void *f(void *p) { return p; }\n"
                  "int main(void) { pthread_t t; if (pthread_create(&t, 0, f, 0)) return 1;\n"
                  "pthread_join(t, 0); puts(\"threads\"); return 0; }\n");
  directory.Write("Makefile", "all: a\n\t./a\na: a.o\n\t$(CC) -o a a.o -lpthread\n");
  const Ended ended =
      Script(directory.path(), "make -s -j2 CC=gcc; make -s CC=gcc | sort | uniq -c");
  EXPECT_TRUE(ended.exited(0)) << ended.said;
  EXPECT_EQ(ended.said, "threads\n      1 threads\n");
}

TEST(Candidate, BusyboxBashAndPerlRun) {
  arena::TemporaryDirectory directory;
  const Ended ended = Script(
      directory.path(),
      "busybox sh -c 'mkfifo p; (echo pipe >p &) ; cat p; ls -l / >/dev/null; busybox ip addr "
      ">/dev/null; "
      "id >/dev/null; ps >/dev/null; echo busybox'\n"
      "bash -c 'sleep 0 & wait; x=$(echo sub | cat); echo bash'\n"
      "perl -MSocket -e 'socketpair(A, B, AF_UNIX, SOCK_STREAM, 0) or die; pipe(C, D) or die; "
      "my $p = fork(); exit 3 unless $p; waitpid($p, 0); die if $? != 768; print qq(perl\\n)'\n");
  EXPECT_TRUE(ended.exited(0)) << ended.said;
  EXPECT_EQ(ended.said, "pipe\nbusybox\nbash\nperl\n");
}

}  // namespace
}  // namespace bailiff::policy
