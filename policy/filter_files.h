// SPDX-License-Identifier: Apache-2.0
// Reading and writing files of a view: the lines that snapshotter and importer share.
#pragma once

#include <fcntl.h>

#include <array>

#include "policy/filter_table.h"

namespace bailiff::policy {

// clang-format off
inline constexpr std::array kReadFiles = std::to_array<FilterLine>({
  {BAILIFF_CALL(openat), {}, kAllow, "files of the view; the view is the wall, flags cannot leave it"},
  {BAILIFF_CALL(openat2), {}, kAllow, "the same, below one directory and without links"},
  {BAILIFF_CALL(read), {}, kAllow, "file contents"},
  {BAILIFF_CALL(pread64), {}, kAllow, "file contents"},
  {BAILIFF_CALL(lseek), {}, kAllow, "archives skip; rewinding a directory"},
  {BAILIFF_CALL(getdents64), {}, kAllow, "directory contents"},
  {BAILIFF_CALL(newfstatat), {}, kAllow, "kind, size and mode of an entry; libc's fstat"},
  {BAILIFF_CALL(fstat), {}, kAllow, "the same of an open file"},
  {BAILIFF_CALL(statx), {}, kAllow, "the same"},
  {BAILIFF_CALL(readlinkat), {}, kAllow, "target of a link, as bytes"},
  {BAILIFF_CALL(fcntl), {ArgIs(1, F_GETFD)}, kAllow, "libc looks at a directory's descriptor"},
  {BAILIFF_CALL(fcntl), {ArgIs(1, F_SETFD)}, kAllow, "libc sets close-on-exec"},
  {BAILIFF_CALL(fcntl), {ArgIs(1, F_GETFL)}, kAllow, "fdopendir looks whether it may read"},
  {BAILIFF_CALL(fcntl), {ArgIs(1, F_DUPFD_CLOEXEC)}, kAllow, "a second cursor over an open directory"},
  {BAILIFF_CALL(fadvise64), {}, kAllow, "read ahead"},
});

inline constexpr std::array kWriteFiles = std::to_array<FilterLine>({
  {BAILIFF_CALL(write), {}, kAllow, "file contents, diagnosis; the channel refuses half frames"},
  {BAILIFF_CALL(pwrite64), {}, kAllow, "file contents"},
  {BAILIFF_CALL(ftruncate), {}, kAllow, "size of a new file"},
  {BAILIFF_CALL(fallocate), {}, kAllow, "room for a new file, or an early ENOSPC"},
  {BAILIFF_CALL(copy_file_range), {}, kAllow, "object to tree without a copy through memory"},
  {BAILIFF_CALL(mkdirat), {}, kAllow, "directories of a tree"},
  {BAILIFF_CALL(symlinkat), {}, kAllow, "links of a tree"},
  {BAILIFF_CALL(linkat), {}, kAllow, "hard links of an image"},
  {BAILIFF_CALL(fchmod), {}, kAllow, "0444, 0555 whatever the umask"},
  {BAILIFF_CALL(fchmodat), {}, kAllow, "the same by name"},
  {BAILIFF_CALL(renameat), {}, kAllow, "a finished object takes its name"},
  {BAILIFF_CALL(renameat2), {}, kAllow, "the same, never over another"},
  {BAILIFF_CALL(unlinkat), {}, kAllow, "an entry replaced by a later one of an archive"},
  {BAILIFF_CALL(fsync), {}, kAllow, "durable before it is reported"},
  {BAILIFF_CALL(fdatasync), {}, kAllow, "durable before it is reported"},
});
// clang-format on

}  // namespace bailiff::policy
