// SPDX-License-Identifier: Apache-2.0
#include "controller/store/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "ipc/fault.h"

namespace bailiff::controller {

Result<ipc::Fd> MakeDirectory(int parent, const char* name) {
  if (const int error = BAILIFF_FAULT(DataMakeDirectory))
    return SystemError("mkdirat", name, error);
  if (mkdirat(parent, name, 0700) != 0) return SystemError("mkdirat", name);
  return ipc::OpenBeneath(parent, name, O_RDONLY | O_DIRECTORY, 0, true);
}

Result<void> SyncFile(int fd, std::string_view subject) {
  if (const int error = BAILIFF_FAULT(DataSync)) return SystemError("fsync", subject, error);
  if (fsync(fd) != 0) return SystemError("fsync", subject);
  return {};
}

Result<void> SyncDirectory(int directory, std::string_view subject) {
  return SyncFile(directory, subject);
}

Result<void> WriteFileDurably(int directory, const char* name, std::string_view bytes,
                              unsigned mode) {
  const std::string temporary = std::string(name) + ".new";
  const auto write = [&]() -> Result<void> {
    BAILIFF_TRY_ASSIGN(const ipc::Fd file,
                       ipc::OpenAt(directory, temporary.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NOCTTY, mode));
    if (const int error = BAILIFF_FAULT(DataWrite)) return SystemError("write", temporary, error);
    BAILIFF_TRY(ipc::WriteAll(file.get(), bytes, temporary));
    BAILIFF_TRY(SyncFile(file.get(), temporary));
    if (const int error = BAILIFF_FAULT(DataRename)) return SystemError("renameat", name, error);
    if (renameat(directory, temporary.c_str(), directory, name) != 0)
      return SystemError("renameat", name);
    if (const int error = BAILIFF_FAULT(DataRenamed)) return SystemError("renameat", name, error);
    return SyncDirectory(directory, name);
  };
  Result<void> written = write();
  if (!written.ok()) unlinkat(directory, temporary.c_str(), 0);
  return written;
}

Result<void> RenameDurably(int from, const char* old_name, int to, const char* new_name) {
  if (const int error = BAILIFF_FAULT(DataRename)) return SystemError("renameat2", new_name, error);
  if (renameat2(from, old_name, to, new_name, RENAME_NOREPLACE) != 0)
    return SystemError("renameat2", new_name);
  if (const int error = BAILIFF_FAULT(DataRenamed))
    return SystemError("renameat2", new_name, error);
  return SyncDirectory(to, new_name);
}

namespace {

constexpr unsigned kMaxDepth = 64;

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

// A directory opened so that its entries can be read and removed, whatever its mode.
Result<ipc::Fd> OpenForRemoval(int parent, const char* name) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
  Result<ipc::Fd> directory = ipc::OpenBeneath(parent, name, kFlags, 0, true);
  if (!directory.ok() && directory.error().system_error == EACCES) {
    BAILIFF_TRY_ASSIGN(const ipc::Fd path,
                       ipc::OpenBeneath(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, true));
    // fchmod(2) refuses O_PATH; this is the same inode, no name is looked up again.
    if (chmod(("/proc/self/fd/" + std::to_string(path.get())).c_str(), 0700) != 0)
      return SystemError("chmod", name);
    directory = ipc::OpenBeneath(parent, name, kFlags, 0, true);
  }
  if (!directory.ok()) return directory;
  struct stat status {};
  if (fstat(directory->get(), &status) != 0) return SystemError("fstat", name);
  if ((status.st_mode & 0700) != 0700 && fchmod(directory->get(), 0700) != 0)
    return SystemError("fchmod", name);
  return directory;
}

class Removal {
 public:
  Result<void> Run(int parent, const char* name) {
    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT) return {};
    if (errno != EISDIR) return SystemError("unlinkat", name);
    BAILIFF_TRY_ASSIGN(const ipc::Fd top, OpenForRemoval(parent, name));
    top_ = top.get();
    // What lay too deep was moved up to `top`, so it is read until nothing is left.
    for (;;) {
      BAILIFF_TRY_ASSIGN(const auto names, ListDirectory(top_, name));
      if (names.empty()) break;
      for (const std::string& entry : names) BAILIFF_TRY(Below(top_, entry.c_str(), 1));
    }
    if (unlinkat(parent, name, AT_REMOVEDIR) != 0) return SystemError("unlinkat", name);
    return {};
  }

 private:
  Result<void> Below(int parent, const char* name, unsigned depth) {
    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT) return {};
    if (errno != EISDIR) return SystemError("unlinkat", name);
    if (depth > kMaxDepth) {
      const std::string up = ".removed-" + std::to_string(moved_++);
      // no fault point: what is removed is garbage at every step
      if (renameat2(parent, name, top_, up.c_str(), RENAME_NOREPLACE) == 0) return {};
      if (errno == EEXIST) return Below(parent, name, depth);  // the next number
      return SystemError("renameat2", name);
    }
    {
      BAILIFF_TRY_ASSIGN(const ipc::Fd directory, OpenForRemoval(parent, name));
      BAILIFF_TRY_ASSIGN(const auto names, ListDirectory(directory.get(), name));
      for (const std::string& entry : names)
        BAILIFF_TRY(Below(directory.get(), entry.c_str(), depth + 1));
    }
    if (unlinkat(parent, name, AT_REMOVEDIR) != 0) return SystemError("unlinkat", name);
    return {};
  }

  int top_ = -1;
  unsigned long moved_ = 0;
};

}  // namespace

Result<std::vector<std::string>> ListDirectory(int directory, std::string_view subject) {
  BAILIFF_TRY_ASSIGN(ipc::Fd fd, ipc::OpenAt(directory, ".", O_RDONLY | O_DIRECTORY));
  const std::unique_ptr<DIR, CloseDirectory> stream(fdopendir(fd.get()));
  if (stream == nullptr) return SystemError("fdopendir", subject);
  static_cast<void>(fd.release());  // the stream owns it now
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(stream.get());
    if (entry == nullptr) {
      if (errno != 0) return SystemError("readdir", subject);
      return names;
    }
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      names.emplace_back(entry->d_name);
  }
}

Result<void> RemoveTree(int parent, const char* name) { return Removal().Run(parent, name); }

}  // namespace bailiff::controller
