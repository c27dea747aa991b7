// SPDX-License-Identifier: Apache-2.0
#include "policy/utf8.h"

#include <cstddef>

namespace bailiff::policy {
namespace {

constexpr bool Continues(unsigned char byte) { return (byte & 0xC0) == 0x80; }

}  // namespace

// The table of RFC 3629, section 4.
bool IsUtf8(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  std::size_t i = 0;
  while (i < bytes.size()) {
    const unsigned char lead = at(i);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    std::size_t more = 0;
    unsigned char low = 0x80;  // bounds of the second byte
    unsigned char high = 0xBF;
    if (lead >= 0xC2 && lead <= 0xDF) {
      more = 1;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
      more = 2;
      if (lead == 0xE0) low = 0xA0;
      if (lead == 0xED) high = 0x9F;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
      more = 3;
      if (lead == 0xF0) low = 0x90;
      if (lead == 0xF4) high = 0x8F;
    } else {
      return false;
    }
    if (bytes.size() - i <= more) return false;
    if (at(i + 1) < low || at(i + 1) > high) return false;
    for (std::size_t k = 2; k <= more; ++k) {
      if (!Continues(at(i + k))) return false;
    }
    i += more + 1;
  }
  return true;
}

bool IsText(std::string_view bytes) {
  return bytes.find('\0') == std::string_view::npos && IsUtf8(bytes);
}

bool HasControl(std::string_view utf8) {
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto byte = static_cast<unsigned char>(utf8[i]);
    if (byte < 0x20 || byte == 0x7F) return true;
    // U+0080..U+009F are C2 80..C2 9F.
    if (byte == 0xC2 && i + 1 < utf8.size() && static_cast<unsigned char>(utf8[i + 1]) < 0xA0) {
      return true;
    }
  }
  return false;
}

}  // namespace bailiff::policy
