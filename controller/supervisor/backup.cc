// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/backup.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "controller/store/layout.h"
#include "controller/supervisor/archive_writer.h"
#include "controller/supervisor/host_mode.h"
#include "controller/supervisor/marks.h"
#include "controller/supervisor/objects.h"
#include "controller/supervisor/staging_directory.h"
#include "ipc/fault.h"
#include "policy/tree_path.h"

namespace bailiff::controller {
namespace {

using policy::Digest;
using policy::ObjectKind;
using Contents = OwnersLock::Contents;

constexpr std::size_t kBuffer = 256 * 1024;
constexpr std::uint64_t kMostNodes =
    policy::kImageBounds.entries * (1 + policy::kDirectoriesPerEntry);

class Backup {
 public:
  Backup(const JobHost& host, const JobHost& own, const HostIdPlan& ids, const JobHooks& hooks)
      : host_(host), own_(own), ids_(ids), hooks_(hooks) {}

  Result<BackupReport> Write(Store& store, int file) {
    BAILIFF_TRY_ASSIGN(const StagingDirectory staging, StagingDirectory::Make(host_));
    const std::string database = "staging/" + staging.name() + "/" + kDatabaseName;
    BAILIFF_TRY(store.CopyTo(DataPath(database)));
    // Read after the copy: with no removal at work these are all its rows name, or more.
    BAILIFF_TRY_ASSIGN(const References rows, store.GetReferences());
    Marks marks(host_, hooks_);
    BAILIFF_TRY(marks.Add(rows.trees));
    BAILIFF_TRY_ASSIGN(archive_, ArchiveWriter::Open(file, ids_.service_uid, ids_.service_gid));
    BAILIFF_TRY(Frame());
    BAILIFF_TRY(Whole(database, kDatabaseName));
    BAILIFF_TRY(Objects(rows, marks));
    for (const std::string& image : rows.images) BAILIFF_TRY(Image(store, image));
    // Last: an archive that was cut is no data directory.
    BAILIFF_TRY(Whole("format", "format"));
    BAILIFF_TRY(archive_->Finish());
    if (const int error = BAILIFF_FAULT(BackupSync)) return SystemError("fsync", "backup", error);
    if (fsync(file) != 0) return SystemError("fsync", "backup");
    report_.revisions = rows.revisions.size();
    report_.images = rows.images.size();
    report_.bytes = archive_->bytes();
    report_.digest = archive_->digest();
    return report_;
  }

 private:
  // SQLite takes a path: through the descriptor, whatever the process sees the directory as.
  std::string DataPath(const std::string& below) const {
    return std::string(kDataMount) + "/" + below;
  }

  Result<void> Tick() {
    if (hooks_.cancelled && hooks_.cancelled())
      return Error{ErrorCode::kCancelled, "backup", "nothing was written", 0, {}};
    if (hooks_.progress) hooks_.progress(report_.objects, archive_->bytes());
    return {};
  }

  // What `bailiff init` makes, but for what belongs to one boot or one process.
  Result<void> Frame() {
    struct stat status {};
    if (fstat(host_.data, &status) != 0) return SystemError("fstat", "data directory");
    BAILIFF_TRY(archive_->Directory(".", status));
    for (const char* name : {"objects", "objects/blob", "objects/tree", "objects/revision",
                             "images", "trees", "execution", "staging", "run"}) {
      BAILIFF_TRY_ASSIGN(const ipc::Fd directory, OpenData(host_.data, name));
      if (fstat(directory.get(), &status) != 0) return SystemError("fstat", name);
      BAILIFF_TRY(archive_->Directory(name, status));
    }
    struct stat fifo {};
    fifo.st_mode = S_IFIFO | 0600;
    BAILIFF_TRY(archive_->Fifo("run/wake", fifo));
    BAILIFF_TRY(archive_->Text("controller.lock", 0600, ""));
    return Whole("authority", "authority");
  }

  // Copies what `from` reads: exactly as much as its size was.
  Result<void> Bytes(int from, const struct stat& status, const std::string& path,
                     policy::ObjectHasher* hasher) {
    static thread_local std::array<char, kBuffer> buffer;
    std::uint64_t left = static_cast<std::uint64_t>(status.st_size);
    while (left > 0) {
      BAILIFF_TRY(Tick());
      const ssize_t got = read(from, buffer.data(), std::min<std::uint64_t>(left, kBuffer));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return SystemError("read", path);
      if (got == 0) return SystemError("read", path, EIO);
      const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
      if (hasher != nullptr) hasher->Update(bytes);
      BAILIFF_TRY(archive_->Data(bytes));
      left -= bytes.size();
    }
    return {};
  }

  Result<void> Whole(const std::string& from, const std::string& path) {
    BAILIFF_TRY_ASSIGN(const ipc::Fd file,
                       ipc::OpenBeneath(host_.data, from.c_str(), O_RDONLY | O_NOFOLLOW));
    struct stat status {};
    if (fstat(file.get(), &status) != 0) return SystemError("fstat", from);
    BAILIFF_TRY(archive_->File(path, status));
    return Bytes(file.get(), status, path, nullptr);
  }

  Result<void> Object(ObjectKind kind, const Digest& digest) {
    const std::string name = policy::StagedName(kind, digest);
    const std::string path = "objects/" + policy::ObjectPath(kind, digest);
    auto file = ipc::OpenBeneath(host_.data, path.c_str(), O_RDONLY | O_NOFOLLOW);
    if (!file.ok() && file.error().system_error == ENOENT)
      return Error{ErrorCode::kSnapshotObjectMissing, name, "a revision needs it", 0, {}};
    if (!file.ok()) return std::move(file).error();
    struct stat status {};
    if (fstat(file->get(), &status) != 0) return SystemError("fstat", name);
    if (!S_ISREG(status.st_mode))
      return Error{ErrorCode::kSnapshotObjectDamaged, name, "is no file", 0, {}};
    BAILIFF_TRY(Shelf(path.substr(0, path.rfind('/'))));
    BAILIFF_TRY(archive_->File(path, status));
    policy::ObjectHasher hasher(kind);
    BAILIFF_TRY(Bytes(file->get(), status, path, &hasher));
    if (hasher.Finish() != digest)
      return Error{ErrorCode::kSnapshotObjectDamaged, name, "not its digest", 0, {}};
    ++report_.objects;
    return {};
  }

  Result<void> Shelf(const std::string& path) {
    if (!shelves_.insert(path).second) return {};
    BAILIFF_TRY_ASSIGN(const ipc::Fd directory, OpenData(host_.data, path));
    struct stat status {};
    if (fstat(directory.get(), &status) != 0) return SystemError("fstat", path);
    return archive_->Directory(path, status);
  }

  Result<void> Objects(const References& rows, const Marks& marks) {
    for (const auto& [kind, names] :
         {std::pair{ObjectKind::kRevision, &rows.revisions}, {ObjectKind::kTree, &rows.trees}}) {
      for (const std::string& name : *names) {
        const auto digest = policy::ParseDigest(name);
        if (!digest) return Error{ErrorCode::kStoreCorrupt, name, "is no digest", 0, {}};
        BAILIFF_TRY(Object(kind, *digest));
      }
    }
    for (const Digest& blob : marks.blobs()) BAILIFF_TRY(Object(ObjectKind::kBlob, blob));
    return {};
  }

  // A helper finds it to be what was imported, then it is copied.
  Result<void> Image(Store& store, const std::string& name) {
    BAILIFF_TRY_ASSIGN(const ImageRow row, store.FindImage("sha256:" + name));
    const auto tree = policy::ParseDigest(row.tree);
    if (!tree) return Error{ErrorCode::kStoreCorrupt, name, "its tree is no digest", 0, {}};
    BAILIFF_TRY(VerifyImage(own_, name, *tree, hooks_));
    return Tree("images/" + name);
  }

  // An image: directories, files and links, whose names and targets are bytes that nothing here
  // interprets. Depth first, with the descriptors of the way down alone.
  Result<void> Tree(const std::string& top) {
    struct Level {
      ipc::Fd directory;
      std::string path;
      std::vector<std::string> names;
    };
    std::vector<Level> levels;
    std::map<std::pair<dev_t, ino_t>, std::string> shared;
    std::uint64_t nodes = 0;
    const auto enter = [&](ipc::Fd directory, std::string path) -> Result<void> {
      struct stat status {};
      if (fstat(directory.get(), &status) != 0) return SystemError("fstat", path);
      BAILIFF_TRY(archive_->Directory(path, status));
      BAILIFF_TRY_ASSIGN(std::vector<std::string> names, ListDirectory(directory.get(), path));
      nodes += names.size();
      if (nodes > kMostNodes) return SystemError("readdir", path, E2BIG);
      levels.push_back({std::move(directory), std::move(path), std::move(names)});
      return {};
    };
    BAILIFF_TRY_ASSIGN(ipc::Fd root, OpenData(host_.data, top));
    BAILIFF_TRY(enter(std::move(root), top));
    while (!levels.empty()) {
      BAILIFF_TRY(Tick());
      Level& level = levels.back();
      if (level.names.empty()) {
        levels.pop_back();
        continue;
      }
      const std::string name = std::move(level.names.back());
      level.names.pop_back();
      const std::string path = level.path + "/" + name;
      const int parent = level.directory.get();
      struct stat status {};
      if (fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
        return SystemError("fstatat", path);
      // Says where it lies, and would lie somewhere else.
      if (levels.size() == 1 && name == "verified") continue;
      if (S_ISDIR(status.st_mode)) {
        BAILIFF_TRY_ASSIGN(ipc::Fd below,
                           ipc::OpenAt(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
        BAILIFF_TRY(enter(std::move(below), path));
      } else if (S_ISLNK(status.st_mode)) {
        BAILIFF_TRY(SymbolicLink(parent, name, path, status));
      } else if (S_ISREG(status.st_mode)) {
        if (status.st_nlink > 1) {
          const auto [first, fresh] = shared.emplace(std::pair{status.st_dev, status.st_ino}, path);
          if (!fresh) {
            BAILIFF_TRY(archive_->HardLink(path, status, first->second));
            continue;
          }
        }
        BAILIFF_TRY_ASSIGN(const ipc::Fd file,
                           ipc::OpenAt(parent, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
        BAILIFF_TRY(archive_->File(path, status));
        BAILIFF_TRY(Bytes(file.get(), status, path, nullptr));
      } else {
        return Error{ErrorCode::kTreeMismatch, path, "is neither file, directory nor link", 0, {}};
      }
    }
    return {};
  }

  Result<void> SymbolicLink(int parent, const std::string& name, const std::string& path,
                            const struct stat& status) {
    std::array<char, policy::kMaxTreePath + 2> target;
    const ssize_t got = readlinkat(parent, name.c_str(), target.data(), target.size());
    if (got < 0) return SystemError("readlinkat", path);
    return archive_->Link(path, status, {target.data(), static_cast<std::size_t>(got)});
  }

  const JobHost& host_;
  const JobHost& own_;
  const HostIdPlan& ids_;
  const JobHooks& hooks_;
  std::unique_ptr<ArchiveWriter> archive_;
  std::set<std::string> shelves_;
  BackupReport report_;
};

}  // namespace

Result<BackupReport> WriteBackup(const JobHost& host, const JobHost& own, OwnersLock& locks,
                                 Store& store, const HostIdPlan& ids, int file,
                                 const JobHooks& hooks) {
  BAILIFF_TRY(locks.ShareContents(Contents::kObjects));
  BAILIFF_TRY(locks.ShareContents(Contents::kImages));
  auto report = Backup(host, own, ids, hooks).Write(store, file);
  locks.ReleaseContents(Contents::kObjects);
  locks.ReleaseContents(Contents::kImages);
  return report;
}

}  // namespace bailiff::controller
