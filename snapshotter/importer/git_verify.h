// SPDX-License-Identifier: Apache-2.0
// What an import from git is proved by, to somebody who has not read the repository: the commit's
// bytes, and what of its trees has no place in a tree of ours. With them the files that were staged
// have one git tree, and that tree and the commit have the ids that git gives them, or they are not
// what the commit names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "snapshotter/importer/git_decode.h"
#include "snapshotter/reporter.h"

namespace bailiff::snapshotter {

// A submodule (its commit), a tree without entries, or the old mode of a file (its blob).
struct GitLeftOut {
  GitMode mode;
  std::string path;
  policy::GitId id;
};

// Writes both into `out`, beside the staged objects. `left_out` in any order. kEntries when the
// list is longer than VerifyGit reads.
Result<void> StageGitProof(int out, std::string_view commit, std::vector<GitLeftOut> left_out);

// `in`: what an import staged, and nothing else of what it read; `tree`: its tree. Reads every blob
// of it, and answers with the ids that follow from what is there: the commit's, and of the tree
// that it names. It is told neither. kStaged when a part is missing, is not its digest, or is not
// what the commit names. A submodule is left out only on request.
Result<JobResult> VerifyGit(int in, const policy::Digest& tree, bool skip_submodules,
                            Reporter& reporter);

}  // namespace bailiff::snapshotter
