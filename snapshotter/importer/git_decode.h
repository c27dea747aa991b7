// SPDX-License-Identifier: Apache-2.0
// The bytes of git's commits, tags, trees and refs (gitformat: Documentation/gitformat-*.txt of
// git), as strictly as `git fsck --strict` takes them. Nothing is repaired: an import of a tree
// that git would refuse to receive is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ipc/result.h"
#include "snapshotter/importer/git_objects.h"

namespace bailiff::snapshotter {

// The tree that a commit names: its first line. Nothing else of a commit is read.
Result<policy::GitId> DecodeCommit(std::string_view bytes, const policy::GitId& id);

struct GitTag {
  policy::GitId object;
  GitType type = GitType::kCommit;
};
// What an annotated tag names: its first two lines.
Result<GitTag> DecodeTag(std::string_view bytes, const policy::GitId& id);

// kOldFile: 100664, which old versions of git wrote; a plain file to everybody but its tree's id.
enum class GitMode : std::uint8_t { kFile, kOldFile, kExecutable, kLink, kTree, kSubmodule };
std::string_view GitModeText(GitMode mode);  // "100644", …

struct GitEntry {
  GitMode mode;
  std::string_view name;  // into the tree's bytes
  policy::GitId id;
};

// All entries of one tree, at most `most` of them (else kEntries). kGitTree, with the entry's name
// and the tree's id, for: modes other than git writes, modes with leading zeros, names that are
// empty or hold '/', entries out of git's order or twice, a null id, a link where .gitmodules must
// be a file, bytes that are cut short. kReservedName and kComponentBytes as everywhere
// (tree_path.h). Names are bytes otherwise. `path`: of the tree, for messages.
Result<std::vector<GitEntry>> DecodeTree(std::string_view bytes, const policy::GitId& id,
                                         std::string_view path, std::uint64_t most);

// Git's order of the entries of one tree: as bytes, a directory's name with '/' after it.
bool GitOrderLess(std::string_view a, bool a_is_tree, std::string_view b, bool b_is_tree);

// An id or the name of another ref.
using GitRefValue = std::variant<policy::GitId, std::string>;

// The bytes of HEAD or of a loose ref: one id or "ref: NAME", and a newline. kGitFormat for an id
// of sha256, else kGitRef.
Result<GitRefValue> DecodeRef(std::string_view bytes, std::string_view name);

// What packed-refs says of `name`; nothing when it does not say. Lines before the one that is found
// must be well-formed.
Result<std::optional<policy::GitId>> FindPackedRef(std::string_view bytes, std::string_view name);

// What an import left out of the trees of a commit (git_verify.h), as it staged it: the form of a
// tree's entries, with paths for names, in the order of their bytes. Borrows from `bytes`.
struct GitLeft {
  GitMode mode;  // kSubmodule, kTree or kOldFile
  std::string_view path;
  policy::GitId id;
};

// kStaged for whatever no import of ours writes.
Result<std::vector<GitLeft>> DecodeLeftOut(std::string_view bytes);

}  // namespace bailiff::snapshotter
