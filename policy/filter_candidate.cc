// SPDX-License-Identifier: Apache-2.0
// The candidate: any program, so the list is wide. Model: the built-in profile of Docker, taken as
// an allow-list for a process without capabilities, and narrowed where a check has no use for the
// call. A refused call answers EPERM, an absent one ENOSYS, and the program goes on: many try and
// fall back.
#include "policy/filter_candidate.h"
#include "policy/filter_assemble.h"

namespace bailiff::policy {
namespace {

constexpr auto kLines = Join(kCandidateFiles, kCandidateProcess, kCandidateNet, kCandidateRefused);
constexpr FilterTable kTable{kLines, Errno(EPERM), FixedProgram<kLines, Errno(EPERM)>::kCode};

}  // namespace

const FilterTable& CandidateFilter() { return kTable; }

}  // namespace bailiff::policy
