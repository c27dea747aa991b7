// SPDX-License-Identifier: Apache-2.0
// Which ids of the host Bailiff may use. The controller and every helper and candidate get ids
// nobody else has, where the host gives enough of them; what one id for all costs is in
// policy/THREATS.md.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "ipc/result.h"

namespace bailiff::controller {

inline constexpr std::uint32_t kDefaultRangeStart = 1900000000;
inline constexpr std::uint32_t kDefaultRangeCount = 65536;
inline constexpr std::uint32_t kIdsPerSlot =
    3;  // helpers of an attempt, its candidate, its snapshotters

// A range of host ids; `count` 0: none, everything runs under one id.
struct HostIdPlan {
  bool root_started = false;
  uid_t operator_uid = 0;  // who called
  gid_t operator_gid = 0;
  uid_t service_uid = 0;  // becomes 0 inside: the service account, or the caller
  gid_t service_gid = 0;
  std::uint32_t first = 0;  // first host id of the range; becomes 1 inside
  std::uint32_t first_gid = 0;
  std::uint32_t count = 0;
};

// Reads /etc/passwd, /etc/subuid and /etc/subgid strictly (no NSS: a static program must not load
// one). As root: the account `bailiff` where there is one, else the first id of the reserved range,
// which must not overlap passwd or subuid.
Result<HostIdPlan> PlanHostIds();

// Whether a process that is not ours runs under an id of the range; scans /proc. For `init` and
// `doctor`.
Result<void> CheckRangeUnused(const HostIdPlan& plan);

}  // namespace bailiff::controller
