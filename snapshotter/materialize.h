// SPDX-License-Identifier: Apache-2.0
// Objects become files. Every blob is hashed again while it is copied; nothing of the store is
// linked, so a tree shares no inode with it (case f07).
#pragma once

#include <sys/types.h>

#include "ipc/fd.h"
#include "snapshotter/objects.h"
#include "snapshotter/reporter.h"

namespace bailiff::snapshotter {

// The modes a tree is written with.
struct TreeModes {
  mode_t file;
  mode_t executable;
  mode_t directory;
};
inline constexpr TreeModes kSnapshotModes{0444, 0555, 0555};  // R3.04, case f06
inline constexpr TreeModes kExportModes{0644, 0755, 0755};

// Reads one object below `objects` whole, at most `limit` bytes, and checks its digest.
Result<std::string> ReadObject(int objects, policy::ObjectKind kind, const policy::Digest& digest,
                               std::size_t limit);

// Writes the tree `digest` of the source bounds into the empty directory `out`, which gets the mode
// of a directory too. The caller's umask must be 0: files are born with their final mode.
Result<JobResult> Materialize(int objects, int out, const policy::Digest& digest,
                              const TreeModes& modes, Reporter& reporter);

}  // namespace bailiff::snapshotter
