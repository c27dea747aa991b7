// SPDX-License-Identifier: Apache-2.0
// Entries in the order of their paths become the trees that git would make of them.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "policy/tree_entry.h"
#include "snapshotter/importer/git_decode.h"

namespace bailiff::snapshotter {

// How git writes an entry of ours.
GitMode GitModeOf(policy::EntryKind kind);

class GitTreeMaker {
 public:
  // Takes the bytes of one tree and says its id.
  using Put = std::function<Result<policy::GitId>(std::string_view)>;
  explicit GitTreeMaker(Put put) : put_(std::move(put)) { open_.push_back({}); }

  // `path` outlives this object and comes after the one before it, by its bytes. `mode` may be
  // kTree: a tree whose id is known.
  Result<void> Add(std::string_view path, GitMode mode, const policy::GitId& id);
  // The id of the tree that holds all of them. kStaged when one name would stand in it twice.
  Result<policy::GitId> Finish();

 private:
  struct Directory {
    std::string_view path;
    std::vector<GitEntry> children;
  };

  Result<void> Close();
  Result<policy::GitId> Write(Directory& directory);

  Put put_;
  std::vector<Directory> open_;
};

}  // namespace bailiff::snapshotter
