// SPDX-License-Identifier: Apache-2.0
// The files an image is made of, by name: below a directory, or members of a tar whose bytes lie in
// a file. Nothing of a member but its place is kept; names are looked up, never walked.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "ipc/fd.h"
#include "policy/digest.h"
#include "snapshotter/importer/archive_stream.h"
#include "snapshotter/reporter.h"

namespace bailiff::snapshotter {

inline constexpr std::size_t kMaxImageFiles = 65536;  // of one archive
inline constexpr std::size_t kMaxImageDocument = 1
                                                 << 20;  // bytes; policy/json.h has the same bound

// A part and, for a file of a directory, the descriptor it lies behind.
struct ImageFile {
  ipc::Fd owned;
  FilePart part;
};

class ImageFiles {
 public:
  // `directory`: borrowed; its links are not followed.
  static ImageFiles OfDirectory(int directory);
  // Reads every header of a tar. Members are read from the file given to LieIn later, at the places
  // they have in `tar`.
  static Result<ImageFiles> OfTar(ByteSource& tar, Reporter& reporter);
  // The tar's own bytes: `file` is taken over when `owned`, else borrowed.
  void LieIn(int file) { file_ = file; }
  void LieIn(ipc::Fd file);

  bool Holds(const std::string& name) const;
  // A regular file; in a tar also through one link (docker save puts a layer that several images
  // share down once). kFileMissing, kEntryConflict when the name comes twice.
  Result<ImageFile> Find(const std::string& name) const;
  // Its bytes; kDocument when there are more than kMaxImageDocument.
  Result<std::string> Read(const std::string& name) const;

  // In a tar: the first name at the top that no image archive has, or "".
  const std::string& foreign() const { return foreign_; }
  // In a tar: bytes up to the end of its last header and data.
  std::uint64_t size() const { return size_; }

 private:
  struct Member {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::optional<std::string> link;  // the name it stands for, below the top; "" leads nowhere
    bool twice = false;
  };

  Result<ImageFile> FindOnDisk(const std::string& name) const;
  void Note(const TarEntry& entry, std::uint64_t offset);

  int directory_ = -1;
  int file_ = -1;
  ipc::Fd owned_;
  std::map<std::string, Member, std::less<>> members_;
  bool overflow_ = false;
  std::string foreign_;
  std::uint64_t size_ = 0;
};

// "blobs/sha256/<64 hex>".
std::string BlobName(const policy::Digest& digest);

}  // namespace bailiff::snapshotter
