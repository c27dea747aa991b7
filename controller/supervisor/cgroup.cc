// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/cgroup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "controller/supervisor/cgroup_layout.h"
#include "ipc/fault.h"

namespace bailiff::controller {
namespace {

constexpr std::size_t kMaxFile = 1 << 20;
constexpr std::uint64_t kPeriodUs = 100000;
constexpr std::uint64_t kHugePage = 2 << 20;

struct LimitFile {
  const char* controller;  // v1 hierarchy
  const char* file;
  std::string value;
};

// The order matters on v1: memory before memsw, whose limit may not be the lower one.
std::vector<LimitFile> LimitFiles(int version, const CellLimits& limits) {
  // The kernel keeps whole pages: what is asked for and read back is the recipe's bound rounded
  // down to them.
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::string memory = std::to_string(limits.memory_bytes / page * page);
  const std::string quota = std::to_string(limits.cpu_millis * kPeriodUs / 1000);
  if (version == 2) {
    return {{"", "memory.max", memory},
            {"", "memory.swap.max", "0"},
            {"", "memory.oom.group", "1"},
            {"", "pids.max", std::to_string(limits.pids)},
            {"", "cpu.max", quota + " " + std::to_string(kPeriodUs)}};
  }
  return {{"memory", "memory.limit_in_bytes", memory},
          {"memory", "memory.memsw.limit_in_bytes", memory},
          {"pids", "pids.max", std::to_string(limits.pids)},
          {"cpu", "cpu.cfs_period_us", std::to_string(kPeriodUs)},
          {"cpu", "cpu.cfs_quota_us", quota}};
}

std::string Trim(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

Result<std::string> ReadValue(int directory, const char* file) {
  BAILIFF_TRY_ASSIGN(std::string text, ipc::ReadFileAt(directory, file, kMaxFile));
  return Trim(std::move(text));
}

std::optional<std::uint64_t> Number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> ReadNumber(int directory, const char* file) {
  const auto text = ReadValue(directory, file);
  return text.ok() ? Number(*text) : std::nullopt;
}

// A value of a flat keyed file ("key value" lines).
std::optional<std::uint64_t> ReadKeyed(int directory, const char* file, std::string_view key) {
  const auto text = ReadValue(directory, file);
  if (!text.ok()) return std::nullopt;
  std::istringstream lines(*text);
  for (std::string name, value; lines >> name >> value;) {
    if (name == key) return Number(value);
  }
  return std::nullopt;
}

Error Unenforceable(const std::string& file, const std::string& wanted, const Error& cause) {
  Error error = cause;
  error.code = ErrorCode::kLimitNotEnforceable;
  error.subject = file;
  error.why = "cannot set it to " + wanted + ": " + cause.why;
  return error;
}

Result<void> SetLimit(int directory, const std::string& where, const LimitFile& limit) {
  const std::string name = where + "/" + limit.file;
  if (const int fault = BAILIFF_FAULT(CgroupLimit))
    return Unenforceable(name, limit.value, SystemError("write", name, fault));
  if (auto set = ipc::WriteFileAt(directory, limit.file, limit.value); !set.ok())
    return Unenforceable(name, limit.value, set.error());
  auto now = ReadValue(directory, limit.file);
  if (!now.ok()) return Unenforceable(name, limit.value, now.error());
  if (*now != limit.value) {
    return Error{ErrorCode::kLimitNotEnforceable,
                 name,
                 "set to " + limit.value + " but reads " + *now,
                 0,
                 {}};
  }
  return {};
}

Result<ipc::Fd> MakeCgroup(int parent, const std::string& name) {
  if (const int fault = BAILIFF_FAULT(CgroupMake)) return SystemError("mkdirat", name, fault);
  if (mkdirat(parent, name.c_str(), 0755) != 0) return SystemError("mkdirat", name);
  BAILIFF_TRY_ASSIGN(ipc::Fd made, ipc::OpenBeneath(parent, name.c_str(), O_RDONLY | O_DIRECTORY));
  // Our umask is 077; the warden's id must reach the one file it is given.
  if (fchmod(made.get(), 0755) != 0) return SystemError("fchmod", name);
  return made;
}

Result<std::uint64_t> Inode(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return SystemError("fstat", "cgroup");
  return std::uint64_t{status.st_ino};
}

// v1 compares the opener's effective uid with the writer's uid: opened as the warden's id, the
// descriptor lets that id move itself and no other (cgroup1_procs_write).
Result<ipc::Fd> OpenTasks(int cell, std::uint32_t warden_id) {
  if (fchownat(cell, "tasks", warden_id, static_cast<gid_t>(-1), 0) != 0)
    return SystemError("fchownat", "tasks");
  if (seteuid(warden_id) != 0) return SystemError("seteuid", "tasks");
  auto tasks = ipc::OpenAt(cell, "tasks", O_WRONLY);
  if (seteuid(0) != 0) return SystemError("seteuid", "tasks");
  return tasks;
}

Result<void> HandToWarden(int directory, std::uint32_t warden_id) {
  if (fchownat(directory, "cgroup.procs", warden_id, static_cast<gid_t>(-1), 0) != 0)
    return SystemError("fchownat", "cgroup.procs");
  return {};
}

Result<void> RemoveDirectory(int parent, const std::string& name) {
  if (const int fault = BAILIFF_FAULT(CgroupRemove)) return SystemError("unlinkat", name, fault);
  if (unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
  return SystemError("unlinkat", name);
}

}  // namespace

Result<CgroupLayout> CgroupSubtree::Begin(HostMode& mode, const std::string& instance) {
  if (!mode.preparer) return SystemError("cgroups", "preparer", EPIPE);
  // Read before the preparer is asked: on v2 it moves this process.
  BAILIFF_TRY_ASSIGN(CgroupLayout layout, FindCgroups(mode.cgroup_parent));
  BAILIFF_TRY(mode.preparer->BeginCgroups(instance));
  return layout;
}

Result<CgroupSubtree> CgroupSubtree::Open(HostMode& mode, const std::string& instance) {
  BAILIFF_TRY_ASSIGN(const CgroupLayout layout, Begin(mode, instance));
  return Finish(mode, instance, layout);
}

Result<CgroupSubtree> CgroupSubtree::Finish(HostMode& mode, const std::string& instance,
                                            const CgroupLayout& layout) {
  const std::string name = "bailiff." + instance.substr(0, 8);
  BAILIFF_TRY(mode.preparer->AwaitCgroups());
  CgroupSubtree subtree;
  subtree.version_ = layout.version;
  for (const CgroupHierarchy& hierarchy : layout.hierarchies) {
    Hierarchy found{hierarchy.controller, hierarchy.parent + "/" + name, {}, 0, 0};
    BAILIFF_TRY_ASSIGN(found.directory, ipc::OpenAt(AT_FDCWD, found.path.c_str(),
                                                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    struct stat status {};
    if (stat(hierarchy.parent.c_str(), &status) != 0) return SystemError("stat", hierarchy.parent);
    found.device = status.st_dev;
    found.inode = status.st_ino;
    if (layout.version == 2) {
      if (auto set = ipc::WriteFileAt(found.directory.get(), "cgroup.subtree_control",
                                      "+memory +pids +cpu");
          !set.ok()) {
        Error error = std::move(set).error();
        error.code = ErrorCode::kCgroupUnavailable;
        error.subject = found.path;
        return error;
      }
    }
    subtree.hierarchies_.push_back(std::move(found));
  }
  return subtree;
}

Result<void> AttemptCgroup::Make(const CgroupSubtree& subtree, const std::string& name,
                                 const CellLimits& limits, std::uint32_t warden_id) {
  version_ = subtree.version();
  limits_ = limits;
  for (const CgroupSubtree::Hierarchy& hierarchy : subtree.hierarchies()) {
    Part part;
    part.controller = hierarchy.controller;
    part.name = name;
    part.path = hierarchy.path + "/" + name + (version_ == 2 ? "/cell" : "");
    part.parent = ipc::Fd(fcntl(hierarchy.directory.get(), F_DUPFD_CLOEXEC, 0));
    if (!part.parent.valid()) return SystemError("fcntl", "cgroup");
    // Recorded before it is made: Remove() of what is not there is no error.
    parts_.push_back(std::move(part));
    BAILIFF_TRY(MakePart(parts_.back(), hierarchy, warden_id));
  }
  return {};
}

Result<void> AttemptCgroup::MakePart(Part& part, const CgroupSubtree::Hierarchy& hierarchy,
                                     std::uint32_t warden_id) {
  BAILIFF_TRY_ASSIGN(ipc::Fd made, MakeCgroup(hierarchy.directory.get(), part.name));
  if (version_ == 2) {
    attempt_ = std::move(made);
    BAILIFF_TRY(ipc::WriteFileAt(attempt_.get(), "cgroup.subtree_control", "+memory +pids +cpu"));
    BAILIFF_TRY_ASSIGN(warden_, MakeCgroup(attempt_.get(), "warden"));
    BAILIFF_TRY_ASSIGN(part.cell, MakeCgroup(attempt_.get(), "cell"));
    BAILIFF_TRY(HandToWarden(attempt_.get(), warden_id));
    BAILIFF_TRY(HandToWarden(part.cell.get(), warden_id));
  } else {
    part.cell = std::move(made);
    BAILIFF_TRY_ASSIGN(part.join, OpenTasks(part.cell.get(), warden_id));
  }
  BAILIFF_TRY_ASSIGN(part.inode, Inode(part.cell.get()));
  for (const LimitFile& limit : LimitFiles(version_, limits_)) {
    if (limit.controller == part.controller) {
      BAILIFF_TRY(SetLimit(part.cell.get(), part.path, limit));
    }
  }
  return {};
}

Result<std::vector<policy::Readback>> AttemptCgroup::ReadLimits() const {
  std::vector<policy::Readback> rows;
  for (const LimitFile& limit : LimitFiles(version_, limits_)) {
    for (const Part& part : parts_) {
      if (limit.controller != part.controller) continue;
      BAILIFF_TRY_ASSIGN(std::string now, ReadValue(part.cell.get(), limit.file));
      rows.push_back({limit.file, limit.value, std::move(now), {}});
    }
  }
  return rows;
}

CgroupUsage AttemptCgroup::ReadUsage() const {
  CgroupUsage usage;
  for (const Part& part : parts_) {
    const int cell = part.cell.get();
    if (version_ == 2) {
      usage.memory_now = ReadNumber(cell, "memory.current");
      usage.memory_peak = ReadNumber(cell, "memory.peak");
      usage.oom_kills = ReadKeyed(cell, "memory.events", "oom_kill");
      usage.oom_hits = ReadKeyed(cell, "memory.events", "oom");
      usage.user_us = ReadKeyed(cell, "cpu.stat", "user_usec");
      usage.system_us = ReadKeyed(cell, "cpu.stat", "system_usec");
    } else if (part.controller == "memory") {
      usage.memory_now = ReadNumber(cell, "memory.usage_in_bytes");
      usage.memory_peak = ReadNumber(cell, "memory.max_usage_in_bytes");
      usage.oom_kills = ReadKeyed(cell, "memory.oom_control", "oom_kill");
      // Newer kernels leave memory.failcnt at 0. A kill for this cgroup's own limit comes when its
      // usage has come within one charge of the limit, the largest of which is a huge page.
      const auto peak = ReadNumber(cell, "memory.memsw.max_usage_in_bytes");
      if (peak) usage.oom_hits = *peak + kHugePage >= limits_.memory_bytes ? 1 : 0;
    }
    if (version_ == 2 || part.controller == "pids") {
      usage.pids_now = ReadNumber(cell, "pids.current");
      usage.pids_peak = ReadNumber(cell, "pids.peak");
      usage.pids_refused = ReadKeyed(cell, "pids.events", "max");
    }
  }
  return usage;
}

Result<std::vector<pid_t>> AttemptCgroup::CellProcesses() const {
  std::vector<pid_t> pids;
  for (const Part& part : parts_) {
    BAILIFF_TRY_ASSIGN(const std::string text, ReadValue(part.cell.get(), "cgroup.procs"));
    std::istringstream words(text);
    for (pid_t pid = 0; words >> pid;) pids.push_back(pid);
  }
  std::sort(pids.begin(), pids.end());
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  return pids;
}

void AttemptCgroup::KillAll() const {
  // Best effort by design: Remove() is what proves the end.
  if (attempt_.valid())
    static_cast<void>(ipc::WriteFileAt(attempt_.get(), "cgroup.kill", "1").ok());
}

Result<void> AttemptCgroup::Remove() {
  for (Part& part : parts_) {
    if (attempt_.valid()) {
      BAILIFF_TRY(RemoveDirectory(attempt_.get(), "cell"));
      BAILIFF_TRY(RemoveDirectory(attempt_.get(), "warden"));
    }
    BAILIFF_TRY(RemoveDirectory(part.parent.get(), part.name));
  }
  return {};
}

std::vector<int> AttemptCgroup::cell_descriptors() const {
  std::vector<int> descriptors;
  for (const Part& part : parts_)
    descriptors.push_back(version_ == 2 ? part.cell.get() : part.join.get());
  return descriptors;
}

std::vector<CgroupPlace> AttemptCgroup::places() const {
  std::vector<CgroupPlace> places;
  for (const Part& part : parts_) places.push_back({part.controller, part.path, part.inode});
  return places;
}

bool AttemptCgroup::OwnsProcess(pid_t pid) const {
  for (const Part& part : parts_) {
    const auto text = ReadValue(part.cell.get(), "cgroup.procs");
    if (!text.ok()) return false;
    bool found = false;
    std::istringstream words(*text);
    for (pid_t member = 0; words >> member;) found = found || member == pid;
    if (!found) return false;
  }
  return true;
}

Result<bool> RemoveRecorded(int version, const std::vector<CgroupPlace>& places) {
  bool gone = true;
  for (const CgroupPlace& place : places) {
    std::string path = place.path;
    auto cell = ipc::OpenAt(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (cell.ok()) {
      BAILIFF_TRY_ASSIGN(const std::uint64_t inode, Inode(cell->get()));
      if (place.inode != 0 && inode != place.inode) {
        gone = false;  // somebody else's cgroup of the same name
        continue;
      }
      if (version == 2) static_cast<void>(ipc::WriteFileAt(cell->get(), "cgroup.kill", "1").ok());
      if (auto removed = RemoveDirectory(AT_FDCWD, path); !removed.ok()) {
        if (removed.error().system_error != EBUSY) return std::move(removed).error();
        gone = false;
        continue;
      }
    } else if (cell.error().system_error != ENOENT) {
      return std::move(cell).error();
    }
    if (version == 2 && path.ends_with("/cell")) {
      path.resize(path.size() - 5);
      for (const std::string& other : {path + "/warden", path}) {
        if (auto removed = RemoveDirectory(AT_FDCWD, other); !removed.ok()) {
          if (removed.error().system_error != EBUSY) return std::move(removed).error();
          gone = false;
        }
      }
    }
  }
  return gone;
}

}  // namespace bailiff::controller
