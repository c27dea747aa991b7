// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/chown_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "ipc/fd.h"

namespace bailiff::controller {
namespace {

constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK;

struct Names {
  std::vector<std::string> directories;
  std::vector<std::string> others;
};

Result<Names> List(int directory) {
  Names names;
  alignas(dirent64) char buffer[32768];
  if (lseek(directory, 0, SEEK_SET) != 0) return SystemError("lseek", "directory");
  for (;;) {
    const ssize_t got = getdents64(directory, buffer, sizeof buffer);
    if (got < 0) return SystemError("getdents64", "directory");
    if (got == 0) return names;
    for (ssize_t at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const dirent64*>(buffer + at);
      at += entry->d_reclen;
      if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
      unsigned char type = entry->d_type;
      struct stat status;
      if (type == DT_UNKNOWN &&
          fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0)
        type = static_cast<unsigned char>(IFTODT(status.st_mode));
      (type == DT_DIR ? names.directories : names.others).emplace_back(entry->d_name);
    }
  }
}

struct Level {
  ipc::Fd directory;
  Names names;
};

}  // namespace

Result<void> ChownTree(int directory, const char* name, uid_t uid, gid_t gid,
                       std::uint64_t max_entries, std::optional<mode_t> directory_mode) {
  std::vector<Level> levels;
  std::uint64_t entries = 0;
  const auto push = [&](int parent, const char* below) -> Result<void> {
    BAILIFF_TRY_ASSIGN(ipc::Fd opened, ipc::OpenAt(parent, below, kDirectory));
    if (fchown(opened.get(), uid, gid) != 0) return SystemError("fchown", below);
    if (directory_mode && fchmod(opened.get(), *directory_mode) != 0)
      return SystemError("fchmod", below);
    BAILIFF_TRY_ASSIGN(Names names, List(opened.get()));
    entries += names.directories.size() + names.others.size();
    if (entries > max_entries) return SystemError("fchown", below, E2BIG);
    for (const std::string& other : names.others) {
      if (fchownat(opened.get(), other.c_str(), uid, gid, AT_SYMLINK_NOFOLLOW) != 0)
        return SystemError("fchownat", other);
    }
    names.others.clear();
    levels.push_back({std::move(opened), std::move(names)});
    return {};
  };
  BAILIFF_TRY(push(directory, name));
  while (!levels.empty()) {
    Level& level = levels.back();
    if (level.names.directories.empty()) {
      levels.pop_back();
      continue;
    }
    const std::string below = std::move(level.names.directories.back());
    level.names.directories.pop_back();
    BAILIFF_TRY(push(level.directory.get(), below.c_str()));
  }
  return {};
}

}  // namespace bailiff::controller
