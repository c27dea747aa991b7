// SPDX-License-Identifier: Apache-2.0
// Custody: what must be destroyed, whoever finds it (design, section 3; contracts, section 2;
// R11.01–R11.03). Written before anything exists to destroy and again when identities are known.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/supervisor/cgroup.h"
#include "ipc/result.h"
#include "policy/value.h"

namespace bailiff::controller {

struct ProcessIdentity {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;
};

struct Custody {
  std::string label;  // request digest, hex
  std::string nonce;  // 32 hex
  std::string machine_id;
  std::string boot_id;
  std::uint64_t pid_namespace = 0;
  std::uint64_t cgroup_namespace = 0;
  std::uint64_t parent_device = 0;
  std::uint64_t parent_inode = 0;
  std::vector<CgroupPlace> cgroups;  // inode 0: planned, not yet made
  std::optional<ProcessIdentity> warden;
  std::optional<ProcessIdentity> candidate;
  bool created = false;  // "confirmed"
};

policy::Value CustodyValue(const Custody& custody);
Result<std::string> EncodeCustody(const Custody& custody);
// kCustodyMalformed when it is not exactly what EncodeCustody writes.
Result<Custody> ParseCustody(const std::string& json);

// The host as custody names it.
struct HostInstance {
  std::string machine_id;
  std::string boot_id;
  std::uint64_t pid_namespace = 0;
  std::uint64_t cgroup_namespace = 0;
};
Result<HostInstance> ReadHostInstance(const HostMode& mode);

// 32 hex digits from getrandom(2).
Result<std::string> MakeNonce();

}  // namespace bailiff::controller
