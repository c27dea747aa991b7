// SPDX-License-Identifier: Apache-2.0
// The tar of a root file system becomes an image: root/ and config.json.
#pragma once

#include "snapshotter/reporter.h"

namespace bailiff::snapshotter {

// `archive`: a regular file at its start. `out`: an empty directory. Reports the uncompressed
// archive as one layer (diff_id); the result's digest is the image id, SHA-256 of config.json,
// which is a function of diff_id alone.
//
// Rules (contracts 7.9; cases b04, f09, c07):
// - A name is relative after leading "./"; "..", empty components and NUL are refused; nothing is
// written through a link, whatever an
//   earlier entry planted; a directory may come again (its last mode counts), anything else twice
//   is refused.
// - A symbolic link is kept as text, never resolved. A hard link must name a regular file that is
// already there.
// - Entries below dev/ are skipped with a warning (DeviceEntries); devices and FIFOs elsewhere are
// refused.
// - setuid, setgid, sticky and extended attributes are dropped with a warning. Owners are not kept:
// everything belongs to the
//   controller, so a candidate (uid 65532) has what the permission bits give to others. Files get
//   u+r and directories u+rwx, which the verifying job and the removal need.
// - source, scratch, proc, sys and dev are made as empty directories where they are absent;
// anything else of these names is refused.
Result<JobResult> ImportImage(int archive, int out, Reporter& reporter);

// The same from an open stream, without config.json; for tests and fuzzing. `root`: the empty root
// directory.
class ArchiveStream;
Result<JobResult> UnpackRoot(ArchiveStream& stream, int root, Reporter& reporter);

}  // namespace bailiff::snapshotter
