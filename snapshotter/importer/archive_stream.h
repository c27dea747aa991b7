// SPDX-License-Identifier: Apache-2.0
// The bytes of an archive that lies in a file, or in a part of one: as they are, or uncompressed
// when they are under exactly one of gzip, zstd, xz (libarchive's filters, no external program).
// Every uncompressed byte is hashed and counted as it passes, so the budget holds whatever the
// compressed bytes promise (case f09).
#pragma once

#include <cstdint>
#include <memory>

#include "policy/digest.h"
#include "snapshotter/importer/tar_reader.h"

struct archive;

namespace bailiff::snapshotter {

// A stretch of an open regular file. The descriptor is borrowed; its position is never used.
struct FilePart {
  int file = -1;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

// Reads at most `size` bytes at `at` of the part; fewer only at its end or at the file's.
Result<std::size_t> ReadPart(const FilePart& part, std::uint64_t at, char* buffer,
                             std::size_t size);

// The part's own bytes, without looking into them; passes over data without reading it.
class PlainSource final : public ByteSource {
 public:
  explicit PlainSource(FilePart part) : part_(part) {}
  Result<std::size_t> Read(char* buffer, std::size_t size) override;
  Result<std::uint64_t> Skip(std::uint64_t size) override;

 private:
  FilePart part_;
  std::uint64_t at_ = 0;
};

enum class Compression { kNone, kGzip, kZstd, kXz };

class ArchiveStream final : public ByteSource {
 public:
  // `most`: bytes it may unpack to; kArchiveEmpty for a part without bytes.
  static Result<std::unique_ptr<ArchiveStream>> Open(FilePart part, std::uint64_t most);
  ~ArchiveStream() override;

  // What the bytes are under, as found in them.
  Compression compression() const { return compression_; }

  // Fills `buffer` unless the stream ends first. kExpansion and kTotalBytes when a budget is
  // crossed, kArchiveDamaged for bad data.
  Result<std::size_t> Read(char* buffer, std::size_t size) override;

  std::uint64_t bytes() const { return bytes_; }
  // SHA-256 of everything read so far; once, after the end.
  policy::Digest Finish() { return sha_.Finish(); }

 private:
  ArchiveStream(FilePart part, std::uint64_t most);
  static long ReadFile(archive* reader, void* self, const void** data);

  FilePart part_;
  std::uint64_t at_ = 0;
  std::uint64_t expansion_limit_;
  std::uint64_t most_;
  archive* reader_ = nullptr;
  Compression compression_ = Compression::kNone;
  std::unique_ptr<char[]> raw_;
  policy::Sha256 sha_;
  std::uint64_t bytes_ = 0;
  bool ended_ = false;
};

}  // namespace bailiff::snapshotter
