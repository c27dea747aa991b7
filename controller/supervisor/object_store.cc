// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/object_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <utility>

#include "controller/supervisor/staging_directory.h"
#include "ipc/fault.h"
#include "policy/tree_path.h"

namespace bailiff::controller {
namespace {

using policy::ObjectKind;

constexpr mode_t kShared =
    0755;  // a helper walks from objects/ down; nobody else gets past the data directory
constexpr mode_t kObjectMode = 0444;
constexpr std::size_t kBuffer = 256 * 1024;
constexpr std::size_t kFewFiles = 32;  // above it one syncfs costs less than as many fsyncs

Error Mismatch(const std::string& name, const char* why) {
  return {ErrorCode::kJobStaged, name, why, 0, {}};
}

Result<ipc::Fd> OpenShared(int parent, const char* name) {
  BAILIFF_TRY_ASSIGN(ipc::Fd directory,
                     ipc::OpenAt(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  struct stat status;
  if (fstat(directory.get(), &status) != 0) return SystemError("fstat", name);
  if ((status.st_mode & 07777) != kShared && fchmod(directory.get(), kShared) != 0)
    return SystemError("fchmod", name);
  return directory;
}

// The directories of objects that were opened for this import.
class Shelves {
 public:
  explicit Shelves(int objects) : objects_(objects) {}

  Result<int> Open(ObjectKind kind, const policy::Digest& digest) {
    ipc::Fd& shelf = shelves_[{kind, digest.bytes[0]}];
    if (shelf.valid()) return shelf.get();
    ipc::Fd& parent = kinds_[kind];
    if (!parent.valid()) {
      BAILIFF_TRY_ASSIGN(parent,
                         OpenShared(objects_, std::string(policy::ObjectKindName(kind)).c_str()));
    }
    BAILIFF_TRY_ASSIGN(shelf,
                       EnsureDirectory(parent.get(), digest.hex().substr(0, 2).c_str(), kShared));
    return shelf.get();
  }

  Result<void> Sync() {
    if (const int error = BAILIFF_FAULT(ObjectSync)) return SystemError("fsync", "objects", error);
    if (shelves_.size() > kFewFiles) {
      if (syncfs(objects_) != 0) return SystemError("syncfs", "objects");
      return {};
    }
    for (const auto& [key, shelf] : shelves_) BAILIFF_TRY(SyncDirectoryFd(shelf.get(), "objects"));
    for (const auto& [kind, parent] : kinds_) BAILIFF_TRY(SyncDirectoryFd(parent.get(), "objects"));
    return {};
  }

 private:
  int objects_;
  std::map<ObjectKind, ipc::Fd> kinds_;
  std::map<std::pair<ObjectKind, unsigned char>, ipc::Fd> shelves_;
};

// The object's name below its shelf.
std::string NameOf(const policy::Digest& digest) { return digest.hex().substr(2); }

// Whether the store has it. One of another size is damage, which a new import may not paper over.
Result<bool> Present(int shelf, const StagedObject& object) {
  struct stat status;
  if (fstatat(shelf, NameOf(object.digest).c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return false;
    return SystemError("fstatat", "object");
  }
  if (!S_ISREG(status.st_mode) || static_cast<std::uint64_t>(status.st_size) != object.size)
    return Error{ErrorCode::kSnapshotObjectDamaged,
                 policy::StagedName(object.kind, object.digest),
                 "another size",
                 0,
                 {}};
  return true;
}

struct Checked {
  const StagedObject* object;
  int shelf;
};

Result<void> CheckStaged(int staged, const StagedObject& object, bool sync) {
  const std::string name = policy::StagedName(object.kind, object.digest);
  const ipc::Fd file(openat(staged, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return Mismatch(name, "was claimed and is not there");
  BAILIFF_TRY_ASSIGN(const policy::Digest digest,
                     HashStaged(file.get(), object.kind, object.size, name));
  if (digest != object.digest) return Mismatch(name, "has another digest");
  if (fchown(file.get(), 0, 0) != 0) return SystemError("fchown", name);
  if (fchmod(file.get(), kObjectMode) != 0) return SystemError("fchmod", name);
  // no fault point: StagedSync stands before the loop over all of them
  if (sync && fsync(file.get()) != 0) return SystemError("fsync", name);
  return {};
}

}  // namespace

Result<ipc::Fd> OpenObjects(int data) {
  BAILIFF_TRY_ASSIGN(ipc::Fd objects, OpenShared(data, "objects"));
  for (const char* kind : {"blob", "tree", "revision"})
    BAILIFF_TRY(OpenShared(objects.get(), kind));
  return objects;
}

Result<policy::Digest> HashStaged(int file, ObjectKind kind, std::uint64_t size,
                                  const std::string& name) {
  struct stat status;
  if (fstat(file, &status) != 0) return SystemError("fstat", name);
  if (!S_ISREG(status.st_mode)) return Mismatch(name, "is no regular file");
  if (status.st_nlink != 1) return Mismatch(name, "has several names");
  if (static_cast<std::uint64_t>(status.st_size) != size) return Mismatch(name, "has another size");
  policy::ObjectHasher hasher(kind);
  static thread_local std::array<char, kBuffer> buffer;
  for (;;) {
    const ssize_t got = read(file, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError("read", name);
    if (got == 0) return hasher.Finish();
    hasher.Update({buffer.data(), static_cast<std::size_t>(got)});
  }
}

Result<void> TakeObjects(int data, int staged, const std::vector<StagedObject>& objects,
                         const JobHooks& hooks) {
  BAILIFF_TRY_ASSIGN(const ipc::Fd store, OpenObjects(data));
  Shelves shelves(store.get());
  std::vector<Checked> fresh;
  const bool few = objects.size() <= kFewFiles;
  if (const int error = BAILIFF_FAULT(StagedSync)) return SystemError("fsync", "staging", error);
  for (const StagedObject& object : objects) {
    if (hooks.cancelled && hooks.cancelled())
      return Error{ErrorCode::kCancelled, "import", "cancelled", 0, {}};
    if (object.kind == ObjectKind::kLayer || object.size > policy::kSourceBounds.bytes)
      return Mismatch(policy::StagedName(object.kind, object.digest), "is no object of a source");
    BAILIFF_TRY_ASSIGN(const int shelf, shelves.Open(object.kind, object.digest));
    BAILIFF_TRY_ASSIGN(const bool present, Present(shelf, object));
    if (present) continue;
    BAILIFF_TRY(CheckStaged(staged, object, few));
    fresh.push_back({&object, shelf});
  }
  if (!few && syncfs(staged) != 0) return SystemError("syncfs", "staging");
  for (const Checked& checked : fresh) {
    const std::string name = policy::StagedName(checked.object->kind, checked.object->digest);
    if (const int error = BAILIFF_FAULT(ObjectRename)) return SystemError("renameat2", name, error);
    // The same object of another import may have come first: then that one is kept.
    if (renameat2(staged, name.c_str(), checked.shelf, NameOf(checked.object->digest).c_str(),
                  RENAME_NOREPLACE) != 0 &&
        errno != EEXIST)
      return SystemError("renameat2", name);
  }
  return shelves.Sync();
}

}  // namespace bailiff::controller
