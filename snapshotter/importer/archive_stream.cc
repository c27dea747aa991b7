// SPDX-License-Identifier: Apache-2.0
#include "snapshotter/importer/archive_stream.h"

#include <archive.h>
#include <archive_entry.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "policy/tree_path.h"

namespace bailiff::snapshotter {
namespace {

using policy::MakeFault;
using policy::SnapshotFault;

constexpr std::size_t kRaw = 64 * 1024;
// An archive of one small file is padded to 10 KiB of zeros and compresses to almost nothing: the
// ratio says something only above this.
constexpr std::uint64_t kExpansionFloor = 1 << 20;

Error Damaged(archive* reader, const char* step) {
  const char* why = archive_error_string(reader);
  const bool memory = archive_errno(reader) == ENOMEM;
  return MakeFault(memory ? SnapshotFault::kMemory : SnapshotFault::kArchiveDamaged, "archive",
                   std::string(step) + ": " + (why != nullptr ? why : "unreadable"));
}

Result<Compression> CompressionOf(archive* reader) {
  switch (archive_filter_code(reader, 0)) {
    case ARCHIVE_FILTER_NONE:
      return Compression::kNone;
    case ARCHIVE_FILTER_GZIP:
      return Compression::kGzip;
    case ARCHIVE_FILTER_ZSTD:
      return Compression::kZstd;
    case ARCHIVE_FILTER_XZ:
      return Compression::kXz;
    default:
      return MakeFault(SnapshotFault::kArchiveFormat, "archive", "an unknown compression");
  }
}

}  // namespace

Result<std::size_t> ReadPart(const FilePart& part, std::uint64_t at, char* buffer,
                             std::size_t size) {
  std::size_t filled = 0;
  while (filled < size && at + filled < part.size) {
    const auto most = std::min<std::uint64_t>(size - filled, part.size - at - filled);
    const ssize_t got = pread(part.file, buffer + filled, static_cast<std::size_t>(most),
                              static_cast<off_t>(part.offset + at + filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return MakeFault(SnapshotFault::kIo, "archive", "pread", errno);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  return filled;
}

Result<std::size_t> PlainSource::Read(char* buffer, std::size_t size) {
  BAILIFF_TRY_ASSIGN(const std::size_t got, ReadPart(part_, at_, buffer, size));
  at_ += got;
  return got;
}

Result<std::uint64_t> PlainSource::Skip(std::uint64_t size) {
  const std::uint64_t passed = std::min(size, part_.size - std::min(at_, part_.size));
  at_ += passed;
  return passed;
}

ArchiveStream::ArchiveStream(FilePart part, std::uint64_t most)
    : part_(part),
      expansion_limit_(
          std::max(kExpansionFloor, part.size > most ? most : part.size * policy::kMaxExpansion)),
      most_(most),
      reader_(archive_read_new()),
      raw_(new char[kRaw]) {}

ArchiveStream::~ArchiveStream() {
  if (reader_ != nullptr) archive_read_free(reader_);
}

long ArchiveStream::ReadFile(archive* reader, void* self, const void** data) {
  auto* stream = static_cast<ArchiveStream*>(self);
  const auto got = ReadPart(stream->part_, stream->at_, stream->raw_.get(), kRaw);
  if (!got.ok()) {
    archive_set_error(reader, got.error().system_error, "pread");
    return -1;
  }
  stream->at_ += *got;
  *data = stream->raw_.get();
  return static_cast<long>(*got);
}

Result<std::unique_ptr<ArchiveStream>> ArchiveStream::Open(FilePart part, std::uint64_t most) {
  std::unique_ptr<ArchiveStream> stream(new ArchiveStream(part, most));
  archive* reader = stream->reader_;
  if (reader == nullptr) return MakeFault(SnapshotFault::kMemory, "archive", "archive_read_new");
  if (archive_read_support_filter_gzip(reader) != ARCHIVE_OK ||
      archive_read_support_filter_zstd(reader) != ARCHIVE_OK ||
      archive_read_support_filter_xz(reader) != ARCHIVE_OK ||
      archive_read_support_format_raw(reader) != ARCHIVE_OK)
    return MakeFault(SnapshotFault::kArchiveFormat, "archive",
                     "a decoder is missing from this build");
  if (part.size == 0) return MakeFault(SnapshotFault::kArchiveEmpty, "archive", "an empty file");
  if (archive_read_open(reader, stream.get(), nullptr, &ArchiveStream::ReadFile, nullptr) !=
      ARCHIVE_OK)
    return Damaged(reader, "opening");
  // The last filter is always "none": one compression, not gzip of gzip.
  if (archive_filter_count(reader) > 2)
    return MakeFault(SnapshotFault::kArchiveFormat, "archive", "compressed more than once");
  BAILIFF_TRY_ASSIGN(stream->compression_, CompressionOf(reader));
  archive_entry* entry = nullptr;
  if (archive_read_next_header(reader, &entry) != ARCHIVE_OK) return Damaged(reader, "opening");
  return stream;
}

Result<std::size_t> ArchiveStream::Read(char* buffer, std::size_t size) {
  std::size_t filled = 0;
  while (filled < size && !ended_) {
    const auto got = archive_read_data(reader_, buffer + filled, size - filled);
    if (got < 0) return Damaged(reader_, "unpacking");
    if (got == 0) ended_ = true;
    filled += static_cast<std::size_t>(got);
  }
  bytes_ += filled;
  if (bytes_ > expansion_limit_)
    return MakeFault(SnapshotFault::kExpansion, "archive",
                     "over " + std::to_string(expansion_limit_) + " bytes");
  if (bytes_ > most_) return MakeFault(SnapshotFault::kTotalBytes, "archive", "uncompressed bytes");
  sha_.Update({buffer, filled});
  return filled;
}

}  // namespace bailiff::snapshotter
