// SPDX-License-Identifier: Apache-2.0
// What the controller and the importer must both say about git: object ids, how a commit is named,
// and the revision that a commit becomes (contracts, section 2 "Objects"). Object format sha1 only.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "policy/digest.h"

namespace bailiff::policy {

// The SHA-1 that names a git object.
struct GitId {
  std::array<unsigned char, 20> bytes{};
  auto operator<=>(const GitId&) const = default;
  std::string hex() const;  // 40 lower-case digits
  std::string_view raw() const {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
};

// Exactly 40 lower-case hex digits, else nothing.
std::optional<GitId> ParseGitId(std::string_view hex);
// Exactly 20 bytes, else nothing.
std::optional<GitId> RawGitId(std::string_view bytes);

inline constexpr std::size_t kMaxRefName = 1024;  // bytes of a full name

// A full name as git-check-ref-format(1) allows it, beginning with "refs/", at most kMaxRefName
// bytes. No component is empty, longer than a file's name can be (255 bytes), begins with '.', or
// ends with ".lock", so that as a relative path it stays below the repository.
bool IsFullRef(std::string_view name);

// How a commit may be named: 40 lower-case hex digits, "HEAD", or a full ref. Nothing is
// abbreviated or searched for: one name means one thing.
bool IsCommitName(std::string_view name);

struct GitCommit {
  GitId commit;
  GitId tree;  // as the commit names it
  bool operator==(const GitCommit&) const = default;
};

// The origin of a revision made from a commit, and the revision's bytes: canonical, and a function
// of what is given alone.
std::string GitOrigin(const GitCommit& commit);
std::string GitRevision(const Digest& tree, const GitCommit& commit);

}  // namespace bailiff::policy
