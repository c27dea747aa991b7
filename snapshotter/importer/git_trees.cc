// SPDX-License-Identifier: Apache-2.0
#include "snapshotter/importer/git_trees.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "policy/snapshot_codes.h"

namespace bailiff::snapshotter {
namespace {

using policy::GitId;
using policy::MakeFault;
using policy::SnapshotFault;

bool Holds(std::string_view directory, std::string_view path) {
  return directory.empty() || (path.starts_with(directory) &&
                               (path.size() == directory.size() || path[directory.size()] == '/'));
}

std::string_view NameOf(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

Result<void> GitTreeMaker::Add(std::string_view path, GitMode mode, const GitId& id) {
  const std::size_t slash = path.rfind('/');
  const std::string_view directory =
      slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
  while (!Holds(open_.back().path, directory)) BAILIFF_TRY(Close());
  while (open_.back().path.size() < directory.size()) {
    const std::size_t begin = open_.back().path.empty() ? 0 : open_.back().path.size() + 1;
    open_.push_back({directory.substr(0, directory.find('/', begin)), {}});
  }
  open_.back().children.push_back({mode, NameOf(path), id});
  return {};
}

Result<GitId> GitTreeMaker::Finish() {
  while (open_.size() > 1) BAILIFF_TRY(Close());
  return Write(open_.back());
}

Result<void> GitTreeMaker::Close() {
  Directory ended = std::move(open_.back());
  open_.pop_back();
  BAILIFF_TRY_ASSIGN(const GitId id, Write(ended));
  open_.back().children.push_back({GitMode::kTree, NameOf(ended.path), id});
  return {};
}

Result<GitId> GitTreeMaker::Write(Directory& directory) {
  std::sort(directory.children.begin(), directory.children.end(),
            [](const GitEntry& a, const GitEntry& b) {
              return GitOrderLess(a.name, a.mode == GitMode::kTree, b.name,
                                  b.mode == GitMode::kTree);
            });
  std::string bytes;
  // A file and a directory of one name are not neighbours in git's order.
  std::unordered_set<std::string_view> names;
  for (const GitEntry& child : directory.children) {
    if (!names.insert(child.name).second)
      return MakeFault(SnapshotFault::kStaged, child.name, "the name comes twice");
    bytes += GitModeText(child.mode);
    bytes += ' ';
    bytes += child.name;
    bytes += '\0';
    bytes += child.id.raw();
  }
  return put_(bytes);
}

GitMode GitModeOf(policy::EntryKind kind) {
  switch (kind) {
    case policy::EntryKind::kFile:
      return GitMode::kFile;
    case policy::EntryKind::kExecutable:
      return GitMode::kExecutable;
    case policy::EntryKind::kLink:
      return GitMode::kLink;
  }
  return GitMode::kFile;
}

}  // namespace bailiff::snapshotter
