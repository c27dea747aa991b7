// SPDX-License-Identifier: Apache-2.0
// What lies inside the data directory (contracts, section 3), reached from its descriptor only, and
// the few durable file operations everything in it uses.
#pragma once

#include <string>
#include <string_view>

#include "ipc/fd.h"
#include "ipc/result.h"

namespace bailiff::controller {

inline constexpr std::string_view kDataFormat = "bailiff-data 1\n";
inline constexpr const char* kDatabaseName = "state.sqlite";

struct InitReport {
  std::string repository;  // 32 hex, random, never changed
  bool created = false;    // false: the directory was a data directory already
};

// Makes an empty (or half initialised) directory a data directory: layout, database, authority,
// and `format` last, so a directory with `format` is whole. Idempotent; a kill at any point leaves
// a directory that the next call completes. `database` is the path SQLite opens
// ("/data/state.sqlite" in the namespace). Errors: kDataNotEmpty and those of Store::Create.
Result<InitReport> InitDataDirectory(int data, const std::string& database,
                                     std::string_view operator_json);

// Errors: kDataMissing without `format` (fix: bailiff init), kDataFormatUnknown for another one.
Result<void> CheckFormat(int data);

// The repository id in the file `authority`; Store::Open compares it with the database's own, so a
// database of another data directory is not taken for this one's.
Result<std::string> ReadAuthority(int data);

// mkdirat(2) 0700 that must not exist yet, opened. `name` is one component.
Result<ipc::Fd> MakeDirectory(int parent, const char* name);

// Temporary name, write, fsync, rename over `name`, fsync of the directory.
Result<void> WriteFileDurably(int directory, const char* name, std::string_view bytes,
                              unsigned mode = 0600);

Result<void> SyncFile(int fd, std::string_view subject);
Result<void> SyncDirectory(int directory, std::string_view subject);

// renameat2(2) RENAME_NOREPLACE within one file system, then fsync of the target's directory.
Result<void> RenameDurably(int from, const char* old_name, int to, const char* new_name);

// Removes `name` below `parent` and all in it, following no link and crossing no mount, whatever
// the modes of its directories. A name that does not exist is no error. Depth ≤ 300.
Result<void> RemoveTree(int parent, const char* name);

}  // namespace bailiff::controller
