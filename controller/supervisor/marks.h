// SPDX-License-Identifier: Apache-2.0
// Which blobs the trees of revisions name. The controller reads no tree: a confined job lists each,
// and the list is proved by its digest (ListTree).
#pragma once

#include <string>
#include <vector>

#include "controller/supervisor/job.h"

namespace bailiff::controller {

class Marks {
 public:
  // References, that must outlive it.
  Marks(const JobHost& host, const JobHooks& hooks) : host_(host), hooks_(hooks) {}

  // Lists those of `trees` (64 hex digits, sorted) that the last call did not have; each is read
  // once. The errors of ListTree: a tree that is missing or damaged.
  Result<void> Add(const std::vector<std::string>& trees);

  bool HasBlob(const policy::Digest& blob) const;
  // Ascending, each once.
  const std::vector<policy::Digest>& blobs() const { return blobs_; }

 private:
  const JobHost& host_;
  const JobHooks& hooks_;
  std::vector<std::string> known_;
  std::vector<policy::Digest> blobs_;
};

}  // namespace bailiff::controller
