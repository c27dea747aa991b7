// SPDX-License-Identifier: Apache-2.0
// What the kernel says of a process, read by the controller itself from /proc. No helper is
// believed about its own confinement: it is read here on every attempt, before work is sent
// (design, section 1), and the candidate's before it is released (section 3, point 6).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ipc/result.h"
#include "ipc/spawn.h"
#include "policy/evidence.h"

namespace bailiff::controller {

// The fields of /proc/<pid>/status that matter, as the reader's user namespace shows them
// (proc(5)).
struct ProcessStatus {
  std::map<std::string, std::string> fields;  // "Uid" → "1 1 1 1": words separated by one space
  const std::string& Get(const std::string& name) const;
};
Result<ProcessStatus> ReadStatus(pid_t pid);

// Start time in clock ticks since boot: with the pid, the identity of a process (proc_pid_stat(5),
// field 22).
Result<std::uint64_t> StartTicks(pid_t pid);

// Open descriptors of a process, ascending.
Result<std::vector<int>> OpenDescriptors(pid_t pid);

struct DescriptorKind {
  int fd;
  std::string target;  // "/dev/null", "pipe:", "socket:": what the link must be or begin with
};

struct HelperExpectation {
  const char* name = nullptr;
  std::uint32_t id = 0;                     // of the reader's user namespace
  std::vector<DescriptorKind> descriptors;  // exactly these and no other
  std::vector<ipc::ResourceLimit> limits;
  bool has_in = false;  // its view is an empty root and these, each with its attributes
  bool has_out = false;
  bool own_groups = true;  // false in one-id mode: groups cannot be dropped
};

// kHelperNotLocked naming the first field that is not as declared.
Result<void> VerifyHelper(pid_t pid, const HelperExpectation& expectation);

// Descriptors every helper has: 0, 1, 2 and the channel.
std::vector<DescriptorKind> CommonDescriptors();
// The limits every helper is started with; `memory` bounds its address space.
std::vector<ipc::ResourceLimit> HelperLimits(std::uint64_t memory);

struct CellExpectation {
  std::uint32_t id = 0;  // the candidate's, of the reader's user namespace
  int cgroup_version = 0;
  std::uint64_t scratch_bytes = 0;
  bool own_groups = true;
};
// One row per fact of the stopped candidate: what is required and what the kernel says. Comparing
// is policy's.
Result<std::vector<policy::Readback>> ReadCell(pid_t pid, const CellExpectation& expectation);

}  // namespace bailiff::controller
