// SPDX-License-Identifier: Apache-2.0
// The collector reads two pipes and writes frames. It opens nothing, so its list has no call that
// takes a path.
#include "policy/filter_assemble.h"
#include "policy/filter_base.h"

namespace bailiff::policy {
namespace {

// clang-format off
constexpr std::array kOwn = std::to_array<FilterLine>({
  {BAILIFF_CALL(read), {ArgIs(0, ipc::kFirstJobFd)}, kAllow, "the candidate's standard output"},
  {BAILIFF_CALL(read), {ArgIs(0, ipc::kFirstJobFd + 1)}, kAllow, "the candidate's standard error"},
  {BAILIFF_CALL(write), {ArgIs(0, ipc::kDiagnosisFd)}, kAllow, "diagnosis, and the last words of the SIGSYS handler"},
});
// clang-format on

constexpr auto kLines = Join(kOwn, kNoFileFacts, kHelperBase, kDangerous);
constexpr FilterTable kTable{kLines, kTrap, FixedProgram<kLines, kTrap>::kCode};

}  // namespace

const FilterTable& CollectorFilter() { return kTable; }

}  // namespace bailiff::policy
