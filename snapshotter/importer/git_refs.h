// SPDX-License-Identifier: Apache-2.0
// A git repository on disk as far as we read it ourselves: where it is, and what a name of a commit
// leads to. HEAD, loose refs and packed-refs (gitrepository-layout(5)), decoded by git_decode.h; no
// configuration, no reflog, no environment. Everything is opened below one descriptor and through
// no link.
#pragma once

#include <string>
#include <string_view>

#include "ipc/fd.h"
#include "policy/git_name.h"

namespace bailiff::snapshotter {

struct GitDirectory {
  ipc::Fd fd;
  std::string path;  // of the same directory, for a library that wants names
};

// The repository of `directory`: itself when it is bare, else its .git. kGitRepository when there
// is none; kGitPointer for what only points to another (a .git file, a linked worktree).
Result<GitDirectory> FindGitDirectory(int directory, std::string path);

inline constexpr std::size_t kMaxPackedRefs = 64U << 20;  // bytes: some 800,000 refs

// What `name` (policy::IsCommitName) leads to, through at most five symbolic refs; 40 hex digits
// are what they are. Errors: kGitRefMissing, kGitRef, kGitFormat, kGitReftable, kUnreadable.
Result<policy::GitId> ResolveCommitName(const GitDirectory& git, std::string_view name);

}  // namespace bailiff::snapshotter
