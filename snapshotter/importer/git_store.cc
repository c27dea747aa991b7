// SPDX-License-Identifier: Apache-2.0
#include "snapshotter/importer/git_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <git2/errors.h>
#include <git2/global.h>
#include <git2/odb.h>
#include <git2/odb_backend.h>
#include <git2/oid.h>
#include <git2/sys/odb_backend.h>
#include <sys/stat.h>

#include <array>
#include <cstring>
#include <functional>

#include "policy/snapshot_codes.h"
#include "policy/tree_path.h"
#include "snapshotter/importer/git_cut.h"
#include "snapshotter/read_file.h"

namespace bailiff::snapshotter {
namespace {

using policy::GitId;
using policy::MakeFault;
using policy::SnapshotFault;

// Packs are mapped a window at a time: without a bound of ours a window alone is larger than all
// the memory a helper may have.
constexpr std::size_t kWindow = 16U << 20;
constexpr std::size_t kMapped = 96U << 20;
constexpr std::size_t kOpenPacks = 64;

std::string LastWords() {
  const git_error* last = git_error_last();
  return last != nullptr && last->message != nullptr ? last->message : "no reason given";
}

git_oid ToOid(const GitId& id) {
  git_oid oid;
  std::memcpy(oid.id, id.bytes.data(), sizeof oid.id);
  return oid;
}

std::optional<GitType> FromType(git_object_t type) {
  switch (type) {
    case GIT_OBJECT_COMMIT:
      return GitType::kCommit;
    case GIT_OBJECT_TREE:
      return GitType::kTree;
    case GIT_OBJECT_BLOB:
      return GitType::kBlob;
    case GIT_OBJECT_TAG:
      return GitType::kTag;
    default:
      return std::nullopt;
  }
}

git_object_t ToType(GitType type) {
  switch (type) {
    case GitType::kCommit:
      return GIT_OBJECT_COMMIT;
    case GitType::kTree:
      return GIT_OBJECT_TREE;
    case GitType::kBlob:
      return GIT_OBJECT_BLOB;
    case GitType::kTag:
      return GIT_OBJECT_TAG;
  }
  return GIT_OBJECT_INVALID;
}

Error Failed(const char* step) {
  const git_error* last = git_error_last();
  const bool memory = last != nullptr && last->klass == GIT_ERROR_NOMEMORY;
  return MakeFault(memory ? SnapshotFault::kMemory : SnapshotFault::kGitObjectDamaged, "objects",
                   std::string(step) + ": " + LastWords());
}

// Calls `visit` with every name in objects/pack; nothing when there is no such directory.
Result<void> ForEachPackFile(const GitDirectory& git,
                             const std::function<Result<void>(int, const char*)>& visit) {
  const auto pack = ipc::OpenBeneath(git.fd.get(), "objects/pack", O_RDONLY | O_DIRECTORY);
  if (!pack.ok()) {
    const int error = pack.error().system_error;
    if (error == ENOENT) return {};
    if (error == ELOOP)
      return MakeFault(SnapshotFault::kGitObjectDamaged, "objects/pack",
                       "a symbolic link, which is not followed");
    return ForeignFault("openat2", "objects/pack", error);
  }
  alignas(dirent64) std::array<char, 32768> buffer;
  for (;;) {
    const ssize_t got = getdents64(pack->get(), buffer.data(), buffer.size());
    if (got < 0) return MakeFault(SnapshotFault::kIo, "objects/pack", "getdents64", errno);
    if (got == 0) return {};
    for (ssize_t at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const dirent64*>(buffer.data() + at);
      at += entry->d_reclen;
      BAILIFF_TRY(visit(pack->get(), entry->d_name));
    }
  }
}

// libgit2 opens what has the right name: a FIFO would hold it, a link would lead elsewhere.
Result<void> CheckPackFile(int directory, const char* name) {
  const std::string_view text = name;
  if (!text.ends_with(".idx") && !text.ends_with(".pack") && text != "multi-pack-index") return {};
  struct stat status;
  if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(status.st_mode))
    return MakeFault(SnapshotFault::kGitObjectDamaged, "objects/pack/" + std::string(text),
                     "no regular file");
  return {};
}

bool Has(const GitDirectory& git, const char* name) {
  struct stat status;
  return fstatat(git.fd.get(), name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

}  // namespace

Result<void> InitialiseGit() {
  git_indexer__max_object_size = policy::kSourceBounds.file_bytes;
  if (git_libgit2_init() < 0) return Failed("git_libgit2_init");
  if (git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 1) != 0 ||
      git_libgit2_opts(GIT_OPT_ENABLE_CACHING, 0) != 0 ||
      git_libgit2_opts(GIT_OPT_SET_MWINDOW_SIZE, kWindow) != 0 ||
      git_libgit2_opts(GIT_OPT_SET_MWINDOW_MAPPED_LIMIT, kMapped) != 0 ||
      git_libgit2_opts(GIT_OPT_SET_MWINDOW_FILE_LIMIT, kOpenPacks) != 0)
    return Failed("git_libgit2_opts");
  return {};
}

Result<std::unique_ptr<GitStore>> GitStore::Open(const GitDirectory& git) {
  BAILIFF_TRY(ForEachPackFile(git, CheckPackFile));
  git_odb* database = nullptr;
  if (git_odb_new(&database) != 0) return Failed("git_odb_new");
  std::unique_ptr<GitStore> store(new GitStore(git, database));
  const std::string objects = git.path + "/objects";
  git_odb_backend* backend = nullptr;
  if (git_odb_backend_pack(&backend, objects.c_str()) != 0 ||
      git_odb_add_backend(database, backend, 1) != 0)
    return Failed("git_odb_backend_pack");
  if (git_odb_backend_loose(&backend, objects.c_str(), -1, 0, 0, 0) != 0 ||
      git_odb_add_backend(database, backend, 2) != 0)
    return Failed("git_odb_backend_loose");
  return store;
}

GitStore::~GitStore() { git_odb_free(database_); }

Result<void> GitStore::CheckLoose(const GitId& id) const {
  const std::string hex = id.hex();
  const std::string name = "objects/" + hex.substr(0, 2) + "/" + hex.substr(2);
  const auto file = ipc::OpenBeneath(git_.fd.get(), name.c_str(), O_PATH | O_NOFOLLOW);
  struct stat status;
  if (!file.ok()) {
    if (file.error().system_error != ELOOP) return {};
  } else if (fstat(file->get(), &status) == 0 && S_ISREG(status.st_mode)) {
    return {};
  }
  return MakeFault(SnapshotFault::kGitObjectDamaged, name, "no regular file of its own");
}

// Why an object could not be had, in the order in which a person would look.
Error GitStore::Explain(int code, const GitId& id) const {
  if (GitWindowsSpent())
    return MakeFault(SnapshotFault::kGitObjectDamaged, id.hex(),
                     "a delta of a delta without end, or of too many");
  const std::string words = LastWords();
  if (const git_error* last = git_error_last();
      last != nullptr && last->klass == GIT_ERROR_NOMEMORY)
    return MakeFault(SnapshotFault::kMemory, id.hex(), words);
  if (code == GIT_EMISMATCH)
    return MakeFault(SnapshotFault::kGitObjectDamaged, id.hex(), "its bytes have another SHA-1");
  if (code != GIT_ENOTFOUND) return MakeFault(SnapshotFault::kGitObjectDamaged, id.hex(), words);

  const char* why = "the repository does not hold it";
  if (Has(git_, "shallow")) why = "the repository is a shallow clone, and nothing is fetched";
  const auto look = [&why](int directory, const char* name) -> Result<void> {
    const std::string_view text = name;
    if (text.ends_with(".promisor"))
      why = "the repository is a partial clone, and nothing is fetched";
    if (!text.ends_with(".idx") && !text.ends_with(".pack")) return {};
    const ipc::Fd file(openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file.valid() && (errno == EACCES || errno == EPERM))
      return MakeFault(SnapshotFault::kUnreadable, "objects/pack/" + std::string(text), "openat",
                       errno);
    return {};
  };
  if (const auto looked = ForEachPackFile(git_, look); !looked.ok()) return looked.error();
  if (Has(git_, "objects/info/alternates"))
    why = "objects/info/alternates names another repository, which is not read";
  const auto head = ResolveCommitName(git_, "HEAD");
  if (!head.ok() && head.error().code == ErrorCode::kGitFormat) return head.error();
  return MakeFault(SnapshotFault::kGitObjectMissing, id.hex(), why);
}

Result<GitHeader> GitStore::Header(const GitId& id) {
  BAILIFF_TRY(CheckLoose(id));
  BeginGitObject();
  const git_oid oid = ToOid(id);
  std::size_t size = 0;
  git_object_t type = GIT_OBJECT_INVALID;
  if (const int code = git_odb_read_header(&size, &type, database_, &oid); code != 0)
    return Explain(code, id);
  const auto known = FromType(type);
  if (!known)
    return MakeFault(SnapshotFault::kGitObjectDamaged, id.hex(), "an object of no known type");
  return GitHeader{*known, size};
}

Result<GitObject> GitStore::Read(const GitId& id) {
  BAILIFF_TRY(CheckLoose(id));
  BeginGitObject();
  const git_oid oid = ToOid(id);
  git_odb_object* object = nullptr;
  if (const int code = git_odb_read(&object, database_, &oid); code != 0) return Explain(code, id);
  const auto type = FromType(git_odb_object_type(object));
  const std::size_t size = git_odb_object_size(object);
  GitObject read(object,
                 [](void* owner) { git_odb_object_free(static_cast<git_odb_object*>(owner)); },
                 {type.value_or(GitType::kBlob), size},
                 {static_cast<const char*>(git_odb_object_data(object)), size});
  if (!type)
    return MakeFault(SnapshotFault::kGitObjectDamaged, id.hex(), "an object of no known type");
  return read;
}

Result<GitId> HashGitObject(GitType type, std::string_view bytes) {
  git_oid oid;
  if (git_odb_hash(&oid, bytes.data(), bytes.size(), ToType(type)) != 0)
    return Failed("git_odb_hash");
  GitId id;
  std::memcpy(id.bytes.data(), oid.id, id.bytes.size());
  return id;
}

}  // namespace bailiff::snapshotter
