// SPDX-License-Identifier: Apache-2.0
// One mode (design, section 1). The controller opens what only the operator may open, reads none of
// it, and goes into a user and mount namespace of its own, whose root holds the data directory, the
// directories the command line named, /proc, /dev and the cgroups, and nothing else of the host.
// From then on it holds no capability on the host, and the code is one path however it was started.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/supervisor/host_ids.h"
#include "controller/supervisor/preparer.h"
#include "controller/supervisor/programs.h"
#include "ipc/fd.h"
#include "ipc/spawn.h"
#include "policy/cell.h"

namespace bailiff::controller {

struct HostModeRequest {
  ipc::Fd data_directory;  // opened and checked; may be invalid for a verb that needs none
  std::vector<ipc::Fd> operand_directories;  // opened as the operator; readable directories named
                                             // on the command line
  ipc::Fd export_directory;  // a new directory the operator made for `source export`, or invalid
  ipc::Fd new_file;    // a file the operator opened for `backup` or `image export`, or invalid: it
                       // has no name yet, where the file system can do that
  ipc::Fd new_parent;  // where that directory or file is `new_name`, or will be
  std::string new_name;
  std::string cgroup_parent;  // --cgroup-parent, or empty
};

// The ids of one slot, as numbers of the controller's user namespace (0: its own, in one-id mode).
struct SlotIds {
  std::uint32_t helper = 0;
  std::uint32_t candidate = 0;
  std::uint32_t snapshotter = 0;
};

struct HostMode {
  HostIdPlan ids;
  Programs programs;
  std::optional<Preparer> preparer;  // gone once nothing more needs the operator's privilege
  ipc::Fd data;                      // the data directory, also at /data
  std::vector<ipc::Fd>
      operands;  // the same directories as mounts of this namespace: what views are cloned from
  ipc::Fd export_directory;
  ipc::Fd new_file;  // gets its name from the preparer
  std::string cgroup_parent;
  std::string machine_id;  // /etc/machine-id, empty where the host has none

  bool one_id() const { return ids.count == 0; }
  std::uint32_t slots() const {
    return one_id() ? 256 : (ids.count - (ids.root_started ? 1 : 0)) / kIdsPerSlot;
  }
  SlotIds Slot(std::uint32_t slot) const;
  // Started as root: the one id that reads the operands as their owner would (operand_mount.h), as
  // a number of the controller's user namespace: the last of the range, which no slot uses. 0:
  // there is none.
  std::uint32_t import_id() const { return one_id() || !ids.root_started ? 0 : ids.count; }
  // Maps for a helper whose 0 is `id`; with `candidate`, its 65532 is that id too.
  std::vector<ipc::IdMap> Map(std::uint32_t id, std::optional<std::uint32_t> candidate = {}) const;
};

// Call once, early, while the process has one thread. After it the process sees only its tiny root.
Result<HostMode> EnterHostMode(HostModeRequest request);

inline constexpr const char* kDataMount = "/data";

}  // namespace bailiff::controller
