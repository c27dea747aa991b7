// SPDX-License-Identifier: Apache-2.0
// What lies inside the data directory (contracts, section 3), reached from its descriptor only.
#pragma once

#include <string>
#include <string_view>

#include "controller/store/files.h"
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

// Which data directory this is, of all that hold the same repository: 32 hex digits, the repository
// id where `bailiff init` made it, and random where it was restored from a backup or copied. Told
// by `execution/instance`, which names the directory it lies in by device and inode and is in no
// backup; one that names another directory, or none, is made anew. Cgroups carry its first digits,
// so that what a copy records of a running attempt is known not to be the copy's to destroy.
Result<std::string> ReadInstance(int data);

// The repository id in the file `authority`; Store::Open compares it with the database's own, so a
// database of another data directory is not taken for this one's.
Result<std::string> ReadAuthority(int data);

}  // namespace bailiff::controller
