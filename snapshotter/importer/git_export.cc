// SPDX-License-Identifier: Apache-2.0
#include "snapshotter/importer/git_export.h"

#include <algorithm>
#include <string>
#include <vector>

#include "policy/disguise.h"
#include "snapshotter/importer/git_decode.h"
#include "snapshotter/importer/git_writer.h"
#include "snapshotter/materialize.h"
#include "snapshotter/objects.h"

namespace bailiff::snapshotter {
namespace {

using policy::GitId;
using policy::MakeFault;
using policy::ObjectKind;
using policy::SnapshotFault;

std::string_view ModeText(GitMode mode) {
  switch (mode) {
    case GitMode::kFile:
      return "100644";
    case GitMode::kExecutable:
      return "100755";
    case GitMode::kLink:
      return "120000";
    case GitMode::kTree:
      return "40000";
    case GitMode::kSubmodule:
      return "160000";
  }
  return "";
}

GitMode ModeOf(EntryKind kind) {
  switch (kind) {
    case EntryKind::kFile:
      return GitMode::kFile;
    case EntryKind::kExecutable:
      return GitMode::kExecutable;
    case EntryKind::kLink:
      return GitMode::kLink;
  }
  return GitMode::kFile;
}

// Entries come in the order of their paths; directories are made as they end.
class TreeWriter {
 public:
  explicit TreeWriter(GitWriter& writer) : writer_(writer) { open_.push_back({}); }

  Result<void> Add(std::string_view path, GitMode mode, const GitId& id) {
    const std::size_t slash = path.rfind('/');
    const std::string_view directory =
        slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
    while (!Holds(open_.back().path, directory)) BAILIFF_TRY(Close());
    while (open_.back().path.size() < directory.size()) {
      const std::size_t begin = open_.back().path.empty() ? 0 : open_.back().path.size() + 1;
      open_.push_back({directory.substr(0, directory.find('/', begin)), {}});
    }
    open_.back().children.push_back({mode, path.substr(slash + 1), id});
    return {};
  }

  Result<GitId> Finish() {
    while (open_.size() > 1) BAILIFF_TRY(Close());
    return Write(open_.back());
  }

 private:
  struct Directory {
    std::string_view path;  // into the manifest
    std::vector<GitEntry> children;
  };

  static bool Holds(std::string_view directory, std::string_view path) {
    return directory.empty() || (path.starts_with(directory) && (path.size() == directory.size() ||
                                                                 path[directory.size()] == '/'));
  }

  Result<void> Close() {
    Directory ended = std::move(open_.back());
    open_.pop_back();
    BAILIFF_TRY_ASSIGN(const GitId id, Write(ended));
    open_.back().children.push_back(
        {GitMode::kTree, ended.path.substr(ended.path.rfind('/') + 1), id});
    return {};
  }

  Result<GitId> Write(Directory& directory) {
    std::sort(directory.children.begin(), directory.children.end(),
              [](const GitEntry& a, const GitEntry& b) {
                return GitOrderLess(a.name, a.mode == GitMode::kTree, b.name,
                                    b.mode == GitMode::kTree);
              });
    std::string bytes;
    for (const GitEntry& child : directory.children) {
      bytes += ModeText(child.mode);
      bytes += ' ';
      bytes += child.name;
      bytes += '\0';
      bytes += child.id.raw();
    }
    return writer_.Put(GitType::kTree, bytes);
  }

  GitWriter& writer_;
  std::vector<Directory> open_;
};

std::string CommitBytes(const GitId& tree, const policy::Digest& revision) {
  const std::string who = "Bailiff <bailiff@invalid> 0 +0000\n";
  return "tree " + tree.hex() + "\nauthor " + who + "committer " + who + "\nBailiff revision " +
         revision.hex() + "\n";
}

}  // namespace

Result<JobResult> ExportGit(int objects, int out, const GitExportOrder& order, Reporter& reporter) {
  BAILIFF_TRY_ASSIGN(std::string bytes, ReadObject(objects, ObjectKind::kTree, order.tree,
                                                   MaxManifestBytes(policy::kSourceBounds)));
  BAILIFF_TRY_ASSIGN(const TreeManifest manifest, ParseTree(std::move(bytes), policy::kSourceBounds,
                                                            policy::TreeNames::kSource));
  GitWriter writer(out);
  BAILIFF_TRY(writer.Begin());
  TreeWriter trees(writer);
  JobResult result{order.tree, order.tree, 0, 0, policy::GitCommit{}};
  for (const TreeEntry& entry : manifest.entries) {
    if (entry.kind == EntryKind::kLink &&
        policy::LooksLikeDotGitModules(entry.path.substr(entry.path.rfind('/') + 1)))
      return MakeFault(SnapshotFault::kGitTree, entry.path, "a symbolic link that git refuses");
    BAILIFF_TRY_ASSIGN(const std::string blob,
                       ReadObject(objects, ObjectKind::kBlob, entry.blob, entry.size));
    if (blob.size() != entry.size)
      return MakeFault(SnapshotFault::kObjectDamaged, entry.path, "shorter than its entry");
    BAILIFF_TRY_ASSIGN(const GitId id, writer.Put(GitType::kBlob, blob));
    BAILIFF_TRY(trees.Add(entry.path, ModeOf(entry.kind), id));
    result.bytes += entry.size;
    BAILIFF_TRY(reporter.Progress(++result.entries, result.bytes));
  }
  BAILIFF_TRY_ASSIGN(result.git->tree, trees.Finish());
  if (order.form == GitForm::kTree) {
    BAILIFF_TRY(writer.PutRef("refs/bailiff/tree", result.git->tree));
    return result;
  }
  BAILIFF_TRY_ASSIGN(result.git->commit,
                     writer.Put(GitType::kCommit, CommitBytes(result.git->tree, order.revision)));
  BAILIFF_TRY(writer.PutRef("refs/heads/main", result.git->commit));
  return result;
}

}  // namespace bailiff::snapshotter
