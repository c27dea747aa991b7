// SPDX-License-Identifier: Apache-2.0
// The cgroups of one attempt, on v2 and on v1 (design, section 4). Every limit is set and read
// back; a limit that cannot be is an error, never a warning (h02). Removal succeeds only when the
// kernel says the cgroup is empty: that is the proof of absence.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/supervisor/cgroup_layout.h"
#include "controller/supervisor/host_mode.h"
#include "ipc/fd.h"
#include "policy/evidence.h"

namespace bailiff::controller {

struct CellLimits {
  std::uint64_t memory_bytes = 0;  // memory and swap together (R6.03)
  std::uint64_t pids = 0;
  std::uint64_t cpu_millis = 0;
};

// Where a cgroup is, for custody: an inode says whether a path still means the same cgroup.
struct CgroupPlace {
  std::string controller;  // "" on v2
  std::string path;        // below /sys/fs/cgroup of the controller's root
  std::uint64_t inode = 0;
};

// bailiff.<instance>, in each hierarchy: the parent of every attempt's cgroups.
class CgroupSubtree {
 public:
  // Makes it with the preparer's help where needed. Errors: kCgroupUnavailable.
  static Result<CgroupSubtree> Open(HostMode& mode, const std::string& instance);
  // The same in two steps, with time for other work between them.
  static Result<CgroupLayout> Begin(HostMode& mode, const std::string& instance);
  static Result<CgroupSubtree> Finish(HostMode& mode, const std::string& instance,
                                      const CgroupLayout& layout);

  struct Hierarchy {
    std::string controller;
    std::string path;
    ipc::Fd directory;
    // Of the directory above it: that one stays when the last attempt takes this one away, and the
    // kernel lets this one go only when nothing is left in it.
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
  };
  int version() const { return version_; }
  const std::vector<Hierarchy>& hierarchies() const { return hierarchies_; }

 private:
  int version_ = 0;
  std::vector<Hierarchy> hierarchies_;
};

struct CgroupUsage {
  std::optional<std::uint64_t> memory_now;
  std::optional<std::uint64_t> memory_peak;
  std::optional<std::uint64_t> pids_now;
  std::optional<std::uint64_t> pids_peak;
  std::optional<std::uint64_t> user_us;
  std::optional<std::uint64_t> system_us;
  std::optional<std::uint64_t> oom_kills;
  std::optional<std::uint64_t> oom_hits;  // times this cgroup's own limit was what ran out
  std::optional<std::uint64_t> pids_refused;
};

class AttemptCgroup {
 public:
  // Makes <subtree>/<name> (v2: with warden/ and cell/), empty and limited, and hands what the
  // warden must write to `warden_id`. Errors: kLimitNotEnforceable naming file, wanted and read
  // value. What was made before an error stays in this object: Remove() takes it away again.
  Result<void> Make(const CgroupSubtree& subtree, const std::string& name, const CellLimits& limits,
                    std::uint32_t warden_id);

  // One row per limit: required and the value read now.
  Result<std::vector<policy::Readback>> ReadLimits() const;
  CgroupUsage ReadUsage() const;
  // Pids in the cell, in any of its hierarchies, as this process sees them; 0 where it cannot.
  Result<std::vector<pid_t>> CellProcesses() const;
  // v2: SIGKILL to everything in the attempt's cgroups, warden included. v1: nothing; the pid
  // namespace does it.
  void KillAll() const;
  // rmdir of each; kUnconfirmed (errno EBUSY) when a process is left.
  Result<void> Remove();

  int warden_directory() const { return warden_.get(); }  // v2 only, else -1
  std::vector<int> cell_descriptors() const;  // what the warden is passed from kWardenCgroupFd on
  std::vector<CgroupPlace> places() const;
  // The cell's path in each hierarchy as /proc/<pid>/cgroup shows it to the controller, for the
  // read-back.
  bool OwnsProcess(pid_t pid) const;

 private:
  struct Part;
  Result<void> MakePart(Part& part, const CgroupSubtree::Hierarchy& hierarchy,
                        std::uint32_t warden_id);

  struct Part {
    std::string controller;
    std::string path;  // of the cell
    ipc::Fd parent;    // directory that holds `name`
    std::string name;
    ipc::Fd cell;
    ipc::Fd join;  // v1: tasks, opened with the warden's id
    std::uint64_t inode = 0;
  };
  int version_ = 0;
  CellLimits limits_;
  ipc::Fd attempt_;  // v2
  ipc::Fd warden_;   // v2
  std::vector<Part> parts_;
};

// Removes cgroups recorded in custody by path, only where the inode is still the recorded one
// (e11). Kills by cgroup.kill (v2). True: every one is gone. False: something is left or the path
// means another cgroup now.
Result<bool> RemoveRecorded(int version, const std::vector<CgroupPlace>& places);

}  // namespace bailiff::controller
