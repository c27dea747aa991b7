// SPDX-License-Identifier: Apache-2.0
// The warden after it has built the cell: it waits for one child and tells the controller how it
// ended. It needs no path and no new process. It can end the cell by a signal to its child, or by
// its own exit, because it is the first process of the outer pid namespace.
#include <signal.h>

#include "policy/filter_assemble.h"
#include "policy/filter_base.h"

namespace bailiff::policy {
namespace {

// clang-format off
constexpr std::array kOwn = std::to_array<FilterLine>({
  {BAILIFF_CALL(wait4), {}, kAllow, "the raw wait status of the candidate, and what it used"},
  {BAILIFF_CALL(read), {}, kAllow, "the close-on-exec pipe that tells whether exec worked"},
  {BAILIFF_CALL(write), {}, kAllow, "the pipe that lets the candidate go on to exec; diagnosis"},
  {BAILIFF_CALL(pidfd_send_signal), {ArgIs(1, SIGKILL)}, kAllow, "ends the candidate, of which alone it holds a descriptor"},
});
// clang-format on

constexpr auto kLines = Join(kOwn, kNoFileFacts, kHelperBase, kDangerous);
constexpr FilterTable kTable{kLines, kTrap, FixedProgram<kLines, kTrap>::kCode};

}  // namespace

const FilterTable& WardenFilter() { return kTable; }

}  // namespace bailiff::policy
