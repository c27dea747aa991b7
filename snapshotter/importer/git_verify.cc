// SPDX-License-Identifier: Apache-2.0
#include "snapshotter/importer/git_verify.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "ipc/fault.h"
#include "ipc/fd.h"
#include "snapshotter/importer/git_store.h"
#include "snapshotter/importer/git_trees.h"
#include "snapshotter/importer/git_walk.h"
#include "snapshotter/objects.h"

namespace bailiff::snapshotter {
namespace {

using policy::Digest;
using policy::GitId;
using policy::MakeFault;
using policy::ObjectKind;
using policy::SnapshotFault;

constexpr const char* kCommitName = "git-commit";
constexpr const char* kLeftOutName = "git-left-out";
// Room for every path that the bounds of a source allow, at a length that no source has.
constexpr std::size_t kMaxLeftOut = 64 << 20;

Error False(std::string_view what, std::string why) {
  return MakeFault(SnapshotFault::kStaged, what, std::move(why));
}

Result<void> WriteNew(int out, const char* name, std::string_view bytes) {
  if (const int error = BAILIFF_FAULT(HelperWrite))
    return MakeFault(SnapshotFault::kIo, name, "openat", error);
  const ipc::Fd file(openat(out, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444));
  if (!file.valid()) return MakeFault(SnapshotFault::kIo, name, "openat", errno);
  if (const auto put = ipc::WriteAll(file.get(), bytes, name); !put.ok())
    return MakeFault(SnapshotFault::kIo, name, "write", put.error().system_error);
  return {};
}

// Whoever staged it may have put anything under the name.
Result<std::string> ReadStaged(int in, const std::string& name, std::size_t most) {
  const ipc::Fd file(openat(in, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return False(name, "was not staged");
  struct stat status;
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return False(name, "is no regular file");
  auto bytes = ipc::ReadToEnd(file.get(), most, name);
  if (!bytes.ok() && bytes.error().system_error == EFBIG) return False(name, "is too long");
  if (!bytes.ok()) return MakeFault(SnapshotFault::kIo, name, "read", bytes.error().system_error);
  return bytes;
}

Result<std::string> ReadStagedObject(int in, ObjectKind kind, const Digest& digest,
                                     std::size_t most) {
  const std::string name = policy::StagedName(kind, digest);
  BAILIFF_TRY_ASSIGN(std::string bytes, ReadStaged(in, name, most));
  policy::ObjectHasher hasher(kind);
  hasher.Update(bytes);
  if (hasher.Finish() != digest) return False(name, "has another digest");
  return bytes;
}

class Verifier {
 public:
  Verifier(int in, bool skip_submodules, Reporter& reporter)
      : in_(in), skip_submodules_(skip_submodules), reporter_(reporter) {}

  Result<GitId> Tree(const TreeManifest& manifest, const std::vector<GitLeft>& left_out) {
    BAILIFF_TRY_ASSIGN(empty_, HashGitObject(GitType::kTree, ""));
    auto left = left_out.begin();
    for (const TreeEntry& entry : manifest.entries) {
      for (; left != left_out.end() && left->path < entry.path; ++left) BAILIFF_TRY(Add(*left));
      BAILIFF_TRY_ASSIGN(const GitId id, Blob(entry));
      GitMode mode = GitModeOf(entry.kind);
      if (left != left_out.end() && left->path == entry.path) {
        if (left->mode != GitMode::kOldFile || mode != GitMode::kFile || left->id != id)
          return False(entry.path, "is a file and was left out");
        mode = GitMode::kOldFile;
        ++left;
      }
      BAILIFF_TRY(trees_.Add(entry.path, mode, id));
    }
    for (; left != left_out.end(); ++left) BAILIFF_TRY(Add(*left));
    return trees_.Finish();
  }

  std::uint64_t bytes() const { return bytes_; }

 private:
  Result<void> Add(const GitLeft& left) {
    const bool holds = left.mode == GitMode::kSubmodule
                           ? skip_submodules_
                           : left.mode == GitMode::kTree && left.id == empty_;
    if (!holds) return False(left.path, "was left out");
    return trees_.Add(left.path, left.mode, left.id);
  }

  Result<GitId> Blob(const TreeEntry& entry) {
    BAILIFF_TRY_ASSIGN(const std::string blob,
                       ReadStagedObject(in_, ObjectKind::kBlob, entry.blob, entry.size));
    if (blob.size() != entry.size) return False(entry.path, "is shorter than its entry");
    bytes_ += blob.size();
    BAILIFF_TRY(reporter_.Progress(++entries_, bytes_));
    return HashGitObject(GitType::kBlob, blob);
  }

  int in_;
  bool skip_submodules_;
  Reporter& reporter_;
  GitTreeMaker trees_{[](std::string_view tree) { return HashGitObject(GitType::kTree, tree); }};
  GitId empty_;
  std::uint64_t entries_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace

Result<void> StageGitProof(int out, std::string_view commit, std::vector<GitLeftOut> left_out) {
  std::sort(left_out.begin(), left_out.end(),
            [](const GitLeftOut& a, const GitLeftOut& b) { return a.path < b.path; });
  std::string list;
  for (const GitLeftOut& left : left_out) {
    list.append(GitModeText(left.mode)).append(" ").append(left.path).append(1, '\0');
    list.append(left.id.raw());
    if (list.size() > kMaxLeftOut)
      return MakeFault(SnapshotFault::kEntries, left.path, "too many entries to leave out");
  }
  BAILIFF_TRY(WriteNew(out, kCommitName, commit));
  return WriteNew(out, kLeftOutName, list);
}

Result<JobResult> VerifyGit(int in, const Digest& tree, bool skip_submodules, Reporter& reporter) {
  BAILIFF_TRY_ASSIGN(const std::string commit, ReadStaged(in, kCommitName, kMaxGitCommit));
  BAILIFF_TRY_ASSIGN(const std::string list, ReadStaged(in, kLeftOutName, kMaxLeftOut));
  BAILIFF_TRY_ASSIGN(const std::vector<GitLeft> left_out, DecodeLeftOut(list));
  BAILIFF_TRY_ASSIGN(std::string bytes, ReadStagedObject(in, ObjectKind::kTree, tree,
                                                         MaxManifestBytes(policy::kSourceBounds)));
  auto manifest = ParseTree(std::move(bytes), policy::kSourceBounds, policy::TreeNames::kSource);
  if (!manifest.ok()) return False(manifest.error().subject, manifest.error().why);
  policy::GitCommit found;
  BAILIFF_TRY_ASSIGN(found.commit, HashGitObject(GitType::kCommit, commit));
  const auto named = DecodeCommit(commit, found.commit);
  if (!named.ok()) return False(kCommitName, "names no tree");
  found.tree = *named;
  Verifier verifier(in, skip_submodules, reporter);
  BAILIFF_TRY_ASSIGN(const GitId made, verifier.Tree(*manifest, left_out));
  if (made != found.tree)
    return False("files",
                 "are git tree " + made.hex() + ", and the commit names " + found.tree.hex());
  return JobResult{tree, tree, manifest->entries.size(), verifier.bytes(), found};
}

}  // namespace bailiff::snapshotter
