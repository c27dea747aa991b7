// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/host_mode.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "controller/supervisor/operand_mount.h"

namespace bailiff::controller {
namespace {

long OpenTree(int directory, const char* path, unsigned flags) {
  // no fault point: a mount namespace of our own; nothing has been started yet
  return syscall(SYS_open_tree, directory, path, flags | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
}

Result<void> MoveMount(int tree, const char* to) {
  // no fault point: a mount namespace of our own; nothing has been started yet
  if (syscall(SYS_move_mount, tree, "", AT_FDCWD, to, MOVE_MOUNT_F_EMPTY_PATH) != 0)
    return SystemError("move_mount", to);
  return {};
}

Result<void> MakeDirectory(const char* path, mode_t mode) {
  if (mkdir(path, mode) != 0) return SystemError("mkdir", path);
  return {};
}

// As root the clone is taken with root's privilege before it is given up, whoever owns the
// directories above. An ordinary user keeps its identity, so the path is resolved again inside; the
// inode must be the one that was opened.
Result<ipc::Fd> CloneOutside(const ipc::Fd& directory) {
  const long tree = OpenTree(directory.get(), "", AT_EMPTY_PATH);
  if (tree < 0) return SystemError("open_tree", "directory");
  return ipc::Fd(static_cast<int>(tree));
}

Result<ipc::Fd> CloneInside(const ipc::Fd& directory) {
  char path[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(directory.get());
  const ssize_t length = readlink(link.c_str(), path, sizeof path - 1);
  if (length < 0) return SystemError("readlink", link);
  path[length] = '\0';
  const long tree = OpenTree(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW);
  if (tree < 0) return SystemError("open_tree", path);
  ipc::Fd clone(static_cast<int>(tree));
  struct stat before {};
  struct stat after {};
  if (fstat(directory.get(), &before) != 0 || fstat(clone.get(), &after) != 0)
    return SystemError("fstat", path);
  if (before.st_dev != after.st_dev || before.st_ino != after.st_ino)
    return SystemError("open_tree", path, ESTALE);
  return clone;
}

Result<void> Unshare() {
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0) return {};
  Error error = SystemError("unshare(CLONE_NEWUSER)", "user namespaces");
  error.code = ErrorCode::kUserNamespace;
  const auto says = [](const char* path, std::string_view value) {
    auto text = ipc::ReadFileAt(AT_FDCWD, path, 64);
    return text.ok() && std::string_view(*text).substr(0, value.size()) == value;
  };
  if (says("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1")) {
    error.why += ": AppArmor restricts them here (kernel.apparmor_restrict_unprivileged_userns=1)";
    error.fix = "run as root, or sysctl kernel.apparmor_restrict_unprivileged_userns=0";
  } else if (says("/proc/sys/kernel/unprivileged_userns_clone", "0")) {
    error.why += ": kernel.unprivileged_userns_clone=0";
    error.fix = "run as root, or sysctl kernel.unprivileged_userns_clone=1";
  } else if (says("/proc/sys/user/max_user_namespaces", "0")) {
    error.why += ": user.max_user_namespaces=0";
    error.fix = "sysctl user.max_user_namespaces=10000";
  }
  return error;
}

Result<void> BecomeInside(const HostIdPlan& plan) {
  if (plan.root_started && setgroups(0, nullptr) != 0)
    return SystemError("setgroups", "controller");
  if (setresgid(0, 0, 0) != 0) return SystemError("setresgid", "controller");
  if (setresuid(0, 0, 0) != 0) return SystemError("setresuid", "controller");
  // set*id made /proc/self unreadable to ourselves' children; nobody else has this id.
  if (prctl(PR_SET_DUMPABLE, 1UL) != 0) return SystemError("PR_SET_DUMPABLE", "controller");
  return {};
}

Result<void> BindInto(const char* from, const char* to) {
  const long tree = OpenTree(AT_FDCWD, from, AT_RECURSIVE);
  if (tree < 0) return SystemError("open_tree", from);
  const ipc::Fd clone(static_cast<int>(tree));
  return MoveMount(clone.get(), to);
}

// What the tiny root shows besides the kernel's file systems.
struct Mounts {
  ipc::Fd data;
  ipc::Fd exported;
  std::vector<ipc::Fd> operands;
};

// Puts an empty tmpfs over the root, fills it, and makes it the root. By value: once they are
// attached, nobody keeps a descriptor of the mounts themselves.
Result<void> PivotIntoTinyRoot(Mounts mounts) {
  // Root makes these directories, the controller walks through them, whatever the caller's mask.
  umask(022);
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return SystemError("mount", "/");
  const ipc::Fd context(static_cast<int>(syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC)));
  if (!context.valid()) return SystemError("fsopen", "tmpfs");
  for (const auto& [key, value] :
       {std::pair{"mode", "0755"}, {"size", "64k"}, {"nr_inodes", "64"}}) {
    if (syscall(SYS_fsconfig, context.get(), FSCONFIG_SET_STRING, key, value, 0) != 0)
      return SystemError("fsconfig", key);
  }
  if (syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
    return SystemError("fsconfig", "tmpfs");
  const ipc::Fd root(static_cast<int>(
      syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC)));
  if (!root.valid()) return SystemError("fsmount", "tmpfs");
  BAILIFF_TRY(MoveMount(root.get(), "/"));
  if (fchdir(root.get()) != 0) return SystemError("fchdir", "root");
  for (const char* name : {"proc", "dev", "sys", "sys/fs", "sys/fs/cgroup", "data", "cell", "view",
                           "operands", "export"}) {
    BAILIFF_TRY(MakeDirectory(name, 0755));
  }
  // "/…" still means the host's root here: paths start at the old root, relative ones at the new.
  BAILIFF_TRY(BindInto("/proc", "proc"));
  BAILIFF_TRY(BindInto("/dev", "dev"));
  BAILIFF_TRY(BindInto("/sys/fs/cgroup", "sys/fs/cgroup"));
  if (mounts.data.valid()) BAILIFF_TRY(MoveMount(mounts.data.get(), "data"));
  if (mounts.exported.valid()) BAILIFF_TRY(MoveMount(mounts.exported.get(), "export"));
  for (std::size_t i = 0; i < mounts.operands.size(); ++i) {
    const std::string name = "operands/" + std::to_string(i);
    BAILIFF_TRY(MakeDirectory(name.c_str(), 0755));
    BAILIFF_TRY(MoveMount(mounts.operands[i].get(), name.c_str()));
  }
  if (syscall(SYS_pivot_root, ".", ".") != 0) return SystemError("pivot_root", ".");
  if (umount2(".", MNT_DETACH) != 0) return SystemError("umount2", "the host's root");
  if (chdir("/") != 0) return SystemError("chdir", "/");
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_RDONLY;
  if (syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, &attributes, sizeof attributes) != 0)
    return SystemError("mount_setattr", "/");
  umask(077);
  return {};
}

template <typename Clone, typename CloneOperand>
Result<Mounts> CloneAll(const HostModeRequest& request, Clone clone, CloneOperand operand) {
  Mounts mounts;
  if (request.data_directory.valid()) {
    BAILIFF_TRY_ASSIGN(mounts.data, clone(request.data_directory));
  }
  if (request.export_directory.valid()) {
    BAILIFF_TRY_ASSIGN(mounts.exported, clone(request.export_directory));
  }
  for (const ipc::Fd& directory : request.operand_directories) {
    BAILIFF_TRY_ASSIGN(ipc::Fd tree, operand(directory));
    mounts.operands.push_back(std::move(tree));
  }
  return mounts;
}

Result<Mounts> CloneAllOutside(const HostModeRequest& request, const HostMode& mode) {
  const std::uint32_t reader = mode.import_id();
  return CloneAll(request, CloneOutside, [&](const ipc::Fd& directory) -> Result<ipc::Fd> {
    if (reader == 0) return CloneOutside(directory);
    return CloneForReading(directory.get(), mode.ids.first + reader - 1,
                           mode.ids.first_gid + reader - 1);
  });
}

// The lowest value that a process may give itself is what the last one with a host capability
// wrote, and children inherit it. A service that is started protected would hand its protection to
// the candidate: host memory would then be taken from others first, and at -1000 from the cell
// never.
Result<void> RaiseOomFloor() {
  const char* const path = "/proc/self/oom_score_adj";
  BAILIFF_TRY_ASSIGN(const std::string text, ipc::ReadFileAt(AT_FDCWD, path, 32));
  const std::string own = text.starts_with('-') ? "0" : text.substr(0, text.find('\n'));
  BAILIFF_TRY_ASSIGN(const ipc::Fd file, ipc::OpenAt(AT_FDCWD, path, O_WRONLY));
  return ipc::WriteAll(file.get(), own, path);
}

}  // namespace

SlotIds HostMode::Slot(std::uint32_t slot) const {
  if (one_id()) return {};
  const std::uint32_t first = 1 + slot * kIdsPerSlot;
  return {first, first + 1, first + 2};
}

std::vector<ipc::IdMap> HostMode::Map(std::uint32_t id,
                                      std::optional<std::uint32_t> candidate) const {
  std::vector<ipc::IdMap> map = {{0, id, 1}};
  if (candidate && !one_id()) map.push_back({policy::kCellId, *candidate, 1});
  return map;
}

Result<HostMode> EnterHostMode(HostModeRequest request) {
  HostMode mode;
  BAILIFF_TRY_ASSIGN(mode.ids, PlanHostIds());
  if (auto id = ipc::ReadFileAt(AT_FDCWD, "/etc/machine-id", 64); id.ok()) {
    mode.machine_id = id->substr(0, id->find('\n'));
  }
  mode.cgroup_parent = std::move(request.cgroup_parent);
  // Before anything else can fail: it takes away what was made for a command that did not work.
  BAILIFF_TRY_ASSIGN(Preparer preparer,
                     Preparer::Start(mode.ids, mode.cgroup_parent,
                                     {request.export_directory.get(), request.new_file.get(),
                                      request.new_parent.get(), std::move(request.new_name)}));
  // The controller itself keeps nothing that reaches what is beside it.
  request.new_parent.reset();
  mode.new_file = std::move(request.new_file);
  if (mode.ids.root_started) BAILIFF_TRY(RaiseOomFloor());
  BAILIFF_TRY_ASSIGN(mode.programs, OpenPrograms());
  Mounts mounts;
  if (mode.ids.root_started) {
    BAILIFF_TRY_ASSIGN(mounts, CloneAllOutside(request, mode));
    // Built by root in a mount namespace of the host's user namespace: copied into the controller's
    // own, the kernel locks every mount in its place and every flag as it is (mount_namespaces(7),
    // "Restrictions on mount namespaces"), whatever becomes of the controller.
    if (unshare(CLONE_NEWNS) != 0) return SystemError("unshare(CLONE_NEWNS)", "controller");
    BAILIFF_TRY(PivotIntoTinyRoot(std::move(mounts)));
  }
  BAILIFF_TRY(Unshare());
  BAILIFF_TRY(preparer.WriteMaps());
  BAILIFF_TRY(BecomeInside(mode.ids));
  if (!mode.ids.root_started) {
    BAILIFF_TRY_ASSIGN(mounts, CloneAll(request, CloneInside, CloneInside));
    BAILIFF_TRY(PivotIntoTinyRoot(std::move(mounts)));
  }
  mode.preparer.emplace(std::move(preparer));
  if (request.data_directory.valid()) {
    BAILIFF_TRY_ASSIGN(mode.data, ipc::OpenAt(AT_FDCWD, kDataMount, O_RDONLY | O_DIRECTORY));
  }
  if (request.export_directory.valid()) {
    BAILIFF_TRY_ASSIGN(mode.export_directory,
                       ipc::OpenAt(AT_FDCWD, "/export", O_RDONLY | O_DIRECTORY));
  }
  for (std::size_t i = 0; i < request.operand_directories.size(); ++i) {
    BAILIFF_TRY_ASSIGN(
        ipc::Fd directory,
        ipc::OpenAt(AT_FDCWD, ("/operands/" + std::to_string(i)).c_str(), O_PATH | O_DIRECTORY));
    mode.operands.push_back(std::move(directory));
  }
  return mode;
}

}  // namespace bailiff::controller
