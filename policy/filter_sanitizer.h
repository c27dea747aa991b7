// SPDX-License-Identifier: Apache-2.0
// Only in builds with AddressSanitizer: their runtime needs calls that no shipped list has.
#pragma once

#include "policy/filter_table.h"

namespace bailiff::policy {

// The shipped list with the sanitizer's lines in front.
const FilterTable& SanitizerFilter(Role role);

}  // namespace bailiff::policy
