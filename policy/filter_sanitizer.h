// SPDX-License-Identifier: Apache-2.0
// Only in builds with sanitizers: their runtime needs calls that no shipped list has.
#pragma once

#ifndef BAILIFF_SANITIZE
#error "a shipped build has only the shipped lists"
#endif

#include "policy/filter_table.h"

namespace bailiff::policy {

// The shipped list of a role with the sanitizers' lines in front. The candidate's is never
// extended: it is no program of ours.
const FilterTable& SanitizerFilter(Role role);

}  // namespace bailiff::policy
