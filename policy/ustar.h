// SPDX-License-Identifier: Apache-2.0
// The header of one member of a tar, for what Bailiff writes itself: ustar (POSIX.1-2017, pax,
// "ustar Interchange Format"), owner 0, time 0, so that the same content is the same bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace bailiff::policy {

inline constexpr std::size_t kTarBlock = 512;
inline constexpr std::size_t kMaxTarName = 100;           // longer ones need an extended header
inline constexpr std::uint64_t kMaxTarSize = 8ULL << 30;  // 11 octal digits; exclusive

struct TarMember {
  std::string_view name;  // at most kMaxTarName bytes
  char type = '0';        // '0' file, '1' hard link, '2' symbolic link, '5' directory, 'x' extended
  std::uint32_t mode = 0644;
  std::uint64_t size = 0;      // under kMaxTarSize
  std::string_view link = {};  // at most kMaxTarName bytes
};

std::array<char, kTarBlock> TarHeader(const TarMember& member);
// Zeros from the end of `size` bytes of data to the next block.
std::size_t TarPadding(std::uint64_t size);
// One record of an extended header: "<length> <key>=<value>\n".
std::string PaxRecord(std::string_view key, std::string_view value);

}  // namespace bailiff::policy
