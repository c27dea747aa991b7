// SPDX-License-Identifier: Apache-2.0
// The few file operations everything in the data directory uses: relative to a directory's
// descriptor, following no link, durable when they return.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ipc/fd.h"
#include "ipc/result.h"

namespace bailiff::controller {

// mkdirat(2) 0700 that must not exist yet, opened. `name` is one component.
Result<ipc::Fd> MakeDirectory(int parent, const char* name);

// Temporary name, write, fsync, rename over `name`, fsync of the directory.
Result<void> WriteFileDurably(int directory, const char* name, std::string_view bytes,
                              unsigned mode = 0600);

Result<void> SyncFile(int fd, std::string_view subject);
Result<void> SyncDirectory(int directory, std::string_view subject);

// renameat2(2) RENAME_NOREPLACE within one file system, then fsync of the target's directory.
Result<void> RenameDurably(int from, const char* old_name, int to, const char* new_name);

// The names in a directory but "." and "..". The caller's position in it does not move.
Result<std::vector<std::string>> ListDirectory(int directory, std::string_view subject);

// Removes `name` below `parent` and all in it, following no link and crossing no mount (EXDEV),
// whatever the modes of its directories and however deep they lie. A name that does not exist is
// no error. Not durable by itself: what is half removed is removed by the next call.
Result<void> RemoveTree(int parent, const char* name);

}  // namespace bailiff::controller
