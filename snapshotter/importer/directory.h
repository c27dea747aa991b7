// SPDX-License-Identifier: Apache-2.0
// A directory of the operator becomes blobs, a tree and a revision.
#pragma once

#include "snapshotter/reporter.h"

namespace bailiff::snapshotter {

// `in`: the directory, on a read-only clone of its mount without what is mounted below it: a mount
// point shows as the directory under it, and a directory of another file system is refused. `out`:
// an empty directory for the objects.
//
// Left out with a warning: one `.git` at the top, empty directories (a tree has none), setuid,
// setgid and sticky bits. Refused: reserved names anywhere else, whatever is no file, directory or
// link, and anything that changed while it was read. A file is executable when its owner may
// execute it, as in git.
Result<JobResult> ImportDirectory(int in, int out, Reporter& reporter);

}  // namespace bailiff::snapshotter
