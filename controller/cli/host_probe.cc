// SPDX-License-Identifier: Apache-2.0
#include "controller/cli/host_probe.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "ipc/fd.h"

namespace bailiff::controller::cli {
namespace {

// Where the child got to; an index of kSteps.
enum class Step : int {
  kUnshareUser,
  kSetgroups,
  kUidMap,
  kUnshareRest,
  kTmpfs,
  kFork,
  kProc,
  kDone
};
constexpr std::array kSteps = {
    std::string_view("unshare(CLONE_NEWUSER)"),
    std::string_view("write /proc/self/setgroups"),
    std::string_view("write /proc/self/uid_map"),
    std::string_view("unshare(CLONE_NEWNS|NEWPID|NEWNET|NEWIPC|NEWUTS|NEWCGROUP)"),
    std::string_view("mount tmpfs"),
    std::string_view("fork"),
    std::string_view("mount proc"),
};

struct Report {
  Step step = Step::kDone;
  int error = 0;
};

Report MountProc() {
  const pid_t child = fork();  // the first process of the new pid namespace
  if (child < 0) return {Step::kFork, errno};
  if (child == 0) {
    // no fault point: a trial in a child that ends at once, nothing stays
    if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) _exit(errno);
    _exit(mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0 ? 0
                                                                                         : errno);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const int error = WIFEXITED(status) ? WEXITSTATUS(status) : ECANCELED;
  return error == 0 ? Report{} : Report{Step::kProc, error};
}

Report TryNamespaces(uid_t uid) {
  if (unshare(CLONE_NEWUSER) != 0) return {Step::kUnshareUser, errno};
  const auto write_text = [](const char* path, const std::string& text) {
    return ipc::WriteFileAt(AT_FDCWD, path, text);
  };
  if (const auto denied = write_text("/proc/self/setgroups", "deny"); !denied.ok()) {
    return {Step::kSetgroups, denied.error().system_error};
  }
  if (const auto mapped = write_text("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1\n");
      !mapped.ok()) {
    return {Step::kUidMap, mapped.error().system_error};
  }
  if (unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
              CLONE_NEWCGROUP) != 0) {
    return {Step::kUnshareRest, errno};
  }
  // no fault point: as above
  if (mount("tmpfs", "/dev", "tmpfs", MS_NOSUID | MS_NODEV, "size=64k") != 0)
    return {Step::kTmpfs, errno};
  return MountProc();
}

Report InChild() {
  auto pipe = ipc::MakePipe();
  if (!pipe.ok()) return {Step::kFork, pipe.error().system_error};
  const uid_t uid = geteuid();
  const pid_t child = fork();
  if (child < 0) return {Step::kFork, errno};
  if (child == 0) {
    const Report report = TryNamespaces(uid);
    const std::string_view bytes(reinterpret_cast<const char*>(&report), sizeof report);
    _exit(ipc::WriteAll(pipe->write.get(), bytes, "report").ok() ? 0 : 1);
  }
  pipe->write.reset();
  const auto bytes = ipc::ReadToEnd(pipe->read.get(), sizeof(Report), "report");
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  Report report{Step::kFork, ECANCELED};
  if (bytes.ok() && bytes->size() == sizeof report) {
    bytes->copy(reinterpret_cast<char*>(&report), sizeof report);
  }
  return report;
}

bool Says(const char* path, std::string_view value) {
  const auto text = ipc::ReadFileAt(AT_FDCWD, path, 64);
  return text.ok() && text->substr(0, text->find('\n')) == value;
}

}  // namespace

Error NamespaceError(std::string_view call, int error) {
  Error refused = SystemError(call, "", error);
  refused.code = ErrorCode::kUserNamespace;
  if (Says("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") && geteuid() != 0) {
    refused.why +=
        ": AppArmor restricts them here (kernel.apparmor_restrict_unprivileged_userns=1)";
    refused.fix = "run as root, or sysctl kernel.apparmor_restrict_unprivileged_userns=0";
  } else if (Says("/proc/sys/kernel/unprivileged_userns_clone", "0") && geteuid() != 0) {
    refused.why += ": kernel.unprivileged_userns_clone=0";
    refused.fix = "run as root, or sysctl kernel.unprivileged_userns_clone=1";
  } else if (Says("/proc/sys/user/max_user_namespaces", "0")) {
    refused.why += ": user.max_user_namespaces=0";
    refused.fix = "sysctl user.max_user_namespaces=10000";
  }
  return refused;
}

Finding ProbeNamespaces() {
  Finding finding{
      "namespaces", "user mount pid net ipc uts cgroup, tmpfs and a fresh /proc inside", {}, true};
  const Report report = InChild();
  if (report.step == Step::kDone) return finding;
  Error error = NamespaceError(kSteps[static_cast<std::size_t>(report.step)], report.error);
  if (report.step == Step::kProc) {
    error.why += ": parts of /proc are masked here, as in a container";
    error.fix =
        "run on the host, or give the container an unmasked /proc (docker: --security-opt "
        "systempaths=unconfined)";
  }
  finding.errors.push_back(std::move(error));
  return finding;
}

Finding ProbeSeccomp() {
  Finding finding{"seccomp", "kill, trap, errno", {}, true};
  for (const unsigned action : {SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_TRAP, SECCOMP_RET_ERRNO}) {
    if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) != 0) {
      Error error = SystemError("seccomp(SECCOMP_GET_ACTION_AVAIL)", "");
      error.code = ErrorCode::kLockdown;
      finding.errors.push_back(std::move(error));
      break;
    }
  }
  return finding;
}

Finding ProbeLandlock() {
  Finding finding{"Landlock", "", {}, false};
  constexpr unsigned kVersion = 1;  // LANDLOCK_CREATE_RULESET_VERSION
  const long abi = syscall(SYS_landlock_create_ruleset, nullptr, 0, kVersion);
  finding.text =
      abi > 0 ? "ABI " + std::to_string(abi)
              : "not offered; a helper then has one wall less (its view is empty all the same)";
  return finding;
}

}  // namespace bailiff::controller::cli
