// SPDX-License-Identifier: Apache-2.0
// The calls of mount(2)'s newer interface that a cell is made of. Flags are those of policy/cell.h.
// Every path is relative to a descriptor. The one component of a path that belongs to an image is
// its first, which CheckMountPoints has found to be a real directory; the image is read-only by
// then.
#pragma once

#include <initializer_list>
#include <string>

#include "ipc/fd.h"

namespace bailiff::warden {

struct MountOption {
  const char* key;
  std::string value;  // empty: a flag
};

// A new file system as a detached mount (fsopen, fsconfig, fsmount).
Result<ipc::Fd> MakeMount(const char* type, std::initializer_list<MountOption> options,
                          unsigned flags);

// A detached bind of one place, without what is mounted below it.
Result<ipc::Fd> CloneMount(int at, const char* path, unsigned flags);

// Adds flags to the mount at `path`, or to the mount `at` itself when `path` is "".
Result<void> SetFlags(int at, const char* path, unsigned flags);

// Attaches a detached mount on an existing directory or file, which is not a link.
Result<void> Attach(int mount, int at, const char* path);

}  // namespace bailiff::warden
