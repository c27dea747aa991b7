// SPDX-License-Identifier: Apache-2.0
// Staged objects become objects of the store. Called only after the helper that staged them is
// reaped: what is read here can no longer change.
#pragma once

#include <functional>
#include <vector>

#include "controller/supervisor/job.h"

namespace bailiff::controller {

// Opens objects/, readable for the helpers (0755) below the private data directory.
Result<ipc::Fd> OpenObjects(int data);

// For each claimed object: name, type, one link, size and every byte are checked, then it becomes
// the controller's, 0444, durable, and takes its name. An object that is there already is kept.
// kJobStaged when anything is not as claimed. All are durable on return.
Result<void> TakeObjects(int data, int staged, const std::vector<StagedObject>& objects,
                         const JobHooks& hooks);

// Reads and hashes one regular file below `directory`: one link, exactly `size` bytes.
Result<policy::Digest> HashStaged(int file, policy::ObjectKind kind, std::uint64_t size,
                                  const std::string& name);

}  // namespace bailiff::controller
