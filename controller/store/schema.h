// SPDX-License-Identifier: Apache-2.0
// Tables, triggers and views of the authority, and how an older database becomes one of today.
// SCHEMA.md is the readable reference; a test keeps it equal.
#pragma once

#include <cstdint>
#include <span>

#include "controller/store/database.h"
#include "ipc/result.h"

namespace bailiff::controller {

// The first version of ours: the seed ended at 6 (R9.05, R9.06).
inline constexpr std::int64_t kSchemaVersion = 6;

// One step `from` → `from` + 1.
struct Migration {
  std::int64_t from;
  const char* script;
};

// Makes all of it in an empty database. Inside a write transaction.
Result<void> CreateSchema(Database& database);

Result<std::int64_t> ReadSchemaVersion(Database& database);

// Brings the database to kSchemaVersion, all steps in one transaction. Refuses a newer one
// (kStoreSchemaNewer), one with no schema of ours (kStoreOpen), and, when a step is due, while any
// attempt is running (kStoreSchemaBusy, R9.07).
Result<void> Migrate(Database& database);
// The same with other steps and target, for tests.
Result<void> MigrateWith(Database& database, std::span<const Migration> steps, std::int64_t target);

}  // namespace bailiff::controller
