// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/runtime.h"

#include <sys/utsname.h>

#include <string>

#include "policy/cell.h"
#include "policy/environment.h"
#include "policy/filter.h"
#include "policy/jcs.h"

namespace bailiff::controller {

Result<RuntimeIdentity> ReadRuntimeIdentity(int cgroup_version, std::uint32_t landlock_abi) {
  utsname name{};
  if (uname(&name) != 0) return SystemError("uname", "kernel");
  RuntimeIdentity identity;
  identity.facts = {{"kernel", name.release},
                    {"kernel_build", name.version},
                    {"machine", name.machine},
                    {"cgroup", "v" + std::to_string(cgroup_version)},
                    {"landlock_abi", std::to_string(landlock_abi)},
                    {"filter.candidate", policy::FilterDigest(policy::Role::kCandidate).hex()},
                    {"filter.collector", policy::FilterDigest(policy::Role::kCollector).hex()},
                    {"profile", ProfileDigest(cgroup_version).hex()}};
  policy::Value value = policy::Value::MakeObject();
  for (const auto& [key, fact] : identity.facts) value.Set(key, fact);
  BAILIFF_TRY_ASSIGN(const std::string bytes, policy::Canonical(value));
  identity.digest = policy::HashDomain("bailiff.runtime.v1", bytes);
  return identity;
}

policy::Digest ProfileDigest(int cgroup_version) {
  std::string text = "cgroup v" + std::to_string(cgroup_version) + "\n";
  for (const policy::CellMount& mount : policy::kCellMounts) {
    text += std::string(mount.point) + ' ' + std::string(mount.type) + ' ' +
            std::string(mount.root) + ' ' + std::to_string(mount.flags) + ' ' +
            std::to_string(static_cast<int>(mount.when)) + '\n';
  }
  for (const policy::CellLimit& limit : policy::kCellLimits)
    text += std::string(limit.name) + ' ' + std::to_string(limit.value) + '\n';
  for (const char* bound : policy::kCellNamespaceBounds) text += std::string(bound) + " 0\n";
  for (const auto& [name, value] : policy::EffectiveEnvironment({}))
    text += name + '=' + value + '\n';
  text += "id " + std::to_string(policy::kCellId) + "\nfilter " +
          policy::FilterDigest(policy::Role::kCandidate).hex() + '\n';
  return policy::HashDomain("bailiff.profile.v1", text);
}

}  // namespace bailiff::controller
