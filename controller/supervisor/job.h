// SPDX-License-Identifier: Apache-2.0
// Runs one job of the snapshotter or the importer: one process, one view, one answer. What the
// answer claims is believed nowhere: the callers in objects.h recompute it from the bytes on disk
// after the helper is reaped, or by a second job.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ipc/fd.h"
#include "ipc/spawn.h"
#include "policy/git_name.h"
#include "policy/image_facts.h"
#include "policy/object.h"
#include "policy/role.h"
#include "policy/snapshot_codes.h"
#include "policy/tree_entry.h"

namespace bailiff::controller {

// The ids a helper runs under, and the cgroup it is born in.
struct JobIdentity {
  std::vector<ipc::IdMap>
      uid_map;  // of the helper's user namespace; `outside` is an id of the controller's
  std::vector<ipc::IdMap> gid_map;
  bool clear_groups = true;
  uid_t uid = 0;  // the helper as the controller sees it: owner of the files it makes
  gid_t gid = 0;
  int cgroup = -1;         // v2, or -1
  std::vector<int> tasks;  // v1
};

// What all jobs of a controller share. Descriptors are borrowed.
struct JobHost {
  int data = -1;         // the data directory, of a mount in the controller's own mount namespace
  int snapshotter = -1;  // executables (programs.h)
  int importer = -1;
  JobIdentity identity;
  // Instead of it, where a job reads a directory the operator named (operand_mount.h).
  std::optional<JobIdentity> source_reader;
  std::uint64_t reserve_bytes =
      256ULL << 20;  // the job is killed when free space or inodes fall under these
  std::uint64_t reserve_inodes = 4096;
};

// The same, as a job that reads a directory the operator named.
JobHost ReaderOf(JobHost host);

struct JobHooks {
  std::function<bool()>
      cancelled;  // asked at least every 100 ms; the job then ends with kCancelled
  std::function<void(std::uint64_t entries, std::uint64_t bytes)>
      progress;  // at most about 10 a second
};

struct JobWarning {
  policy::SnapshotWarning code;
  std::string path;  // bytes from outside: escape before showing
};

struct StagedObject {
  policy::ObjectKind kind;
  policy::Digest digest;
  std::uint64_t size;
};

// One entry of a tree, as said.
struct ListedEntry {
  policy::EntryKind kind;
  std::uint64_t size;
  policy::Digest blob;
  std::string path;  // bytes from outside: escape before showing
};

// What a helper claimed, of validated shape and bounded size.
struct JobClaims {
  policy::Digest digest;               // revision, image or tree
  std::optional<policy::Digest> tree;  // tree of a revision
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::optional<policy::GitId> git_commit;  // kImportGit, kVerifyGit, kExportGit of a commit
  std::optional<policy::GitId> git_tree;    // kImportGit, kVerifyGit, kExportGit
  std::vector<StagedObject> objects;
  std::vector<JobWarning> warnings;
  std::vector<ListedEntry> listed;
  std::optional<policy::ImageFacts> facts;  // kReadImageConfig
  std::uint32_t landlock_abi = 0;
};

enum class JobKind {
  kMaterialize,
  kVerifySource,
  kVerifyImage,
  kImportDirectory,
  kImportImage,
  kImportGit,
  kVerifyGit,
  kExport,
  kExportGit,
  kListTree,
  kReadImageConfig,
  kExportImage
};

struct JobRequest {
  JobKind kind;
  policy::Digest tree = {};  // kMaterialize, kVerifyGit, kExport, kExportGit, kListTree
  int in = -1;               // directory that becomes /in read-only
  int out = -1;              // directory that becomes /out, or -1
  std::uint32_t part = 0;    // kMaterialize: which share of the entries
  std::uint32_t parts = 1;
  std::string commit = {};       // kImportGit: policy::IsCommitName
  bool skip_submodules = false;  // kImportGit, kVerifyGit
  policy::Digest revision = {};  // kExportGit
  bool as_commit = false;        // kExportGit: a commit, else a tree alone
  int file = -1;                 // instead of `in`: a regular file that is passed as it is
  policy::ImageFormat format = policy::ImageFormat::kFound;  // kImportImage
};

// Starts the helper, verifies its confinement in /proc, sends the job, takes in its answer, and
// returns only when the process is reaped: no writer of `out` is left. Errors: the helper's own
// fault (its row of snapshot_codes.def, `subject` the path), kCancelled, kJobDeadline, kJobSpace,
// kJobDied (with its diagnosis), kRoute and kDecode for a broken protocol.
Result<JobClaims> RunJob(const JobHost& host, const JobRequest& request, const JobHooks& hooks);

// The same for several jobs at once; the first error ends them all. Progress is the sum.
Result<std::vector<JobClaims>> RunJobs(const JobHost& host, const std::vector<JobRequest>& requests,
                                       const JobHooks& hooks);

}  // namespace bailiff::controller
