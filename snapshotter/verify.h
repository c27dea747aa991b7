// SPDX-License-Identifier: Apache-2.0
// A tree on disk becomes its digest again: the second witness of everything that was materialized
// or unpacked. It knows neither the manifest nor the wanted digest, so it can only say what is
// there.
#pragma once

#include "snapshotter/reporter.h"

namespace bailiff::snapshotter {

enum class VerifyProfile : std::uint32_t {
  kSource = 1,  // modes exactly 0444, 0555 and 0555 for directories; one link each; no empty
                // directory (R3.04)
  kImage = 2,   // permission bits only; links only within the tree; executable: any execute bit
};

// `tree`: an open directory on a read-only mount. In both profiles: one owner, no setuid, setgid or
// sticky bit, no extended attribute but those of a security module, only files, directories and
// links.
Result<JobResult> VerifyTree(int tree, VerifyProfile profile, Reporter& reporter);

}  // namespace bailiff::snapshotter
