// SPDX-License-Identifier: Apache-2.0
// What the kernel lets each role call. One reasoned list per role (filter_<role>.cc), assembled at
// compile time into the very array that is given to seccomp(2), hashed into evidence and dumped
// into policy/golden. No switch of a program that is installed changes it.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "policy/digest.h"
#include "policy/role.h"

namespace bailiff::policy {

// Calls with a higher number are newer than this list and give ENOSYS, which libraries expect of an
// older kernel (450 is set_mempolicy_home_node of Linux 5.17, the last one of 6.1).
inline constexpr int kHighestKnownCall = 450;

// One comparison of the low 32 bits of an argument: (argument & mask) == value, or != when negated.
// The high half is never looked at, because the kernel truncates every argument that is compared
// here to 32 bits: with the high bits set the answer is the same (case b06).
struct ArgTest {
  std::uint8_t index = 0;
  bool negated = false;
  std::uint32_t mask = 0;
  std::uint32_t value = 0;
};

// One line of a list: a call, up to two comparisons that must both hold, the filter's answer
// (SECCOMP_RET_* with its data) and why. Of several lines for a call the first that matches
// answers; a call with no matching line gets the list's `otherwise`.
struct FilterLine {
  std::string_view call;  // as in syscalls(2)
  int number = -1;        // __NR_*, x86-64
  ArgTest tests[2] = {};  // unused ones have mask 0 and are not negated
  std::uint32_t action = 0;
  std::string_view reason;
};

// The list of a role in the order in which it is read, and its answer for every other known call:
// TRAP for the programs of Bailiff (the SIGSYS handler of lockdown.h then names the call and ends),
// EPERM for the candidate. A foreign architecture and x32 numbers kill the process.
std::span<const FilterLine> FilterLines(Role role);
std::uint32_t FilterOtherwise(Role role);

// The final program, exactly as it is given to the kernel.
std::span<const sock_filter> FilterProgram(Role role);
// D("bailiff.filter.v1", bytes of that array): `isolation.filters` of evidence.
Digest FilterDigest(Role role);

// For documents: "fd=3", "arg2&0x4=0"; "" when there is no condition. "allow", "trap", "kill",
// "ENOSYS", "EPERM".
std::string ConditionText(const FilterLine& line);
std::string ActionText(std::uint32_t action);

}  // namespace bailiff::policy
