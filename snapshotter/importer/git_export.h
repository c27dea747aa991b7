// SPDX-License-Identifier: Apache-2.0
// A tree of ours written out as a bare git repository, by git's own rules: the same files give the
// same tree id that git gives them.
#pragma once

#include <cstdint>

#include "policy/digest.h"
#include "snapshotter/reporter.h"

namespace bailiff::snapshotter {

enum class GitForm : std::uint8_t { kTree, kCommit };

struct GitExportOrder {
  policy::Digest tree;
  policy::Digest revision;  // named in the commit's message
  GitForm form = GitForm::kTree;
};

// `objects`: our store. `out`: an empty directory that becomes the repository: HEAD, config, loose
// objects, and one ref, refs/bailiff/tree for a tree alone or refs/heads/main for a commit. The
// commit is a function of the revision: no parent, the epoch as its date, Bailiff as its author.
// The result carries the ids (for a tree alone, a null commit). Refused: a tree that git fsck would
// refuse, which only a symbolic link named .gitmodules makes of one of ours. The caller's umask
// must be 0. Memory: one file at a time.
Result<JobResult> ExportGit(int objects, int out, const GitExportOrder& order, Reporter& reporter);

}  // namespace bailiff::snapshotter
