// SPDX-License-Identifier: Apache-2.0
// How much something on disk is: below descriptors only, no link followed, no path joined.
#pragma once

#include <cstdint>

#include "ipc/result.h"

namespace bailiff::controller {

// Sum of the sizes of the files at and below `name`, a file with several names once. What vanishes
// meanwhile counts nothing. Fails (E2BIG) beyond a million entries.
Result<std::uint64_t> MeasureTree(int parent, const char* name);

}  // namespace bailiff::controller
