// SPDX-License-Identifier: Apache-2.0
// The programs of Bailiff by what they may do. The number is what Hello carries.
#pragma once

#include <cstdint>
#include <string_view>

namespace bailiff::policy {

enum class Role : std::uint32_t {
  kCollector = 1,
  kSnapshotter = 2,
  kImporter = 3,
  kWarden = 4,
  kCandidate = 5,
};

constexpr std::string_view RoleName(Role role) {
  switch (role) {
    case Role::kCollector:
      return "collector";
    case Role::kSnapshotter:
      return "snapshotter";
    case Role::kImporter:
      return "importer";
    case Role::kWarden:
      return "warden";
    case Role::kCandidate:
      return "candidate";
  }
  return "?";
}

}  // namespace bailiff::policy
