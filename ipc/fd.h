// SPDX-License-Identifier: Apache-2.0
// Ownership of descriptors, and the few whole-buffer calls every room needs. Everything opened here
// is close-on-exec.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "ipc/result.h"

namespace bailiff::ipc {

// Sole owner of one descriptor. Never converts to bool: descriptor 0 is a descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  operator bool() const = delete;
  bool valid() const { return fd_ >= 0; }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  // Closes; errors of close(2) carry no information for a descriptor nothing was written through
  // without fsync.
  void reset();

 private:
  int fd_ = -1;
};

// openat(2) with O_CLOEXEC added. `subject` of an error is `path`.
Result<Fd> OpenAt(int directory, const char* path, int flags, unsigned mode = 0);
// openat2(2) below `directory` only: no "..", no links of any kind, no other mount when
// `same_mount`.
Result<Fd> OpenBeneath(int directory, const char* path, int flags, unsigned mode = 0,
                       bool same_mount = false);

// Reads to the end; fails when there are more than `limit` bytes.
Result<std::string> ReadToEnd(int fd, std::size_t limit, std::string_view subject);
// The content of a small file below `directory` (a path of /proc, cgroupfs, or our own data).
Result<std::string> ReadFileAt(int directory, const char* path, std::size_t limit);
// Writes all of `bytes`, restarting on EINTR and short writes.
Result<void> WriteAll(int fd, std::string_view bytes, std::string_view subject);
// Opens an existing file for writing and writes `bytes` in one write(2): what /proc and cgroupfs
// want.
Result<void> WriteFileAt(int directory, const char* path, std::string_view bytes);

struct Pipe {
  Fd read;
  Fd write;
};
Result<Pipe> MakePipe(int flags = 0);

}  // namespace bailiff::ipc
