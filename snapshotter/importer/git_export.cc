// SPDX-License-Identifier: Apache-2.0
#include "snapshotter/importer/git_export.h"

#include <string>

#include "policy/disguise.h"
#include "snapshotter/importer/git_decode.h"
#include "snapshotter/importer/git_trees.h"
#include "snapshotter/importer/git_writer.h"
#include "snapshotter/materialize.h"
#include "snapshotter/objects.h"

namespace bailiff::snapshotter {
namespace {

using policy::GitId;
using policy::MakeFault;
using policy::ObjectKind;
using policy::SnapshotFault;

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
  GitTreeMaker trees([&](std::string_view tree) { return writer.Put(GitType::kTree, tree); });
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
    BAILIFF_TRY(trees.Add(entry.path, GitModeOf(entry.kind), id));
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
