// SPDX-License-Identifier: Apache-2.0
// The only code of the two programs that knows the wire: says Hello, takes the one job, reports,
// ends.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "ipc/frame.h"
#include "policy/role.h"
#include "snapshotter/reporter.h"

namespace bailiff::snapshotter {

enum class Job {
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

struct Order {
  Job job = Job::kMaterialize;
  policy::Digest tree;     // kMaterialize, kVerifyGit, kExport, kExportGit, kListTree
  std::uint32_t part = 0;  // kMaterialize
  std::uint32_t parts = 1;
  std::string commit;                                        // kImportGit: policy::IsCommitName
  bool skip_submodules = false;                              // kImportGit, kVerifyGit
  policy::Digest revision;                                   // kExportGit
  bool as_commit = false;                                    // kExportGit
  policy::ImageFormat format = policy::ImageFormat::kFound;  // kImportImage
};

class Session final : public Reporter {
 public:
  explicit Session(int channel) : channel_(channel) {}

  Result<void> SayHello(policy::Role role, std::uint32_t landlock_abi);
  // Blocks for the job; an error when the channel closes or anything but one well-formed Go comes.
  Result<Order> Receive();

  Result<void> Progress(std::uint64_t entries, std::uint64_t bytes) override;
  Result<void> Object(policy::ObjectKind kind, const policy::Digest& digest,
                      std::uint64_t size) override;
  Result<void> Observe(std::uint32_t index, policy::EntryKind kind, std::uint64_t size,
                       const policy::Digest& blob, std::string_view path) override;
  Result<void> Warn(policy::SnapshotWarning code, std::string_view path) override;
  Result<void> Facts(const policy::ImageFacts& facts) override;

  // The last frame: Done, or Failed with the fault, path and errno of the error.
  Result<void> End(const Result<JobResult>& result);

 private:
  Result<void> FlushObjects();
  Result<void> CheckCancelled();

  struct Staged {
    policy::ObjectKind kind;
    policy::Digest digest;
    std::uint64_t size;
  };

  int channel_;
  ipc::FrameReader reader_;
  std::vector<Staged> objects_;
  std::uint64_t warnings_ = 0;
  std::uint64_t calls_ = 0;
  std::int64_t next_progress_ns_ = 0;
};

}  // namespace bailiff::snapshotter
