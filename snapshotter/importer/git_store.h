// SPDX-License-Identifier: Apache-2.0
// The object database of one repository: libgit2's back ends for loose objects and packs on its
// objects directory, and nothing else of a repository. No configuration, alternates, replace refs,
// grafts or promises are followed; nothing is fetched. Every object that is read is hashed by
// libgit2 (SHA-1 with detection of known collision attacks) and compared with its id.
#pragma once

#include <string>

#include "snapshotter/importer/git_objects.h"
#include "snapshotter/importer/git_refs.h"

struct git_odb;

namespace bailiff::snapshotter {

// Once in a process, before it locks itself: afterwards libgit2 asks the kernel for nothing but
// files, mappings and memory. Holds no descriptor.
Result<void> InitialiseGit();

// Memory of an object's reading: its bytes, what it is a delta of, and windows of packs; each is
// bounded, and the process's own limit bounds them all.
class GitStore final : public GitObjects {
 public:
  // kGitObjectDamaged when what should be packs and indices are not regular files.
  static Result<std::unique_ptr<GitStore>> Open(const GitDirectory& git);
  ~GitStore() override;

  Result<GitHeader> Header(const policy::GitId& id) override;
  Result<GitObject> Read(const policy::GitId& id) override;

 private:
  GitStore(const GitDirectory& git, git_odb* database) : git_(git), database_(database) {}
  Result<void> CheckLoose(const policy::GitId& id) const;
  Error Explain(int code, const policy::GitId& id) const;

  const GitDirectory& git_;
  git_odb* database_;
};

// The id of an object that is not in a repository yet.
Result<policy::GitId> HashGitObject(GitType type, std::string_view bytes);

}  // namespace bailiff::snapshotter
