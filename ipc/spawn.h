// SPDX-License-Identifier: Apache-2.0
// The one way a process of Bailiff is started (design, section 1). The order is fixed, because each
// step undoes another when moved: clone into namespaces and cgroup, the network namespace by the
// child (the slowest; it belongs to the new user namespace all the same), maps written by the
// spawner while the child is dumpable, v1 cgroups joined while the ids still match the descriptors'
// opener, ids and groups, then the parent-death signal (set*id clears it), then a look whether the
// parent is still there, then exec from a descriptor with an empty environment. Main thread only.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ipc/fd.h"

namespace bailiff::ipc {

// One line of uid_map or gid_map; `outside` is an id of the spawner's user namespace
// (user_namespaces(7)).
struct IdMap {
  std::uint32_t inside;
  std::uint32_t outside;
  std::uint32_t count;
};

struct ResourceLimit {
  int resource;  // RLIMIT_*
  rlim_t value;  // soft and hard; never above what is inherited
};

struct SpawnRequest {
  const char* name = nullptr;    // argv[0], for people who look at ps
  int executable = -1;           // ELF opened with O_PATH at the start of the program
  std::uint64_t namespaces = 0;  // CLONE_NEW*; CLONE_NEWUSER when there are maps
  std::vector<IdMap> uid_map;
  std::vector<IdMap> gid_map;
  std::uint32_t uid = 0;  // inside the new user namespace
  std::uint32_t gid = 0;
  bool clear_groups = true;  // false only where the kernel forbids setgroups (one-id mode)
  int cgroup = -1;           // v2: directory the child is born in (CLONE_INTO_CGROUP)
  std::vector<int> tasks;    // v1: `tasks` files the child joins by writing 0
  std::vector<ResourceLimit> limits;
  std::vector<int> descriptors;  // become kFirstJobFd, kFirstJobFd + 1, … in this order
};

struct Child {
  pid_t pid = -1;  // in the spawner's pid namespace
  Fd pidfd;        // signals go through it, so a reused pid is never hit
  Fd channel;      // the spawner's end
  Fd diagnosis;    // read end of the child's fd 2, non-blocking; opaque bytes
};

// Starts the process and returns once it may exec. A failure after that shows as a closed channel
// and a line of diagnosis.
Result<Child> Spawn(const SpawnRequest& request);

}  // namespace bailiff::ipc
