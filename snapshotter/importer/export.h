// SPDX-License-Identifier: Apache-2.0
// The root of an image becomes one layer: a tar that is a function of what is in it.
#pragma once

#include "snapshotter/reporter.h"

namespace bailiff::snapshotter {

// `root`: a directory nothing writes to. `out`: an empty directory, which gets "layer.tar": ustar
// with extended headers where a name needs one; entries in byte order of each directory's names, a
// directory before what is in it; owner 0, time 0; a file with several names is stored under the
// first and linked from the rest. Modes are as on disk. Reports the layer; the result's digest is
// its diff_id.
Result<JobResult> ExportImage(int root, int out, Reporter& reporter);

}  // namespace bailiff::snapshotter
