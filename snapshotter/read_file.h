// SPDX-License-Identifier: Apache-2.0
// Reading one foreign file and knowing that what was read is one state of it.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "policy/digest.h"
#include "snapshotter/reporter.h"

namespace bailiff::snapshotter {

inline constexpr std::size_t kReadBuffer = 256 * 1024;

class FileReader {
 public:
  FileReader() : buffer_(new char[kReadBuffer]) {}

  // Reads a regular file of exactly `before.st_size` bytes, hands each piece to `sink`, and
  // compares its state afterwards: kChanged when size, times, inode or links differ from `before`.
  // `base`: bytes done before this file, for Progress.
  Result<policy::Digest> Read(int fd, const struct stat& before, std::string_view path,
                              Reporter& reporter, std::uint64_t entries, std::uint64_t base,
                              const std::function<Result<void>(std::string_view)>& sink);
  Result<policy::Digest> Hash(int fd, const struct stat& before, std::string_view path,
                              Reporter& reporter, std::uint64_t entries, std::uint64_t base);

 private:
  std::unique_ptr<char[]> buffer_;
};

// A call on what a directory listed a moment ago failed with `error`: kUnreadable where it is not
// ours to read, kChanged where it is gone or has become something else since it was listed (a
// writer was at work, case f07), kIo for the rest.
Error ForeignFault(const char* call, std::string_view path, int error);

// The target of a symbolic link: 1 to 4095 bytes, else kLinkTarget.
Result<std::string> ReadLink(int directory, const char* name, std::string_view path);

}  // namespace bailiff::snapshotter
