// SPDX-License-Identifier: Apache-2.0
#include "snapshotter/read_file.h"

#include <unistd.h>

#include <array>
#include <cerrno>

#include "policy/tree_path.h"

namespace bailiff::snapshotter {
namespace {

using policy::MakeFault;
using policy::SnapshotFault;

bool SameTime(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

}  // namespace

Error ForeignFault(const char* call, std::string_view path, int error) {
  switch (error) {
    case EACCES:
    case EPERM:
      return MakeFault(SnapshotFault::kUnreadable, path, call, error);
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
    case EINVAL:
    case ESTALE:
      return MakeFault(SnapshotFault::kChanged, path, call, error);
    default:
      return MakeFault(SnapshotFault::kIo, path, call, error);
  }
}

Result<policy::Digest> FileReader::Read(int fd, const struct stat& before, std::string_view path,
                                        Reporter& reporter, std::uint64_t entries,
                                        std::uint64_t base,
                                        const std::function<Result<void>(std::string_view)>& sink) {
  const auto size = static_cast<std::uint64_t>(before.st_size);
  policy::Sha256 sha;
  std::uint64_t done = 0;
  for (;;) {
    const ssize_t got = read(fd, buffer_.get(), kReadBuffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return MakeFault(SnapshotFault::kIo, path, "read", errno);
    const std::string_view data(buffer_.get(), static_cast<std::size_t>(got));
    done += data.size();
    if (done > size) return MakeFault(SnapshotFault::kChanged, path, "it grew");
    sha.Update(data);
    if (sink) BAILIFF_TRY(sink(data));
    if (data.size() < kReadBuffer) break;
    BAILIFF_TRY(reporter.Progress(entries, base + done));
  }
  if (done != size) return MakeFault(SnapshotFault::kChanged, path, "it shrank");
  struct stat now;
  if (fstat(fd, &now) != 0) return MakeFault(SnapshotFault::kIo, path, "fstat", errno);
  if (now.st_size != before.st_size || now.st_ino != before.st_ino ||
      now.st_nlink != before.st_nlink || !SameTime(now.st_mtim, before.st_mtim) ||
      !SameTime(now.st_ctim, before.st_ctim))
    return MakeFault(SnapshotFault::kChanged, path, "its state differs from before");
  return sha.Finish();
}

Result<policy::Digest> FileReader::Hash(int fd, const struct stat& before, std::string_view path,
                                        Reporter& reporter, std::uint64_t entries,
                                        std::uint64_t base) {
  return Read(fd, before, path, reporter, entries, base, {});
}

Result<std::string> ReadLink(int directory, const char* name, std::string_view path) {
  std::array<char, policy::kMaxTreePath + 1> target;
  const ssize_t got = readlinkat(directory, name, target.data(), target.size());
  if (got < 0) return ForeignFault("readlinkat", path, errno);
  if (got == 0 || static_cast<std::size_t>(got) > policy::kMaxTreePath)
    return MakeFault(SnapshotFault::kLinkTarget, path, "empty or too long");
  return std::string(target.data(), static_cast<std::size_t>(got));
}

}  // namespace bailiff::snapshotter
