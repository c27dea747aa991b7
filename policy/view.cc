// SPDX-License-Identifier: Apache-2.0
#include "policy/view.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "ipc/fault.h"

namespace bailiff::policy {
namespace {

// glibc 2.36 and <linux/mount.h> cannot be trusted to declare the same things on every host.
constexpr std::uint64_t kReadOnly = 0x1;
constexpr std::uint64_t kNoSuid = 0x2;
constexpr std::uint64_t kNoDev = 0x4;
constexpr std::uint64_t kNoExec = 0x8;
constexpr std::uint64_t kNoSymFollow = 0x200000;  // Linux 5.14

std::uint64_t Attributes(MountUse use) {
  switch (use) {
    case MountUse::kViewInput:
      return kReadOnly | kNoSuid | kNoDev | kNoExec | kNoSymFollow;
    case MountUse::kViewOutput:
      return kNoSuid | kNoDev | kNoExec | kNoSymFollow;
    case MountUse::kCellRoot:
    case MountUse::kCellSource:
      return kReadOnly | kNoSuid | kNoDev;
  }
  return kReadOnly | kNoSuid | kNoDev | kNoExec | kNoSymFollow;
}

Error ViewError(const char* step, const char* subject) {
  Error error = SystemError(step, subject);
  error.code = ErrorCode::kView;
  return error;
}

Result<void> SetAttributes(int mount, std::uint64_t attributes) {
  mount_attr change{};
  change.attr_set = attributes;
  if (syscall(SYS_mount_setattr, mount, "", AT_EMPTY_PATH, &change, sizeof change) != 0)
    return ViewError("mount_setattr", "tree");
  return {};
}

// A tmpfs that holds only mount points: the smallest number of inodes they need and one page.
Result<ipc::Fd> EmptyRoot(std::size_t directories) {
  const ipc::Fd context(static_cast<int>(syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC)));
  if (!context.valid()) return ViewError("fsopen", "tmpfs");
  const auto set = [&context](const char* key, const char* value) {
    return syscall(SYS_fsconfig, context.get(), FSCONFIG_SET_STRING, key, value, 0) == 0;
  };
  const std::string inodes = std::to_string(directories + 2);  // its root, and one the kernel keeps
  if (!set("size", "4k") || !set("nr_inodes", inodes.c_str()) || !set("mode", "0555"))
    return ViewError("fsconfig", "tmpfs");
  if (syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
    return ViewError("fsconfig", "tmpfs");
  ipc::Fd mount(
      static_cast<int>(syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC,
                               static_cast<unsigned>(kNoSuid | kNoDev | kNoExec | kNoSymFollow))));
  if (!mount.valid()) return ViewError("fsmount", "tmpfs");
  return mount;
}

// With the new root as working directory: makes it the root, and takes the old one, which
// pivot_root(2) leaves mounted on top of it, out of the namespace.
Result<void> BecomeRoot() {
  if (syscall(SYS_pivot_root, ".", ".") != 0) return ViewError("pivot_root", "view");
  if (umount2(".", MNT_DETACH) != 0) return ViewError("umount2", "the host's root");
  if (chdir("/") != 0) return ViewError("chdir", "view");
  return {};
}

}  // namespace

Result<ipc::Fd> CloneTree(int directory, MountUse use) {
  if (const int error = BAILIFF_FAULT(CloneTree)) return SystemError("open_tree", "tree", error);
  ipc::Fd tree(static_cast<int>(
      syscall(SYS_open_tree, directory, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH)));
  if (!tree.valid()) return ViewError("open_tree", "tree");
  BAILIFF_TRY(SetAttributes(tree.get(), Attributes(use)));
  return tree;
}

Result<void> AttachTree(int tree, const char* path) { return AttachTree(tree, AT_FDCWD, path); }

Result<void> AttachTree(int tree, int base, const char* path) {
  if (const int error = BAILIFF_FAULT(AttachTree)) return SystemError("move_mount", path, error);
  // Without MOVE_MOUNT_T_SYMLINKS the last component is not followed.
  if (syscall(SYS_move_mount, tree, "", base, path, MOVE_MOUNT_F_EMPTY_PATH) != 0)
    return ViewError("move_mount", path);
  return {};
}

Result<void> EnterView(std::span<const ViewMount> mounts) {
  if (const int error = BAILIFF_FAULT(EnterView)) return SystemError("mount", "view", error);
  // What the child does must not travel to the namespace it was cloned from.
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return ViewError("mount", "private");
  BAILIFF_TRY_ASSIGN(ipc::Fd root, EmptyRoot(mounts.size()));
  // Attached over the present root: no mount point of the host is needed. A detached mount cannot
  // hold other mounts before Linux 6.15, so it is attached first and filled then.
  BAILIFF_TRY(AttachTree(root.get(), "/"));
  for (const ViewMount& entry : mounts) {
    if (mkdirat(root.get(), entry.name, 0555) != 0) return ViewError("mkdirat", entry.name);
    BAILIFF_TRY(AttachTree(entry.tree, root.get(), entry.name));
  }
  if (fchdir(root.get()) != 0) return ViewError("fchdir", "view");
  BAILIFF_TRY(BecomeRoot());
  BAILIFF_TRY(SetAttributes(root.get(), kReadOnly));
  // A descriptor of a mount is a way past whatever is mounted later: none is kept.
  for (const ViewMount& entry : mounts) ipc::Fd(entry.tree).reset();
  return {};
}

}  // namespace bailiff::policy
