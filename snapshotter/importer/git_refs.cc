// SPDX-License-Identifier: Apache-2.0
#include "snapshotter/importer/git_refs.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "policy/snapshot_codes.h"
#include "snapshotter/importer/git_decode.h"
#include "snapshotter/read_file.h"

namespace bailiff::snapshotter {
namespace {

using policy::GitId;
using policy::MakeFault;
using policy::SnapshotFault;

constexpr int kMaxSymbolic = 5;                             // as git
constexpr std::size_t kMaxRef = policy::kMaxRefName + 256;  // "ref: ", blanks, newline

// The state of a name, 0 when it is not there. The last component is not followed.
mode_t KindOf(int directory, const char* name) {
  struct stat status;
  return fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status.st_mode : 0;
}

Error Pointer(const char* what) {
  return MakeFault(SnapshotFault::kGitPointer, what, "it only names another repository");
}

Result<ipc::Fd> OpenDirectory(int directory, const char* name) {
  auto opened = ipc::OpenBeneath(directory, name, O_RDONLY | O_DIRECTORY);
  if (opened.ok()) return opened;
  const int error = opened.error().system_error;
  if (error == ELOOP)
    return MakeFault(SnapshotFault::kGitRepository, name, "a symbolic link, which is not followed");
  return ForeignFault("openat2", name, error);
}

// A small file of the repository; nothing when it is not there. A directory is not there either: a
// ref that was removed may leave one of its name.
Result<std::optional<std::string>> ReadSmall(int directory, const std::string& name,
                                             std::size_t most) {
  const auto file = ipc::OpenBeneath(directory, name.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!file.ok()) {
    const int error = file.error().system_error;
    if (error == ENOENT || error == ENOTDIR) return std::optional<std::string>();
    if (error == ELOOP)
      return MakeFault(SnapshotFault::kGitRef, name, "a symbolic link, which is not followed");
    return ForeignFault("openat2", name, error);
  }
  struct stat status;
  if (fstat(file->get(), &status) != 0) return MakeFault(SnapshotFault::kIo, name, "fstat", errno);
  if (S_ISDIR(status.st_mode)) return std::optional<std::string>();
  if (!S_ISREG(status.st_mode)) return MakeFault(SnapshotFault::kGitRef, name, "no regular file");
  if (static_cast<std::uint64_t>(status.st_size) > most)
    return MakeFault(SnapshotFault::kGitRef, name,
                     "larger than " + std::to_string(most) + " bytes");
  auto bytes = ipc::ReadToEnd(file->get(), most, name);
  if (!bytes.ok()) return ForeignFault("read", name, bytes.error().system_error);
  return std::optional<std::string>(*std::move(bytes));
}

// One ref, loose or else packed.
Result<GitRefValue> ReadRef(const GitDirectory& git, const std::string& name) {
  BAILIFF_TRY_ASSIGN(const auto loose, ReadSmall(git.fd.get(), name, kMaxRef));
  if (loose) return DecodeRef(*loose, name);
  BAILIFF_TRY_ASSIGN(const auto packed, ReadSmall(git.fd.get(), "packed-refs", kMaxPackedRefs));
  if (packed) {
    BAILIFF_TRY_ASSIGN(const auto found, FindPackedRef(*packed, name));
    if (found) return GitRefValue(*found);
  }
  return MakeFault(SnapshotFault::kGitRefMissing, name, "neither loose nor packed");
}

}  // namespace

Result<GitDirectory> FindGitDirectory(int directory, std::string path) {
  GitDirectory found;
  const bool bare = S_ISREG(KindOf(directory, "HEAD")) && KindOf(directory, "objects") != 0;
  if (bare || KindOf(directory, "commondir") != 0) {
    BAILIFF_TRY_ASSIGN(found.fd, OpenDirectory(directory, "."));
    found.path = std::move(path);
  } else {
    const mode_t kind = KindOf(directory, ".git");
    if (kind == 0)
      return MakeFault(SnapshotFault::kGitRepository, ".", "neither .git in it, nor bare");
    if (S_ISREG(kind)) return Pointer(".git");
    BAILIFF_TRY_ASSIGN(found.fd, OpenDirectory(directory, ".git"));
    found.path = std::move(path) + "/.git";
  }
  if (KindOf(found.fd.get(), "commondir") != 0) return Pointer("commondir");
  if (KindOf(found.fd.get(), "objects") == 0)
    return MakeFault(SnapshotFault::kGitRepository, "objects", "it is not there");
  BAILIFF_TRY(OpenDirectory(found.fd.get(), "objects"));
  return found;
}

Result<GitId> ResolveCommitName(const GitDirectory& git, std::string_view name) {
  if (const auto id = policy::ParseGitId(name)) return *id;
  if (KindOf(git.fd.get(), "reftable") != 0)
    return MakeFault(SnapshotFault::kGitReftable, name, "this repository keeps refs as a reftable");
  std::string present(name);
  for (int links = 0; links <= kMaxSymbolic; ++links) {
    BAILIFF_TRY_ASSIGN(GitRefValue value, ReadRef(git, present));
    if (const auto* id = std::get_if<GitId>(&value)) return *id;
    present = std::get<std::string>(std::move(value));
  }
  return MakeFault(SnapshotFault::kGitRef, name, "refs that name refs without end");
}

}  // namespace bailiff::snapshotter
