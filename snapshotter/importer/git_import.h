// SPDX-License-Identifier: Apache-2.0
// One commit of a git repository becomes blobs, a tree and a revision.
#pragma once

#include <string>

#include "snapshotter/reporter.h"

namespace bailiff::snapshotter {

struct GitImportOrder {
  std::string commit;  // policy::IsCommitName
  bool skip_submodules = false;
};

// `in`, `path`: the repository, bare or not, as a descriptor and as a name. `out`: an empty
// directory for the objects, and for what proves them (git_verify.h). The result carries the commit
// and its git tree.
//
// A commit named by its 40 digits must be a commit; a ref may lead there through annotated tags.
// The commit, its trees and blobs are read, never its parents. Blobs are kept byte for byte:
// nothing is converted, whatever .gitattributes says. Refused: submodules, unless they are to be
// left out (then each is a warning); whatever DecodeTree refuses; whatever a directory with these
// entries would be refused for. Warned of: trees without entries, pointers of Git LFS.
Result<JobResult> ImportGit(int in, const std::string& path, int out, const GitImportOrder& order,
                            Reporter& reporter);

}  // namespace bailiff::snapshotter
