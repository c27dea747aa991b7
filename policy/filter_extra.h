// SPDX-License-Identifier: Apache-2.0
// WEAKER FILTERS, never in a program that is installed: what the runtime of the sanitizers and the
// fault points of test builds need. Nothing of it is compiled in a shipped build, no golden dump
// shows these lines, and no digest of a release covers them.
#pragma once

#if !defined(BAILIFF_SANITIZE) && !defined(BAILIFF_TESTING)
#error "a shipped build has only the shipped lists"
#endif

#include <span>

#include "policy/filter_table.h"

namespace bailiff::policy {

// filter_sanitizer.cc, with BAILIFF_SANITIZE.
std::span<const FilterLine> SanitizerLines();

// The shipped list of a role with this build's extra lines in front. The candidate's is never
// extended: it is no program of ours.
const FilterTable& ExtendedFilter(Role role);

}  // namespace bailiff::policy
