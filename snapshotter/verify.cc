// SPDX-License-Identifier: Apache-2.0
#include "snapshotter/verify.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <array>
#include <map>

#include "snapshotter/disk_walk.h"
#include "snapshotter/materialize.h"
#include "snapshotter/objects.h"
#include "snapshotter/read_file.h"

namespace bailiff::snapshotter {
namespace {

using policy::MakeFault;
using policy::SnapshotFault;

Error Unclean(std::string_view path, const char* why) {
  return MakeFault(SnapshotFault::kUnclean, path, why);
}

// Labels of a security module come from the host's policy, not from whoever wrote the file.
bool HostLabel(std::string_view name) {
  return name == "security.selinux" || name == "security.SMACK64" || name == "security.apparmor" ||
         name == "security.ima" || name == "security.evm";
}

Result<void> CheckAttributes(int fd, std::string_view path) {
  std::array<char, 1024> names;
  const ssize_t got = flistxattr(fd, names.data(), names.size());
  if (got < 0 && (errno == ENOTSUP || errno == ENODATA)) return {};
  if (got < 0) return Unclean(path, "extended attributes");
  for (std::string_view rest(names.data(), static_cast<std::size_t>(got)); !rest.empty();) {
    const std::size_t end = rest.find('\0');
    if (!HostLabel(rest.substr(0, end))) return Unclean(path, "an extended attribute");
    rest = end == std::string_view::npos ? "" : rest.substr(end + 1);
  }
  return {};
}

class Verifier final : public WalkVisitor {
 public:
  Verifier(VerifyProfile profile, Reporter& reporter)
      : source_(profile == VerifyProfile::kSource),
        builder_(source_ ? policy::kSourceBounds : policy::kImageBounds,
                 source_ ? policy::TreeNames::kSource : policy::TreeNames::kImage),
        reporter_(reporter) {}

  Result<void> Entry(const WalkEntry& entry) override {
    if (entry.type == DT_LNK) return Link(entry);
    if (entry.type == DT_REG) return File(entry);
    return MakeFault(SnapshotFault::kFileType, entry.path, "neither file, directory nor link");
  }

  Result<void> Enter(std::string_view path, int fd, const struct stat& status) override {
    if (path.empty()) owner_ = status;
    BAILIFF_TRY(CheckStatus(path, status));
    if (source_ && (status.st_mode & 07777) != kFrozenDirectory)
      return Unclean(path, "mode of a directory");
    return CheckAttributes(fd, path);
  }

  Result<void> Leave(std::string_view path, const struct stat&, const struct stat&,
                     bool empty) override {
    if (source_ && empty && !path.empty()) return Unclean(path, "an empty directory");
    return {};
  }

  Result<JobResult> Finish() {
    for (const auto& [inode, file] : shared_) {
      if (file.seen != file.links) return Unclean("", "a file is linked from outside the tree");
    }
    JobResult result{{}, {}, builder_.entries(), builder_.bytes()};
    result.digest = policy::HashDomain("bailiff.tree.v1", builder_.Finish());
    result.tree = result.digest;
    return result;
  }

 private:
  struct SharedFile {
    policy::Digest digest;
    std::uint64_t links = 0;
    std::uint64_t seen = 0;
  };

  Result<void> CheckStatus(std::string_view path, const struct stat& status) {
    if (status.st_uid != owner_.st_uid || status.st_gid != owner_.st_gid)
      return Unclean(path, "another owner");
    if (!S_ISLNK(status.st_mode) && (status.st_mode & 07000) != 0)
      return Unclean(path, "setuid, setgid or sticky");
    return {};
  }

  Result<void> Link(const WalkEntry& entry) {
    struct stat status;
    if (fstatat(entry.directory, entry.name, &status, AT_SYMLINK_NOFOLLOW) != 0)
      return ForeignFault("fstatat", entry.path, errno);
    BAILIFF_TRY(CheckStatus(entry.path, status));
    if (status.st_nlink != 1) return Unclean(entry.path, "a symbolic link with several names");
    BAILIFF_TRY_ASSIGN(const std::string target, ReadLink(entry.directory, entry.name, entry.path));
    BAILIFF_TRY(builder_.Add(EntryKind::kLink, target.size(), policy::Hash(target), entry.path));
    return reporter_.Progress(builder_.entries(), builder_.bytes());
  }

  Result<void> File(const WalkEntry& entry) {
    BAILIFF_TRY_ASSIGN(const ipc::Fd file, OpenForeign(entry.directory, entry.name, entry.path));
    struct stat status;
    if (fstat(file.get(), &status) != 0)
      return MakeFault(SnapshotFault::kIo, entry.path, "fstat", errno);
    if (!S_ISREG(status.st_mode))
      return MakeFault(SnapshotFault::kFileType, entry.path, "no regular file");
    BAILIFF_TRY(CheckStatus(entry.path, status));
    const mode_t mode = status.st_mode & 0777;
    if (source_ && mode != kSnapshotModes.file && mode != kSnapshotModes.executable)
      return Unclean(entry.path, "mode");
    if (source_ && status.st_nlink != 1) return Unclean(entry.path, "a file with several names");
    BAILIFF_TRY(CheckAttributes(file.get(), entry.path));
    if (static_cast<std::uint64_t>(status.st_size) >
        (source_ ? policy::kSourceBounds : policy::kImageBounds).file_bytes)
      return MakeFault(SnapshotFault::kFileBytes, entry.path, "found on disk");
    BAILIFF_TRY_ASSIGN(const policy::Digest digest, Digest(file.get(), status, entry.path));
    BAILIFF_TRY(builder_.Add((mode & 0111) != 0 ? EntryKind::kExecutable : EntryKind::kFile,
                             static_cast<std::uint64_t>(status.st_size), digest, entry.path));
    return reporter_.Progress(builder_.entries(), builder_.bytes());
  }

  Result<policy::Digest> Digest(int fd, const struct stat& status, std::string_view path) {
    if (status.st_nlink == 1)
      return reader_.Hash(fd, status, path, reporter_, builder_.entries(), builder_.bytes());
    SharedFile& file = shared_[{status.st_dev, status.st_ino}];
    if (file.seen == 0) {
      file.links = status.st_nlink;
      BAILIFF_TRY_ASSIGN(file.digest, reader_.Hash(fd, status, path, reporter_, builder_.entries(),
                                                   builder_.bytes()));
    }
    ++file.seen;
    return file.digest;
  }

  const bool source_;
  TreeBuilder builder_;
  Reporter& reporter_;
  FileReader reader_;
  struct stat owner_ {};
  std::map<std::pair<dev_t, ino_t>, SharedFile> shared_;
};

}  // namespace

Result<JobResult> VerifyTree(int tree, VerifyProfile profile, Reporter& reporter) {
  Verifier verifier(profile, reporter);
  const bool source = profile == VerifyProfile::kSource;
  BAILIFF_TRY(WalkTree(tree, source ? policy::kSourceBounds : policy::kImageBounds,
                       source ? policy::TreeNames::kSource : policy::TreeNames::kImage, verifier));
  return verifier.Finish();
}

}  // namespace bailiff::snapshotter
