// SPDX-License-Identifier: Apache-2.0
// The bytes of one entry of a tree (contracts, section 2 "Objects"): one byte of kind, u64be size,
// 32-byte blob id, u16be length of the path, the path. Written here, by one function for both ends:
// the snapshotter writes manifests with it, the controller hashes a listing with it. Reading is the
// snapshotter's alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "policy/digest.h"

namespace bailiff::policy {

enum class EntryKind : char { kFile = 'f', kExecutable = 'x', kLink = 'l' };

// The first bytes of every tree.
inline constexpr std::string_view kTreeMagic = "bailiff.tree.v1\n";
// Bytes of an entry beside its path.
inline constexpr std::size_t kTreeEntryFixed = 1 + 8 + 32 + 2;

std::optional<EntryKind> ParseEntryKind(std::uint32_t byte);
std::string_view EntryKindName(EntryKind kind);  // "file", "executable", "link"

// `path`: at most kMaxTreePath bytes.
void AppendTreeEntry(std::string& out, EntryKind kind, std::uint64_t size, const Digest& blob,
                     std::string_view path);

}  // namespace bailiff::policy
