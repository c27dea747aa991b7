// SPDX-License-Identifier: Apache-2.0
#include "collector/warden/mounts.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

#include "collector/warden/mount.h"
#include "ipc/fault.h"
#include "policy/cell.h"

namespace bailiff::warden {
namespace {

using policy::CellMount;
using policy::kMountQuiet;
using policy::kMountReadOnly;

constexpr std::array kPlaces = {"proc", "sys", "dev", "source", "scratch"};
constexpr std::array kControllersV1 = {"memory", "pids", "cpu"};

// The row's place relative to the cell's root.
const char* Place(const CellMount& row) { return row.point.data() + 1; }

Result<void> MakeDirectory(int at, const char* path) {
  if (mkdirat(at, path, 0755) != 0) return SystemError("mkdirat", path);
  return {};
}

// Mounted with the same option everywhere: the tmpfs of /sys and /dev hold a few names.
Result<ipc::Fd> SmallTmpfs(unsigned flags) {
  return MakeMount("tmpfs", {{"size", "64k"}, {"nr_inodes", "64"}, {"mode", "0755"}}, flags);
}

// "memory" is mounted alone nearly everywhere, "cpu" often together with "cpuacct"; a v1 hierarchy
// can only be mounted by its whole set, which /proc/self/cgroup names (cgroups(7)).
Result<std::string> HierarchyOf(std::string_view text, std::string_view controller) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string set(line.substr(first + 1, second - first - 1));
    if ((',' + set + ',').find(',' + std::string(controller) + ',') != std::string::npos)
      return set;
  }
  return SystemError("cgroup hierarchy", controller, ENOENT);
}

Result<ipc::Fd> MountHierarchy(std::string set) {
  const std::size_t comma = set.find(',');
  const std::string first = set.substr(0, comma);
  if (comma == std::string::npos)
    return MakeMount("cgroup", {{first.c_str(), ""}}, kMountQuiet | kMountReadOnly);
  const std::string second = set.substr(comma + 1);
  // Three controllers on one hierarchy are known nowhere; the kernel refuses what is incomplete.
  return MakeMount("cgroup", {{first.c_str(), ""}, {second.c_str(), ""}},
                   kMountQuiet | kMountReadOnly);
}

// What goes over a place of /proc: the place itself, the null device, or the one empty directory,
// which is bound again from where it was mounted first.
Result<ipc::Fd> MaskFor(int root, const CellMount& row, const char* empty) {
  if (row.type == "proc") return CloneMount(root, Place(row), row.flags);
  if (row.type != "tmpfs") return CloneMount(AT_FDCWD, "/dev/null", row.flags);
  if (empty != nullptr) return CloneMount(root, empty, row.flags);
  return MakeMount("tmpfs", {{"size", "4k"}, {"nr_inodes", "1"}}, row.flags);
}

}  // namespace

Result<void> MakePrivate(Cell&) {
  if (const int error = BAILIFF_FAULT(WardenMount)) return SystemError("mount", "/", error);
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return SystemError("mount MS_PRIVATE", "/");
  return {};
}

Result<void> AttachImage(Cell& cell) {
  BAILIFF_TRY(SetFlags(cell.image.get(), "", policy::kCellMounts[0].flags));
  BAILIFF_TRY_ASSIGN(const ipc::Fd top, ipc::OpenAt(AT_FDCWD, "/", O_PATH | O_DIRECTORY));
  BAILIFF_TRY(Attach(cell.image.get(), top.get(), policy::kAttachPoint + 1));
  BAILIFF_TRY_ASSIGN(cell.root, ipc::OpenAt(AT_FDCWD, policy::kAttachPoint, O_PATH | O_DIRECTORY));
  return {};
}

Result<void> CheckMountPoints(Cell& cell) {
  for (const char* const place : kPlaces)
    BAILIFF_TRY(ipc::OpenBeneath(cell.root.get(), place, O_PATH | O_DIRECTORY, 0, true));
  return {};
}

Result<void> AttachSource(Cell& cell) {
  BAILIFF_TRY(SetFlags(policy::kWardenSourceFd, "", policy::kCellMounts[1].flags));
  return Attach(policy::kWardenSourceFd, cell.root.get(), "source");
}

Result<void> MountProc(Cell& cell) {
  BAILIFF_TRY_ASSIGN(const ipc::Fd proc, MakeMount("proc", {}, kMountQuiet));
  BAILIFF_TRY(Attach(proc.get(), cell.root.get(), "proc"));
  BAILIFF_TRY_ASSIGN(
      cell.namespace_bounds,
      ipc::OpenAt(cell.root.get(), policy::kCellNamespaceBoundsDirectory, O_PATH | O_DIRECTORY));
  return {};
}

Result<void> MaskProc(Cell& cell) {
  const int root = cell.root.get();
  const char* empty = nullptr;  // where the empty directory is mounted already
  for (const CellMount& row : policy::kCellMounts) {
    if (!row.point.starts_with("/proc/")) continue;
    if (faccessat(root, Place(row), F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT && row.when == policy::CellMountWhen::kHostProcHas) continue;
      return SystemError("faccessat", row.point);
    }
    // A clone that is made and not attached costs a grace period of RCU when it is closed, so none
    // is made to be kept.
    BAILIFF_TRY_ASSIGN(const ipc::Fd over, MaskFor(root, row, empty));
    BAILIFF_TRY(Attach(over.get(), root, Place(row)));
    if (row.type == "tmpfs") empty = Place(row);
  }
  return {};
}

Result<void> MountSys(Cell& cell) {
  const int root = cell.root.get();
  BAILIFF_TRY_ASSIGN(const ipc::Fd sys, SmallTmpfs(kMountQuiet));
  BAILIFF_TRY(MakeDirectory(sys.get(), "fs"));
  BAILIFF_TRY(MakeDirectory(sys.get(), "fs/cgroup"));
  if (cell.order->cgroup_version == 1) {
    for (const char* const controller : kControllersV1)
      BAILIFF_TRY(MakeDirectory(sys.get(), (std::string("fs/cgroup/") + controller).c_str()));
  }
  BAILIFF_TRY(SetFlags(sys.get(), "", kMountQuiet | kMountReadOnly));
  return Attach(sys.get(), root, "sys");
}

Result<void> MountCgroupFiles(Cell& cell) {
  const int root = cell.root.get();
  if (cell.order->cgroup_version == 2) {
    BAILIFF_TRY_ASSIGN(const ipc::Fd files, MakeMount("cgroup2", {}, kMountQuiet | kMountReadOnly));
    return Attach(files.get(), root, "sys/fs/cgroup");
  }
  BAILIFF_TRY_ASSIGN(const std::string text,
                     ipc::ReadFileAt(root, "proc/self/cgroup", std::size_t{64} << 10));
  for (const char* const controller : kControllersV1) {
    BAILIFF_TRY_ASSIGN(const std::string set, HierarchyOf(text, controller));
    BAILIFF_TRY_ASSIGN(const ipc::Fd files, MountHierarchy(set));
    BAILIFF_TRY(Attach(files.get(), root, (std::string("sys/fs/cgroup/") + controller).c_str()));
  }
  return {};
}

Result<void> MountDevices(Cell& cell) {
  const int root = cell.root.get();
  BAILIFF_TRY_ASSIGN(const ipc::Fd dev, SmallTmpfs(kMountQuiet));
  for (const policy::CellLink& link : policy::kCellLinks) {
    if (symlinkat(link.target, dev.get(), link.path + sizeof "dev/" - 1) != 0)
      return SystemError("symlinkat", link.path);
  }
  for (const CellMount& row : policy::kCellMounts) {
    if (!row.point.starts_with("/dev/")) continue;
    BAILIFF_TRY(ipc::OpenAt(dev.get(), row.point.data() + sizeof "/dev/" - 1,
                            O_RDONLY | O_CREAT | O_EXCL, 0444));
  }
  BAILIFF_TRY(SetFlags(dev.get(), "", kMountQuiet | kMountReadOnly));
  BAILIFF_TRY(Attach(dev.get(), root, "dev"));
  for (const CellMount& row : policy::kCellMounts) {
    if (!row.point.starts_with("/dev/")) continue;
    BAILIFF_TRY_ASSIGN(const ipc::Fd device, CloneMount(AT_FDCWD, row.point.data(), row.flags));
    BAILIFF_TRY(Attach(device.get(), root, Place(row)));
  }
  return {};
}

Result<void> MountScratch(Cell& cell) {
  const std::string id = std::to_string(cell.order->candidate_id);
  BAILIFF_TRY_ASSIGN(const ipc::Fd scratch,
                     MakeMount("tmpfs",
                               {{"size", std::to_string(cell.order->scratch_bytes)},
                                {"nr_inodes", std::to_string(cell.order->scratch_inodes)},
                                {"mode", "0700"},
                                {"uid", id},
                                {"gid", id}},
                               policy::kMountNoSuid | policy::kMountNoDev));
  return Attach(scratch.get(), cell.root.get(), "scratch");
}

Result<void> Pivot(Cell& cell) {
  if (fchdir(cell.root.get()) != 0) return SystemError("fchdir", "the image root");
  // The old root ends up on top of the new one and is taken away with everything below it
  // (pivot_root(2), "pivot_root(".", ".")").
  if (syscall(SYS_pivot_root, ".", ".") != 0) return SystemError("pivot_root", "the image root");
  if (umount2(".", MNT_DETACH) != 0) return SystemError("umount2", "the old root");
  if (chdir("/") != 0) return SystemError("chdir", "/");
  return {};
}

}  // namespace bailiff::warden
