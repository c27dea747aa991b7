// SPDX-License-Identifier: Apache-2.0
#include "controller/store/data_directory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "controller/store/files.h"

namespace bailiff::controller {
namespace {

struct FileSystemType {
  unsigned long type;
  std::string_view name;
};

// Numbers of statfs(2) and the kernel's magic.h. Locks or mappings of these are another machine's,
// another program's, or not coherent.
constexpr FileSystemType kRefused[] = {
    {0x6969, "NFS"},       {0x01021997, "9p"},     {0x65735546, "FUSE"},   {0x517b, "SMB"},
    {0xff534d42, "CIFS"},  {0xfe534d42, "SMB2"},   {0x00c36400, "Ceph"},   {0x5346414f, "AFS"},
    {0x73757245, "Coda"},  {0x786f4256, "vboxsf"}, {0x0bd00bd0, "Lustre"}, {0x01161970, "GFS2"},
    {0x7461636f, "OCFS2"}, {0x47504653, "GPFS"},   {0xbacbacbc, "vmhgfs"},
};

// Known to be local with working locks and mappings; anything else has to show it.
constexpr unsigned long kTrusted[] = {0xef53,     0x58465342, 0x9123683e, 0x01021994,
                                      0xf2f52010, 0x2fc12fc1, 0xca451a4e, 0x3153464a};

Error PathError(ErrorCode code, std::string_view path, std::string why) {
  return Error{.code = code, .subject = std::string(path), .why = std::move(why), .fix = {}};
}

std::string Octal(mode_t mode) {
  std::array<char, 16> text{};
  snprintf(text.data(), text.size(), "%04o", mode & 07777U);
  return text.data();
}

// Components of `path`, absolute; "." and empty ones left out.
Result<std::vector<std::string>> Components(std::string_view path) {
  std::string absolute(path);
  if (path.empty() || path.find('\0') != std::string_view::npos)
    return PathError(ErrorCode::kDataMissing, path, "not a path");
  if (path.front() != '/') {
    std::array<char, PATH_MAX> directory{};
    if (getcwd(directory.data(), directory.size()) == nullptr)
      return SystemError("getcwd", "working directory");
    absolute = std::string(directory.data()) + "/" + absolute;
  }
  std::vector<std::string> components;
  std::size_t begin = 0;
  while (begin < absolute.size()) {
    const std::size_t end = std::min(absolute.find('/', begin), absolute.size());
    const std::string name = absolute.substr(begin, end - begin);
    if (!name.empty() && name != ".") components.push_back(name);
    begin = end + 1;
  }
  if (components.empty()) return PathError(ErrorCode::kDataPath, path, "it is the root directory");
  return components;
}

Result<struct stat> StatDirectory(int fd, std::string_view path) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return SystemError("fstat", path);
  if (S_ISLNK(status.st_mode))
    return PathError(ErrorCode::kDataLink, path, "it is a symbolic link, and none is followed");
  if (!S_ISDIR(status.st_mode))
    return PathError(ErrorCode::kDataMissing, path, "it is not a directory");
  return status;
}

// Whoever can write here could put another directory in the place of what follows.
Result<void> CheckAbove(const struct stat& status, std::string_view path) {
  if (status.st_uid != 0 && status.st_uid != geteuid())
    return PathError(
        ErrorCode::kDataPath, path,
        "it belongs to user " + std::to_string(status.st_uid) + ", who is neither root nor you");
  if ((status.st_mode & 022) != 0 && (status.st_mode & S_ISVTX) == 0)
    return PathError(ErrorCode::kDataPath, path,
                     "others may write to it (mode " + Octal(status.st_mode) + ")");
  return {};
}

Result<void> CheckLast(const struct stat& status, std::string_view path, uid_t owner) {
  if (status.st_uid != owner)
    return PathError(
        ErrorCode::kDataOwner, path,
        "it belongs to user " + std::to_string(status.st_uid) + ", not " + std::to_string(owner));
  if ((status.st_mode & 07777) != 0700)
    return PathError(ErrorCode::kDataMode, path, "its mode is " + Octal(status.st_mode));
  return {};
}

// Makes what is missing when `owner` is given.
Result<ipc::Fd> Enter(int parent, const std::string& name, std::string_view so_far, bool last,
                      const DirectoryOwner* owner) {
  const auto look = [&] { return openat(parent, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC); };
  ipc::Fd fd(look());
  if (!fd.valid() && errno == ENOENT && owner == nullptr)
    return PathError(ErrorCode::kDataMissing, so_far, "there is no such directory");
  if (!fd.valid() && errno == ENOENT) {
    if (mkdirat(parent, name.c_str(), last ? 0700 : 0755) != 0 && errno != EEXIST)
      return SystemError("mkdirat", so_far);
    // A set-group-id directory above would have given its bit to ours.
    if (last && fchmodat(parent, name.c_str(), 0700, 0) != 0) return SystemError("chmod", so_far);
    fd = ipc::Fd(look());
    if (fd.valid() && last && (owner->uid != geteuid() || owner->gid != getegid()) &&
        fchownat(fd.get(), "", owner->uid, owner->gid, AT_EMPTY_PATH) != 0)
      return SystemError("fchownat", so_far);
  }
  if (!fd.valid()) return SystemError("openat", so_far);
  return fd;
}

Result<ipc::Fd> Walk(std::string_view path, uid_t uid, const DirectoryOwner* owner) {
  BAILIFF_TRY_ASSIGN(const std::vector<std::string> components, Components(path));
  BAILIFF_TRY_ASSIGN(ipc::Fd directory, ipc::OpenAt(AT_FDCWD, "/", O_PATH | O_DIRECTORY));
  std::string so_far = "/";
  for (std::size_t i = 0; i < components.size(); ++i) {
    BAILIFF_TRY_ASSIGN(const struct stat above, StatDirectory(directory.get(), so_far));
    BAILIFF_TRY(CheckAbove(above, so_far));
    so_far += (so_far.size() > 1 ? "/" : "") + components[i];
    BAILIFF_TRY_ASSIGN(directory, Enter(directory.get(), components[i], so_far,
                                        i + 1 == components.size(), owner));
  }
  BAILIFF_TRY_ASSIGN(const struct stat last, StatDirectory(directory.get(), so_far));
  BAILIFF_TRY(CheckLast(last, so_far, uid));
  BAILIFF_TRY_ASSIGN(ipc::Fd opened,
                     ipc::OpenAt(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  BAILIFF_TRY(CheckFileSystem(opened.get(), so_far));
  return opened;
}

// Two descriptions of one file, the second by name as SQLite would open it.
Result<void> ProbeLocksAndMappings(int directory, std::string_view path) {
  const std::string name = ".probe-" + std::to_string(getpid());
  BAILIFF_TRY_ASSIGN(const ipc::Fd first,
                     ipc::OpenAt(directory, name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600));
  Result<ipc::Fd> second = ipc::OpenAt(directory, name.c_str(), O_RDWR);
  unlinkat(directory, name.c_str(), 0);
  if (!second.ok()) return second.error();
  const auto refuse = [&](std::string why) {
    return PathError(ErrorCode::kDataFileSystem, path, std::move(why));
  };
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  if (fcntl(first.get(), F_OFD_SETLK, &lock) != 0) return refuse("its files cannot be locked");
  if (fcntl(second->get(), F_OFD_SETLK, &lock) == 0)
    return refuse("a lock on one of its files excludes nobody");
  constexpr std::size_t kPage = 4096;
  // no fault point: a file without a name, for the probe alone
  if (ftruncate(first.get(), kPage) != 0) return SystemError("ftruncate", path);
  void* const memory = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, second->get(), 0);
  if (memory == MAP_FAILED) return refuse("its files cannot be mapped shared");
  static_cast<volatile char*>(memory)[100] = 'b';
  char seen = 0;
  const bool read = pread(first.get(), &seen, 1, 100) == 1;
  munmap(memory, kPage);
  if (!read || seen != 'b') return refuse("a shared mapping and read(2) see different bytes");
  return {};
}

}  // namespace

std::string_view RefusedFileSystem(unsigned long type) {
  for (const FileSystemType& refused : kRefused) {
    if (refused.type == (type & 0xffffffffUL)) return refused.name;
  }
  return {};
}

Result<void> CheckFileSystem(int directory, std::string_view path) {
  struct statfs status {};
  if (fstatfs(directory, &status) != 0) return SystemError("fstatfs", path);
  const auto type = static_cast<unsigned long>(status.f_type) & 0xffffffffUL;
  if (const std::string_view name = RefusedFileSystem(type); !name.empty())
    return PathError(
        ErrorCode::kDataFileSystem, path,
        "it is on " + std::string(name) + ", whose locks and mappings are not this machine's own");
  for (const unsigned long trusted : kTrusted) {
    if (trusted == type) return {};
  }
  return ProbeLocksAndMappings(directory, path);
}

Result<ipc::Fd> OpenDataDirectory(std::string_view path, uid_t owner) {
  return Walk(path, owner, nullptr);
}

Result<ipc::Fd> CreateDataDirectory(std::string_view path, DirectoryOwner owner) {
  return Walk(path, owner.uid, &owner);
}

}  // namespace bailiff::controller
