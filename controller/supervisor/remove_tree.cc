// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/remove_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "ipc/fd.h"

namespace bailiff::controller {
namespace {

constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK;

// Opens a directory whatever its mode forbids: its owner, or id 0 of the namespace that maps its
// owner, may give it one.
Result<ipc::Fd> OpenDirectory(int parent, const char* name) {
  auto opened = ipc::OpenAt(parent, name, kDirectory);
  if (opened.ok() || opened.error().system_error != EACCES) return opened;
  const ipc::Fd handle(openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!handle.valid()) return SystemError("openat", name);
  // fchmod refuses O_PATH; the name below the parent may meanwhile be a link, which fchmodat would
  // follow.
  const std::string self = "/proc/self/fd/" + std::to_string(handle.get());
  if (chmod(self.c_str(), 0700) != 0) return SystemError("chmod", name);
  return ipc::OpenAt(parent, name, kDirectory);
}

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

// Empties `directory` of everything but directories and returns the names of these.
Result<std::vector<std::string>> RemoveFiles(int directory) {
  if (fchmod(directory, 0700) != 0) return SystemError("fchmod", "directory");
  BAILIFF_TRY_ASSIGN(Names names, List(directory));
  for (const std::string& name : names.others) {
    if (unlinkat(directory, name.c_str(), 0) != 0 && errno != ENOENT)
      return SystemError("unlinkat", name);
  }
  return std::move(names.directories);
}

// A directory that changes its parent must itself be writable.
Result<void> MoveUp(int from, const char* name, int top, const char* moved) {
  if (renameat2(from, name, top, moved, RENAME_NOREPLACE) == 0) return {};
  if (errno != EACCES) return SystemError("renameat2", name);
  BAILIFF_TRY_ASSIGN(const ipc::Fd child, OpenDirectory(from, name));
  if (fchmod(child.get(), 0700) != 0) return SystemError("fchmod", name);
  if (renameat2(from, name, top, moved, RENAME_NOREPLACE) != 0)
    return SystemError("renameat2", name);
  return {};
}

// Breadth first at one level: what lies below a directory is moved up beside it, so that depth
// never grows and each directory is emptied with one descriptor. Names at the level are numbers of
// ours.
Result<void> RemoveBelow(int top) {
  BAILIFF_TRY_ASSIGN(std::vector<std::string> pending, RemoveFiles(top));
  std::uint64_t next = 0;
  const auto fresh = [&] {
    return ".removed-" + std::to_string(getpid()) + "-" + std::to_string(next++);
  };
  while (!pending.empty()) {
    const std::string name = std::move(pending.back());
    pending.pop_back();
    BAILIFF_TRY_ASSIGN(const ipc::Fd directory, OpenDirectory(top, name.c_str()));
    BAILIFF_TRY_ASSIGN(const std::vector<std::string> below, RemoveFiles(directory.get()));
    for (const std::string& child : below) {
      // An empty one, the most frequent case, is not worth a move.
      if (unlinkat(directory.get(), child.c_str(), AT_REMOVEDIR) == 0) continue;
      std::string moved = fresh();
      BAILIFF_TRY(MoveUp(directory.get(), child.c_str(), top, moved.c_str()));
      pending.push_back(std::move(moved));
    }
    if (unlinkat(top, name.c_str(), AT_REMOVEDIR) != 0) return SystemError("unlinkat", name);
  }
  return {};
}

struct Level {
  ipc::Fd directory;
  Names names;
};

}  // namespace

Result<void> RemoveTree(int directory, const char* name) {
  if (unlinkat(directory, name, 0) == 0 || errno == ENOENT) return {};
  if (errno != EISDIR && errno != EPERM && errno != EBUSY) return SystemError("unlinkat", name);
  {
    BAILIFF_TRY_ASSIGN(const ipc::Fd top, OpenDirectory(directory, name));
    BAILIFF_TRY(RemoveBelow(top.get()));
  }
  if (unlinkat(directory, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
    return SystemError("unlinkat", name);
  return {};
}

Result<void> ChownTree(int directory, const char* name, uid_t uid, gid_t gid,
                       std::uint64_t max_entries) {
  std::vector<Level> levels;
  std::uint64_t entries = 0;
  const auto push = [&](int parent, const char* below) -> Result<void> {
    BAILIFF_TRY_ASSIGN(ipc::Fd opened, ipc::OpenAt(parent, below, kDirectory));
    if (fchown(opened.get(), uid, gid) != 0) return SystemError("fchown", below);
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
