// SPDX-License-Identifier: Apache-2.0
// What the controller does with sources and images: each function runs one or two jobs and then
// checks what they left, itself. All names are below the data directory of contracts section 3; a
// half-done import leaves nothing but a staging directory, which is removed before the function
// returns and again by SweepStaging.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "controller/supervisor/image_record.h"
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

struct ImageSource {
  int file = -1;       // a regular file opened for reading
  int directory = -1;  // or a directory of a mount in the controller's own mount namespace
  policy::ImageFormat format = policy::ImageFormat::kFound;
};

struct ImageInfo {
  policy::Digest image;                  // SHA-256 of `config`
  std::string config;                    // the bytes of config.json
  std::vector<policy::Digest> diff_ids;  // of its layers uncompressed, lowest first
  policy::Digest source;  // SHA-256 of the archive as given; of a directory's index.json
  ImageRecord record;
  bool existed = false;  // the same id was there already and was kept
  std::vector<JobWarning> warnings;
};

// A layer that holds all of an image's root, and the image that it and a configuration of ours are.
struct ExportedImage {
  policy::Digest image;  // SHA-256 of RootfsConfig(layer)
  policy::Digest layer;
  policy::Digest file;      // SHA-256 of what was written
  std::uint64_t bytes = 0;  // of it
  std::uint64_t entries = 0;
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
// digits is the one the revision names, and its files are those that git hashes to it: a second
// process finds so from what was staged. What a ref leads to is the importer's word.
Result<RevisionInfo> ImportGit(const JobHost& host, int directory, const GitSource& source,
                               const JobHooks& hooks);

// Imports an OCI layout, a docker save archive, or the tar of a root file system.
// images/<id>/{config.json,root/,complete} is durable when this returns; an image id that is there
// already is never replaced. What a configuration says of itself is asked of a second process that
// reads nothing else, and must name the layers that the first one unpacked.
Result<ImageInfo> ImportImage(const JobHost& host, const ImageSource& source,
                              const JobHooks& hooks);

// That images/<name>/root is `tree`, the one it was imported as: hashed by a helper, unless it was
// found so where it lies now (`verified` in the image's directory names the root by device and
// inode, so a copy or a restored backup is hashed once more). `host` as for ExportImage. Errors:
// kImageRecord when it is another one.
Result<void> EnsureImage(const JobHost& host, const std::string& name, const policy::Digest& tree,
                         const JobHooks& hooks);
// The same, always by hashing.
Result<void> VerifyImage(const JobHost& host, const std::string& name, const policy::Digest& tree,
                         const JobHooks& hooks);

// Writes an image as an OCI layout in a tar to `file`, which is open for writing and empty, or a
// pipe. The bytes are a function of what images/<name>/root holds. `host` must run helpers under
// the controller's own id: files of an image that only their owner may read are the controller's.
Result<ExportedImage> ExportImage(const JobHost& host, const std::string& name, int file,
                                  const JobHooks& hooks);

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
