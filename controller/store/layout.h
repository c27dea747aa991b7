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

// The repository id in the file `authority`; Store::Open compares it with the database's own, so a
// database of another data directory is not taken for this one's.
Result<std::string> ReadAuthority(int data);

}  // namespace bailiff::controller
