// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/marks.h"

#include <algorithm>

#include "controller/supervisor/objects.h"

namespace bailiff::controller {

Result<void> Marks::Add(const std::vector<std::string>& trees) {
  for (const std::string& name : trees) {
    if (std::binary_search(known_.begin(), known_.end(), name)) continue;
    const auto tree = policy::ParseDigest(name);
    if (!tree) return Error{ErrorCode::kStoreCorrupt, name, "is no digest of a tree", 0, {}};
    BAILIFF_TRY_ASSIGN(const std::vector<ListedEntry> entries, ListTree(host_, *tree, hooks_));
    for (const ListedEntry& entry : entries) blobs_.push_back(entry.blob);
    std::sort(blobs_.begin(), blobs_.end());
    blobs_.erase(std::unique(blobs_.begin(), blobs_.end()), blobs_.end());
  }
  known_ = trees;
  return {};
}

bool Marks::HasBlob(const policy::Digest& blob) const {
  return std::binary_search(blobs_.begin(), blobs_.end(), blob);
}

}  // namespace bailiff::controller
