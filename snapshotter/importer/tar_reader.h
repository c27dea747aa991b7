// SPDX-License-Identifier: Apache-2.0
// A strict reader of tar: v7, ustar, pax and GNU long names (POSIX.1-2017 pax "ustar Interchange
// Format"; tar(5)). Names are bytes with no locale and no conversion, every length is checked
// before it is used, and what a rootfs archive never needs is refused by name: sparse and
// multi-volume entries, names with NUL, data after the end. libarchive's own tar reader converts
// names through the process's locale and cuts them at NUL, which a locked helper without a locale
// cannot have.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ipc/result.h"

namespace bailiff::snapshotter {

class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;
  // Fills `buffer` unless the bytes end first; 0 only at the end.
  virtual Result<std::size_t> Read(char* buffer, std::size_t size) = 0;
  // Passes over as many bytes and says how many there were: fewer only at the end. Reads them
  // unless the source knows a shorter way.
  virtual Result<std::uint64_t> Skip(std::uint64_t size);
};

enum class TarType { kFile, kHardLink, kSymbolicLink, kDirectory, kDevice, kFifo };

struct TarEntry {
  TarType type = TarType::kFile;
  std::string path;  // as in the archive, unchecked but for NUL and length
  std::string link;  // kHardLink, kSymbolicLink
  std::uint64_t size = 0;
  std::uint32_t mode = 0;   // 07777
  bool attributes = false;  // it carries extended attributes or access control lists
};

// Whether the last entry's padding and the two zero blocks behind it must be there. Without them
// bytes that were cut off at an entry's end are not missed: only where a digest says that all are
// there they may be absent, as some writers of layers leave them out.
enum class TarEnd { kRequired, kMayBeAbsent };

class TarReader {
 public:
  explicit TarReader(ByteSource& source, TarEnd end = TarEnd::kRequired)
      : source_(source), end_(end) {}

  // The next entry; what is left of the last one's data is passed over. Nothing at the end, after
  // everything behind it was read and found to be zero.
  Result<std::optional<TarEntry>> Next();
  // Where the data of the present entry begins; only before any of it was read.
  std::uint64_t offset() const { return offset_; }
  // Data of the present entry; 0 when all of it was read.
  Result<std::size_t> Data(char* buffer, std::size_t size);

 private:
  using Block = std::array<char, 512>;
  struct Extended {  // what an extended header says of the next entry
    std::optional<std::string> path;
    std::optional<std::string> link;
    std::optional<std::uint64_t> size;
    bool attributes = false;
  };

  Result<bool> ReadBlock(Block& block);
  // What is left of the present entry; false when its padding was not all there.
  Result<bool> PassOver();
  Result<void> ReadToEnd();
  Result<std::string> Payload(std::uint64_t size, std::size_t most, const char* what);
  Result<void> ApplyPax(std::string_view records, bool global);
  Result<void> ApplyRecord(std::string_view key, std::string_view value, bool global);
  Result<std::optional<TarEntry>> Convert(const Block& block, std::uint64_t size);
  Error Fault(const char* why) const;

  ByteSource& source_;
  const TarEnd end_;
  std::uint64_t offset_ = 0;   // of the next byte, for messages
  std::uint64_t left_ = 0;     // data of the present entry
  std::uint64_t padding_ = 0;  // after it
  Extended extended_;
  bool ended_ = false;
};

}  // namespace bailiff::snapshotter
