// SPDX-License-Identifier: Apache-2.0
// staging/<job>/out: the one directory a helper may write to. The job's directory itself stays the
// controller's, private and locked while its owner lives, so that a sweep knows what is left over.
#pragma once

#include <cstdint>
#include <string>

#include "controller/supervisor/job.h"

namespace bailiff::controller {

class StagingDirectory {
 public:
  // Makes it, gives `out` to the helper's identity.
  static Result<StagingDirectory> Make(const JobHost& host);
  StagingDirectory(StagingDirectory&&) noexcept = default;
  StagingDirectory& operator=(StagingDirectory&&) = delete;
  StagingDirectory(const StagingDirectory&) = delete;
  StagingDirectory& operator=(const StagingDirectory&) = delete;
  // Removes what is left. A failure leaves the directory to the next sweep.
  ~StagingDirectory();

  const std::string& name() const { return name_; }
  int job() const { return job_.get(); }  // holds `out`
  int out() const { return out_.get(); }

 private:
  StagingDirectory(ipc::Fd staging, std::string name)
      : staging_(std::move(staging)), name_(std::move(name)) {}

  ipc::Fd staging_;
  std::string name_;
  ipc::Fd job_;
  ipc::Fd out_;
};

// What dead controllers left below staging/, that the next sweep will remove.
struct Abandoned {
  std::uint64_t directories = 0;
  std::uint64_t bytes = 0;
};
Result<Abandoned> MeasureAbandoned(int data);

// A directory of the data directory, opened without following a link.
Result<ipc::Fd> OpenData(int data, const std::string& path);
// mkdirat with exactly this mode whatever the umask; an existing directory is opened and keeps its
// mode.
Result<ipc::Fd> EnsureDirectory(int parent, const char* name, mode_t mode);
// fsync of a directory.
Result<void> SyncDirectoryFd(int directory, const char* name);

}  // namespace bailiff::controller
