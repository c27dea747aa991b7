// SPDX-License-Identifier: Apache-2.0
// The tar of a root file system, from whoever made it. Blocks of zeros are cheap to say: the input
// is followed by as many as its first byte tells.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "snapshotter/importer/tar_reader.h"

namespace {

class Memory final : public bailiff::snapshotter::ByteSource {
 public:
  explicit Memory(std::string_view bytes) : bytes_(bytes) {}
  bailiff::Result<std::size_t> Read(char* buffer, std::size_t size) override {
    const std::size_t count = std::min(size, bytes_.size());
    std::memcpy(buffer, bytes_.data(), count);
    bytes_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view bytes_;
};

// Headers get the checksum they should have: otherwise hardly any changed header would be read.
void MendChecksums(std::string& bytes) {
  for (std::size_t at = 0; at + 512 <= bytes.size(); at += 512) {
    if (bytes.compare(at + 257, 5, "ustar") != 0) continue;
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at) + 148, 8, ' ');
    unsigned sum = 0;
    for (std::size_t i = 0; i < 512; ++i) sum += static_cast<unsigned char>(bytes[at + i]);
    for (std::size_t i = 0; i < 6; ++i) {
      bytes[at + 148 + 5 - i] = static_cast<char>('0' + (sum & 7));
      sum >>= 3;
    }
    bytes[at + 154] = '\0';
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  bytes.append(std::size_t{data[0] % 4U} * 512, '\0');
  if ((data[0] & 8) != 0) MendChecksums(bytes);
  Memory memory(bytes);
  bailiff::snapshotter::TarReader tar(memory);
  char buffer[4096];
  for (bool all = (data[0] & 4) != 0;;) {
    const auto entry = tar.Next();
    if (!entry.ok() || !entry->has_value()) break;
    const auto& value = **entry;
    if (value.path.find('\0') != std::string::npos || value.link.find('\0') != std::string::npos)
      std::abort();
    if ((value.mode & ~07777U) != 0) std::abort();
    for (std::uint64_t taken = 0; all;) {
      const auto got = tar.Data(buffer, sizeof buffer);
      if (!got.ok() || *got == 0) break;
      taken += *got;
      if (taken > value.size) std::abort();
    }
  }
  return 0;
}
