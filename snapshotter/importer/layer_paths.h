// SPDX-License-Identifier: Apache-2.0
// Which paths of a root the layer being applied has written, and taking away what lower layers
// wrote (OCI Image Format Specification 1.1, layer.md, "Whiteouts": they hide what is below, never
// what is of the same layer, in whatever order the entries come).
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <unordered_set>

#include "snapshotter/reporter.h"

namespace bailiff::snapshotter {

class LayerPaths {
 public:
  // Forgets the layer before.
  void Clear() { seen_.clear(); }
  // `path` and every directory above it are of this layer.
  void Add(std::string_view path);
  bool Holds(std::string_view path) const { return seen_.count(KeyOf(path)) != 0; }

 private:
  // Half a SHA-256: a path is up to 4 KiB, and there may be a million of them.
  using Key = std::array<unsigned char, 16>;
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  static Key KeyOf(std::string_view path);

  std::unordered_set<Key, KeyHash> seen_;
};

// Takes `name` of the directory away with everything below it, except what `layer` holds. No link
// is followed. `path` is that of `name`, below the root. A name that is not there is no error.
Result<void> RemoveLower(int directory, const std::string& name, const std::string& path,
                         const LayerPaths& layer, Reporter& reporter);
// The same for everything in the directory `path`, opened as `directory`.
Result<void> RemoveLowerInside(int directory, const std::string& path, const LayerPaths& layer,
                               Reporter& reporter);

}  // namespace bailiff::snapshotter
