// SPDX-License-Identifier: Apache-2.0
#include "collector/warden/mount.h"

#include <fcntl.h>
#include <sys/mount.h>

#include "ipc/fault.h"
#include "policy/cell.h"

namespace bailiff::warden {
namespace {

unsigned Attributes(unsigned flags) {
  unsigned attributes = 0;
  if ((flags & policy::kMountReadOnly) != 0) attributes |= MOUNT_ATTR_RDONLY;
  if ((flags & policy::kMountNoSuid) != 0) attributes |= MOUNT_ATTR_NOSUID;
  if ((flags & policy::kMountNoDev) != 0) attributes |= MOUNT_ATTR_NODEV;
  if ((flags & policy::kMountNoExec) != 0) attributes |= MOUNT_ATTR_NOEXEC;
  return attributes;
}

}  // namespace

Result<ipc::Fd> MakeMount(const char* type, std::initializer_list<MountOption> options,
                          unsigned flags) {
  const ipc::Fd context(fsopen(type, FSOPEN_CLOEXEC));
  if (!context.valid()) return SystemError("fsopen", type);
  for (const MountOption& option : options) {
    const bool flag = option.value.empty();
    if (fsconfig(context.get(), flag ? FSCONFIG_SET_FLAG : FSCONFIG_SET_STRING, option.key,
                 flag ? nullptr : option.value.c_str(), 0) != 0)
      return SystemError("fsconfig", std::string(type) + ' ' + option.key);
  }
  if (fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
    return SystemError("fsconfig create", type);
  ipc::Fd mount(fsmount(context.get(), FSMOUNT_CLOEXEC, Attributes(flags)));
  if (!mount.valid()) return SystemError("fsmount", type);
  return mount;
}

Result<ipc::Fd> CloneMount(int at, const char* path, unsigned flags) {
  if (const int error = BAILIFF_FAULT(WardenMount)) return SystemError("open_tree", path, error);
  ipc::Fd mount(open_tree(at, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW));
  if (!mount.valid()) return SystemError("open_tree", path);
  BAILIFF_TRY(SetFlags(mount.get(), "", flags));
  return mount;
}

Result<void> SetFlags(int at, const char* path, unsigned flags) {
  mount_attr attributes{};
  attributes.attr_set = Attributes(flags);
  if (mount_setattr(at, path, AT_SYMLINK_NOFOLLOW | (*path == '\0' ? AT_EMPTY_PATH : 0),
                    &attributes, sizeof attributes) != 0)
    return SystemError("mount_setattr", path);
  return {};
}

Result<void> Attach(int mount, int at, const char* path) {
  if (const int error = BAILIFF_FAULT(WardenMount)) return SystemError("move_mount", path, error);
  // Without MOVE_MOUNT_T_SYMLINKS the last component is not followed.
  if (move_mount(mount, "", at, path, MOVE_MOUNT_F_EMPTY_PATH) != 0)
    return SystemError("move_mount", path);
  return {};
}

}  // namespace bailiff::warden
