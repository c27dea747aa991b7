// SPDX-License-Identifier: Apache-2.0
// The inside of the preparer: what the one process that keeps the caller's privilege does.
// Everything it can be asked for is a row of Serve() in preparer_process.cc.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "controller/supervisor/host_ids.h"

namespace bailiff::controller {

// The last request of a controller: the cgroups are removed, the process ends.
inline constexpr char kLastRequest = 'e';

// What the operator made for this command to fill, and its name: one component below `parent`. A
// directory has the name from the start; a file gets it when it is whole, where the file system has
// files without a name. -1 and empty: there is none. Descriptors are borrowed until Start returns.
struct NewEntry {
  int directory = -1;
  int file = -1;
  int parent = -1;
  std::string name = {};
};

struct PreparerWork {
  const HostIdPlan& plan;
  std::string cgroup_parent;
  NewEntry made;
  pid_t controller;
  bool kept = false;  // the controller has said that what was made is whole
  // Made by this process: where they are is not asked again, since on v2 it has moved meanwhile.
  std::vector<std::string> subtrees = {};
  std::string began = {};  // v2: the cgroup both processes were started in
};

// Answers the requests that come over `socket` until it ends, then takes away what was made and is
// not kept. `bell`: an eventfd that is rung after each.
[[noreturn]] void RunPreparer(PreparerWork& work, int socket, int bell);

}  // namespace bailiff::controller
