// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/cgroup_layout.h"

#include <fcntl.h>

#include <array>
#include <optional>
#include <sstream>
#include <string_view>

#include "ipc/fd.h"

namespace bailiff::controller {
namespace {

constexpr std::array<std::string_view, 3> kV1Controllers = {"memory", "pids", "cpu"};
constexpr std::size_t kMaxProcFile = 4 << 20;

struct Mount {
  std::string root;
  std::string point;
  std::string type;
  std::string options;  // of the super block
};

std::vector<Mount> CgroupMounts(const std::string& mountinfo) {
  std::vector<Mount> mounts;
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::vector<std::string> fields;
    for (std::string word; words >> word;) fields.push_back(word);
    std::size_t dash = 6;
    while (dash < fields.size() && fields[dash] != "-") ++dash;
    if (dash + 3 >= fields.size()) continue;
    if (!fields[dash + 1].starts_with("cgroup")) continue;
    mounts.push_back({fields[3], fields[4], fields[dash + 1], fields[dash + 3]});
  }
  return mounts;
}

bool HasWord(const std::string& list, std::string_view word) {
  std::istringstream words(list);
  for (std::string item; std::getline(words, item, ',');) {
    if (item == word) return true;
  }
  return false;
}

// The path of the line of /proc/self/cgroup whose controller list holds `controller` ("" for the
// unified line).
std::optional<std::string> OwnPath(const std::string& own, std::string_view controller) {
  std::istringstream lines(own);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string list = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? list.empty() && line.starts_with("0::") : HasWord(list, controller)) {
      return line.substr(second + 1);
    }
  }
  return std::nullopt;
}

std::string Below(const Mount& mount, std::string path) {
  // A mount may show only part of the hierarchy (containers): its root is then a prefix of every
  // path in it.
  if (mount.root != "/" && path.starts_with(mount.root)) path = path.substr(mount.root.size());
  while (!path.empty() && path.back() == '/') path.pop_back();
  return mount.point + path;
}

Result<std::string> ParentPath(const std::string& parent) {
  std::string path = parent;
  const std::string_view prefix = "/sys/fs/cgroup";
  if (path.starts_with(prefix)) path = path.substr(prefix.size());
  for (const std::string_view controller : kV1Controllers) {
    const std::string start = "/" + std::string(controller) + "/";
    if (parent.starts_with(prefix) && path.starts_with(start)) path = path.substr(start.size() - 1);
  }
  if (path.empty()) path = "/";
  std::istringstream parts(path);
  for (std::string part; std::getline(parts, part, '/');) {
    if (part == "." || part == "..") {
      return Error{ErrorCode::kCgroupParent, parent, "holds a '.' or '..' component", 0, {}};
    }
  }
  if (path[0] != '/')
    return Error{ErrorCode::kCgroupParent, parent, "is not an absolute path", 0, {}};
  return path;
}

}  // namespace

Result<CgroupLayout> ParseCgroups(const std::string& mountinfo, const std::string& own,
                                  const std::string& parent) {
  const std::vector<Mount> mounts = CgroupMounts(mountinfo);
  std::string chosen;
  if (!parent.empty()) {
    BAILIFF_TRY_ASSIGN(chosen, ParentPath(parent));
  }
  CgroupLayout layout;
  for (const std::string_view controller : kV1Controllers) {
    for (const Mount& mount : mounts) {
      if (mount.type != "cgroup" || !HasWord(mount.options, controller)) continue;
      const auto path = OwnPath(own, controller);
      if (!path) continue;
      layout.version = 1;
      layout.hierarchies.push_back(
          {std::string(controller), mount.point, Below(mount, parent.empty() ? *path : chosen)});
      break;
    }
  }
  if (layout.version == 1) {
    if (layout.hierarchies.size() == kV1Controllers.size()) return layout;
    std::string missing;
    for (const std::string_view controller : kV1Controllers) {
      bool found = false;
      for (const auto& hierarchy : layout.hierarchies)
        found = found || hierarchy.controller == controller;
      if (!found) missing += (missing.empty() ? "" : ", ") + std::string(controller);
    }
    return Error{ErrorCode::kCgroupUnavailable,
                 "cgroup v1",
                 "no hierarchy is mounted for: " + missing,
                 0,
                 {}};
  }
  for (const Mount& mount : mounts) {
    if (mount.type != "cgroup2") continue;
    const auto path = OwnPath(own, "");
    if (!path) continue;
    layout.version = 2;
    layout.hierarchies.push_back({"", mount.point, Below(mount, parent.empty() ? *path : chosen)});
    return layout;
  }
  return Error{ErrorCode::kCgroupUnavailable,
               "cgroups",
               "neither cgroup v2 nor the v1 hierarchies are mounted",
               0,
               {}};
}

Result<CgroupLayout> FindCgroups(const std::string& parent) {
  BAILIFF_TRY_ASSIGN(const std::string mountinfo,
                     ipc::ReadFileAt(AT_FDCWD, "/proc/self/mountinfo", kMaxProcFile));
  BAILIFF_TRY_ASSIGN(const std::string own,
                     ipc::ReadFileAt(AT_FDCWD, "/proc/self/cgroup", kMaxProcFile));
  return ParseCgroups(mountinfo, own, parent);
}

}  // namespace bailiff::controller
