// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/staging_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "controller/store/files.h"
#include "controller/supervisor/chown_tree.h"
#include "controller/supervisor/measure.h"
#include "controller/supervisor/objects.h"
#include "policy/digest.h"

namespace bailiff::controller {
namespace {

constexpr const char* kOut = "out";

Result<std::string> FreshName() {
  std::array<char, 16> bytes;
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return SystemError("getrandom", "staging");
  return policy::Hex({bytes.data(), bytes.size()});
}

Result<void> Lock(int fd, int operation) {
  int locked = -1;
  do {
    locked = flock(fd, operation);
  } while (locked != 0 && errno == EINTR);
  if (locked != 0) return SystemError("flock", "staging");
  return {};
}

// Held while a directory is made and locked, and while a sweep looks: so an unlocked directory is
// always an abandoned one.
class StagingLock {
 public:
  static Result<StagingLock> Take(int data) {
    BAILIFF_TRY_ASSIGN(ipc::Fd staging, OpenData(data, "staging"));
    BAILIFF_TRY(Lock(staging.get(), LOCK_EX));
    return StagingLock(std::move(staging));
  }
  int fd() const { return staging_.get(); }

 private:
  explicit StagingLock(ipc::Fd staging) : staging_(std::move(staging)) {}
  ipc::Fd staging_;
};

// Calls `visit(name)` for what no living owner has locked. `staging` holds the StagingLock.
template <class Visit>
Result<void> ForEachAbandoned(int staging, int data, Visit visit) {
  BAILIFF_TRY_ASSIGN(ipc::Fd listing, OpenData(data, "staging"));
  DIR* opened = fdopendir(listing.get());
  if (opened == nullptr) return SystemError("fdopendir", "staging");
  static_cast<void>(listing.release());
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opened, closedir);
  while (const dirent* entry = readdir(directory.get())) {
    if (entry->d_name[0] == '.') continue;
    const ipc::Fd job(
        openat(staging, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (job.valid() && flock(job.get(), LOCK_EX | LOCK_NB) != 0) continue;
    BAILIFF_TRY(visit(entry->d_name));
  }
  return {};
}

Result<std::uint64_t> Sweep(int staging, int data) {
  std::uint64_t removed = 0;
  BAILIFF_TRY(ForEachAbandoned(staging, data, [&](const char* name) -> Result<void> {
    ++removed;
    return RemoveTree(staging, name);
  }));
  return removed;
}

}  // namespace

Result<ipc::Fd> OpenData(int data, const std::string& path) {
  return ipc::OpenBeneath(data, path.c_str(), O_RDONLY | O_DIRECTORY, 0, true);
}

Result<ipc::Fd> EnsureDirectory(int parent, const char* name, mode_t mode) {
  const bool made = mkdirat(parent, name, 0700) == 0;
  if (!made && errno != EEXIST) return SystemError("mkdirat", name);
  BAILIFF_TRY_ASSIGN(ipc::Fd directory,
                     ipc::OpenAt(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  if (made && fchmod(directory.get(), mode) != 0) return SystemError("fchmod", name);
  return directory;
}

Result<void> SyncDirectoryFd(int directory, const char* name) {
  // no fault point: ObjectSync and ImageSync stand before its callers' calls
  if (fsync(directory) != 0) return SystemError("fsync", name);
  return {};
}

Result<StagingDirectory> StagingDirectory::Make(const JobHost& host) {
  BAILIFF_TRY_ASSIGN(const StagingLock lock, StagingLock::Take(host.data));
  // What a killed owner left (e03). One that cannot be removed is no reason to refuse a job; the
  // next one tries again.
  static_cast<void>(Sweep(lock.fd(), host.data).ok());
  BAILIFF_TRY_ASSIGN(ipc::Fd staging, OpenData(host.data, "staging"));
  BAILIFF_TRY_ASSIGN(std::string name, FreshName());
  if (mkdirat(staging.get(), name.c_str(), 0700) != 0) return SystemError("mkdirat", name);
  StagingDirectory made(std::move(staging), std::move(name));
  BAILIFF_TRY_ASSIGN(made.job_, ipc::OpenAt(made.staging_.get(), made.name_.c_str(),
                                            O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  BAILIFF_TRY(Lock(made.job_.get(), LOCK_EX));
  BAILIFF_TRY_ASSIGN(made.out_, EnsureDirectory(made.job_.get(), kOut, 0700));
  if (fchown(made.out_.get(), host.identity.uid, host.identity.gid) != 0)
    return SystemError("fchown", "staging");
  return made;
}

StagingDirectory::~StagingDirectory() {
  if (!staging_.valid() || name_.empty()) return;
  out_.reset();
  static_cast<void>(RemoveTree(staging_.get(), name_.c_str()));
}

Result<Abandoned> MeasureAbandoned(int data) {
  BAILIFF_TRY_ASSIGN(const StagingLock lock, StagingLock::Take(data));
  Abandoned found;
  BAILIFF_TRY(ForEachAbandoned(lock.fd(), data, [&](const char* name) -> Result<void> {
    BAILIFF_TRY_ASSIGN(const std::uint64_t bytes, MeasureTree(lock.fd(), name));
    ++found.directories;
    found.bytes += bytes;
    return {};
  }));
  return found;
}

Result<std::uint64_t> SweepStaging(int data) {
  BAILIFF_TRY_ASSIGN(const StagingLock lock, StagingLock::Take(data));
  return Sweep(lock.fd(), data);
}

}  // namespace bailiff::controller
