// SPDX-License-Identifier: Apache-2.0
// From a named commit to every entry below its tree. Parents of a commit are never read, so the
// length of a history costs nothing.
#pragma once

#include <string_view>

#include "policy/tree_path.h"
#include "snapshotter/importer/git_decode.h"

namespace bailiff::snapshotter {

// The largest commit or tag that is read. Git writes messages, signatures and merged tags there.
inline constexpr std::uint64_t kMaxGitCommit = 4 << 20;

// The commit that a ref leads to: itself, or through at most five annotated tags. kGitObjectType
// when it leads elsewhere.
Result<policy::GitId> PeelToCommit(GitObjects& objects, policy::GitId id);

class GitVisitor {
 public:
  GitVisitor() = default;
  GitVisitor(const GitVisitor&) = delete;
  GitVisitor& operator=(const GitVisitor&) = delete;
  virtual ~GitVisitor() = default;

  // A file, executable or link. `path` is whole and within every bound of a source but the sizes.
  virtual Result<void> Blob(GitMode mode, const policy::GitId& id, std::string_view path) = 0;
  virtual Result<void> Submodule(const policy::GitId& commit, std::string_view path) = 0;
  // A tree without entries: git writes none, and a source has no place for it.
  virtual Result<void> EmptyTree(const policy::GitId& id, std::string_view path) = 0;
};

// Visits everything below `root`, depth first, in git's order. Bounds: `bounds.entries` blobs and
// submodules, kDirectoriesPerEntry times as many trees, path, component and depth of tree_path.h; a
// tree that is named many times is read, counted and visited each time, so a few objects that stand
// for many are refused by the count.
Result<void> WalkGitTree(GitObjects& objects, const policy::GitId& root,
                         const policy::TreeBounds& bounds, GitVisitor& visitor);

}  // namespace bailiff::snapshotter
