// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace bailiff::controller {

// Of this release; BAILIFF_VERSION comes from the project() line of the top CMakeLists.txt.
inline constexpr const char* kVersion = BAILIFF_VERSION;

}  // namespace bailiff::controller
