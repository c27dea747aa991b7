// SPDX-License-Identifier: Apache-2.0
// The running processes of Bailiff as /proc shows them to the caller.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "ipc/result.h"

namespace bailiff::controller::cli {

struct LiveProcess {
  pid_t pid = 0;
  std::string role;  // controller, warden, collector, snapshotter, importer, candidate
  std::string uid;   // real effective saved file-system, as the caller's user namespace shows them
  std::string permitted;  // capability sets in hex, leading zeros dropped
  std::string effective;
  std::string bounding;
  std::string no_new_privs;
  std::string seccomp;  // mode: 0 none, 2 filter
  std::string filters;
  bool readable = false;                 // its namespaces and descriptors could be read
  std::vector<std::string> namespaces;   // kinds that differ from the caller's
  std::vector<std::string> descriptors;  // "3=socket:", escaped
};

// Processes whose program is one of ours, and the children of wardens. The caller itself is left
// out. A process that ends meanwhile is left out.
Result<std::vector<LiveProcess>> FindLiveProcesses();

}  // namespace bailiff::controller::cli
