// SPDX-License-Identifier: Apache-2.0
#include "controller/store/schema.h"

#include <string>

#include "controller/store/schema_sql.h"

namespace bailiff::controller {
namespace {

Error SchemaError(ErrorCode code, const Database& database, std::string why) {
  return Error{.code = code, .subject = database.path(), .why = std::move(why), .fix = {}};
}

Result<void> RefuseWhileRunning(Database& database) {
  BAILIFF_TRY_ASSIGN(Statement running,
                     database.Prepare("SELECT id FROM attempts WHERE state = 'running' LIMIT 1"));
  BAILIFF_TRY_ASSIGN(const bool row, running.Step());
  if (!row) return {};
  return SchemaError(ErrorCode::kStoreSchemaBusy, database,
                     "attempt " + running.Bytes(0) + " is running under the older schema");
}

}  // namespace

Result<void> CreateSchema(Database& database) { return database.Script(kSchemaSql); }

Result<std::int64_t> ReadSchemaVersion(Database& database) {
  BAILIFF_TRY_ASSIGN(Statement version, database.Prepare("PRAGMA user_version"));
  BAILIFF_TRY_ASSIGN(const bool row, version.Step());
  return row ? version.Integer(0) : std::int64_t{0};
}

// Empty until there is a version 7: schema 6 is the first one of this program.
Result<void> Migrate(Database& database) { return MigrateWith(database, {}, kSchemaVersion); }

Result<void> MigrateWith(Database& database, std::span<const Migration> steps,
                         std::int64_t target) {
  BAILIFF_TRY_ASSIGN(const std::int64_t present, ReadSchemaVersion(database));
  if (present == target) return {};
  return database.Write([&]() -> Result<void> {
    // Read again under the write lock: another process may have migrated meanwhile.
    BAILIFF_TRY_ASSIGN(std::int64_t version, ReadSchemaVersion(database));
    if (version == target) return {};
    if (version > target) {
      return SchemaError(ErrorCode::kStoreSchemaNewer, database,
                         "its schema is " + std::to_string(version) + ", this release knows " +
                             std::to_string(target));
    }
    if (version < kSchemaVersion) {
      return SchemaError(ErrorCode::kStoreOpen, database,
                         "it holds no authority (schema " + std::to_string(version) + ")");
    }
    BAILIFF_TRY(RefuseWhileRunning(database));
    for (const Migration& step : steps) {
      if (step.from != version) continue;
      BAILIFF_TRY(database.Script(step.script));
      ++version;
      BAILIFF_TRY(database.Script(("PRAGMA user_version = " + std::to_string(version)).c_str()));
    }
    if (version == target) return {};
    return SchemaError(ErrorCode::kStoreSchemaNewer, database,
                       "no way from schema " + std::to_string(version));
  });
}

}  // namespace bailiff::controller
