// SPDX-License-Identifier: Apache-2.0
// In test builds SQLite reaches its files through a layer that has fault points at every write and
// sync; in the program that is installed there is no such layer.
#pragma once

namespace bailiff::controller {

#ifdef BAILIFF_TESTING
inline constexpr const char* kFaultVfs = "bailiff-fault";
void RegisterFaultVfs();
#else
inline constexpr const char* kFaultVfs = nullptr;  // SQLite's default for this system
inline void RegisterFaultVfs() {}
#endif

}  // namespace bailiff::controller
