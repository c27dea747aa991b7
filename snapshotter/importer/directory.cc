// SPDX-License-Identifier: Apache-2.0
#include "snapshotter/importer/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "snapshotter/disk_walk.h"
#include "snapshotter/importer/staging.h"
#include "snapshotter/objects.h"
#include "snapshotter/read_file.h"

namespace bailiff::snapshotter {
namespace {

using policy::MakeFault;
using policy::ObjectKind;
using policy::SnapshotFault;
using policy::SnapshotWarning;

bool SameTime(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

class DirectoryImport final : public WalkVisitor {
 public:
  DirectoryImport(int out, Reporter& reporter) : staging_(out, reporter), reporter_(reporter) {}

  Result<bool> Skip(const WalkEntry& entry) override {
    if (entry.path != ".git") return false;
    BAILIFF_TRY(reporter_.Warn(SnapshotWarning::kGitLeftOut, entry.path));
    return true;
  }

  Result<void> Entry(const WalkEntry& entry) override {
    switch (entry.type) {
      case DT_REG:
        BAILIFF_TRY(File(entry));
        break;
      case DT_LNK:
        BAILIFF_TRY(Link(entry));
        break;
      case DT_FIFO:
        return MakeFault(SnapshotFault::kFileType, entry.path, "a FIFO");
      case DT_SOCK:
        return MakeFault(SnapshotFault::kFileType, entry.path, "a socket");
      case DT_BLK:
      case DT_CHR:
        return MakeFault(SnapshotFault::kFileType, entry.path, "a device");
      default:
        return MakeFault(SnapshotFault::kFileType, entry.path, "an unknown type");
    }
    return reporter_.Progress(builder_.entries(), builder_.bytes());
  }

  Result<void> Leave(std::string_view path, const struct stat& before, const struct stat& now,
                     bool empty) override {
    if (!SameTime(before.st_mtim, now.st_mtim) || !SameTime(before.st_ctim, now.st_ctim))
      return MakeFault(SnapshotFault::kChanged, path, "names came or went");
    if (empty && !path.empty()) return reporter_.Warn(SnapshotWarning::kEmptyDirectory, path);
    return {};
  }

  Result<JobResult> Finish() {
    JobResult result{{}, {}, builder_.entries(), builder_.bytes()};
    BAILIFF_TRY_ASSIGN(const policy::Digest tree,
                       staging_.Put(ObjectKind::kTree, builder_.Finish()));
    BAILIFF_TRY_ASSIGN(result.digest,
                       staging_.Put(ObjectKind::kRevision, policy::DirectoryRevision(tree)));
    result.tree = tree;
    return result;
  }

 private:
  Result<void> File(const WalkEntry& entry) {
    BAILIFF_TRY_ASSIGN(const ipc::Fd file, OpenForeign(entry.directory, entry.name, entry.path));
    struct stat status;
    if (fstat(file.get(), &status) != 0)
      return MakeFault(SnapshotFault::kIo, entry.path, "fstat", errno);
    if (!S_ISREG(status.st_mode))
      return MakeFault(SnapshotFault::kChanged, entry.path, "it was a regular file");
    const auto size = static_cast<std::uint64_t>(status.st_size);
    // A sparse file of a petabyte is refused before its first byte is read.
    if (size > policy::kSourceBounds.file_bytes)
      return MakeFault(SnapshotFault::kFileBytes, entry.path, "too large");
    if (size > policy::kSourceBounds.bytes - builder_.bytes())
      return MakeFault(SnapshotFault::kTotalBytes, entry.path, "too much in all");
    if (builder_.entries() >= policy::kSourceBounds.entries)
      return MakeFault(SnapshotFault::kEntries, entry.path, "too many entries");
    if ((status.st_mode & 07000) != 0)
      BAILIFF_TRY(reporter_.Warn(SnapshotWarning::kSpecialBits, entry.path));
    BAILIFF_TRY_ASSIGN(const policy::Digest digest, size <= kReadBuffer
                                                        ? Small(file.get(), status, entry.path)
                                                        : Large(file.get(), status, entry.path));
    const bool executable = (status.st_mode & S_IXUSR) != 0;
    return builder_.Add(executable ? EntryKind::kExecutable : EntryKind::kFile, size, digest,
                        entry.path);
  }

  // Read whole before it is written, so that known content costs no file.
  Result<policy::Digest> Small(int fd, const struct stat& status, std::string_view path) {
    whole_.clear();
    const auto keep = [this](std::string_view data) -> Result<void> {
      whole_ += data;
      return {};
    };
    BAILIFF_TRY_ASSIGN(
        const policy::Digest digest,
        reader_.Read(fd, status, path, reporter_, builder_.entries(), builder_.bytes(), keep));
    BAILIFF_TRY(staging_.Put(ObjectKind::kBlob, whole_));
    return digest;
  }

  Result<policy::Digest> Large(int fd, const struct stat& status, std::string_view path) {
    BAILIFF_TRY_ASSIGN(const ipc::Fd out, staging_.Begin());
    const auto write = [&](std::string_view data) { return ipc::WriteAll(out.get(), data, path); };
    BAILIFF_TRY_ASSIGN(
        const policy::Digest digest,
        reader_.Read(fd, status, path, reporter_, builder_.entries(), builder_.bytes(), write));
    BAILIFF_TRY(staging_.Commit(digest, static_cast<std::uint64_t>(status.st_size)));
    return digest;
  }

  Result<void> Link(const WalkEntry& entry) {
    BAILIFF_TRY_ASSIGN(const std::string target, ReadLink(entry.directory, entry.name, entry.path));
    BAILIFF_TRY_ASSIGN(const policy::Digest digest, staging_.Put(ObjectKind::kBlob, target));
    return builder_.Add(EntryKind::kLink, target.size(), digest, entry.path);
  }

  TreeBuilder builder_{policy::kSourceBounds, policy::TreeNames::kSource};
  Staging staging_;
  Reporter& reporter_;
  FileReader reader_;
  std::string whole_;
};

}  // namespace

Result<JobResult> ImportDirectory(int in, int out, Reporter& reporter) {
  DirectoryImport import(out, reporter);
  BAILIFF_TRY(WalkTree(in, policy::kSourceBounds, policy::TreeNames::kSource, import));
  return import.Finish();
}

}  // namespace bailiff::snapshotter
