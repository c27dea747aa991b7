// SPDX-License-Identifier: Apache-2.0
// Where this host keeps its cgroups (cgroups(7)): the unified v2 hierarchy, or on hybrid hosts the
// v1 hierarchies of memory, pids and cpu. Found from /proc/self/mountinfo and /proc/self/cgroup,
// never assumed.
#pragma once

#include <string>
#include <vector>

#include "ipc/result.h"

namespace bailiff::controller {

struct CgroupHierarchy {
  std::string controller;   // "" on v2: all of them; otherwise memory, pids or cpu
  std::string mount_point;  // "/sys/fs/cgroup/memory"
  std::string parent;       // directory of the parent cgroup, an absolute path below mount_point
};

struct CgroupLayout {
  int version = 0;                           // 1 or 2
  std::vector<CgroupHierarchy> hierarchies;  // v2: one; v1: memory, pids, cpu in this order
};

// `parent` empty: the caller's own cgroup. Otherwise a cgroup path ("/ci/bailiff") or the same
// below /sys/fs/cgroup, applied to every hierarchy. Fails with kCgroupUnavailable naming the
// missing controller and what would mend it.
Result<CgroupLayout> FindCgroups(const std::string& parent);

// Pure part, for tests.
Result<CgroupLayout> ParseCgroups(const std::string& mountinfo, const std::string& own,
                                  const std::string& parent);

}  // namespace bailiff::controller
