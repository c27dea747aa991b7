// SPDX-License-Identifier: Apache-2.0
#include "ipc/fd.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace bailiff::ipc {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Fd::reset() {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

Result<Fd> OpenAt(int directory, const char* path, int flags, unsigned mode) {
  const int fd = openat(directory, path, flags | O_CLOEXEC, mode);
  if (fd < 0) return SystemError("openat", path);
  return Fd(fd);
}

Result<Fd> OpenBeneath(int directory, const char* path, int flags, unsigned mode, bool same_mount) {
  open_how how{};
  how.flags = static_cast<unsigned>(flags) | O_CLOEXEC;
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  if (same_mount) how.resolve |= RESOLVE_NO_XDEV;
  long fd = -1;
  do {
    fd = syscall(SYS_openat2, directory, path, &how, sizeof how);
  } while (fd < 0 && errno == EAGAIN);
  if (fd < 0) return SystemError("openat2", path);
  return Fd(static_cast<int>(fd));
}

Result<std::string> ReadToEnd(int fd, std::size_t limit, std::string_view subject) {
  std::string bytes;
  std::array<char, 16384> buffer;
  for (;;) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0) {
      if (errno == EINTR) continue;
      return SystemError("read", subject);
    }
    if (got == 0) return bytes;
    if (bytes.size() + static_cast<std::size_t>(got) > limit)
      return SystemError("read", subject, EFBIG);
    bytes.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

Result<std::string> ReadFileAt(int directory, const char* path, std::size_t limit) {
  BAILIFF_TRY_ASSIGN(const Fd fd, OpenAt(directory, path, O_RDONLY | O_NOCTTY));
  return ReadToEnd(fd.get(), limit, path);
}

Result<void> WriteAll(int fd, std::string_view bytes, std::string_view subject) {
  while (!bytes.empty()) {
    const ssize_t put = write(fd, bytes.data(), bytes.size());
    if (put < 0) {
      if (errno == EINTR) continue;
      return SystemError("write", subject);
    }
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

Result<void> WriteFileAt(int directory, const char* path, std::string_view bytes) {
  BAILIFF_TRY_ASSIGN(const Fd fd, OpenAt(directory, path, O_WRONLY | O_NOCTTY));
  ssize_t put = -1;
  do {
    put = write(fd.get(), bytes.data(), bytes.size());
  } while (put < 0 && errno == EINTR);
  if (put < 0) return SystemError("write", path);
  if (static_cast<std::size_t>(put) != bytes.size()) return SystemError("write", path, EIO);
  return {};
}

Result<Pipe> MakePipe(int flags) {
  int ends[2];
  if (pipe2(ends, flags | O_CLOEXEC) != 0) return SystemError("pipe2", "pipe");
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

}  // namespace bailiff::ipc
