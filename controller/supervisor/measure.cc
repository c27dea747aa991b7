// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/measure.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cstring>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "ipc/fd.h"

namespace bailiff::controller {
namespace {

constexpr std::uint64_t kMostEntries = 1'000'000;

using Stream = std::unique_ptr<DIR, int (*)(DIR*)>;

Result<Stream> OpenStream(int parent, const char* name) {
  BAILIFF_TRY_ASSIGN(ipc::Fd opened,
                     ipc::OpenAt(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  Stream stream(fdopendir(opened.get()), closedir);
  if (stream == nullptr) return SystemError("fdopendir", name);
  static_cast<void>(opened.release());
  return stream;
}

Result<std::uint64_t> Walk(int parent, const char* name, std::uint64_t most) {
  std::uint64_t bytes = 0;
  std::uint64_t entries = 0;
  std::set<std::pair<dev_t, ino_t>> shared;
  std::vector<Stream> levels;
  const auto visit = [&](int directory, const char* below) -> Result<void> {
    struct stat status;
    if (fstatat(directory, below, &status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) return {};
      return SystemError("fstatat", below);
    }
    if (++entries > most) return SystemError("fstatat", below, E2BIG);
    if (S_ISDIR(status.st_mode)) {
      auto stream = OpenStream(directory, below);
      if (!stream.ok() && stream.error().system_error == ENOENT) return {};
      if (!stream.ok()) return std::move(stream).error();
      levels.push_back(std::move(*stream));
      return {};
    }
    if (status.st_nlink == 1 || shared.emplace(status.st_dev, status.st_ino).second)
      bytes += static_cast<std::uint64_t>(status.st_size);
    return {};
  };
  BAILIFF_TRY(visit(parent, name));
  while (!levels.empty()) {
    DIR* const level = levels.back().get();
    const dirent* entry = readdir(level);
    if (entry == nullptr) {
      levels.pop_back();
    } else if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0) {
      BAILIFF_TRY(visit(dirfd(level), entry->d_name));
    }
  }
  return bytes;
}

}  // namespace

Result<std::uint64_t> MeasureTree(int parent, const char* name) {
  return Walk(parent, name, kMostEntries);
}

Result<bool> HoldsMoreThan(int parent, const char* name, std::uint64_t most) {
  const auto walked = Walk(parent, name, most);
  if (walked.ok()) return false;
  if (walked.error().system_error == E2BIG || walked.error().system_error == EMFILE) return true;
  return walked.error();
}

}  // namespace bailiff::controller
