// SPDX-License-Identifier: Apache-2.0
#include "snapshotter/importer/tar_reader.h"

#include <algorithm>
#include <cstring>

#include "policy/snapshot_codes.h"
#include "policy/tree_path.h"

namespace bailiff::snapshotter {
namespace {

using policy::MakeFault;
using policy::SnapshotFault;

constexpr std::size_t kMaxPax = 1 << 20;  // of one extended header
constexpr std::size_t kMaxLong =
    policy::kMaxTreePath + 64;  // of one long name, with its NUL and slashes at its ends

struct Field {
  std::size_t offset;
  std::size_t size;
};
constexpr Field kName{0, 100};
constexpr Field kMode{100, 8};
constexpr Field kSize{124, 12};
constexpr Field kChecksum{148, 8};
constexpr std::size_t kType = 156;
constexpr Field kLink{157, 100};
constexpr Field kMagic{257, 8};
constexpr Field kPrefix{345, 155};

std::string_view Of(const std::array<char, 512>& block, Field field) {
  return std::string_view(block.data(), block.size()).substr(field.offset, field.size);
}

// Octal digits between blanks, or base 256 with the top bit set (GNU). Nothing for anything else or
// a negative number.
std::optional<std::uint64_t> Number(std::string_view text) {
  if ((static_cast<unsigned char>(text[0]) & 0x80) != 0) {
    std::uint64_t value = static_cast<unsigned char>(text[0]) & 0x7F;
    if ((value & 0x40) != 0) return std::nullopt;
    for (const char byte : text.substr(1)) {
      if ((value >> 55) != 0) return std::nullopt;
      value = value << 8 | static_cast<unsigned char>(byte);
    }
    return value;
  }
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  std::uint64_t value = 0;
  while (!text.empty() && text.front() >= '0' && text.front() <= '7') {
    value = value << 3 | static_cast<std::uint64_t>(text.front() - '0');  // 12 digits at most
    text.remove_prefix(1);
  }
  if (text.find_first_not_of(std::string_view(" \0", 2)) != std::string_view::npos)
    return std::nullopt;
  return value;
}

std::optional<std::uint64_t> Decimal(std::string_view text) {
  if (text.empty() || text.size() > 19) return std::nullopt;
  std::uint64_t value = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(digit - '0');
  }
  return value;
}

// A name that ends at its first NUL; nothing when something else follows.
std::optional<std::string_view> Text(std::string_view field) {
  const std::size_t end = field.find('\0');
  if (end == std::string_view::npos) return field;
  if (field.find_first_not_of('\0', end) != std::string_view::npos) return std::nullopt;
  return field.substr(0, end);
}

bool ChecksumHolds(const std::array<char, 512>& block) {
  const auto wanted = Number(Of(block, kChecksum));
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const bool in_field = i >= kChecksum.offset && i < kChecksum.offset + kChecksum.size;
    sum += in_field ? ' ' : static_cast<unsigned char>(block[i]);
  }
  return wanted && *wanted == sum;
}

bool AllZero(const char* bytes, std::size_t size) {
  return std::all_of(bytes, bytes + size, [](char byte) { return byte == 0; });
}

}  // namespace

Result<std::uint64_t> ByteSource::Skip(std::uint64_t size) {
  std::array<char, 16384> scrap;
  std::uint64_t passed = 0;
  while (passed != size) {
    const auto most = std::min<std::uint64_t>(scrap.size(), size - passed);
    BAILIFF_TRY_ASSIGN(const std::size_t got, Read(scrap.data(), static_cast<std::size_t>(most)));
    passed += got;
    if (got != most) break;
  }
  return passed;
}

Error TarReader::Fault(const char* why) const {
  return MakeFault(SnapshotFault::kArchiveDamaged, "archive",
                   std::string(why) + " before byte " + std::to_string(offset_));
}

Result<bool> TarReader::ReadBlock(Block& block) {
  BAILIFF_TRY_ASSIGN(const std::size_t got, source_.Read(block.data(), block.size()));
  offset_ += got;
  if (got != 0 && got != block.size()) return Fault("cut short");
  return got != 0;
}

Result<std::size_t> TarReader::Data(char* buffer, std::size_t size) {
  size = static_cast<std::size_t>(std::min<std::uint64_t>(size, left_));
  if (size == 0) return std::size_t{0};
  BAILIFF_TRY_ASSIGN(const std::size_t got, source_.Read(buffer, size));
  offset_ += got;
  left_ -= got;
  if (got != size) return Fault("cut short");
  return got;
}

Result<bool> TarReader::PassOver() {
  const std::uint64_t data = left_;
  const std::uint64_t rest = left_ + padding_;
  left_ = 0;
  padding_ = 0;
  if (rest == 0) return true;
  BAILIFF_TRY_ASSIGN(const std::uint64_t passed, source_.Skip(rest));
  offset_ += passed;
  if (passed < data) return Fault("cut short");
  return passed == rest;
}

// Two zero blocks end an archive; writers pad to a record. Something else behind it would be hashed
// but never seen.
Result<void> TarReader::ReadToEnd() {
  ended_ = true;
  std::array<char, 16384> rest;
  for (;;) {
    BAILIFF_TRY_ASSIGN(const std::size_t got, source_.Read(rest.data(), rest.size()));
    offset_ += got;
    if (got == 0) return {};
    if (!AllZero(rest.data(), got)) return Fault("data after the end of the archive");
  }
}

Result<std::string> TarReader::Payload(std::uint64_t size, std::size_t most, const char* what) {
  if (size > most)
    return MakeFault(SnapshotFault::kPathBytes, "archive", std::string(what) + " is too long");
  std::string bytes(static_cast<std::size_t>(size), '\0');
  left_ = size;
  padding_ = (512 - size % 512) % 512;
  BAILIFF_TRY(Data(bytes.data(), bytes.size()));
  BAILIFF_TRY_ASSIGN(const bool whole, PassOver());
  if (!whole) return Fault("cut short");
  return bytes;
}

Result<void> TarReader::ApplyPax(std::string_view records, bool global) {
  while (!records.empty()) {
    const std::size_t blank = records.find(' ');
    if (blank == std::string_view::npos) return Fault("bad extended header");
    const auto length = Decimal(records.substr(0, blank));
    if (!length || *length > records.size() || *length < blank + 3 || records[*length - 1] != '\n')
      return Fault("bad extended header");
    const std::string_view record = records.substr(blank + 1, *length - blank - 2);
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos) return Fault("bad extended header");
    BAILIFF_TRY(ApplyRecord(record.substr(0, equals), record.substr(equals + 1), global));
    records.remove_prefix(*length);
  }
  return {};
}

Result<void> TarReader::ApplyRecord(std::string_view key, std::string_view value, bool global) {
  const bool decides = key == "path" || key == "linkpath" || key == "size";
  if (global && decides)
    return MakeFault(SnapshotFault::kArchiveFormat, "archive", "a global header renames entries");
  if (key.starts_with("GNU.sparse.") || key == "SCHILY.realsize")
    return MakeFault(SnapshotFault::kArchiveFormat, "archive", "a sparse entry");
  if (key.starts_with("SCHILY.xattr.") || key.starts_with("LIBARCHIVE.xattr.") ||
      key.starts_with("SCHILY.acl."))
    extended_.attributes = true;
  if (!decides) return {};
  if (key == "size") {
    extended_.size = Decimal(value);
    if (!extended_.size) return Fault("bad size");
    return {};
  }
  if (value.find('\0') != std::string_view::npos)
    return MakeFault(SnapshotFault::kEntryPath, value.substr(0, 256), "a name with NUL");
  (key == "path" ? extended_.path : extended_.link) = value;
  return {};
}

Result<std::optional<TarEntry>> TarReader::Next() {
  if (ended_) return std::optional<TarEntry>();
  BAILIFF_TRY_ASSIGN(const bool whole, PassOver());
  if (!whole && end_ == TarEnd::kRequired) return Fault("cut short");
  extended_ = {};
  for (bool first = true;; first = false) {
    Block block;
    BAILIFF_TRY_ASSIGN(const bool there, ReadBlock(block));
    if (!there && end_ == TarEnd::kMayBeAbsent && first) {
      ended_ = true;
      return std::optional<TarEntry>();
    }
    if (!there) return Fault("no end of archive: cut short");
    if (AllZero(block.data(), block.size())) {
      BAILIFF_TRY(ReadToEnd());
      return std::optional<TarEntry>();
    }
    if (!ChecksumHolds(block))
      return MakeFault(SnapshotFault::kArchiveFormat, "archive",
                       "not a tar: no header where one must be");
    const auto size = Number(Of(block, kSize));
    if (!size) return Fault("bad size");
    switch (block[kType]) {
      case 'x':
      case 'g': {
        BAILIFF_TRY_ASSIGN(const std::string records,
                           Payload(*size, kMaxPax, "an extended header"));
        BAILIFF_TRY(ApplyPax(records, block[kType] == 'g'));
        continue;
      }
      case 'L':
      case 'K': {
        BAILIFF_TRY_ASSIGN(const std::string bytes, Payload(*size, kMaxLong, "a name"));
        const auto name = Text(bytes);
        if (!name)
          return MakeFault(SnapshotFault::kEntryPath, bytes.substr(0, 256), "a name with NUL");
        (block[kType] == 'L' ? extended_.path : extended_.link) = *name;
        continue;
      }
      default:
        return Convert(block, extended_.size.value_or(*size));
    }
  }
}

Result<std::optional<TarEntry>> TarReader::Convert(const Block& block, std::uint64_t size) {
  TarEntry entry;
  const auto name = Text(Of(block, kName));
  const auto link = Text(Of(block, kLink));
  const bool posix = Of(block, kMagic).substr(0, 6) == std::string_view("ustar\0", 6);
  const auto prefix = posix ? Text(Of(block, kPrefix)) : std::string_view();
  if (!name || !link || !prefix)
    return MakeFault(SnapshotFault::kEntryPath, Of(block, kName), "a name with NUL");
  if (extended_.path) {
    entry.path = *extended_.path;
  } else {
    if (!prefix->empty()) entry.path.append(*prefix).append("/");
    entry.path += *name;
  }
  entry.link = extended_.link ? *extended_.link : std::string(*link);
  entry.attributes = extended_.attributes;
  const auto mode = Number(Of(block, kMode));
  if (!mode) return Fault("bad mode");
  entry.mode = static_cast<std::uint32_t>(*mode & 07777);
  switch (block[kType]) {
    case '\0':
    case '0':
    case '7':
      // Before POSIX a directory was a file whose name ends in a slash.
      entry.type = entry.path.ends_with('/') ? TarType::kDirectory : TarType::kFile;
      break;
    case '1':
      entry.type = TarType::kHardLink;
      break;
    case '2':
      entry.type = TarType::kSymbolicLink;
      break;
    case '3':
    case '4':
      entry.type = TarType::kDevice;
      break;
    case '5':
      entry.type = TarType::kDirectory;
      break;
    case '6':
      entry.type = TarType::kFifo;
      break;
    default:
      return MakeFault(SnapshotFault::kArchiveFormat, entry.path,
                       std::string("entry type '") + block[kType] + "'");
  }
  if (entry.type != TarType::kFile && size != 0)
    return MakeFault(SnapshotFault::kArchiveFormat, entry.path, "data in an entry that has none");
  entry.size = left_ = size;
  padding_ = (512 - size % 512) % 512;
  return std::optional<TarEntry>(std::move(entry));
}

}  // namespace bailiff::snapshotter
