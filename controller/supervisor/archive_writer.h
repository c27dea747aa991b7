// SPDX-License-Identifier: Apache-2.0
// A tar that grows in a file: GNU format, since names are bytes and ids may exceed what ustar
// holds. Nothing is compressed. The one file of the controller that includes libarchive, whose
// writing half alone is linked.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "ipc/result.h"
#include "policy/digest.h"

struct archive;

namespace bailiff::controller {

class ArchiveWriter {
 public:
  // `file` is borrowed, empty and open for writing. Every entry is owned by uid:gid.
  static Result<std::unique_ptr<ArchiveWriter>> Open(int file, uid_t uid, gid_t gid);
  ArchiveWriter(const ArchiveWriter&) = delete;
  ArchiveWriter& operator=(const ArchiveWriter&) = delete;
  ~ArchiveWriter();

  // `path` is relative, bytes, not interpreted. Of `status` the type, mode and time count; the size
  // for a regular file, whose bytes follow through Data, exactly as many.
  Result<void> Directory(const std::string& path, const struct stat& status);
  Result<void> Fifo(const std::string& path, const struct stat& status);
  Result<void> Link(const std::string& path, const struct stat& status, const std::string& target);
  // A further name of a file that came before.
  Result<void> HardLink(const std::string& path, const struct stat& status,
                        const std::string& first);
  Result<void> File(const std::string& path, const struct stat& status);
  Result<void> Data(std::string_view bytes);
  // A whole small file.
  Result<void> Text(const std::string& path, mode_t mode, std::string_view bytes);

  // The end of the archive. Nothing may follow.
  Result<void> Finish();
  policy::Digest digest() { return sha_.Finish(); }  // once, after Finish
  std::uint64_t bytes() const { return bytes_; }

 private:
  ArchiveWriter(int file, uid_t uid, gid_t gid);
  static long WriteFile(archive* writer, void* self, const void* data, std::size_t size);
  Result<void> Header(const std::string& path, const struct stat& status, const char* link,
                      const char* hard_link);
  Error Failed(const std::string& path) const;

  int file_;
  uid_t uid_;
  gid_t gid_;
  archive* writer_;
  policy::Sha256 sha_;
  std::uint64_t bytes_ = 0;
};

}  // namespace bailiff::controller
