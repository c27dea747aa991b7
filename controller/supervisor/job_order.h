// SPDX-License-Identifier: Apache-2.0
// What each kind of job is to the controller: who does it, how long, how large, and what it is
// told.
#pragma once

#include <chrono>
#include <cstdint>

#include "controller/supervisor/job.h"
#include "ipc/codec.h"

namespace bailiff::controller {

struct JobRow {
  bool importer;                   // else the snapshotter
  std::chrono::seconds deadline;   // from Go to the last word
  std::uint64_t largest_file;      // bytes it may write into one (RLIMIT_FSIZE)
  std::uint64_t most_written = 0;  // into all, with what it writes twice or takes away again
  std::uint64_t most_files = 0;    // and directories and links, that there may be at once
};

JobRow RowOf(JobKind kind);

// Objects it may claim.
std::uint64_t MostObjects(JobKind kind);

// The frame that tells a helper its job.
wire::ToSnapshotter GoFor(const JobRequest& request);

}  // namespace bailiff::controller
