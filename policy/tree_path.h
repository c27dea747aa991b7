// SPDX-License-Identifier: Apache-2.0
// The one function that refuses what must be refused in a path of a tree, on every way in:
// directory, archive, manifest. Paths are bytes; nothing is normalised, so NFC and NFD stay two
// names (case f01).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "policy/snapshot_codes.h"

namespace bailiff::policy {

inline constexpr std::size_t kMaxTreePath = 4095;      // bytes of a whole path
inline constexpr std::size_t kMaxTreeComponent = 255;  // bytes between two '/'
inline constexpr std::size_t kMaxTreeDepth = 255;      // components

// What one tree may hold (contracts, section 2 "Objects"; R3.09, R3.10). `entries` counts files and
// links.
struct TreeBounds {
  std::uint64_t entries;
  std::uint64_t bytes;
  std::uint64_t file_bytes;
};
// Directories are not entries; their number is bounded too, or 10,000 paths could ask for 2.5
// million of them.
inline constexpr std::uint64_t kDirectoriesPerEntry = 4;
inline constexpr TreeBounds kSourceBounds{10'000, 256ULL << 20, 64ULL << 20};
inline constexpr TreeBounds kImageBounds{200'000, 4ULL << 30, 1ULL << 30};
inline constexpr std::uint64_t kMaxExpansion =
    200;  // bytes of an unpacked image for one of its archive

// Whether reserved names are refused (sources) or are names like any other (images).
enum class TreeNames { kSource, kImage };

// One component: not empty, no '/', NUL, "." or "..", at most 255 bytes; in a source not reserved
// (R10.12). kNone when it may pass.
SnapshotFault CheckComponent(std::string_view component, TreeNames names);
// A relative path of at most 255 such components.
SnapshotFault CheckTreePath(std::string_view path, TreeNames names);

// R10.12: `.git`, `.agentscm`, `.agentscm-workspace`, `agentscm-data`, in any case of ASCII
// letters, and whatever HFS+ or NTFS would take for one of them or for "." or ".." (disguise.h).
bool IsReservedName(std::string_view component);

}  // namespace bailiff::policy
