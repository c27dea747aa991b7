// SPDX-License-Identifier: Apache-2.0
// Raw system calls from inside a cell, for canaries: `probe NAME…` makes each call in a process of
// its own and prints one line: the name, then OK, the errno's name, or the signal that ended it.
// Arguments are such that a call which is let through has no effect on the host. Static, no
// library of ours: what it shows is the kernel's answer and nothing else.
#include "tests/support/probe_calls.h"

namespace {

using namespace bailiff::probe;  // NOLINT(google-build-using-namespace): one list

struct Probe {
  const char* name;
  long (*call)();
};

const Probe kProbes[] = {
    {"getpid", [] { return static_cast<long>(getpid()); }},
    {"keyctl",
     [] { return syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0); }},
    {"add_key",
     [] { return syscall(SYS_add_key, "user", "probe", "x", 1, KEY_SPEC_SESSION_KEYRING); }},
    {"request_key", [] { return syscall(SYS_request_key, "user", "probe", nullptr, 0); }},
    {"bpf", [] { return syscall(SYS_bpf, 0, nullptr, 0); }},
    {"ptrace_attach", Traced},
    {"ptrace_traceme", [] { return ptrace(PTRACE_TRACEME, 0, nullptr, nullptr); }},
    {"process_vm_readv",
     [] { return syscall(SYS_process_vm_readv, getppid(), nullptr, 0, nullptr, 0, 0); }},
    {"pidfd_getfd", [] { return syscall(SYS_pidfd_getfd, -1, 0, 0); }},
    {"userfaultfd", [] { return syscall(SYS_userfaultfd, 0); }},
    {"io_uring_setup",
     [] {
       io_uring_params parameters{};
       return syscall(SYS_io_uring_setup, 1, &parameters);
     }},
    {"io_uring_enter", [] { return syscall(SYS_io_uring_enter, -1, 0, 0, 0, nullptr, 0); }},
    {"io_uring_register", [] { return syscall(SYS_io_uring_register, -1, 0, nullptr, 0); }},
    {"perf_event_open", PerfOpen},
    {"kexec_load", [] { return syscall(SYS_kexec_load, 0, 0, nullptr, 0); }},
    {"init_module", [] { return syscall(SYS_init_module, nullptr, 0, nullptr); }},
    {"reboot", [] { return syscall(SYS_reboot, 0, 0, 0, nullptr); }},
    {"swapon", [] { return syscall(SYS_swapon, "/nowhere", 0); }},
    {"acct", [] { return syscall(SYS_acct, nullptr); }},
    {"syslog", [] { return syscall(SYS_syslog, 10, nullptr, 0); }},
    {"fanotify_init", [] { return syscall(SYS_fanotify_init, 0, 0); }},
    {"open_by_handle_at", [] { return syscall(SYS_open_by_handle_at, AT_FDCWD, nullptr, 0); }},
    {"quotactl", [] { return syscall(SYS_quotactl, 0, nullptr, 0, nullptr); }},
    {"iopl", [] { return syscall(SYS_iopl, 3); }},
    {"ioperm", [] { return syscall(SYS_ioperm, 0x80, 1, 1); }},
    {"modify_ldt", [] { return syscall(SYS_modify_ldt, 0, nullptr, 0); }},
    {"unshare_user", [] { return static_cast<long>(unshare(CLONE_NEWUSER)); }},
    {"unshare_mount", [] { return static_cast<long>(unshare(CLONE_NEWNS)); }},
    {"unshare_pid", [] { return static_cast<long>(unshare(CLONE_NEWPID)); }},
    {"unshare_net", [] { return static_cast<long>(unshare(CLONE_NEWNET)); }},
    {"unshare_ipc", [] { return static_cast<long>(unshare(CLONE_NEWIPC)); }},
    {"unshare_uts", [] { return static_cast<long>(unshare(CLONE_NEWUTS)); }},
    {"unshare_cgroup", [] { return static_cast<long>(unshare(CLONE_NEWCGROUP)); }},
    {"unshare_time", [] { return static_cast<long>(unshare(kTimeNamespace)); }},
    {"clone_user", [] { return CloneOld(CLONE_NEWUSER); }},
    {"clone_mount", [] { return CloneOld(CLONE_NEWNS); }},
    {"clone_net", [] { return CloneOld(CLONE_NEWNET); }},
    {"clone_plain", [] { return CloneOld(0); }},
    {"clone3_user", [] { return Clone3(CLONE_NEWUSER); }},
    {"clone3_plain", [] { return Clone3(0); }},
    {"setns", [] { return syscall(SYS_setns, open("/proc/self/ns/net", O_RDONLY), 0); }},
    {"mount_tmpfs", [] { return static_cast<long>(mount("t", "/scratch", "tmpfs", 0, nullptr)); }},
    {"mount_proc", [] { return static_cast<long>(mount("p", "/proc", "proc", 0, nullptr)); }},
    {"remount_root", [] { return Remount("/"); }},
    {"remount_source", [] { return Remount("/source"); }},
    {"mount_setattr", RemountBySetattr},
    {"umount_source", [] { return static_cast<long>(umount2("/source", MNT_DETACH)); }},
    {"umount_proc_sys", [] { return static_cast<long>(umount2("/proc/sys", MNT_DETACH)); }},
    {"open_tree", [] { return static_cast<long>(open_tree(AT_FDCWD, "/", OPEN_TREE_CLONE)); }},
    {"fsopen", [] { return static_cast<long>(fsopen("tmpfs", 0)); }},
    {"move_mount", [] { return static_cast<long>(move_mount(-1, "", -1, "", 0)); }},
    {"pivot_root", [] { return syscall(SYS_pivot_root, "/", "/"); }},
    {"chroot", [] { return static_cast<long>(chroot("/scratch")); }},
    {"mknod_block",
     [] { return static_cast<long>(mknod("/scratch/b", S_IFBLK | 0600, makedev(254, 0))); }},
    {"mknod_char",
     [] { return static_cast<long>(mknod("/scratch/c", S_IFCHR | 0600, makedev(1, 1))); }},
    {"mknod_fifo", [] { return static_cast<long>(mknod("/scratch/f", S_IFIFO | 0600, 0)); }},
    {"sethostname", [] { return static_cast<long>(sethostname("x", 1)); }},
    {"setdomainname", [] { return static_cast<long>(setdomainname("x", 1)); }},
    {"settimeofday", SetTime},
    {"clock_settime",
     [] {
       timespec now{};
       clock_gettime(CLOCK_REALTIME, &now);
       return static_cast<long>(clock_settime(CLOCK_REALTIME, &now));
     }},
    {"personality_rie", [] { return static_cast<long>(personality(READ_IMPLIES_EXEC)); }},
    {"personality_addr", [] { return static_cast<long>(personality(ADDR_NO_RANDOMIZE)); }},
    {"personality_ask", [] { return static_cast<long>(personality(0xffffffff)); }},
    {"tiocsti",
     [] {
       char c = 'x';
       return static_cast<long>(ioctl(0, TIOCSTI, &c));
     }},
    {"tioclinux",
     [] {
       char c = 2;
       return static_cast<long>(ioctl(0, TIOCLINUX, &c));
     }},
    {"open_tty", [] { return static_cast<long>(open("/dev/tty", O_RDWR)); }},
    {"vsock", Vsock},
    {"packet", [] { return static_cast<long>(socket(AF_PACKET, SOCK_RAW, 0)); }},
    {"raw", [] { return static_cast<long>(socket(AF_INET, SOCK_RAW, 1)); }},
    {"alg", [] { return static_cast<long>(socket(AF_ALG, SOCK_SEQPACKET, 0)); }},
    {"netlink_audit", [] { return static_cast<long>(socket(AF_NETLINK, SOCK_RAW, 9)); }},
    {"net_tcp", [] { return Reach(SOCK_STREAM); }},
    {"net_udp", [] { return Reach(SOCK_DGRAM); }},
    {"net_loopback", ReachLoopback},
    {"abstract_listen", ListenAbstract},
    {"abstract", [] { return ConnectAbstract("bailiff-test-abstract"); }},
    {"setuid_root", [] { return static_cast<long>(setuid(0)); }},
    {"setgroups",
     [] {
       gid_t group = 0;
       return syscall(SYS_setgroups, 1, &group);
     }},
    {"capset_all",
     [] {
       unsigned header[2] = {0x20080522, 0};
       unsigned all[6] = {~0U, ~0U, 0, ~0U, ~0U, 0};
       return syscall(SYS_capset, header, all);
     }},
    {"raise_nofile", [] { return Raise(RLIMIT_NOFILE); }},
    {"raise_core", [] { return Raise(RLIMIT_CORE); }},
    {"nice", [] { return static_cast<long>(setpriority(PRIO_PROCESS, 0, -1)); }},
    {"oom_score",
     [] {
       const int fd = open("/proc/self/oom_score_adj", O_WRONLY);
       return static_cast<long>(write(fd, "-1000", 5));
     }},
    {"write_root", [] { return static_cast<long>(open("/f", O_WRONLY | O_CREAT, 0600)); }},
    {"write_tmp", [] { return static_cast<long>(open("/tmp/f", O_WRONLY | O_CREAT, 0600)); }},
    {"write_source", [] { return static_cast<long>(open("/source/f", O_WRONLY | O_CREAT, 0600)); }},
    {"write_dev", [] { return static_cast<long>(open("/dev/f", O_WRONLY | O_CREAT, 0600)); }},
    {"write_sys", [] { return static_cast<long>(open("/sys/f", O_WRONLY | O_CREAT, 0600)); }},
    {"write_proc_sys",
     [] { return static_cast<long>(open("/proc/sys/kernel/hostname", O_WRONLY)); }},
    {"write_namespaces",
     [] { return static_cast<long>(open("/proc/sys/user/max_user_namespaces", O_WRONLY)); }},
    {"write_uid_map",
     [] {
       const int fd = open("/proc/self/uid_map", O_WRONLY);
       return fd < 0 ? -1L : static_cast<long>(write(fd, "0 0 1", 5));
     }},
    {"write_cgroup_v1",
     [] {
       return static_cast<long>(open("/sys/fs/cgroup/memory/memory.limit_in_bytes", O_WRONLY));
     }},
    {"write_cgroup_v2",
     [] { return static_cast<long>(open("/sys/fs/cgroup/memory.max", O_WRONLY)); }},
    {"fill_scratch", FillScratch},
    {"fill_inodes", FillInodes},
    {"fork_flood", ForkFlood},
    {"memfd_exec", RunMemfd},
    {"dot_dot", [] { return static_cast<long>(open("../../../../../../home", O_RDONLY)); }},
    {"int80", Int80},
    {"x32", X32},
    {"new_call", [] { return syscall(463, nullptr, nullptr); }},
    {"segv", Segv},
};

const char* Word(const char* name) { return name != nullptr ? name : "?"; }

void Run(const Probe& probe) {
  std::fflush(stdout);
  const pid_t pid = fork();
  if (pid < 0) {
    std::printf("%s fork %s\n", probe.name, Word(strerrorname_np(errno)));
    return;
  }
  if (pid == 0) {
    errno = 0;
    const long result = probe.call();
    std::printf("%s %s\n", probe.name, result >= 0 ? "OK" : Word(strerrorname_np(errno)));
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  if (WIFSIGNALED(status))
    std::printf("%s SIG%s\n", probe.name, Word(sigabbrev_np(WTERMSIG(status))));
  // A probe that became another program has said nothing itself.
  if (std::strcmp(probe.name, "memfd_exec") == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
    std::printf("%s ran\n", probe.name);
}

}  // namespace

int main(int count, char** names) {
  if (count == 2 && std::strcmp(names[1], "pid1_segv") == 0) return static_cast<int>(Segv());
  if (count == 2 && std::strcmp(names[1], "environment") == 0) return Environment();
  if (count == 2 && std::strcmp(names[1], "stop") == 0) return kill(getpid(), SIGSTOP);
  for (int i = 1; i < count; ++i) {
    bool found = false;
    for (const Probe& probe : kProbes) {
      if (std::strcmp(probe.name, names[i]) != 0) continue;
      found = true;
      Run(probe);
    }
    if (!found) {
      std::printf("%s: no such probe\n", names[i]);
      return 64;
    }
  }
  return 0;
}
