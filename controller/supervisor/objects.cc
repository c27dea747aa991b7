// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/objects.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "controller/store/files.h"
#include "controller/supervisor/chown_tree.h"
#include "controller/supervisor/object_store.h"
#include "controller/supervisor/staging_directory.h"
#include "ipc/fault.h"
#include "policy/tree_path.h"

namespace bailiff::controller {
namespace {

using policy::Digest;
using policy::ObjectKind;

// Everything a tree can hold: its entries and the directories above them.
constexpr std::uint64_t kMostNodes =
    policy::kSourceBounds.entries * (1 + policy::kDirectoriesPerEntry);

// What a git repository has beside one object for each of them: shelves of objects, refs, HEAD.
constexpr std::uint64_t kMostGitNodes = 512;

constexpr std::uint32_t kParts = 2;
constexpr mode_t kFrozen = 0555;  // R3.04

Error Mismatch(const std::string& what, const char* why) {
  return {ErrorCode::kJobStaged, what, why, 0, {}};
}

// Exactly one tree and one revision, the ones the answer names, and the revision is `revision`: its
// bytes follow from what the controller knows.
Result<void> CheckImport(const JobClaims& claims, const std::string& revision) {
  std::size_t trees = 0;
  std::size_t revisions = 0;
  for (const StagedObject& object : claims.objects) {
    if (object.kind == ObjectKind::kTree && object.digest == *claims.tree) ++trees;
    if (object.kind == ObjectKind::kRevision && object.digest == claims.digest) ++revisions;
    if (object.kind == ObjectKind::kTree && object.digest != *claims.tree)
      return Mismatch("import", "a second tree");
    if (object.kind == ObjectKind::kRevision && object.digest != claims.digest)
      return Mismatch("import", "a second revision");
  }
  if (trees != 1 || revisions != 1) return Mismatch("import", "not one tree and one revision");
  if (policy::HashDomain("bailiff.revision.v1", revision) != claims.digest)
    return Mismatch("import", "its revision is not that of its tree");
  return {};
}

// What a revision's bytes must be, and its origin for the row.
struct Revision {
  std::string bytes;
  std::string origin;
  std::optional<policy::GitCommit> git = {};
};

// One import: the importer stages, is reaped, and what it left is checked, hashed and named.
// `check` is asked about what lies in staging, with claims that name a tree; then `revision_of`.
template <class Check, class RevisionOf>
Result<RevisionInfo> ImportSource(const JobHost& shared, JobRequest request, const JobHooks& hooks,
                                  Check check, RevisionOf revision_of) {
  const JobHost host = ReaderOf(shared);
  BAILIFF_TRY(SweepStaging(host.data));
  BAILIFF_TRY_ASSIGN(const StagingDirectory staging, StagingDirectory::Make(host));
  request.out = staging.out();
  BAILIFF_TRY_ASSIGN(JobClaims claims, RunJob(host, request, hooks));
  if (const int error = BAILIFF_FAULT(JobReaped)) return SystemError("waitid", "importer", error);
  if (!claims.tree) return Mismatch("import", "names no tree");
  BAILIFF_TRY(check(host, staging.out(), claims));
  BAILIFF_TRY_ASSIGN(Revision revision, revision_of(claims));
  BAILIFF_TRY(CheckImport(claims, revision.bytes));
  BAILIFF_TRY(TakeObjects(host.data, staging.out(), claims.objects, hooks));
  return RevisionInfo{claims.digest,
                      *claims.tree,
                      claims.entries,
                      claims.bytes,
                      std::move(revision.origin),
                      std::move(claims.warnings),
                      revision.git};
}

Result<std::string> BootId() {
  return ipc::ReadFileAt(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 64);
}

// trees/ is a cache that is never synced: after another boot its files may be empty where the
// machine lost power, so it starts again. `boot` in it names the boot it belongs to.
Result<ipc::Fd> OpenTrees(int data) {
  BAILIFF_TRY_ASSIGN(ipc::Fd trees, OpenData(data, "trees"));
  BAILIFF_TRY_ASSIGN(const std::string boot, BootId());
  const auto known = ipc::ReadFileAt(trees.get(), "boot", 64);
  if (known.ok() && *known == boot) return trees;
  BAILIFF_TRY_ASSIGN(const ipc::Fd locked, OpenData(data, "trees"));
  if (flock(locked.get(), LOCK_EX) != 0) return SystemError("flock", "trees");
  const auto again = ipc::ReadFileAt(trees.get(), "boot", 64);
  if (again.ok() && *again == boot) return trees;
  BAILIFF_TRY_ASSIGN(ipc::Fd listing, OpenData(data, "trees"));
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(fdopendir(listing.get()), closedir);
  if (directory == nullptr) return SystemError("fdopendir", "trees");
  static_cast<void>(listing.release());
  while (const dirent* entry = readdir(directory.get())) {
    if (policy::ParseDigest(entry->d_name)) BAILIFF_TRY(RemoveTree(trees.get(), entry->d_name));
  }
  BAILIFF_TRY_ASSIGN(
      const ipc::Fd file,
      ipc::OpenAt(trees.get(), "boot", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600));
  BAILIFF_TRY(ipc::WriteAll(file.get(), boot, "boot"));
  return trees;
}

// R3.02: nothing is written over or between what is there.
Result<void> CheckEmpty(int directory) {
  BAILIFF_TRY_ASSIGN(ipc::Fd listing, ipc::OpenAt(directory, ".", O_RDONLY | O_DIRECTORY));
  const std::unique_ptr<DIR, int (*)(DIR*)> names(fdopendir(listing.get()), closedir);
  if (names == nullptr) return SystemError("fdopendir", "export directory");
  static_cast<void>(listing.release());
  while (const dirent* entry = readdir(names.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..")
      return Error{ErrorCode::kDestinationExists, "export directory", "it is not empty", 0, {}};
  }
  return {};
}

// Two processes write one half each: creating files is most of the time, and does it on two
// processors.
Result<void> MaterializeParts(const JobHost& host, const Digest& tree, int objects, int out,
                              const JobHooks& hooks) {
  std::vector<JobRequest> requests;
  for (std::uint32_t part = 0; part < kParts; ++part)
    requests.push_back({JobKind::kMaterialize, tree, objects, out, part, kParts});
  BAILIFF_TRY(RunJobs(host, requests, hooks));
  return {};
}

// One export into a new directory, which is the helper's for the time of the job.
Result<JobClaims> Export(const JobHost& host, JobRequest request, const JobHooks& hooks) {
  BAILIFF_TRY_ASSIGN(const ipc::Fd objects, OpenObjects(host.data));
  request.in = objects.get();
  BAILIFF_TRY(CheckEmpty(request.out));
  if (fchown(request.out, host.identity.uid, host.identity.gid) != 0)
    return SystemError("fchown", "export directory");
  BAILIFF_TRY_ASSIGN(JobClaims claims, RunJob(host, request, hooks));
  if (const int error = BAILIFF_FAULT(JobReaped))
    return SystemError("waitid", "snapshotter", error);
  BAILIFF_TRY(ChownTree(request.out, ".", 0, 0, kMostNodes + kMostGitNodes));
  return claims;
}

Result<bool> IsDirectory(int parent, const char* name) {
  struct stat status;
  if (fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
    if (S_ISDIR(status.st_mode)) return true;
    return Error{ErrorCode::kTreeMismatch, name, "is no directory", 0, {}};
  }
  if (errno == ENOENT) return false;
  return SystemError("fstatat", name);
}

}  // namespace

Result<RevisionInfo> ImportDirectory(const JobHost& host, int directory, const JobHooks& hooks) {
  return ImportSource(
      host, {JobKind::kImportDirectory, {}, directory}, hooks,
      [](const JobHost&, int, const JobClaims&) -> Result<void> { return {}; },
      [](const JobClaims& claims) -> Result<Revision> {
        return Revision{policy::DirectoryRevision(*claims.tree), R"({"kind":"directory"})"};
      });
}

Result<RevisionInfo> ImportGit(const JobHost& host, int directory, const GitSource& source,
                               const JobHooks& hooks) {
  JobRequest request{JobKind::kImportGit, {}, directory};
  request.commit = source.commit;
  request.skip_submodules = source.skip_submodules;
  // That this commit has these files is found again by a fresh process, which reads what was staged
  // and nothing of the repository.
  const auto check = [&](const JobHost& reader, int staged,
                         const JobClaims& claims) -> Result<void> {
    JobRequest verify{JobKind::kVerifyGit, *claims.tree, staged};
    verify.skip_submodules = source.skip_submodules;
    BAILIFF_TRY_ASSIGN(const JobClaims found, RunJob(reader, verify, hooks));
    if (found.git_commit != claims.git_commit || found.git_tree != claims.git_tree)
      return Mismatch("import", "its files are not those of the commit");
    return {};
  };
  return ImportSource(host, request, hooks, check,
                      [&](const JobClaims& claims) -> Result<Revision> {
                        const policy::GitCommit commit{*claims.git_commit, *claims.git_tree};
                        const auto asked = policy::ParseGitId(source.commit);
                        if (asked && commit.commit != *asked)
                          return Mismatch("import", "another commit");
                        return Revision{policy::GitRevision(*claims.tree, commit),
                                        policy::GitOrigin(commit), commit};
                      });
}

Result<void> EnsureTree(const JobHost& host, const Digest& tree, const JobHooks& hooks) {
  BAILIFF_TRY_ASSIGN(const ipc::Fd trees, OpenTrees(host.data));
  const std::string name = tree.hex();
  BAILIFF_TRY_ASSIGN(const bool there, IsDirectory(trees.get(), name.c_str()));
  if (there) return {};
  BAILIFF_TRY_ASSIGN(const ipc::Fd objects, OpenObjects(host.data));
  BAILIFF_TRY_ASSIGN(const StagingDirectory staging, StagingDirectory::Make(host));
  BAILIFF_TRY(MaterializeParts(host, tree, objects.get(), staging.out(), hooks));
  if (const int error = BAILIFF_FAULT(JobReaped))
    return SystemError("waitid", "snapshotter", error);
  BAILIFF_TRY(ChownTree(staging.job(), "out", 0, 0, kMostNodes, kFrozen));
  BAILIFF_TRY_ASSIGN(const JobClaims found,
                     RunJob(host, {JobKind::kVerifySource, {}, staging.out(), -1, 0, 1}, hooks));
  if (found.digest != tree)
    return Error{ErrorCode::kTreeMismatch, name, "what is on disk is " + found.digest.hex(), 0, {}};
  if (const int error = BAILIFF_FAULT(TreeRename)) return SystemError("renameat2", name, error);
  // Another attempt on the same revision may have come first; its tree was verified like this one.
  if (renameat2(staging.job(), "out", trees.get(), name.c_str(), RENAME_NOREPLACE) != 0 &&
      errno != EEXIST)
    return SystemError("renameat2", name);
  return {};
}

Result<std::vector<ListedEntry>> ListTree(const JobHost& host, const Digest& tree,
                                          const JobHooks& hooks) {
  BAILIFF_TRY_ASSIGN(const ipc::Fd objects, OpenObjects(host.data));
  BAILIFF_TRY_ASSIGN(JobClaims claims,
                     RunJob(host, {JobKind::kListTree, tree, objects.get(), -1, 0, 1}, hooks));
  policy::ObjectHasher hasher(ObjectKind::kTree);
  hasher.Update(policy::kTreeMagic);
  std::string bytes;
  for (const ListedEntry& entry : claims.listed) {
    bytes.clear();
    policy::AppendTreeEntry(bytes, entry.kind, entry.size, entry.blob, entry.path);
    hasher.Update(bytes);
  }
  if (const Digest said = hasher.Finish(); said != tree)
    return Error{ErrorCode::kTreeMismatch, tree.hex(), "what was listed is " + said.hex(), 0, {}};
  return std::move(claims.listed);
}

Result<void> ExportTree(const JobHost& host, const Digest& tree, int directory,
                        const JobHooks& hooks) {
  BAILIFF_TRY(Export(host, {JobKind::kExport, tree, -1, directory}, hooks));
  return {};
}

Result<GitExport> ExportGit(const JobHost& host, const Digest& tree, const Digest& revision,
                            bool as_commit, int directory, const JobHooks& hooks) {
  JobRequest request{JobKind::kExportGit, tree, -1, directory};
  request.revision = revision;
  request.as_commit = as_commit;
  BAILIFF_TRY_ASSIGN(const JobClaims claims, Export(host, request, hooks));
  return GitExport{*claims.git_tree, claims.git_commit};
}

}  // namespace bailiff::controller
