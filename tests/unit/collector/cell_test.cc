// SPDX-License-Identifier: Apache-2.0
// What a command finds in its cell, and what it cannot do there. Each refusal is named with its
// errno: a thing that fails for another reason is no proof (R12.10).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <map>
#include <set>
#include <sstream>

#include "policy/cell.h"
#include "tests/support/cell_host.h"

namespace bailiff::test {
namespace {

std::string Output(const std::string& script, bool one_id = false) {
  CellOptions options;
  options.argv = {"/bin/sh", "-c", script};
  options.one_id = one_id;
  CellUnderTest cell(options);
  const auto status = cell.Run();
  EXPECT_TRUE(status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0)
      << (status ? *status : -1) << '\n'
      << cell.err();
  return cell.out();
}

// Runs the probes in one cell; name → answer.
std::map<std::string, std::string> Probe(const std::string& names) {
  std::istringstream lines(Output("probe " + names));
  std::map<std::string, std::string> answers;
  std::string name;
  std::string answer;
  while (lines >> name >> answer) answers[name] = answer;
  return answers;
}

void ExpectAll(const std::string& names, const std::string& answer) {
  const auto answers = Probe(names);
  std::istringstream words(names);
  std::string name;
  while (words >> name) {
    const auto found = answers.find(name);
    ASSERT_NE(found, answers.end()) << name;
    EXPECT_EQ(found->second, answer) << name;
  }
}

unsigned FlagsOf(const std::string& options) {
  unsigned flags = 0;
  std::istringstream words(options);
  std::string word;
  while (std::getline(words, word, ',')) {
    if (word == "ro") flags |= policy::kMountReadOnly;
    if (word == "nosuid") flags |= policy::kMountNoSuid;
    if (word == "nodev") flags |= policy::kMountNoDev;
    if (word == "noexec") flags |= policy::kMountNoExec;
  }
  return flags;
}

TEST(Cell, mounts_are_exactly_the_table_R5_06_R12_16_R12_27_b14) {
  std::istringstream lines(Output("cat /proc/self/mountinfo"));
  std::map<std::string, std::pair<std::string, unsigned>> found;
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string id, parent, device, root, point, options, word, type;
    words >> id >> parent >> device >> root >> point >> options;
    while (words >> word && word != "-") ADD_FAILURE() << point << " propagates: " << word;
    words >> type;
    EXPECT_TRUE(found.emplace(point, std::pair{type, FlagsOf(options)}).second) << point;
  }
  const bool first = CellHost::Get().cgroup_version() == 1;
  std::size_t expected = 0;
  for (const policy::CellMount& row : policy::kCellMounts) {
    const std::string point(row.point);
    if (row.when == policy::CellMountWhen::kCgroup1 && !first) continue;
    if (row.when == policy::CellMountWhen::kCgroup2 && first) continue;
    if (row.when == policy::CellMountWhen::kHostProcHas && access(point.c_str(), F_OK) != 0)
      continue;
    ++expected;
    const auto at = found.find(point);
    ASSERT_NE(at, found.end()) << point;
    if (!row.type.empty()) {
      EXPECT_EQ(at->second.first, row.type) << point;
    }
    EXPECT_EQ(at->second.second, row.flags) << point;
  }
  EXPECT_EQ(found.size(), expected);
}

TEST(Cell, identity_and_rights_R12_21_R5_02_R5_07_R5_08_R5_09) {
  const std::string status = Output("cat /proc/self/status; id -u; id -g; id -G");
  for (const char* const line :
       {"\nUid:\t65532\t65532\t65532\t65532\n", "\nGid:\t65532\t65532\t65532\t65532\n",
        "\nCapInh:\t0000000000000000\n", "\nCapPrm:\t0000000000000000\n",
        "\nCapEff:\t0000000000000000\n", "\nCapBnd:\t0000000000000000\n",
        "\nCapAmb:\t0000000000000000\n", "\nNoNewPrivs:\t1\n", "\nSeccomp:\t2\n"})
    EXPECT_NE(status.find(line), std::string::npos) << line << status;
}

TEST(Cell, one_id_mode_shows_the_same_identity) {
  const std::string text =
      Output("id -u; id -g; cat /proc/self/uid_map; grep CapEff /proc/self/status; touch f", true);
  EXPECT_NE(text.find("65532\n65532\n"), std::string::npos) << text;
  EXPECT_NE(text.find("CapEff:\t0000000000000000"), std::string::npos) << text;
}

TEST(Cell, namespaces_are_its_own_R5_10_R5_11) {
  std::istringstream words(
      Output("for n in user mnt pid net ipc uts cgroup; do stat -L -c %i /proc/self/ns/$n; done"));
  for (const char* const name : {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}) {
    struct stat ours {};
    ASSERT_EQ(stat((std::string("/proc/self/ns/") + name).c_str(), &ours), 0);
    unsigned long theirs = 0;
    words >> theirs;
    EXPECT_NE(theirs, 0U) << name;
    EXPECT_NE(theirs, ours.st_ino) << name;
  }
  EXPECT_EQ(Output("hostname"), "bailiff\n");
}

TEST(Cell, b01_descriptors_0_to_2_and_nothing_outside) {
  EXPECT_EQ(Output("cd /proc/self/fd && for f in *; do [ -e $f ] && echo $f; done; true"),
            "0\n1\n2\n");
  EXPECT_EQ(Output("pwd -P"), "/scratch\n");
  EXPECT_EQ(Output("ls -d ../../../../source"), "../../../../source\n");
  ExpectAll("dot_dot", "ENOENT");
}

TEST(Cell, a13_stdin_is_empty) {
  EXPECT_EQ(Output("cat | wc -c; ls -l /proc/self/fd/0 >/dev/null"), "0\n");
}

TEST(Cell, environment_is_exactly_the_orders_R12_22) {
  std::istringstream lines(Output("exec env"));
  std::set<std::string> found;
  std::string line;
  while (std::getline(lines, line)) found.insert(line);
  // The shell adds two of its own.
  found.erase("SHLVL=1");
  found.erase("PWD=/scratch");
  EXPECT_EQ(found, (std::set<std::string>{"HOME=/scratch", "TMPDIR=/scratch", "HOSTNAME=bailiff",
                                          "PATH=/usr/bin:/bin"}));
}

TEST(Cell, resource_limits_are_the_table_R12_25) {
  const std::string text = Output("cat /proc/self/limits");
  for (const policy::CellLimit& limit : policy::kCellLimits) {
    const std::size_t at = text.find(limit.name);
    ASSERT_NE(at, std::string::npos) << limit.name;
    std::istringstream words(text.substr(at + limit.name.size()));
    std::string soft, hard;
    words >> soft >> hard;
    const std::string value =
        limit.value == RLIM_INFINITY ? "unlimited" : std::to_string(limit.value);
    EXPECT_EQ(soft, value) << limit.name;
    EXPECT_EQ(hard, value) << limit.name;
  }
  ExpectAll("raise_nofile raise_core", "EPERM");
}

TEST(Cell, pid_1_and_almost_alone_R12_31_b15) {
  EXPECT_EQ(Output("echo $$; for p in /proc/[0-9]*; do echo $p; done"), "1\n/proc/1\n");
  EXPECT_EQ(Output("readlink /proc/1/exe || stat -c %N /proc/1/exe | wc -l >/dev/null; true")
                .find("warden"),
            std::string::npos);
  EXPECT_EQ(Output("cat /proc/1/oom_score_adj"), "1000\n");
}

TEST(Cell, proc_is_masked_R12_32) {
  ExpectAll("write_proc_sys write_namespaces", "EACCES");
  // Masked files read empty, hidden directories list empty, whichever this kernel has.
  EXPECT_EQ(Output("for f in kcore keys timer_list interrupts sched_debug latency_stats; do "
                   "[ -e /proc/$f ] && cat /proc/$f; done; "
                   "for d in acpi scsi asound; do [ -d /proc/$d ] && ls -A /proc/$d; done; true"),
            "");
  EXPECT_EQ(Output("[ -e /proc/sysrq-trigger ] && echo h 2>/dev/null > /proc/sysrq-trigger && echo "
                   "wrote; true"),
            "");
}

TEST(Cell, namespace_bounds_are_zero) {
  EXPECT_EQ(Output("cat /proc/sys/user/max_*_namespaces"), "0\n0\n0\n0\n0\n0\n0\n0\n");
}

TEST(Cell, devices_are_the_list_R12_28) {
  EXPECT_EQ(Output("ls /dev"),
            "fd\nfull\nnull\nrandom\nstderr\nstdin\nstdout\ntty\nurandom\nzero\n");
  EXPECT_EQ(
      Output("echo x > /dev/null; head -c 3 /dev/zero | wc -c; head -c 5 /dev/urandom | wc -c; "
             "echo x > /dev/full || echo full; echo out > /dev/stdout"),
      "3\n5\nfull\nout\n");
  ExpectAll("open_tty", "ENXIO");
}

TEST(Cell, file_systems_are_read_only_but_scratch_R12_18_R5_04_R5_05) {
  ExpectAll("write_root write_tmp write_source write_dev write_sys", "EROFS");
  EXPECT_EQ(
      Output("echo x > /scratch/f && cat /scratch/f && cp /bin/busybox /scratch/sh && "
             "/scratch/sh echo runs 2>/dev/null || /scratch/sh true; ls -ld /scratch | cut -c1-10"),
      "x\ndrwx------\n")
      << "the name decides the applet of busybox: sh is not echo";
}

TEST(Cell, c04_scratch_is_bounded_in_bytes_and_inodes_R12_20) {
  ExpectAll("fill_scratch fill_inodes", "ENOSPC");
}

TEST(Cell, cgroup_files_show_the_cells_own_limits_R12_26_R12_30) {
  const bool first = CellHost::Get().cgroup_version() == 1;
  EXPECT_EQ(Output(first ? "cat /sys/fs/cgroup/memory/memory.limit_in_bytes"
                         : "cat /sys/fs/cgroup/memory.max"),
            "67108864\n");
  EXPECT_EQ(Output(first ? "cat /sys/fs/cgroup/pids/pids.max" : "cat /sys/fs/cgroup/pids.max"),
            "32\n");
  ExpectAll(first ? "write_cgroup_v1" : "write_cgroup_v2", "EACCES");
  std::istringstream lines(Output("cat /proc/self/cgroup"));
  std::string line;
  while (std::getline(lines, line)) {
    const bool ours = !first || line.find(":memory:") != line.npos ||
                      line.find(":pids:") != line.npos || line.find(":cpu") != line.npos;
    if (ours) {
      EXPECT_EQ(line.back(), '/') << line;
    }
  }
}

TEST(Cell, c01_a_fork_flood_stays_within_the_limit_R12_26) {
  const auto answers = Probe("fork_flood");
  EXPECT_EQ(answers.at("fork_flood"), "EAGAIN");
  EXPECT_LE(std::stoi(answers.at("fork_count")), 32);
  EXPECT_GE(std::stoi(answers.at("fork_count")), 20);
}

TEST(Cell, network_is_loopback_alone_R12_14_R12_15_R5_03) {
  EXPECT_EQ(Output("ls /proc/self/net/dev >/dev/null; grep -c : /proc/self/net/dev"), "1\n");
  EXPECT_EQ(Output("cat /proc/self/net/route | wc -l"), "1\n") << "a heading and no route";
  ExpectAll("net_tcp net_udp", "ENETUNREACH");
  ExpectAll("net_loopback", "ECONNREFUSED");
  EXPECT_NE(Output("ip link show lo").find("UP"), std::string::npos);
}

// A listener in the host's network namespace, by abstract name: the cell cannot reach it (b08).
TEST(Cell, b08_abstract_sockets_of_the_host_are_out_of_reach) {
  const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_GE(listener, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  constexpr char kName[] = "bailiff-test-abstract";
  std::memcpy(address.sun_path + 1, kName, sizeof kName - 1);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address),
                 offsetof(sockaddr_un, sun_path) + sizeof kName),
            0);
  ASSERT_EQ(listen(listener, 1), 0);
  ExpectAll("abstract", "ECONNREFUSED");
  close(listener);
}

TEST(Cell, calls_that_reach_out_are_refused_R12_24_R12_29) {
  ExpectAll(
      "keyctl add_key request_key bpf ptrace_attach ptrace_traceme process_vm_readv pidfd_getfd "
      "userfaultfd perf_event_open kexec_load init_module reboot swapon acct syslog fanotify_init "
      "open_by_handle_at quotactl iopl ioperm modify_ldt unshare_user unshare_mount unshare_pid "
      "unshare_net unshare_ipc unshare_uts unshare_cgroup unshare_time clone_user clone_mount "
      "clone_net setns mount_tmpfs mount_proc remount_root remount_source mount_setattr "
      "umount_source umount_proc_sys open_tree fsopen move_mount pivot_root chroot mknod_block "
      "mknod_char sethostname setdomainname settimeofday clock_settime personality_rie tiocsti "
      "tioclinux raw setgroups capset_all write_uid_map",
      "EPERM");
  ExpectAll("clone3_user clone3_plain new_call", "ENOSYS");
  ExpectAll("vsock packet alg netlink_audit", "EAFNOSUPPORT");
  ExpectAll("setuid_root", "EINVAL");
  ExpectAll("nice oom_score", "EACCES");
}

TEST(Cell, what_a_build_needs_is_allowed) {
  ExpectAll("getpid clone_plain mknod_fifo personality_ask", "OK");
  ExpectAll("memfd_exec", "ran");
}

TEST(Cell, b07_io_uring_is_not_there) {
  ExpectAll("io_uring_setup io_uring_enter io_uring_register", "ENOSYS");
}

TEST(Cell, b06_foreign_entries_kill) { ExpectAll("int80 x32", "SIGSYS"); }

// With every capability of the cell's own user namespace, which no process in it has, and without
// its filter: the mounts are still locked and no namespace can be made. So neither depends on the
// filter.
class Intruder {
 public:
  // errno of `act` done by a process that joined the candidate's user and mount namespaces.
  static int Try(pid_t candidate, int (*act)()) {
    const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, candidate, 0));
    const pid_t pid = fork();
    if (pid == 0) {
      if (setns(pidfd, CLONE_NEWUSER | CLONE_NEWNS) != 0) _exit(255);
      _exit(act() == 0 ? 0 : errno);
    }
    close(pidfd);
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
};

TEST(Cell, mounts_stay_locked_against_every_capability_R12_19) {
  CellOptions options;
  options.argv = {"/bin/sleep", "1000"};
  CellUnderTest cell(options);
  ASSERT_TRUE(cell.Start());
  const pid_t candidate = cell.candidate_pid();
  ASSERT_GT(candidate, 0);
  const auto writable = [](const char* path) {
    mount_attr attributes{};
    attributes.attr_clr = MOUNT_ATTR_RDONLY;
    return mount_setattr(AT_FDCWD, path, 0, &attributes, sizeof attributes);
  };
  static const auto kWritable = writable;
  EXPECT_EQ(Intruder::Try(candidate, [] { return kWritable("/"); }), EPERM);
  EXPECT_EQ(Intruder::Try(candidate, [] { return kWritable("/source"); }), EPERM);
  EXPECT_EQ(Intruder::Try(candidate, [] { return kWritable("/proc/sys"); }), EPERM);
  EXPECT_EQ(Intruder::Try(candidate, [] { return kWritable("/dev/null"); }), EPERM);
  EXPECT_EQ(Intruder::Try(candidate,
                          [] {
                            mount_attr attributes{};
                            attributes.attr_clr = MOUNT_ATTR_NOSUID;
                            return mount_setattr(AT_FDCWD, "/scratch", 0, &attributes,
                                                 sizeof attributes);
                          }),
            EPERM);
  EXPECT_EQ(Intruder::Try(candidate, [] { return umount2("/proc/sys", MNT_DETACH); }), EINVAL);
  EXPECT_EQ(Intruder::Try(candidate, [] { return umount2("/source", MNT_DETACH); }), EINVAL);
  EXPECT_EQ(Intruder::Try(candidate, [] { return unshare(CLONE_NEWNS); }), ENOSPC);
  EXPECT_EQ(Intruder::Try(candidate, [] { return unshare(CLONE_NEWUSER); }), ENOSPC);
  EXPECT_EQ(Intruder::Try(candidate, [] { return unshare(CLONE_NEWNET); }), ENOSPC);
  // The same process can do what is permitted, so the refusals above are not its own failure.
  EXPECT_EQ(Intruder::Try(candidate, [] { return mount("t", "/scratch", "tmpfs", 0, nullptr); }),
            0);
}

// Before release the cell is complete and the command has not run.
TEST(Cell, is_stopped_complete_before_release) {
  CellOptions options;
  options.argv = {"/bin/sh", "-c", "echo ran"};
  CellUnderTest cell(options);
  const auto built = cell.Next();
  ASSERT_TRUE(built && built->has_built());
  std::map<std::string, std::string> facts;
  for (const wire::Fact& fact : built->built().facts()) facts[fact.name()] = fact.value();
  EXPECT_EQ(facts, (std::map<std::string, std::string>{
                       {"hostname", "bailiff"}, {"loopback", "up"}, {"namespace_bounds", "0"}}));
  const std::string proc = "/proc/" + std::to_string(cell.candidate_pid());
  const auto status = ipc::ReadFileAt(AT_FDCWD, (proc + "/status").c_str(), 65536);
  ASSERT_TRUE(status.ok());
  for (const char* const line : {"CapEff:\t0000000000000000", "CapBnd:\t0000000000000000",
                                 "NoNewPrivs:\t1", "Seccomp:\t2", "Threads:\t1"})
    EXPECT_NE(status->find(line), std::string::npos) << line;
  cell.Release();
  ASSERT_TRUE(cell.Next().has_value());
  ASSERT_TRUE(cell.Finish().has_value());
  EXPECT_EQ(cell.out(), "ran\n");
}

}  // namespace
}  // namespace bailiff::test
