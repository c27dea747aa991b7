// SPDX-License-Identifier: Apache-2.0
#include "snapshotter/importer/git_import.h"

#include <map>
#include <vector>

#include "snapshotter/importer/git_store.h"
#include "snapshotter/importer/git_verify.h"
#include "snapshotter/importer/git_walk.h"
#include "snapshotter/importer/staging.h"
#include "snapshotter/objects.h"

namespace bailiff::snapshotter {
namespace {

using policy::GitId;
using policy::MakeFault;
using policy::ObjectKind;
using policy::SnapshotFault;
using policy::SnapshotWarning;

// git-lfs, docs/spec.md "The Pointer": under 1024 bytes, this line first.
constexpr std::size_t kMaxLfsPointer = 1024;
constexpr std::string_view kLfsVersion = "version https://git-lfs.github.com/spec/v1\n";

class GitImport final : public GitVisitor {
 public:
  GitImport(GitObjects& objects, int out, bool skip_submodules, Reporter& reporter)
      : objects_(objects),
        out_(out),
        skip_submodules_(skip_submodules),
        staging_(out, reporter),
        reporter_(reporter) {}

  Result<void> Blob(GitMode mode, const GitId& id, std::string_view path) override {
    BAILIFF_TRY_ASSIGN(const Stored stored, Store(mode, id, path));
    const EntryKind kind = mode == GitMode::kLink         ? EntryKind::kLink
                           : mode == GitMode::kExecutable ? EntryKind::kExecutable
                                                          : EntryKind::kFile;
    BAILIFF_TRY(builder_.Add(kind, stored.size, stored.digest, path));
    if (mode == GitMode::kOldFile) left_out_.push_back({mode, std::string(path), id});
    if (stored.lfs && kind != EntryKind::kLink)
      BAILIFF_TRY(reporter_.Warn(SnapshotWarning::kLfsPointer, path));
    if (kind == EntryKind::kLink && stored.holds_nul)
      return MakeFault(SnapshotFault::kLinkTarget, path, "it holds NUL");
    return reporter_.Progress(builder_.entries(), builder_.bytes());
  }

  Result<void> Submodule(const GitId& commit, std::string_view path) override {
    if (!skip_submodules_)
      return MakeFault(SnapshotFault::kGitSubmodule, path,
                       "a submodule, at commit " + commit.hex());
    left_out_.push_back({GitMode::kSubmodule, std::string(path), commit});
    return reporter_.Warn(SnapshotWarning::kSubmoduleLeftOut, path);
  }

  Result<void> EmptyTree(const GitId& id, std::string_view path) override {
    left_out_.push_back({GitMode::kTree, std::string(path), id});
    return reporter_.Warn(SnapshotWarning::kEmptyDirectory, path);
  }

  // `bytes`: the commit's.
  Result<JobResult> Finish(const policy::GitCommit& commit, std::string_view bytes) {
    BAILIFF_TRY(StageGitProof(out_, bytes, std::move(left_out_)));
    JobResult result{{}, {}, builder_.entries(), builder_.bytes(), commit};
    BAILIFF_TRY_ASSIGN(const policy::Digest tree,
                       staging_.Put(ObjectKind::kTree, builder_.Finish()));
    BAILIFF_TRY_ASSIGN(result.digest,
                       staging_.Put(ObjectKind::kRevision, policy::GitRevision(tree, commit)));
    result.tree = tree;
    return result;
  }

 private:
  struct Stored {
    policy::Digest digest;
    std::uint64_t size = 0;
    bool lfs = false;
    bool holds_nul = false;
  };

  // The same blob at many paths is read once.
  Result<Stored> Store(GitMode mode, const GitId& id, std::string_view path) {
    if (const auto known = known_.find(id); known != known_.end()) return known->second;
    BAILIFF_TRY_ASSIGN(const GitHeader header, objects_.Header(id));
    if (header.type != GitType::kBlob)
      return MakeFault(SnapshotFault::kGitObjectType, path,
                       "a " + std::string(GitTypeName(header.type)) + " where a blob should be");
    if (mode == GitMode::kLink && (header.size == 0 || header.size > policy::kMaxTreePath))
      return MakeFault(SnapshotFault::kLinkTarget, path, "empty or too long");
    if (header.size > policy::kSourceBounds.file_bytes)
      return MakeFault(SnapshotFault::kFileBytes, path, "too large");
    if (header.size > policy::kSourceBounds.bytes - builder_.bytes())
      return MakeFault(SnapshotFault::kTotalBytes, path, "too much in all");
    BAILIFF_TRY_ASSIGN(const GitObject blob,
                       ReadGitObject(objects_, id, GitType::kBlob, header.size));
    const std::string_view bytes = blob.bytes();
    Stored stored;
    stored.size = bytes.size();
    stored.lfs = bytes.size() < kMaxLfsPointer && bytes.starts_with(kLfsVersion);
    stored.holds_nul = bytes.find('\0') != std::string_view::npos;
    BAILIFF_TRY_ASSIGN(stored.digest, staging_.Put(ObjectKind::kBlob, bytes));
    known_.emplace(id, stored);
    return stored;
  }

  GitObjects& objects_;
  int out_;
  bool skip_submodules_;
  TreeBuilder builder_{policy::kSourceBounds, policy::TreeNames::kSource};
  Staging staging_;
  Reporter& reporter_;
  std::map<GitId, Stored> known_;
  std::vector<GitLeftOut> left_out_;
};

}  // namespace

Result<JobResult> ImportGit(int in, const std::string& path, int out, const GitImportOrder& order,
                            Reporter& reporter) {
  BAILIFF_TRY_ASSIGN(const GitDirectory git, FindGitDirectory(in, path));
  policy::GitCommit commit;
  BAILIFF_TRY_ASSIGN(commit.commit, ResolveCommitName(git, order.commit));
  BAILIFF_TRY_ASSIGN(const std::unique_ptr<GitStore> store, GitStore::Open(git));
  // The digits name one commit, so that the controller can compare; a ref says what it leads to.
  if (!policy::ParseGitId(order.commit)) {
    BAILIFF_TRY_ASSIGN(commit.commit, PeelToCommit(*store, commit.commit));
  }
  BAILIFF_TRY_ASSIGN(const GitObject bytes,
                     ReadGitObject(*store, commit.commit, GitType::kCommit, kMaxGitCommit));
  BAILIFF_TRY_ASSIGN(commit.tree, DecodeCommit(bytes.bytes(), commit.commit));
  GitImport import(*store, out, order.skip_submodules, reporter);
  BAILIFF_TRY(WalkGitTree(*store, commit.tree, policy::kSourceBounds, import));
  return import.Finish(commit, bytes.bytes());
}

}  // namespace bailiff::snapshotter
