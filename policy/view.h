// SPDX-License-Identifier: Apache-2.0
// Views: what a process can see of a file system is an empty root plus named mounts, never a
// descriptor of a host directory (from one, openat("../../../etc/passwd") works: tried).
#pragma once

#include <span>

#include "ipc/fd.h"

namespace bailiff::policy {

// What a clone is for decides its mount attributes (mount_setattr(2), kernel 5.14 or newer).
enum class MountUse {
  kViewInput,   // read-only, nosuid, nodev, noexec, nosymfollow
  kViewOutput,  // nosuid, nodev, noexec, nosymfollow
  kCellRoot,    // read-only, nosuid, nodev
  kCellSource,  // read-only, nosuid, nodev
};

// Controller's side. A detached mount of exactly this directory, without what is mounted below it,
// attributes set before anybody can attach it. `directory` must be of a mount in the caller's own
// mount namespace, and the caller needs CAP_SYS_ADMIN there (open_tree(2)). Close-on-exec; passed
// to one child as a job descriptor.
Result<ipc::Fd> CloneTree(int directory, MountUse use);

// Attaches a detached mount on the directory or file `path` of the caller's mount namespace. The
// descriptor stays the caller's. `path` may be relative to `base`; its links are not followed.
Result<void> AttachTree(int tree, const char* path);
Result<void> AttachTree(int tree, int base, const char* path);

struct ViewMount {
  int tree;          // from CloneTree; closed by EnterView
  const char* name;  // one component: "in", "out"
};

// Helper's side, in a user and mount namespace of its own with every capability there, before
// LockHelper: replaces everything visible by an empty read-only root that holds only `mounts`. On
// success the old root is gone from the namespace, the working directory is the new root, and the
// trees' descriptors are closed. After an error the process must exit.
Result<void> EnterView(std::span<const ViewMount> mounts);

}  // namespace bailiff::policy
