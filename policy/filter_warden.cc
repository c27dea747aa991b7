// SPDX-License-Identifier: Apache-2.0
// The warden after it has built the cell: it waits for one child and tells the controller how it
// ended. It needs no path, no new process and no signal: to kill the cell it exits, because it is
// the first process of the cell's outer pid namespace.
#include "policy/filter_assemble.h"
#include "policy/filter_base.h"

namespace bailiff::policy {
namespace {

// clang-format off
constexpr std::array kOwn = std::to_array<FilterLine>({
  {BAILIFF_CALL(wait4), {}, kAllow, "the raw wait status of the candidate, and what it used"},
  {BAILIFF_CALL(read), {}, kAllow, "the close-on-exec pipe that tells whether exec worked"},
  {BAILIFF_CALL(write), {}, kAllow, "the pipe that lets the candidate go on to exec; diagnosis"},
});
// clang-format on

constexpr auto kLines = Join(kOwn, kHelperBase, kDangerous);
constexpr FilterTable kTable{kLines, kTrap, FixedProgram<kLines, kTrap>::kCode};

}  // namespace

const FilterTable& WardenFilter() { return kTable; }

}  // namespace bailiff::policy
