// SPDX-License-Identifier: Apache-2.0
// What the controller does with sources and images: each function runs one or two jobs and then
// checks what they left, itself. All names are below the data directory of contracts section 3; a
// half-done import leaves nothing but a staging directory, which is removed before the function
// returns and again by SweepStaging.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controller/supervisor/job.h"

namespace bailiff::controller {

struct RevisionInfo {
  policy::Digest revision;
  policy::Digest tree;
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::string origin_json;  // JCS, for the row of `revisions`
  std::vector<JobWarning> warnings;
  std::optional<policy::GitCommit> git = {};  // of an import from git
};

struct ImageInfo {
  policy::Digest image;    // SHA-256 of `config`
  policy::Digest tree;     // recomputed by a second job from the unpacked root
  std::string config;      // the bytes of config.json
  policy::Digest diff_id;  // of the uncompressed archive
  policy::Digest source;   // SHA-256 of the archive as given
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  bool existed = false;  // the same id was there already and was kept
  std::vector<JobWarning> warnings;
};

// Imports a directory. `directory`: of a mount in the controller's own mount namespace, opened
// without following a link; what is mounted below it is refused. The objects are durable when this
// returns.
Result<RevisionInfo> ImportDirectory(const JobHost& host, int directory, const JobHooks& hooks);

struct GitSource {
  std::string commit;  // policy::IsCommitName
  bool skip_submodules = false;
};

// Imports one commit of the git repository `directory`, as above. A commit asked for by its 40
// digits is the one the revision names; what a ref leads to, and which tree a commit has, is the
// importer's word.
Result<RevisionInfo> ImportGit(const JobHost& host, int directory, const GitSource& source,
                               const JobHooks& hooks);

// Imports the archive of a root file system (tar, or tar under gzip, zstd or xz). `archive`: a
// regular file opened for reading. images/<id>/{config.json,root/,complete} is durable when this
// returns; an image id that is there already is never replaced.
Result<ImageInfo> ImportImage(const JobHost& host, int archive, const JobHooks& hooks);

// Makes trees/<digest> unless it is there: materialized by one process, owned by the controller,
// verified by a second fresh one, and renamed into place only when that one's digest is the wanted
// one (R3.01–R3.06). Idempotent.
Result<void> EnsureTree(const JobHost& host, const policy::Digest& tree, const JobHooks& hooks);

// The entries of a tree, in the order of its manifest, said by a confined process that reads the
// manifest and found to hash to `tree`: so they are the tree's, whoever said them. At most 10,000
// entries of at most 4095 bytes of path. kTreeMismatch when they are not.
Result<std::vector<ListedEntry>> ListTree(const JobHost& host, const policy::Digest& tree,
                                          const JobHooks& hooks);

// Writes a tree into `directory`, which must be empty, owned or writable by the helper's identity
// for the time of the job, and of a mount in the controller's own mount namespace.
Result<void> ExportTree(const JobHost& host, const policy::Digest& tree, int directory,
                        const JobHooks& hooks);

struct GitExport {
  policy::GitId tree;
  std::optional<policy::GitId> commit;  // when one was asked for
};

// Writes a tree as a bare git repository into `directory`, as ExportTree does. The ids are the
// importer's word, shown and never stored.
Result<GitExport> ExportGit(const JobHost& host, const policy::Digest& tree,
                            const policy::Digest& revision, bool as_commit, int directory,
                            const JobHooks& hooks);

// Removes what dead controllers left below staging/, but no directory another live process holds
// locked. Returns how many.
Result<std::uint64_t> SweepStaging(int data);

}  // namespace bailiff::controller
