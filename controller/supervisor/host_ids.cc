// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/host_ids.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "ipc/fd.h"

namespace bailiff::controller {
namespace {

constexpr std::size_t kMaxAccountFile = 4 << 20;

std::optional<std::uint32_t> Number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

// A missing file has no entries; any other failure is one.
Result<std::string> Accounts(const char* path) {
  auto text = ipc::ReadFileAt(AT_FDCWD, path, kMaxAccountFile);
  if (!text.ok() && text.error().system_error == ENOENT) return std::string();
  return text;
}

struct Span {
  std::uint32_t first;
  std::uint32_t count;
  bool Overlaps(std::uint32_t other, std::uint32_t other_count) const {
    return std::uint64_t{first} < std::uint64_t{other} + other_count &&
           std::uint64_t{other} < std::uint64_t{first} + count;
  }
};

// Ranges of subuid(5) for `name` or `uid` (all of them when both are empty).
std::vector<Span> SubordinateRanges(std::string_view text, std::string_view name,
                                    std::string_view uid) {
  std::vector<Span> ranges;
  for (const std::string_view line : Split(text, '\n')) {
    const auto fields = Split(line, ':');
    if (fields.size() != 3) continue;
    if (!(name.empty() && uid.empty()) && fields[0] != name && fields[0] != uid) continue;
    const auto first = Number(fields[1]);
    const auto count = Number(fields[2]);
    if (first && count && *count > 0) ranges.push_back({*first, *count});
  }
  return ranges;
}

Result<HostIdPlan> PlanRoot(HostIdPlan plan, std::string_view passwd) {
  plan.root_started = true;
  plan.first = plan.first_gid = kDefaultRangeStart;
  plan.count = kDefaultRangeCount;
  bool account = false;
  for (const std::string_view line : Split(passwd, '\n')) {
    const auto fields = Split(line, ':');
    if (fields.size() < 4) continue;
    const auto uid = Number(fields[2]);
    const auto gid = Number(fields[3]);
    if (!uid || !gid) continue;
    if (fields[0] == "bailiff" && *uid != 0) {
      plan.service_uid = *uid;
      plan.service_gid = *gid;
      account = true;
    } else if (Span{plan.first, plan.count}.Overlaps(*uid, 1)) {
      return Error{ErrorCode::kIdsTaken,
                   std::string(fields[0]),
                   "an account of this host lies in the reserved range",
                   0,
                   {}};
    }
  }
  for (const char* path : {"/etc/subuid", "/etc/subgid"}) {
    BAILIFF_TRY_ASSIGN(const std::string text, Accounts(path));
    for (const Span& range : SubordinateRanges(text, "", "")) {
      if (range.Overlaps(plan.first, plan.count)) {
        return Error{ErrorCode::kIdsTaken,
                     path,
                     "a subordinate range of this host overlaps the reserved range",
                     0,
                     {}};
      }
    }
  }
  if (!account) {
    plan.service_uid = plan.service_gid = plan.first;
    ++plan.first;
    ++plan.first_gid;
    --plan.count;
  }
  return plan;
}

Result<HostIdPlan> PlanUser(HostIdPlan plan, std::string_view passwd) {
  plan.service_uid = plan.operator_uid;
  plan.service_gid = plan.operator_gid;
  const std::string uid = std::to_string(plan.operator_uid);
  std::string_view name;
  for (const std::string_view line : Split(passwd, '\n')) {
    const auto fields = Split(line, ':');
    if (fields.size() >= 4 && fields[2] == uid) name = fields[0];
  }
  BAILIFF_TRY_ASSIGN(const std::string subuid, Accounts("/etc/subuid"));
  BAILIFF_TRY_ASSIGN(const std::string subgid, Accounts("/etc/subgid"));
  const auto uids = SubordinateRanges(subuid, name.empty() ? uid : name, uid);
  const auto gids = SubordinateRanges(subgid, name.empty() ? uid : name, uid);
  struct stat newuidmap {};
  struct stat newgidmap {};
  const bool tools =
      stat("/usr/bin/newuidmap", &newuidmap) == 0 && stat("/usr/bin/newgidmap", &newgidmap) == 0;
  if (!tools || uids.empty() || gids.empty()) return plan;
  plan.first = uids[0].first;
  plan.first_gid = gids[0].first;
  plan.count = std::min(uids[0].count, gids[0].count);
  if (plan.count < kIdsPerSlot) plan.count = 0;
  return plan;
}

}  // namespace

Result<HostIdPlan> PlanHostIds() {
  HostIdPlan plan;
  plan.operator_uid = getuid();
  plan.operator_gid = getgid();
  BAILIFF_TRY_ASSIGN(const std::string passwd, Accounts("/etc/passwd"));
  return geteuid() == 0 ? PlanRoot(plan, passwd) : PlanUser(plan, passwd);
}

Result<void> CheckRangeUnused(const HostIdPlan& plan) {
  if (!plan.root_started) return {};
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), closedir);
  if (proc == nullptr) return SystemError("opendir", "/proc");
  while (const dirent* entry = readdir(proc.get())) {
    if (!Number(entry->d_name)) continue;
    struct stat status {};
    if (fstatat(dirfd(proc.get()), entry->d_name, &status, 0) != 0) continue;  // it ended meanwhile
    if (Span{plan.first, plan.count}.Overlaps(status.st_uid, 1)) {
      // A running attempt of ours looks the same: only a process outside any user namespace of ours
      // is somebody else's.
      const std::string map = std::string(entry->d_name) + "/uid_map";
      auto text = ipc::ReadFileAt(dirfd(proc.get()), map.c_str(), 4096);
      if (text.ok() && text->find("4294967295") != std::string::npos) {
        return Error{
            ErrorCode::kIdsTaken,
            "process " + std::string(entry->d_name),
            "it runs under uid " + std::to_string(status.st_uid) + " of the reserved range",
            0,
            {}};
      }
    }
  }
  return {};
}

}  // namespace bailiff::controller
