// SPDX-License-Identifier: Apache-2.0
// Objects become files. Every blob is hashed again while it is copied; nothing of the store is
// linked, so a tree shares no inode with it (case f07).
#pragma once

#include <sys/types.h>

#include "ipc/fd.h"
#include "snapshotter/objects.h"
#include "snapshotter/reporter.h"

namespace bailiff::snapshotter {

// The modes files are written with. Directories are 0755 until the controller has reaped every
// writer and freezes them (R3.04).
struct TreeModes {
  mode_t file;
  mode_t executable;
};
inline constexpr TreeModes kSnapshotModes{0444, 0555};  // case f06
inline constexpr TreeModes kExportModes{0644, 0755};
inline constexpr mode_t kFrozenDirectory = 0555;

// Which share of the entries this process writes, in manifest order. Directories above two shares
// are made by whoever comes first.
struct Share {
  std::uint32_t part;
  std::uint32_t parts;
};

// Reads one object below `objects` whole, at most `limit` bytes, and checks its digest.
Result<std::string> ReadObject(int objects, policy::ObjectKind kind, const policy::Digest& digest,
                               std::size_t limit);

// Reads the tree `digest` of the source bounds and says every entry, in its order.
Result<JobResult> ListTree(int objects, const policy::Digest& digest, Reporter& reporter);

// Writes the tree `digest` of the source bounds into the new directory `out`. The caller's umask
// must be 0: files are born with their final mode.
Result<JobResult> Materialize(int objects, int out, const policy::Digest& digest,
                              const TreeModes& modes, Share share, Reporter& reporter);

}  // namespace bailiff::snapshotter
