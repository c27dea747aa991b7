// SPDX-License-Identifier: Apache-2.0
#include "snapshotter/importer/layer_paths.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "ipc/fd.h"
#include "policy/digest.h"
#include "policy/snapshot_codes.h"

namespace bailiff::snapshotter {
namespace {

using policy::MakeFault;
using policy::SnapshotFault;

Result<std::vector<std::string>> Names(int directory, const std::string& path) {
  // Its own description: the place in a listing belongs to it.
  const ipc::Fd listing(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!listing.valid()) return MakeFault(SnapshotFault::kIo, path, "openat", errno);
  std::vector<std::string> names;
  alignas(dirent64) std::array<char, 8192> buffer;
  for (;;) {
    const ssize_t got = getdents64(listing.get(), buffer.data(), buffer.size());
    if (got < 0) return MakeFault(SnapshotFault::kIo, path, "getdents64", errno);
    if (got == 0) return names;
    for (ssize_t at = 0; at < got;) {
      const auto* item = reinterpret_cast<const dirent64*>(buffer.data() + at);
      at += item->d_reclen;
      const std::string_view name = item->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
  }
}

// At most as deep as a path of the image: 255 levels. `whole`: whatever the layer holds.
class Removal {
 public:
  Removal(const LayerPaths& layer, Reporter& reporter) : layer_(layer), reporter_(reporter) {}

  Result<void> Remove(int directory, const std::string& name, const std::string& path, bool whole) {
    const bool kept = !whole && layer_.Holds(path);
    if (!kept) {
      if (unlinkat(directory, name.c_str(), 0) == 0) return reporter_.Progress(0, ++removed_);
      if (errno == ENOENT) return {};
      if (errno != EISDIR) return MakeFault(SnapshotFault::kIo, path, "unlinkat", errno);
    }
    const ipc::Fd inside(
        openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!inside.valid()) {
      if (kept && (errno == ENOTDIR || errno == ELOOP)) return {};
      return MakeFault(SnapshotFault::kIo, path, "openat", errno);
    }
    // A directory the layer has not touched holds nothing of it.
    BAILIFF_TRY(Inside(inside.get(), path, !kept));
    if (!kept && unlinkat(directory, name.c_str(), AT_REMOVEDIR) != 0)
      return MakeFault(SnapshotFault::kIo, path, "unlinkat", errno);
    return {};
  }

  Result<void> Inside(int directory, const std::string& path, bool whole) {
    BAILIFF_TRY_ASSIGN(const std::vector<std::string> names, Names(directory, path));
    for (const std::string& name : names)
      BAILIFF_TRY(Remove(directory, name, path.empty() ? name : path + "/" + name, whole));
    return {};
  }

 private:
  const LayerPaths& layer_;
  Reporter& reporter_;
  std::uint64_t removed_ = 0;
};

}  // namespace

std::size_t LayerPaths::KeyHash::operator()(const Key& key) const {
  std::size_t hash = 0;
  std::memcpy(&hash, key.data(), sizeof hash);
  return hash;
}

LayerPaths::Key LayerPaths::KeyOf(std::string_view path) {
  const policy::Digest digest = policy::Hash(path);
  Key key;
  std::copy_n(digest.bytes.begin(), key.size(), key.begin());
  return key;
}

void LayerPaths::Add(std::string_view path) {
  // Upwards, until one is known: then those above it are too.
  while (!path.empty() && seen_.insert(KeyOf(path)).second) {
    const std::size_t slash = path.rfind('/');
    path = path.substr(0, slash == std::string_view::npos ? 0 : slash);
  }
}

Result<void> RemoveLower(int directory, const std::string& name, const std::string& path,
                         const LayerPaths& layer, Reporter& reporter) {
  return Removal(layer, reporter).Remove(directory, name, path, false);
}

Result<void> RemoveLowerInside(int directory, const std::string& path, const LayerPaths& layer,
                               Reporter& reporter) {
  return Removal(layer, reporter).Inside(directory, path, false);
}

}  // namespace bailiff::snapshotter
