// SPDX-License-Identifier: Apache-2.0
// The uncompressed bytes of an archive: plain, or under exactly one of gzip, zstd, xz (libarchive's
// filters, no external program). Every byte is hashed and counted as it passes, so the budget holds
// whatever the compressed bytes promise (case f09).
#pragma once

#include <cstdint>
#include <memory>

#include "policy/digest.h"
#include "snapshotter/importer/tar_reader.h"

struct archive;

namespace bailiff::snapshotter {

class ArchiveStream final : public ByteSource {
 public:
  // `file`: positioned at its start; `size`: of the file. `most`: bytes it may unpack to in all.
  static Result<std::unique_ptr<ArchiveStream>> Open(int file, std::uint64_t size,
                                                     std::uint64_t most);
  ~ArchiveStream() override;

  // Fills `buffer` unless the stream ends first. kExpansion and kTotalBytes when a budget is
  // crossed, kArchiveDamaged for bad data.
  Result<std::size_t> Read(char* buffer, std::size_t size) override;

  std::uint64_t bytes() const { return bytes_; }
  // SHA-256 of everything read so far; once, after the end.
  policy::Digest Finish() { return sha_.Finish(); }

 private:
  ArchiveStream(int file, std::uint64_t size, std::uint64_t most);
  static long ReadFile(archive* reader, void* self, const void** data);

  int file_;
  std::uint64_t expansion_limit_;
  std::uint64_t most_;
  archive* reader_ = nullptr;
  std::unique_ptr<char[]> raw_;
  policy::Sha256 sha_;
  std::uint64_t bytes_ = 0;
  bool ended_ = false;
};

}  // namespace bailiff::snapshotter
