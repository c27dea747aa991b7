// SPDX-License-Identifier: Apache-2.0
// Reading and writing files of a view: the lines that snapshotter and importer share.
#pragma once

#include <array>

#include "policy/filter_table.h"

namespace bailiff::policy {

// clang-format off
inline constexpr std::array kReadFiles = std::to_array<FilterLine>({
  {BAILIFF_CALL(openat), {}, kAllow, "files of the view; the view is the wall, flags cannot leave it"},
  {BAILIFF_CALL(read), {}, kAllow, "file contents"},
  {BAILIFF_CALL(getdents64), {}, kAllow, "directory contents"},
  {BAILIFF_CALL(newfstatat), {}, kAllow, "kind, size and mode of an entry; libc's fstat"},
  {BAILIFF_CALL(fstat), {}, kAllow, "the same of an open file, as newer libcs ask"},
  {BAILIFF_CALL(readlinkat), {}, kAllow, "target of a link, as bytes"},
});

inline constexpr std::array kWriteFiles = std::to_array<FilterLine>({
  {BAILIFF_CALL(write), {}, kAllow, "file contents, diagnosis; the channel refuses half frames"},
  {BAILIFF_CALL(mkdirat), {}, kAllow, "directories of a tree"},
  {BAILIFF_CALL(symlinkat), {}, kAllow, "links of a tree"},
  {BAILIFF_CALL(fchmod), {}, kAllow, "0444, 0555 whatever the umask"},
});
// clang-format on

}  // namespace bailiff::policy
