// SPDX-License-Identifier: Apache-2.0
// What the work says while it runs, without the wire: the session sends it, tests collect it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ipc/result.h"
#include "policy/git_name.h"
#include "policy/image_facts.h"
#include "policy/object.h"
#include "policy/snapshot_codes.h"
#include "policy/tree_entry.h"

namespace bailiff::snapshotter {

class Reporter {
 public:
  Reporter() = default;
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;
  virtual ~Reporter() = default;

  // Called for every entry and at least every MiB. Fails with kCancelled when the job must end.
  virtual Result<void> Progress(std::uint64_t entries, std::uint64_t bytes) = 0;
  virtual Result<void> Object(policy::ObjectKind kind, const policy::Digest& digest,
                              std::uint64_t size) = 0;
  // The entry number `index` of the tree that is listed.
  virtual Result<void> Observe(std::uint32_t index, policy::EntryKind kind, std::uint64_t size,
                               const policy::Digest& blob, std::string_view path) = 0;
  virtual Result<void> Warn(policy::SnapshotWarning code, std::string_view path) = 0;
  // Of the job that reads a configuration; once.
  virtual Result<void> Facts(const policy::ImageFacts& facts) = 0;
};

struct JobResult {
  policy::Digest digest;
  std::optional<policy::Digest> tree;
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::optional<policy::GitCommit> git = {};  // of a job that read or wrote git
};

}  // namespace bailiff::snapshotter
