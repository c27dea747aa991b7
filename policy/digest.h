// SPDX-License-Identifier: Apache-2.0
// SHA-256 and the domain-separated form D(domain, bytes) = SHA-256(domain, 0x00, bytes) (contracts,
// section 1).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bailiff::policy {

struct Digest {
  std::array<unsigned char, 32> bytes{};
  auto operator<=>(const Digest&) const = default;
  std::string hex() const;  // 64 lower-case digits
  std::string_view raw() const {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};

// Exactly 64 lower-case hex digits, else nothing.
std::optional<Digest> ParseDigest(std::string_view hex);
// Exactly 32 bytes, else nothing.
std::optional<Digest> RawDigest(std::string_view bytes);

// Incremental SHA-256. No allocation, no provider lookup: usable in a helper after lockdown.
class Sha256 {
 public:
  Sha256();
  void Update(std::string_view bytes);
  Digest Finish();  // once

 private:
  alignas(8) std::array<unsigned char, 112> state_;  // SHA256_CTX, kept out of this header
};

Digest Hash(std::string_view bytes);
Digest HashDomain(std::string_view domain, std::string_view bytes);
std::string Hex(std::string_view bytes);

}  // namespace bailiff::policy
