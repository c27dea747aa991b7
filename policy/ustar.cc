// SPDX-License-Identifier: Apache-2.0
#include "policy/ustar.h"

#include <algorithm>
#include <numeric>

namespace bailiff::policy {
namespace {

using Block = std::array<char, kTarBlock>;

void Put(Block& block, std::size_t offset, std::string_view text) {
  std::copy(text.begin(), text.end(), block.begin() + static_cast<std::ptrdiff_t>(offset));
}

// `width` bytes with the NUL that ends them.
void PutOctal(Block& block, std::size_t offset, std::size_t width, std::uint64_t value) {
  for (std::size_t at = width - 1; at-- > 0; value >>= 3)
    block[offset + at] = static_cast<char>('0' + (value & 7));
}

}  // namespace

Block TarHeader(const TarMember& member) {
  Block block{};
  Put(block, 0, member.name.substr(0, kMaxTarName));
  PutOctal(block, 100, 8, member.mode);
  PutOctal(block, 108, 8, 0);
  PutOctal(block, 116, 8, 0);
  PutOctal(block, 124, 12, member.size);
  PutOctal(block, 136, 12, 0);
  Put(block, 148, "        ");
  block[156] = member.type;
  Put(block, 157, member.link.substr(0, kMaxTarName));
  Put(block, 257,
      std::string_view("ustar\0"
                       "00",
                       8));
  const unsigned sum = std::accumulate(
      block.begin(), block.end(), 0U,
      [](unsigned total, char byte) { return total + static_cast<unsigned char>(byte); });
  PutOctal(block, 148, 7, sum);
  return block;
}

std::size_t TarPadding(std::uint64_t size) {
  return static_cast<std::size_t>((kTarBlock - size % kTarBlock) % kTarBlock);
}

std::string PaxRecord(std::string_view key, std::string_view value) {
  const std::size_t rest = key.size() + value.size() + 3;
  // The length counts its own digits.
  std::size_t length = rest;
  while (std::to_string(length).size() + rest != length) ++length;
  return std::to_string(length).append(" ").append(key).append("=").append(value).append("\n");
}

}  // namespace bailiff::policy
