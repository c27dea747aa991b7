// SPDX-License-Identifier: Apache-2.0
// The tree manifest (contracts, section 2 "Objects"): "bailiff.tree.v1\n", then entries in
// ascending byte order of their paths, each one byte of kind, u64be size, 32-byte blob id, u16be
// length of the path, the path. Its digest is D("bailiff.tree.v1", bytes).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/result.h"
#include "policy/digest.h"
#include "policy/tree_entry.h"
#include "policy/tree_path.h"

namespace bailiff::snapshotter {

using policy::EntryKind;

struct TreeEntry {
  EntryKind kind;
  std::uint64_t size;  // of the blob: for a link 1..4095
  policy::Digest blob;
  std::string_view path;
};

// A manifest that was read: entries point into `bytes`, so it moves but does not copy.
struct TreeManifest {
  TreeManifest() = default;
  TreeManifest(TreeManifest&&) = default;
  TreeManifest& operator=(TreeManifest&&) = default;
  TreeManifest(const TreeManifest&) = delete;
  TreeManifest& operator=(const TreeManifest&) = delete;

  std::string bytes;
  std::vector<TreeEntry> entries;
  std::uint64_t total = 0;  // sum of sizes
};

// The longest manifest that the bounds allow.
std::size_t MaxManifestBytes(const policy::TreeBounds& bounds);

// Accepts exactly the bytes that TreeBuilder writes within the bounds; kManifest or the fault of
// the bound or path otherwise.
Result<TreeManifest> ParseTree(std::string bytes, const policy::TreeBounds& bounds,
                               policy::TreeNames names);

// Collects entries in any order and writes the manifest.
class TreeBuilder {
 public:
  TreeBuilder(const policy::TreeBounds& bounds, policy::TreeNames names)
      : bounds_(bounds), names_(names) {}

  // Checks the path and every bound. `path` is copied.
  Result<void> Add(EntryKind kind, std::uint64_t size, const policy::Digest& blob,
                   std::string_view path);
  // Sorts and writes; afterwards the builder is empty.
  std::string Finish();

  std::uint64_t entries() const { return rows_.size(); }
  std::uint64_t bytes() const { return total_; }

 private:
  struct Row {
    std::uint64_t size;
    policy::Digest blob;
    std::uint32_t path_begin;
    std::uint16_t path_size;
    EntryKind kind;
  };

  policy::TreeBounds bounds_;
  policy::TreeNames names_;
  std::vector<Row> rows_;
  std::string paths_;  // one block: 200,000 small strings would cost more than their bytes
  std::uint64_t total_ = 0;
};

}  // namespace bailiff::snapshotter
