// SPDX-License-Identifier: Apache-2.0
// The warden's one order, converted from the wire and checked (main.cc); nothing below main.cc sees
// a message.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bailiff::warden {

struct Order {
  std::uint32_t candidate_id = 0;  // uid and gid in the warden's user namespace
  std::uint32_t shown_id = 0;      // the same, as the candidate sees it
  std::uint32_t cgroup_version = 0;
  std::uint64_t scratch_bytes = 0;
  std::uint64_t scratch_inodes = 0;
  std::string executable;
  std::vector<std::string> argv;
  std::vector<std::string> environment;
};

}  // namespace bailiff::warden
