// SPDX-License-Identifier: Apache-2.0
// Writes the entries of an archive below one directory and nowhere else: every parent is opened
// below the root without following a link, and only the last component is created. What the same
// archive wrote is never replaced; a layer replaces what the layers below it wrote.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ipc/fd.h"
#include "policy/tree_path.h"
#include "snapshotter/importer/layer_paths.h"
#include "snapshotter/importer/tar_reader.h"
#include "snapshotter/reporter.h"

namespace bailiff::snapshotter {

class Unpacker {
 public:
  Unpacker(int root, Reporter& reporter);

  // From here on entries are those of one more layer: they go over what is there, and names that
  // begin with .wh. take away (layer.md, "Whiteouts"). Without it, entries are those of a root file
  // system, where such a name is one like any other.
  void BeginLayer();
  // Writes one entry; takes its data from `tar`.
  Result<void> Write(const TarEntry& entry, TarReader& tar);
  // The mount points of the cell.
  Result<void> MakeMountPoints();

  std::uint64_t entries() const { return entries_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  struct Place {
    int directory;     // borrowed from parent_
    std::string name;  // last component
  };

  Result<Place> Locate(const std::string& path);
  Result<int> OpenParent(const std::string& parent);
  Result<void> Whiteout(const std::string& path, const TarEntry& entry);
  Result<void> MakeRoom(const Place& place, const std::string& path);
  Result<void> MakeRoomForDirectory(const Place& place, const std::string& path);
  Result<void> MakeParents(const std::string& parent);
  Result<void> Count(const std::string& path, std::uint64_t size);
  Result<void> Directory(const std::string& path, std::uint32_t mode);
  Result<void> File(const std::string& path, const TarEntry& entry, TarReader& tar);
  Result<void> SymbolicLink(const std::string& path, const TarEntry& entry);
  Result<void> HardLink(const std::string& path, const TarEntry& entry);

  int root_;
  Reporter& reporter_;
  std::unique_ptr<char[]> buffer_;
  std::string parent_path_;
  ipc::Fd parent_;
  std::size_t layer_ = 0;  // 0: no layers
  LayerPaths seen_;
  std::uint64_t entries_ = 0;
  std::uint64_t directories_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace bailiff::snapshotter
