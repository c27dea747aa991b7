// SPDX-License-Identifier: Apache-2.0
#include "controller/store/store.h"

#include <utility>

#include "controller/store/database.h"
#include "controller/store/schema.h"
#include "controller/store/statements.h"

namespace bailiff::controller {

using statements::MakeError;

Store::Store(StoreOptions options) : options_(std::move(options)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Result<Store> Store::Open(StoreOptions options) {
  Store store(std::move(options));
  BAILIFF_TRY(store.Connection());
  return store;
}

Result<Store> Store::Create(StoreOptions options, std::string_view repository) {
  Store store(std::move(options));
  BAILIFF_TRY_ASSIGN(Database database, Database::Open({.path = store.options_.path,
                                                        .create = true,
                                                        .busy_ms = store.options_.busy_ms}));
  BAILIFF_TRY(database.Write([&]() -> Result<void> {
    BAILIFF_TRY_ASSIGN(const std::int64_t version, ReadSchemaVersion(database));
    if (version != 0) return {};
    BAILIFF_TRY(CreateSchema(database));
    BAILIFF_TRY(database.Run("INSERT INTO authority (repository, created_unix_ms) VALUES (?1, ?2)",
                             {repository, statements::UnixMilliseconds()}));
    return store.Audit(database, "authority.create", repository, "{}",
                       "{\"schema\":" + std::to_string(kSchemaVersion) + "}");
  }));
  BAILIFF_TRY(Migrate(database));
  store.database_ = std::make_unique<Database>(std::move(database));
  return store;
}

void Store::WriteBack() {
  // Nothing of the caller's hangs on it; after a failure the next call opens the database anew.
  if (database_ != nullptr) static_cast<void>(Settle(database_->WriteBack()).ok());
}

Result<Database*> Store::Connection() {
  if (database_ != nullptr) return database_.get();
  BAILIFF_TRY_ASSIGN(Database database,
                     Database::Open({.path = options_.path, .busy_ms = options_.busy_ms}));
  if (suspect_) {
    // A sync failed: what the log shows may exist in memory only. Copying all of it into the
    // database file and syncing that makes true what the next read says (or fails).
    BAILIFF_TRY_ASSIGN(Statement checkpoint, database.Prepare("PRAGMA wal_checkpoint(FULL)"));
    BAILIFF_TRY_ASSIGN(const bool row, checkpoint.Step());
    if (row && checkpoint.Integer(0) != 0)
      return MakeError(ErrorCode::kStoreBusy, options_.path,
                       "after an input-output error the log must be written out first, and a "
                       "reader holds it");
  }
  BAILIFF_TRY(Migrate(database));
  if (!options_.repository.empty()) {
    BAILIFF_TRY_ASSIGN(const Authority authority, statements::AuthorityOf(database));
    if (authority.repository != options_.repository)
      return MakeError(ErrorCode::kStoreForeign, options_.path,
                       "it belongs to repository " + authority.repository +
                           ", the data directory to " + options_.repository);
  }
  suspect_ = false;
  database_ = std::make_unique<Database>(std::move(database));
  return database_.get();
}

// After an input-output error nothing the connection believes may be used again.
Result<void> Store::Settle(Result<void> result) {
  if (!result.ok() && (result.error().code == ErrorCode::kStoreIo ||
                       result.error().code == ErrorCode::kStoreCorrupt)) {
    suspect_ = true;
    database_.reset();
  }
  return result;
}

Result<void> Store::Read(const std::function<Result<void>(Database&)>& body) {
  BAILIFF_TRY_ASSIGN(Database* const database, Connection());
  return Settle(database->Read([&] { return body(*database); }));
}

Result<void> Store::Write(const std::function<Result<void>(Database&)>& body) {
  BAILIFF_TRY_ASSIGN(Database* const database, Connection());
  return Settle(database->Write([&] { return body(*database); }));
}

Result<void> Store::Audit(Database& database, std::string_view action, std::string_view subject,
                          std::string_view before_json, std::string_view after_json) {
  BAILIFF_TRY(database.Run(
      "INSERT INTO audit (unix_ms, operator_json, action, subject, before_json, after_json) "
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
      {statements::UnixMilliseconds(), Blob{options_.operator_json}, action, subject,
       Blob{before_json}, Blob{after_json}}));
  return {};
}

Result<Authority> Store::GetAuthority() {
  Authority authority;
  BAILIFF_TRY(Read([&](Database& database) -> Result<void> {
    BAILIFF_TRY_ASSIGN(authority, statements::AuthorityOf(database));
    return {};
  }));
  return authority;
}

Result<StoreCounts> Store::Counts() {
  StoreCounts counts;
  BAILIFF_TRY(Read([&](Database& database) -> Result<void> {
    BAILIFF_TRY_ASSIGN(counts.schema, ReadSchemaVersion(database));
    BAILIFF_TRY_ASSIGN(
        Statement statement,
        database.Prepare("SELECT count(*), count(*) FILTER (WHERE state = 'pending'), "
                         "count(*) FILTER (WHERE state = 'running'), count(*) FILTER (WHERE state "
                         "= 'running' AND custody_json IS NOT NULL) FROM attempts"));
    BAILIFF_TRY(statement.Step());
    counts.attempts = statement.Integer(0);
    counts.pending = statement.Integer(1);
    counts.running = statement.Integer(2);
    counts.running_with_custody = statement.Integer(3);
    return {};
  }));
  return counts;
}

Result<void> Store::CheckIntegrity(bool full) {
  return Read([&](Database& database) -> Result<void> {
    BAILIFF_TRY_ASSIGN(Statement statement, database.Prepare(full ? "PRAGMA integrity_check(1)"
                                                                  : "PRAGMA quick_check(1)"));
    BAILIFF_TRY_ASSIGN(const bool row, statement.Step());
    if (row && statement.Bytes(0) == "ok") return {};
    return MakeError(ErrorCode::kStoreCorrupt, options_.path,
                     row ? statement.Bytes(0) : "the check says nothing");
  });
}

}  // namespace bailiff::controller
