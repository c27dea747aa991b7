// SPDX-License-Identifier: Apache-2.0
// The low-level SHA256_* calls are used on purpose: the EVP interface of OpenSSL 3 loads its
// provider on the first digest, which costs more than a whole run's hashing, opens files, and
// cannot happen after lockdown.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "policy/digest.h"

#include <openssl/sha.h>

#include <cstring>
#include <new>

namespace bailiff::policy {

static_assert(sizeof(SHA256_CTX) <= 112 && alignof(SHA256_CTX) <= 8);

namespace {
SHA256_CTX* Context(std::array<unsigned char, 112>& state) {
  return std::launder(reinterpret_cast<SHA256_CTX*>(state.data()));
}
}  // namespace

Sha256::Sha256() {
  new (state_.data()) SHA256_CTX;
  SHA256_Init(Context(state_));
}

void Sha256::Update(std::string_view bytes) {
  SHA256_Update(Context(state_), bytes.data(), bytes.size());
}

Digest Sha256::Finish() {
  Digest digest;
  SHA256_Final(digest.bytes.data(), Context(state_));
  return digest;
}

Digest Hash(std::string_view bytes) {
  Sha256 sha;
  sha.Update(bytes);
  return sha.Finish();
}

Digest HashDomain(std::string_view domain, std::string_view bytes) {
  Sha256 sha;
  sha.Update(domain);
  sha.Update(std::string_view("\0", 1));
  sha.Update(bytes);
  return sha.Finish();
}

std::string Hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    hex += kDigits[value >> 4];
    hex += kDigits[value & 15];
  }
  return hex;
}

std::string Digest::hex() const { return Hex(raw()); }

std::optional<Digest> ParseDigest(std::string_view hex) {
  if (hex.size() != 64) return std::nullopt;
  Digest digest;
  for (std::size_t i = 0; i < hex.size(); ++i) {
    const char c = hex[i];
    unsigned value = 0;
    if (c >= '0' && c <= '9') {
      value = static_cast<unsigned>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value = static_cast<unsigned>(c - 'a') + 10;
    } else {
      return std::nullopt;
    }
    digest.bytes[i / 2] =
        static_cast<unsigned char>((static_cast<unsigned>(digest.bytes[i / 2]) << 4) | value);
  }
  return digest;
}

std::optional<Digest> RawDigest(std::string_view bytes) {
  if (bytes.size() != 32) return std::nullopt;
  Digest digest;
  std::memcpy(digest.bytes.data(), bytes.data(), bytes.size());
  return digest;
}

}  // namespace bailiff::policy
