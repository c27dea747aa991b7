// SPDX-License-Identifier: Apache-2.0
// The fixed order of both programs (design, section 1): descriptor table, view, lock, Hello, one
// job, end. Nothing from outside is read before the lock.
#pragma once

#include "policy/role.h"
#include "snapshotter/session.h"

namespace bailiff::snapshotter {

// The job's descriptors as the controller passed them, and what they become.
//   4, 5 directories: /in and /out         4 a directory, 5 absent: /in alone
//   4 a regular file: the archive, kept    5 a directory: /out
struct Inputs {
  int in = -1;       // a directory opened in the view
  int out = -1;      // the same
  int archive = -1;  // a regular file
};

using RunOrder = Result<JobResult> (*)(const Order& order, const Inputs& inputs,
                                       Reporter& reporter);

// Never returns normally before the job is reported; the exit status: 0 reported (also a failure),
// 1 could not lock or talk.
int HelperMain(policy::Role role, RunOrder run);

}  // namespace bailiff::snapshotter
