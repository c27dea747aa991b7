// SPDX-License-Identifier: Apache-2.0
#include "snapshotter/objects.h"

#include <algorithm>
#include <cstring>

namespace bailiff::snapshotter {
namespace {

using policy::MakeFault;
using policy::SnapshotFault;

constexpr std::string_view kMagic = policy::kTreeMagic;
constexpr std::size_t kFixed = policy::kTreeEntryFixed;

std::uint64_t ReadBig(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

// The bounds of one more entry, the same for writing and reading.
SnapshotFault CheckEntry(const policy::TreeBounds& bounds, policy::TreeNames names,
                         std::uint64_t entries, std::uint64_t total, EntryKind kind,
                         std::uint64_t size, std::string_view path) {
  if (const SnapshotFault fault = policy::CheckTreePath(path, names); fault != SnapshotFault::kNone)
    return fault;
  if (entries >= bounds.entries) return SnapshotFault::kEntries;
  if (kind == EntryKind::kLink && (size == 0 || size > policy::kMaxTreePath))
    return SnapshotFault::kLinkTarget;
  if (size > bounds.file_bytes) return SnapshotFault::kFileBytes;
  if (size > bounds.bytes - total) return SnapshotFault::kTotalBytes;
  return SnapshotFault::kNone;
}

// Directories above a path that the previous path does not share: they are new, and no earlier or
// later entry may have their name.
template <class Visit>
bool ForEachNewDirectory(std::string_view path, std::string_view previous, Visit visit) {
  const std::size_t shared = static_cast<std::size_t>(
      std::mismatch(path.begin(), path.end(), previous.begin(), previous.end()).first -
      path.begin());
  for (std::size_t slash = path.find('/'); slash != std::string_view::npos;
       slash = path.find('/', slash + 1)) {
    if (slash < shared) continue;
    if (!visit(path.substr(0, slash))) return false;
  }
  return true;
}

Error Malformed(std::size_t offset, const char* why) {
  return MakeFault(SnapshotFault::kManifest, "tree manifest",
                   std::string(why) + " at byte " + std::to_string(offset));
}

Result<void> CheckDirectories(const std::vector<TreeEntry>& entries,
                              const policy::TreeBounds& bounds) {
  std::uint64_t directories = 0;
  std::string_view previous;
  for (const TreeEntry& entry : entries) {
    const bool apart = ForEachNewDirectory(entry.path, previous, [&](std::string_view directory) {
      ++directories;
      return !std::binary_search(
          entries.begin(), entries.end(), TreeEntry{EntryKind::kFile, 0, {}, directory},
          [](const TreeEntry& a, const TreeEntry& b) { return a.path < b.path; });
    });
    if (!apart)
      return MakeFault(SnapshotFault::kManifest, entry.path,
                       "a directory above it is an entry too");
    if (directories > bounds.entries * policy::kDirectoriesPerEntry)
      return MakeFault(SnapshotFault::kEntries, entry.path, "too many directories");
    previous = entry.path;
  }
  return {};
}

}  // namespace

std::size_t MaxManifestBytes(const policy::TreeBounds& bounds) {
  return kMagic.size() + bounds.entries * (kFixed + policy::kMaxTreePath);
}

Result<TreeManifest> ParseTree(std::string bytes, const policy::TreeBounds& bounds,
                               policy::TreeNames names) {
  TreeManifest tree;
  tree.bytes = std::move(bytes);
  const std::string_view all = tree.bytes;
  if (!all.starts_with(kMagic)) return Malformed(0, "no magic");
  std::string_view previous;
  for (std::size_t at = kMagic.size(); at < all.size();) {
    if (all.size() - at < kFixed) return Malformed(at, "an entry is cut short");
    TreeEntry entry{static_cast<EntryKind>(all[at]), ReadBig(all.substr(at + 1, 8)), {}, {}};
    if (entry.kind != EntryKind::kFile && entry.kind != EntryKind::kExecutable &&
        entry.kind != EntryKind::kLink)
      return Malformed(at, "unknown kind");
    std::memcpy(entry.blob.bytes.data(), all.data() + at + 9, entry.blob.bytes.size());
    const std::size_t length = ReadBig(all.substr(at + 41, 2));
    if (all.size() - at - kFixed < length) return Malformed(at, "a path is cut short");
    entry.path = all.substr(at + kFixed, length);
    const SnapshotFault fault = CheckEntry(bounds, names, tree.entries.size(), tree.total,
                                           entry.kind, entry.size, entry.path);
    if (fault != SnapshotFault::kNone) return MakeFault(fault, entry.path, "in a tree manifest");
    if (!tree.entries.empty() && previous >= entry.path)
      return Malformed(at, "paths out of order or twice");
    previous = entry.path;
    tree.total += entry.size;
    tree.entries.push_back(entry);
    at += kFixed + length;
  }
  BAILIFF_TRY(CheckDirectories(tree.entries, bounds));
  return tree;
}

Result<void> TreeBuilder::Add(EntryKind kind, std::uint64_t size, const policy::Digest& blob,
                              std::string_view path) {
  const SnapshotFault fault = CheckEntry(bounds_, names_, rows_.size(), total_, kind, size, path);
  if (fault != SnapshotFault::kNone) return MakeFault(fault, path, "adding an entry");
  rows_.push_back(Row{size, blob, static_cast<std::uint32_t>(paths_.size()),
                      static_cast<std::uint16_t>(path.size()), kind});
  paths_ += path;
  total_ += size;
  return {};
}

std::string TreeBuilder::Finish() {
  const auto path = [this](const Row& row) {
    return std::string_view(paths_).substr(row.path_begin, row.path_size);
  };
  std::sort(rows_.begin(), rows_.end(),
            [&](const Row& a, const Row& b) { return path(a) < path(b); });
  std::string out(kMagic);
  out.reserve(kMagic.size() + rows_.size() * kFixed + paths_.size());
  for (const Row& row : rows_) {
    policy::AppendTreeEntry(out, row.kind, row.size, row.blob, path(row));
  }
  rows_.clear();
  paths_.clear();
  total_ = 0;
  return out;
}

}  // namespace bailiff::snapshotter
