// SPDX-License-Identifier: Apache-2.0
// Forms of the names that stand in documents and in file names (contracts, section 1).
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace bailiff::policy {

inline constexpr std::size_t kMaxId = 64;
inline constexpr std::size_t kMaxTarget = 128;

// Attempt and change: [A-Za-z0-9][A-Za-z0-9._-]{0,63}. Never "." or "..", never with a slash: safe
// as a file name.
constexpr bool IsId(std::string_view text) {
  const auto alphanumeric = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  };
  if (text.empty() || text.size() > kMaxId || !alphanumeric(text.front())) return false;
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return alphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

// Ids joined by '/', at most 128 bytes.
constexpr bool IsTarget(std::string_view text) {
  if (text.size() > kMaxTarget) return false;
  for (;;) {
    const std::size_t slash = text.find('/');
    if (!IsId(text.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    text.remove_prefix(slash + 1);
  }
}

// 32 lower-case hex digits, random at `init`.
constexpr bool IsRepository(std::string_view text) {
  return text.size() == 32 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace bailiff::policy
