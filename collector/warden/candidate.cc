// SPDX-License-Identifier: Apache-2.0
#include "collector/warden/candidate.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "collector/warden/mounts.h"
#include "ipc/bounds.h"
#include "ipc/fault.h"
#include "policy/lockdown.h"

namespace bailiff::warden {
namespace {

using policy::CellStep;

Result<void> JoinCgroups(Cell& cell) {
  if (cell.order->cgroup_version != 1) return {};
  for (int i = 0; i < policy::kWardenCgroupFdsV1; ++i) {
    if (const int error = BAILIFF_FAULT(WardenJoin)) return SystemError("write", "tasks", error);
    // By itself, single-threaded, into `tasks`: the one way that skips the lock whose grace period
    // costs 7 ms on an idle host.
    BAILIFF_TRY(ipc::WriteAll(policy::kWardenCgroupFd + i, "0", "tasks"));
  }
  return {};
}

Result<void> OwnCgroupNamespace(Cell& cell) {
  // On v2 it came with the clone, which was born in the cell's cgroup.
  if (cell.order->cgroup_version == 1 && unshare(CLONE_NEWCGROUP) != 0)
    return SystemError("unshare", "CLONE_NEWCGROUP");
  return {};
}

Result<void> TakeIds(Cell& cell) {
  const std::uint32_t id = cell.order->candidate_id;
  if (setresgid(id, id, id) != 0) return SystemError("setresgid", std::to_string(id));
  if (setresuid(id, id, id) != 0) return SystemError("setresuid", std::to_string(id));
  // set*id made this process undumpable and its /proc files root's: then neither can it write its
  // own maps nor the controller read what it must read. exec decides anew.
  if (prctl(PR_SET_DUMPABLE, 1UL, 0UL, 0UL, 0UL) != 0) return SystemError("prctl", "dumpable");
  return {};
}

Result<void> LockMounts(Cell&) {
  // In one call, so the mounts are copied into a namespace of a lesser user namespace as one unit:
  // all of them, and all of their flags, are locked there (mount_namespaces(7)).
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return SystemError("unshare", "user and mount");
  return {};
}

Result<void> WriteMaps(Cell& cell) {
  const std::string line = std::to_string(cell.order->shown_id) + ' ' +
                           std::to_string(cell.order->candidate_id) + " 1\n";
  BAILIFF_TRY(ipc::WriteFileAt(AT_FDCWD, "/proc/self/setgroups", "deny"));
  BAILIFF_TRY(ipc::WriteFileAt(AT_FDCWD, "/proc/self/uid_map", line));
  return ipc::WriteFileAt(AT_FDCWD, "/proc/self/gid_map", line);
}

Result<void> BoundNamespaces(Cell& cell) {
  // The kernel resolves this table by the user namespace of whoever opens it: the inner one.
  for (const char* const file : policy::kCellNamespaceBounds)
    BAILIFF_TRY(ipc::WriteFileAt(cell.namespace_bounds.get(), file, "0"));
  return {};
}

Result<void> SetResourceLimits(Cell&) {
  for (const policy::CellLimit& limit : policy::kCellLimits) {
    const rlimit both{limit.value, limit.value};
    if (setrlimit(limit.resource, &both) != 0) return SystemError("setrlimit", limit.name);
  }
  return {};
}

Result<void> StartSession(Cell&) {
  setsid();  // pid 1 of a namespace may lead its session already
  if (chdir(policy::kScratchPath) != 0) return SystemError("chdir", policy::kScratchPath);
  return {};
}

// The last to need descriptor 2 as the diagnosis pipe; what fails later is told by number only.
Result<void> PlaceStreams(Cell& cell) {
  cell.root.reset();
  cell.namespace_bounds.reset();
  BAILIFF_TRY_ASSIGN(ipc::Fd null, ipc::OpenAt(AT_FDCWD, "/dev/null", O_RDONLY));
  if (dup2(null.get(), 0) < 0 || dup2(policy::kWardenStdoutFd, 1) < 0 ||
      dup2(policy::kWardenStderrFd, 2) < 0)
    return SystemError("dup2", "streams");
  null.reset();
  if (close_range(policy::kCandidateErrorFd + 1, ~0U, 0) != 0)
    return SystemError("close_range", "descriptors");
  return {};
}

Result<void> Lock(Cell&) { return policy::LockCandidate(); }

struct Stage {
  CellStep step;
  Result<void> (*run)(Cell&);
};

// The order is the design; CELL.md says why each stands where it does.
constexpr std::array kStages = {
    Stage{CellStep::kJoinCgroup, JoinCgroups},
    Stage{CellStep::kCgroupNamespace, OwnCgroupNamespace},
    Stage{CellStep::kPrivateMounts, MakePrivate},
    Stage{CellStep::kImageRoot, AttachImage},
    Stage{CellStep::kMountPoints, CheckMountPoints},
    Stage{CellStep::kSource, AttachSource},
    Stage{CellStep::kProc, MountProc},
    Stage{CellStep::kProcMasks, MaskProc},
    Stage{CellStep::kSys, MountSys},
    Stage{CellStep::kCgroupFiles, MountCgroupFiles},
    Stage{CellStep::kDevices, MountDevices},
    Stage{CellStep::kScratch, MountScratch},
    Stage{CellStep::kPivot, Pivot},
    Stage{CellStep::kIds, TakeIds},
    Stage{CellStep::kLockMounts, LockMounts},
    Stage{CellStep::kMaps, WriteMaps},
    Stage{CellStep::kNamespaceBounds, BoundNamespaces},
    Stage{CellStep::kResourceLimits, SetResourceLimits},
    Stage{CellStep::kSession, StartSession},
    Stage{CellStep::kStreams, PlaceStreams},
    Stage{CellStep::kLockdown, Lock},
};

[[noreturn]] void Fail(CellStep step, int error) {
  const Report report{static_cast<std::uint32_t>(step), error};
  // The warden needs nothing but this or the end of the pipe.
  if (write(policy::kCandidateErrorFd, &report, sizeof report) < 0) _exit(126);
  _exit(127);
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.data()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

void RunCandidate(const Order& order, int release_fd, int error_fd) {
  // The channel is at kCandidateReleaseFd and must not live on here: its end is how the controller
  // sees the warden's death. The image's descriptor moves out of the way of the error pipe.
  const int image = fcntl(policy::kWardenImageFd, F_DUPFD_CLOEXEC, 64);
  if (dup3(error_fd, policy::kCandidateErrorFd, O_CLOEXEC) < 0) _exit(126);
  if (image < 0 || dup3(release_fd, policy::kCandidateReleaseFd, O_CLOEXEC) < 0)
    Fail(CellStep::kPipes, errno);
  close(release_fd);
  close(error_fd);

  umask(policy::kCellUmask);  // first, because directories of the cell are made under it
  Cell cell;
  cell.order = &order;
  cell.image = ipc::Fd(image);
  for (const Stage& stage : kStages) {
    const Result<void> done = stage.run(cell);
    if (!done.ok()) {
      const Error& error = done.error();
      dprintf(ipc::kDiagnosisFd, "cell: %s: %s\n", error.subject.c_str(), error.why.c_str());
      Fail(stage.step, error.system_error);
    }
  }
  const std::vector<char*> argv = Pointers(order.argv);
  const std::vector<char*> environment = Pointers(order.environment);

  const Report ready;
  if (write(policy::kCandidateErrorFd, &ready, sizeof ready) != sizeof ready) _exit(126);
  char byte = 0;
  if (read(policy::kCandidateReleaseFd, &byte, 1) != 1) _exit(126);
  execve(order.executable.c_str(), argv.data(), environment.data());
  Fail(CellStep::kExecute, errno);
}

}  // namespace bailiff::warden
