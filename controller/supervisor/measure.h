// SPDX-License-Identifier: Apache-2.0
// How much something on disk is: below descriptors only, no link followed, no path joined.
#pragma once

#include <cstdint>

#include "ipc/result.h"

namespace bailiff::controller {

// Sum of the sizes of the files at and below `name`, a file with several names once. What vanishes
// meanwhile counts nothing. Fails (E2BIG) beyond a million entries.
Result<std::uint64_t> MeasureTree(int parent, const char* name);

// Whether there are more than `most` files, directories and links at and below `name`. True also
// where they lie deeper than this process has descriptors.
Result<bool> HoldsMoreThan(int parent, const char* name, std::uint64_t most);

}  // namespace bailiff::controller
