// SPDX-License-Identifier: Apache-2.0
// The data directory seen from outside: found, checked and created on host paths, as the operator,
// before the controller enters its namespace. Afterwards everything goes through the descriptor
// returned here, or through "/data/…".
#pragma once

#include <sys/types.h>

#include <string_view>

#include "ipc/fd.h"
#include "ipc/result.h"

namespace bailiff::controller {

// Host ids that own the data directory: the operator's own, or the service account's when the
// controller was started as root.
struct DirectoryOwner {
  uid_t uid;
  gid_t gid;
};

// Opens an existing data directory, component by component, following no link. Every directory on
// the way belongs to root or to the caller and is not writable by group or others unless sticky;
// the last one belongs to `owner` and has mode 0700 exactly; its file system passes
// CheckFileSystem. A relative path is taken from the working directory, whose own components are
// checked too. Reads nothing inside (CheckFormat in layout.h does, in the namespace).
// Errors: kDataMissing, kDataLink, kDataPath, kDataOwner, kDataMode, kDataFileSystem.
Result<ipc::Fd> OpenDataDirectory(std::string_view path, uid_t owner);

// The same, making what is missing: parents 0755 of the caller, the last one 0700 of `owner`.
// An existing last one is accepted as it is (after the checks above).
Result<ipc::Fd> CreateDataDirectory(std::string_view path, DirectoryOwner owner);

// Refuses network, 9p, FUSE and cluster file systems by type (statfs(2)); others, overlay among
// them, must show that two open file descriptions exclude each other by a lock and that a shared
// mapping and read(2) see the same bytes (SQLite's WAL index and owners.lock stand on both; e09).
// The probe file has no name (O_TMPFILE), or a name removed at once.
Result<void> CheckFileSystem(int directory, std::string_view path);

// The name of a refused file system type (f_type of statfs(2)), or empty. Pure; for doctor.
std::string_view RefusedFileSystem(unsigned long type);

}  // namespace bailiff::controller
