// SPDX-License-Identifier: Apache-2.0
#include "snapshotter/importer/git_walk.h"

#include <string>

namespace bailiff::snapshotter {
namespace {

using policy::GitId;
using policy::MakeFault;
using policy::SnapshotFault;

constexpr int kMaxTags = 5;
constexpr std::size_t kMaxEntryBytes = 6 + 1 + policy::kMaxTreeComponent + 1 + 20;

class Walk {
 public:
  Walk(GitObjects& objects, const policy::TreeBounds& bounds, GitVisitor& visitor)
      : objects_(objects),
        most_trees_(bounds.entries * policy::kDirectoriesPerEntry),
        most_entries_(bounds.entries),
        visitor_(visitor) {}

  Result<void> Run(const GitId& root) {
    BAILIFF_TRY(Enter(root));
    while (!open_.empty()) {
      Level& level = open_.back();
      if (level.next == level.entries.size()) {
        path_.resize(level.parent_path);
        open_.pop_back();
        continue;
      }
      BAILIFF_TRY(Visit(level.entries[level.next++]));
    }
    return {};
  }

 private:
  struct Level {
    GitObject tree;  // the entries' names point into it
    std::vector<GitEntry> entries;
    std::size_t next = 0;
    std::size_t parent_path = 0;  // bytes of path_ when this level is left
  };

  // `path_` is the tree's own.
  Result<void> Enter(const GitId& id, std::size_t parent_path = 0) {
    if (++trees_ > most_trees_) return MakeFault(SnapshotFault::kEntries, path_, "git trees");
    if (open_.size() >= policy::kMaxTreeDepth)
      return MakeFault(SnapshotFault::kDepth, path_, "git tree " + id.hex());
    const std::uint64_t left = most_entries_ - entries_ + most_trees_ - trees_;
    BAILIFF_TRY_ASSIGN(const GitHeader header, objects_.Header(id));
    if (header.type == GitType::kTree && header.size > (left + 1) * kMaxEntryBytes)
      return MakeFault(SnapshotFault::kEntries, path_, "git tree " + id.hex());
    BAILIFF_TRY_ASSIGN(GitObject tree, ReadGitObject(objects_, id, GitType::kTree, header.size));
    BAILIFF_TRY_ASSIGN(std::vector<GitEntry> entries, DecodeTree(tree.bytes(), id, path_, left));
    if (entries.empty() && !open_.empty()) BAILIFF_TRY(visitor_.EmptyTree(id, path_));
    open_.push_back({std::move(tree), std::move(entries), 0, parent_path});
    return {};
  }

  Result<void> Visit(const GitEntry& entry) {
    const std::size_t parent = path_.size();
    if (!path_.empty()) path_ += '/';
    path_ += entry.name;
    if (path_.size() > policy::kMaxTreePath)
      return MakeFault(SnapshotFault::kPathBytes, path_.substr(0, policy::kMaxTreePath),
                       "too long");
    if (entry.mode == GitMode::kTree) return Enter(entry.id, parent);
    if (++entries_ > most_entries_) return MakeFault(SnapshotFault::kEntries, path_, "too many");
    if (entry.mode == GitMode::kSubmodule) {
      BAILIFF_TRY(visitor_.Submodule(entry.id, path_));
    } else {
      BAILIFF_TRY(visitor_.Blob(entry.mode, entry.id, path_));
    }
    path_.resize(parent);
    return {};
  }

  GitObjects& objects_;
  std::uint64_t most_trees_;
  std::uint64_t most_entries_;
  GitVisitor& visitor_;
  std::vector<Level> open_;
  std::string path_;
  std::uint64_t trees_ = 0;
  std::uint64_t entries_ = 0;
};

}  // namespace

std::string_view GitTypeName(GitType type) {
  switch (type) {
    case GitType::kCommit:
      return "commit";
    case GitType::kTree:
      return "tree";
    case GitType::kBlob:
      return "blob";
    case GitType::kTag:
      return "tag";
  }
  return "?";
}

Result<GitObject> ReadGitObject(GitObjects& objects, const GitId& id, GitType type,
                                std::uint64_t most) {
  BAILIFF_TRY_ASSIGN(const GitHeader header, objects.Header(id));
  if (header.type != type)
    return MakeFault(SnapshotFault::kGitObjectType, id.hex(),
                     "a " + std::string(GitTypeName(header.type)) + " where a " +
                         std::string(GitTypeName(type)) + " should be");
  if (header.size > most)
    return MakeFault(
        SnapshotFault::kGitObjectDamaged, id.hex(),
        "a " + std::string(GitTypeName(type)) + " of " + std::to_string(header.size) + " bytes");
  BAILIFF_TRY_ASSIGN(GitObject object, objects.Read(id));
  if (object.header().type != header.type || object.bytes().size() != header.size)
    return MakeFault(SnapshotFault::kGitObjectDamaged, id.hex(), "not as its header says");
  return object;
}

Result<GitId> PeelToCommit(GitObjects& objects, GitId id) {
  for (int tags = 0; tags <= kMaxTags; ++tags) {
    BAILIFF_TRY_ASSIGN(const GitHeader header, objects.Header(id));
    if (header.type != GitType::kTag) {
      if (header.type == GitType::kCommit) return id;
      return MakeFault(SnapshotFault::kGitObjectType, id.hex(),
                       "a " + std::string(GitTypeName(header.type)) + ", not a commit");
    }
    BAILIFF_TRY_ASSIGN(const GitObject tag,
                       ReadGitObject(objects, id, GitType::kTag, kMaxGitCommit));
    BAILIFF_TRY_ASSIGN(const GitTag named, DecodeTag(tag.bytes(), id));
    id = named.object;
  }
  return MakeFault(SnapshotFault::kGitObjectType, id.hex(), "a tag of tags of tags");
}

Result<void> WalkGitTree(GitObjects& objects, const GitId& root, const policy::TreeBounds& bounds,
                         GitVisitor& visitor) {
  return Walk(objects, bounds, visitor).Run(root);
}

}  // namespace bailiff::snapshotter
