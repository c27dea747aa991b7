// SPDX-License-Identifier: Apache-2.0
// A directory the operator named, as a helper with an id of its own can read it.
#pragma once

#include <sys/types.h>

#include "ipc/fd.h"

namespace bailiff::controller {

// Started as root only, before the privilege is given up: a detached read-only clone of
// `directory`, of this one file system and nothing mounted below, on which everything the owner of
// `directory` owns, and its group, appears as owned by uid:gid (mount_setattr(2),
// MOUNT_ATTR_IDMAP), so that a source with private modes can be read by exactly one helper id and
// nobody else. A file system or host that cannot do it gives a plain clone: then the helper reads
// what others may read, and an import names the first entry it may not.
Result<ipc::Fd> CloneForReading(int directory, uid_t uid, gid_t gid);

}  // namespace bailiff::controller
