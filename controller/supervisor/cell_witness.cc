// SPDX-License-Identifier: Apache-2.0
// The read-back of a stopped candidate against policy/cell.h: ids, capabilities, filter, limits,
// namespaces, mounts, descriptors.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "controller/supervisor/proc_text.h"
#include "controller/supervisor/witness.h"
#include "ipc/fd.h"
#include "policy/cell.h"

namespace bailiff::controller {
namespace {

using policy::Readback;

constexpr std::size_t kMaxProcFile = 1 << 20;
constexpr const char* kNamespaces[] = {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"};

std::string Proc(pid_t pid, const std::string& file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}

Readback Row(std::string name, std::string required, std::string now) {
  return {std::move(name), std::move(required), std::move(now), {}};
}

bool HostProcHas(std::string_view point) { return access(std::string(point).c_str(), F_OK) == 0; }

bool Applies(const policy::CellMount& mount, int cgroup_version) {
  switch (mount.when) {
    case policy::CellMountWhen::kAlways:
      return true;
    case policy::CellMountWhen::kCgroup1:
      return cgroup_version == 1;
    case policy::CellMountWhen::kCgroup2:
      return cgroup_version == 2;
    case policy::CellMountWhen::kHostProcHas:
      return HostProcHas(mount.point);
  }
  return true;
}

std::string FlagWords(const std::string& options) {
  // Only what the table speaks of, in its order; atime options are the host's.
  std::set<std::string> words;
  std::size_t at = 0;
  while (at <= options.size()) {
    const std::size_t end = std::min(options.find(',', at), options.size());
    words.insert(options.substr(at, end - at));
    at = end + 1;
  }
  std::string text = words.contains("ro") ? "ro" : "rw";
  for (const char* word : {"nosuid", "nodev", "noexec"}) {
    if (words.contains(word)) text += std::string(",") + word;
  }
  return text;
}

std::string FlagWords(unsigned flags) {
  std::string text = (flags & policy::kMountReadOnly) != 0 ? "ro" : "rw";
  if ((flags & policy::kMountNoSuid) != 0) text += ",nosuid";
  if ((flags & policy::kMountNoDev) != 0) text += ",nodev";
  if ((flags & policy::kMountNoExec) != 0) text += ",noexec";
  return text;
}

// "complete" or the first mount that is missing, doubled, foreign or has other flags: one row for a
// table of thirty.
std::string CompareMounts(const std::vector<MountLine>& mounts, int cgroup_version) {
  std::map<std::string, const MountLine*> found;
  for (const MountLine& mount : mounts) {
    if (!found.emplace(mount.point, &mount).second) return mount.point + " is mounted twice";
  }
  for (const policy::CellMount& wanted : policy::kCellMounts) {
    if (!Applies(wanted, cgroup_version)) continue;
    const auto at = found.find(std::string(wanted.point));
    const std::string point(wanted.point);
    if (at == found.end()) return point + " is not mounted";
    const MountLine& mount = *at->second;
    if (!wanted.type.empty() && mount.type != wanted.type) return point + " is " + mount.type;
    if (!wanted.root.empty() && mount.root != wanted.root) return point + " shows " + mount.root;
    if (FlagWords(mount.options) != FlagWords(wanted.flags))
      return point + " is " + FlagWords(mount.options);
    found.erase(at);
  }
  return found.empty() ? "complete" : found.begin()->first + " is not in the profile";
}

Result<std::string> ScratchSize(const std::vector<MountLine>& mounts) {
  for (const MountLine& mount : mounts) {
    if (mount.point != policy::kScratchPath) continue;
    const std::size_t at = mount.super_options.find("size=");
    if (at == std::string::npos) return std::string("unbounded");
    const std::size_t end = mount.super_options.find(',', at);
    return mount.super_options.substr(at + 5, end == std::string::npos ? end : end - at - 5);
  }
  return std::string("absent");
}

// tmpfs keeps whole pages and shows kibibytes.
std::string ScratchWanted(std::uint64_t bytes) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return std::to_string((bytes + page - 1) / page * page / 1024) + "k";
}

Result<void> AddNamespaces(pid_t pid, std::vector<Readback>& rows) {
  for (const char* name : kNamespaces) {
    const std::string file = std::string("ns/") + name;
    struct stat theirs {};
    struct stat ours {};
    if (stat(Proc(pid, file).c_str(), &theirs) != 0) return SystemError("stat", Proc(pid, file));
    if (stat(Proc(getpid(), file).c_str(), &ours) != 0) return SystemError("stat", file);
    rows.push_back(Row(std::string("namespace.") + name, "own",
                       theirs.st_ino == ours.st_ino ? "shared" : "own"));
  }
  return {};
}

Result<void> AddStatus(pid_t pid, const CellExpectation& expectation, std::vector<Readback>& rows) {
  BAILIFF_TRY_ASSIGN(const ProcessStatus status, ReadStatus(pid));
  BAILIFF_TRY_ASSIGN(const ProcessStatus own, ReadStatus(getpid()));
  const std::string id = std::to_string(expectation.id);
  const std::string ids = id + ' ' + id + ' ' + id + ' ' + id;
  // Where groups cannot be dropped (one-id mode) they are the operator's own, and the row says so.
  const std::string groups = expectation.own_groups ? "" : own.Get("Groups");
  const std::string filters = std::to_string(std::atoi(own.Get("Seccomp_filters").c_str()) + 1);
  const std::string none = "0000000000000000";
  const std::pair<const char*, std::string> wanted[] = {{"Uid", ids},
                                                        {"Gid", ids},
                                                        {"Groups", groups},
                                                        {"CapInh", none},
                                                        {"CapPrm", none},
                                                        {"CapEff", none},
                                                        {"CapBnd", none},
                                                        {"CapAmb", none},
                                                        {"NoNewPrivs", "1"},
                                                        {"Seccomp", "2"},
                                                        {"Seccomp_filters", filters},
                                                        {"Threads", "1"},
                                                        {"TracerPid", "0"}};
  for (const auto& [field, value] : wanted)
    rows.push_back(Row(std::string("status.") + field, value, status.Get(field)));
  return {};
}

Result<void> AddLimits(pid_t pid, std::vector<Readback>& rows) {
  BAILIFF_TRY_ASSIGN(const std::string text,
                     ipc::ReadFileAt(AT_FDCWD, Proc(pid, "limits").c_str(), kMaxProcFile));
  const auto show = [](rlim_t value) {
    return value == RLIM_INFINITY ? std::string("unlimited") : std::to_string(value);
  };
  for (const policy::CellLimit& limit : policy::kCellLimits) {
    const auto found = FindLimit(text, limit.name);
    std::string now = "absent";
    if (found)
      now = found->first == found->second ? show(found->first)
                                          : show(found->first) + ".." + show(found->second);
    rows.push_back(Row("limits." + std::string(limit.name), show(limit.value), now));
  }
  return {};
}

Result<std::string> Descriptors(pid_t pid) {
  BAILIFF_TRY_ASSIGN(const std::vector<int> open, OpenDescriptors(pid));
  std::string text;
  for (const int fd : open) text += (text.empty() ? "" : " ") + std::to_string(fd);
  return text;
}

}  // namespace

Result<std::vector<Readback>> ReadCell(pid_t pid, const CellExpectation& expectation) {
  std::vector<Readback> rows;
  BAILIFF_TRY(AddStatus(pid, expectation, rows));
  BAILIFF_TRY(AddLimits(pid, rows));
  BAILIFF_TRY(AddNamespaces(pid, rows));
  BAILIFF_TRY_ASSIGN(const std::string mountinfo,
                     ipc::ReadFileAt(AT_FDCWD, Proc(pid, "mountinfo").c_str(), kMaxProcFile));
  const std::vector<MountLine> mounts = ParseMountInfo(mountinfo);
  rows.push_back(Row("mounts", "complete", CompareMounts(mounts, expectation.cgroup_version)));
  BAILIFF_TRY_ASSIGN(std::string scratch, ScratchSize(mounts));
  rows.push_back(Row("scratch.size", ScratchWanted(expectation.scratch_bytes), std::move(scratch)));
  BAILIFF_TRY_ASSIGN(std::string map,
                     ipc::ReadFileAt(AT_FDCWD, Proc(pid, "uid_map").c_str(), 4096));
  const auto one_line = [](const std::string& text) {
    std::string words;
    for (const char c : text) {
      if (c != ' ' && c != '\n') {
        words += c;
      } else if (!words.empty() && words.back() != ' ') {
        words += ' ';
      }
    }
    while (!words.empty() && words.back() == ' ') words.pop_back();
    return words;
  };
  // The reader sees the outer side of the map in its own namespace.
  rows.push_back(Row("uid_map",
                     std::to_string(policy::kCellId) + ' ' + std::to_string(expectation.id) + " 1",
                     one_line(map)));
  BAILIFF_TRY_ASSIGN(const std::string oom,
                     ipc::ReadFileAt(AT_FDCWD, Proc(pid, "oom_score_adj").c_str(), 64));
  rows.push_back(Row("oom_score_adj", std::to_string(policy::kCellOomScore), one_line(oom)));
  BAILIFF_TRY_ASSIGN(std::string descriptors, Descriptors(pid));
  rows.push_back(Row("descriptors", "0 1 2 3 4",
                     std::move(descriptors)));  // 3 and 4 close at exec (policy/cell.h)
  return rows;
}

}  // namespace bailiff::controller
