// SPDX-License-Identifier: Apache-2.0
#include "snapshotter/disk_walk.h"

#include <dirent.h>
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "policy/snapshot_codes.h"
#include "snapshotter/read_file.h"

namespace bailiff::snapshotter {
namespace {

using policy::MakeFault;
using policy::SnapshotFault;

struct Level {
  ipc::Fd directory;
  struct stat before;
  std::vector<std::string> names;  // the first byte of each is its DT_ type
  std::size_t next = 0;
  std::size_t path_size = 0;
};

class Walk {
 public:
  Walk(const policy::TreeBounds& bounds, policy::TreeNames names, WalkVisitor& visitor)
      : bounds_(bounds), names_(names), visitor_(visitor) {}

  Result<void> Run(int root) {
    BAILIFF_TRY(Push(root, "."));
    while (!levels_.empty()) {
      Level& level = levels_.back();
      path_.resize(level.path_size);
      if (level.next == level.names.size()) {
        BAILIFF_TRY(Pop());
        continue;
      }
      const std::string& name = level.names[level.next++];
      BAILIFF_TRY(
          Step(level.directory.get(), static_cast<unsigned char>(name[0]), name.c_str() + 1));
    }
    return {};
  }

 private:
  Result<void> Step(int directory, unsigned char type, const char* name) {
    if (!path_.empty()) path_ += '/';
    path_ += name;
    WalkEntry entry{directory, name, path_, type};
    BAILIFF_TRY_ASSIGN(const bool skip, visitor_.Skip(entry));
    if (skip) return {};
    if (const SnapshotFault fault = policy::CheckComponent(name, names_);
        fault != SnapshotFault::kNone)
      return MakeFault(fault, path_, "found on disk");
    if (path_.size() > policy::kMaxTreePath)
      return MakeFault(SnapshotFault::kPathBytes, path_, "found on disk");
    if (levels_.size() > policy::kMaxTreeDepth)
      return MakeFault(SnapshotFault::kDepth, path_, "found on disk");
    if (entry.type == DT_UNKNOWN) {
      struct stat status;
      if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return ForeignFault("fstatat", path_, errno);
      entry.type = static_cast<unsigned char>(IFTODT(status.st_mode));
    }
    if (entry.type == DT_DIR) return Push(directory, name);
    return visitor_.Entry(entry);
  }

  Result<void> Push(int parent, const char* name) {
    if (++directories_ > bounds_.entries * policy::kDirectoriesPerEntry)
      return MakeFault(SnapshotFault::kEntries, path_, "too many directories");
    const int fd =
        openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return ForeignFault("openat", path_, errno);
    Level level{ipc::Fd(fd), {}, {}, 0, path_.size()};
    if (fstat(fd, &level.before) != 0) return ForeignFault("fstat", path_, errno);
    if (levels_.empty()) device_ = level.before.st_dev;
    if (level.before.st_dev != device_)
      return MakeFault(SnapshotFault::kMount, path_, "another file system");
    BAILIFF_TRY(visitor_.Enter(path_, fd, level.before));
    BAILIFF_TRY(ReadNames(fd, level.names));
    levels_.push_back(std::move(level));
    return {};
  }

  Result<void> ReadNames(int fd, std::vector<std::string>& names) {
    for (;;) {
      const ssize_t got = getdents64(fd, buffer_.data(), buffer_.size());
      if (got < 0) return ForeignFault("getdents64", path_, errno);
      if (got == 0) break;
      for (ssize_t at = 0; at < got;) {
        const auto* item = reinterpret_cast<const dirent64*>(buffer_.data() + at);
        at += item->d_reclen;
        if (std::strcmp(item->d_name, ".") == 0 || std::strcmp(item->d_name, "..") == 0) continue;
        if (++listed_ > bounds_.entries * (policy::kDirectoriesPerEntry + 1))
          return MakeFault(SnapshotFault::kEntries, path_, "too many names");
        names.emplace_back(1, static_cast<char>(item->d_type)).append(item->d_name);
      }
    }
    std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
      return a.compare(1, a.npos, b, 1, b.npos) < 0;
    });
    return {};
  }

  Result<void> Pop() {
    const Level& level = levels_.back();
    struct stat now;
    if (fstat(level.directory.get(), &now) != 0) return ForeignFault("fstat", path_, errno);
    BAILIFF_TRY(visitor_.Leave(path_, level.before, now, level.names.empty()));
    levels_.pop_back();
    return {};
  }

  const policy::TreeBounds& bounds_;
  const policy::TreeNames names_;
  WalkVisitor& visitor_;
  std::vector<Level> levels_;
  std::string path_;
  dev_t device_ = 0;
  std::uint64_t directories_ = 0;
  std::uint64_t listed_ = 0;
  alignas(dirent64) std::array<char, 32768> buffer_;
};

}  // namespace

Result<void> WalkTree(int root, const policy::TreeBounds& bounds, policy::TreeNames names,
                      WalkVisitor& visitor) {
  return Walk(bounds, names, visitor).Run(root);
}

Result<ipc::Fd> OpenForeign(int directory, const char* name, std::string_view path) {
  const int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd >= 0) return ipc::Fd(fd);
  if (errno == ENXIO)
    return MakeFault(SnapshotFault::kChanged, path, "became a socket or a device", ENXIO);
  return ForeignFault("openat", path, errno);
}

}  // namespace bailiff::snapshotter
