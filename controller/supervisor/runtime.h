// SPDX-License-Identifier: Apache-2.0
// Identity of the native runtime: a digest of the kernel, cgroup, LSM and filter facts an attempt
// ran under (R4.12–R4.15). Read before release and again after the end; a difference can never end
// in success.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "ipc/result.h"
#include "policy/digest.h"

namespace bailiff::controller {

struct RuntimeIdentity {
  std::map<std::string, std::string> facts;
  policy::Digest digest;  // D("bailiff.runtime.v1", JCS(facts))
};

Result<RuntimeIdentity> ReadRuntimeIdentity(int cgroup_version, std::uint32_t landlock_abi);

// Digest of everything a cell is that is not recipe data: mounts, limits, ids, profile environment,
// filters.
policy::Digest ProfileDigest(int cgroup_version);

}  // namespace bailiff::controller
