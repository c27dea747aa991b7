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

// A file without a name that the operator opened, and the name it may get: one component below
// `parent`. -1 and empty: there is none. Descriptors are borrowed until Start returns.
struct UnnamedFile {
  int file = -1;
  int parent = -1;
  std::string name = {};
};

struct PreparerWork {
  const HostIdPlan& plan;
  std::string cgroup_parent;
  int export_directory;
  UnnamedFile unnamed;
  pid_t controller;
  // Made by this process: where they are is not asked again, since on v2 it has moved meanwhile.
  std::vector<std::string> subtrees = {};
  std::string began = {};  // v2: the cgroup both processes were started in
};

// Answers the requests that come over `socket` until it ends. `bell`: an eventfd that is rung after
// each.
[[noreturn]] void RunPreparer(PreparerWork& work, int socket, int bell);

}  // namespace bailiff::controller
