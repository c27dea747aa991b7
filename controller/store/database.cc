// SPDX-License-Identifier: Apache-2.0
#include "controller/store/database.h"

#include <sqlite3.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "controller/store/fault_vfs.h"
#include "ipc/fault.h"

// SQLite can load extensions through dlopen(3). Ours is told never to (Configure), and the linker
// (CMakeLists.txt) gives it this function instead, so a static program holds no loader at all.
extern "C" void* __wrap_dlopen(const char*, int);  // NOLINT(bugprone-reserved-identifier)
extern "C" void* __wrap_dlopen(const char*, int) { return nullptr; }  // NOLINT

namespace bailiff::controller {
namespace {

std::int64_t MonotonicNanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

ErrorCode CodeOf(int extended, int system_error) {
  if (system_error == ENOSPC || system_error == EDQUOT) return ErrorCode::kStoreFull;
  switch (extended & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ErrorCode::kStoreBusy;
    case SQLITE_FULL:
      return ErrorCode::kStoreFull;
    case SQLITE_IOERR:
      return ErrorCode::kStoreIo;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
      return ErrorCode::kStoreCorrupt;
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH:
      return ErrorCode::kStoreOpen;
    default:
      return ErrorCode::kStoreInternal;
  }
}

// sqlite3_system_errno is meaningful for these results only; for others it is left over.
bool CarriesErrno(int extended) {
  const int primary = extended & 0xff;
  return primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN || primary == SQLITE_FULL;
}

Error MakeError(sqlite3* database, int extended, std::string_view doing) {
  const int system_error =
      database != nullptr && CarriesErrno(extended) ? sqlite3_system_errno(database) : 0;
  std::string why = sqlite3_errstr(extended);
  if (database != nullptr && sqlite3_extended_errcode(database) == extended)
    why = sqlite3_errmsg(database);
  why += " (sqlite " + std::to_string(extended) + ")";
  return Error{.code = CodeOf(extended, system_error),
               .subject = std::string(doing),
               .why = std::move(why),
               .system_error = system_error,
               .fix = {}};
}

Error Injected(std::string_view doing, int error) {
  return Error{.code = error == ENOSPC ? ErrorCode::kStoreFull : ErrorCode::kStoreIo,
               .subject = std::string(doing),
               .why = "injected",
               .system_error = error,
               .fix = {}};
}

// Before SQLite's first use: one thread needs no mutexes, and nobody reads its memory statistics.
// A start of the program spends a third of a millisecond here, most of it on reading the schema.
bool ConfigureLibrary() {
  return sqlite3_config(SQLITE_CONFIG_SINGLETHREAD) == SQLITE_OK &&
         sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) == SQLITE_OK &&
         sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 256, 500) == SQLITE_OK;
}

}  // namespace

Statement::Statement(Statement&& other) noexcept
    : database_(other.database_),
      statement_(std::exchange(other.statement_, nullptr)),
      sql_(other.sql_) {}

Statement::~Statement() {
  if (statement_ != nullptr) database_->Keep(statement_);
}

Result<bool> Statement::Step() {
  // no fault point: a write comes through Run, which has one
  const int result = sqlite3_step(statement_);
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  return MakeError(database_->database_, result, sql_);
}

std::int64_t Statement::Integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::string Statement::Bytes(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  if (bytes == nullptr) return {};
  return {static_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

std::optional<std::string> Statement::OptionalBytes(int column) const {
  if (sqlite3_column_type(statement_, column) == SQLITE_NULL) return std::nullopt;
  return Bytes(column);
}

Result<Database> Database::Open(const Options& options) {
  static const bool configured = ConfigureLibrary();
  if (!configured) {
    return Error{.code = ErrorCode::kStoreInternal,
                 .subject = "SQLite",
                 .why = "it was used before the store could configure it",
                 .fix = {}};
  }
  RegisterFaultVfs();
  // NOFOLLOW: no link anywhere in the path. NOMUTEX: the controller has one thread.
  int flags =
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE;
  if (options.create) flags |= SQLITE_OPEN_CREATE;
  sqlite3* handle = nullptr;
  const int result = sqlite3_open_v2(options.path.c_str(), &handle, flags, kFaultVfs);
  Database database(handle, options.path, options.busy_ms);
  if (result != SQLITE_OK) return MakeError(handle, result, options.path);
  BAILIFF_TRY(database.Configure(options.create));
  return database;
}

Database::Database(Database&& other) noexcept
    : database_(std::exchange(other.database_, nullptr)),
      path_(std::move(other.path_)),
      busy_ms_(other.busy_ms_),
      logged_(other.logged_),
      kept_(std::exchange(other.kept_, {})) {
  if (database_ == nullptr) return;
  sqlite3_busy_handler(database_, &Database::Wait, this);
  sqlite3_wal_hook(database_, &Database::Logged, this);
}

Database::~Database() {
  for (sqlite3_stmt* const statement : kept_) sqlite3_finalize(statement);
  // Every Statement has ended before (they live inside one call), so close cannot be refused.
  if (database_ != nullptr) sqlite3_close(database_);
}

Result<void> Database::Configure(bool create) {
  sqlite3_busy_handler(database_, &Database::Wait, this);
  for (const auto& [option, value] :
       {std::pair{SQLITE_DBCONFIG_DEFENSIVE, 1}, std::pair{SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        std::pair{SQLITE_DBCONFIG_ENABLE_FKEY, 1}, std::pair{SQLITE_DBCONFIG_ENABLE_TRIGGER, 1},
        std::pair{SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0}, std::pair{SQLITE_DBCONFIG_DQS_DML, 0},
        std::pair{SQLITE_DBCONFIG_DQS_DDL, 0}, std::pair{SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1}}) {
    if (const int result = sqlite3_db_config(database_, option, value, nullptr);
        result != SQLITE_OK)
      return MakeError(database_, result, path_);
  }
  sqlite3_limit(database_, SQLITE_LIMIT_LENGTH, 8 << 20);
  sqlite3_limit(database_, SQLITE_LIMIT_ATTACHED, 0);
  // REPLACE must fire the triggers that keep rows as they are (recursive_triggers); no file outside
  // the three (temp_store); bytes of a removed secret do not stay in free pages (secure_delete).
  BAILIFF_TRY(
      Script("PRAGMA synchronous=FULL; PRAGMA temp_store=MEMORY; PRAGMA recursive_triggers=ON;"
             "PRAGMA cell_size_check=ON; PRAGMA secure_delete=FAST;"));
  sqlite3_wal_hook(database_, &Database::Logged, this);
  // The mode is a property of the file: it is set once, by the creator.
  if (create) BAILIFF_TRY(Script("PRAGMA journal_mode=WAL"));
  BAILIFF_TRY_ASSIGN(Statement mode, Prepare("PRAGMA journal_mode"));
  BAILIFF_TRY_ASSIGN(const bool row, mode.Step());
  if (!row || mode.Bytes(0) != "wal") {
    return Error{.code = ErrorCode::kStoreOpen,
                 .subject = path_,
                 .why = "it is not in WAL mode: another program changed it",
                 .fix = {}};
  }
  return {};
}

// SQLite calls this after a commit, with the length of the log in frames of one page.
int Database::Logged(void* self, sqlite3* handle, const char* name, int frames) {
  static_cast<Database*>(self)->logged_ = frames;
  if (frames < kMaxLog) return SQLITE_OK;
  // The commit stands whatever becomes of this.
  sqlite3_wal_checkpoint_v2(handle, name, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  return SQLITE_OK;
}

Result<void> Database::WriteBack() {
  if (logged_ < kLongLog || in_transaction()) return {};
  logged_ = 0;
  const int result =
      sqlite3_wal_checkpoint_v2(database_, nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  // Another connection that does the same, or still reads, is no error.
  if (result == SQLITE_OK || (result & 0xff) == SQLITE_BUSY) return {};
  return MakeError(database_, result, path_);
}

// SQLite calls this while another connection holds the lock it wants. Its own handler waits in
// steps of up to 100 ms, which is a hundred times what one of our transactions takes.
int Database::Wait(void* self, int tries) {
  auto* database = static_cast<Database*>(self);
  const std::int64_t now = MonotonicNanoseconds();
  if (tries == 0) database->wait_until_ns_ = now + std::int64_t{database->busy_ms_} * 1'000'000;
  if (now >= database->wait_until_ns_) return 0;
  unsigned char random = 0;
  sqlite3_randomness(1, &random);
  // 0.1 ms, growing to 4 ms, each half fixed and half random, so that waiters do not march in step.
  const std::int64_t step = 100'000LL << std::min(tries, 5);
  const std::int64_t pause = step / 2 + step * random / 200;
  const timespec time{.tv_sec = 0, .tv_nsec = pause};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
  return 1;
}

Result<Statement> Database::Prepare(std::string_view sql, std::initializer_list<Value> values) {
  sqlite3_stmt* handle = nullptr;
  int result = SQLITE_OK;
  const auto kept = std::find_if(kept_.begin(), kept_.end(), [&](sqlite3_stmt* statement) {
    return sqlite3_sql(statement) == sql;
  });
  if (kept != kept_.end()) {
    handle = *kept;
    kept_.erase(kept);
  } else {
    result =
        sqlite3_prepare_v2(database_, sql.data(), static_cast<int>(sql.size()), &handle, nullptr);
    if (result != SQLITE_OK) return MakeError(database_, result, sql);
  }
  Statement statement(*this, handle, sql);
  int index = 0;
  for (const Value& value : values) {
    ++index;
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      result = sqlite3_bind_int64(handle, index, *number);
    } else if (const auto* text = std::get_if<std::string_view>(&value)) {
      result = sqlite3_bind_text64(handle, index, text->data() == nullptr ? "" : text->data(),
                                   text->size(), SQLITE_TRANSIENT, SQLITE_UTF8);
    } else if (const auto* blob = std::get_if<Blob>(&value)) {
      result = sqlite3_bind_blob64(handle, index,
                                   blob->bytes.data() == nullptr ? "" : blob->bytes.data(),
                                   blob->bytes.size(), SQLITE_TRANSIENT);
    } else {
      result = sqlite3_bind_null(handle, index);
    }
    if (result != SQLITE_OK) return MakeError(database_, result, sql);
  }
  return statement;
}

Result<std::int64_t> Database::Run(std::string_view sql, std::initializer_list<Value> values) {
  if (in_transaction()) {
    if (const int error = BAILIFF_FAULT(StoreStatement)) return Injected(sql, error);
  }
  BAILIFF_TRY_ASSIGN(Statement statement, Prepare(sql, values));
  for (;;) {
    BAILIFF_TRY_ASSIGN(const bool row, statement.Step());
    if (!row) return std::int64_t{sqlite3_changes64(database_)};
  }
}

// A statement that was left in the middle is ended here, so that it holds no lock; what it was
// given does not stay in memory.
void Database::Keep(sqlite3_stmt* statement) {
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  kept_.push_back(statement);
}

Result<void> Database::Script(const char* sql) {
  // no fault point: StoreBegin and StoreCommit stand around what writes
  const int result = sqlite3_exec(database_, sql, nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) return MakeError(database_, result, path_);
  return {};
}

Result<void> Database::Control(const char* sql) {
  BAILIFF_TRY_ASSIGN(Statement statement, Prepare(sql));
  // no fault point: StoreBegin, StoreCommit and StoreCommitted stand around its callers
  BAILIFF_TRY(statement.Step());
  return {};
}

Result<void> Database::Transaction(const char* begin, bool writes,
                                   const std::function<Result<void>()>& body) {
  if (writes) {
    if (const int error = BAILIFF_FAULT(StoreBegin)) return Injected(begin, error);
  }
  BAILIFF_TRY(Control(begin));
  Result<void> result = body();
  if (result.ok() && writes) {
    if (const int error = BAILIFF_FAULT(StoreCommit)) result = Injected("COMMIT", error);
  }
  if (result.ok()) result = Control("COMMIT");
  // SQLite itself rolls back on some errors; a second ROLLBACK would be an error of its own.
  if (!result.ok() && in_transaction()) static_cast<void>(Control("ROLLBACK"));
  if (result.ok() && writes) {
    if (const int error = BAILIFF_FAULT(StoreCommitted)) return Injected("COMMIT", error);
  }
  return result;
}

Result<void> Database::Write(const std::function<Result<void>()>& body) {
  for (int restart = 0;; ++restart) {
    Result<void> result = Transaction("BEGIN IMMEDIATE", true, body);
    if (result.ok() || result.error().code != ErrorCode::kStoreBusy || restart == kRestarts)
      return result;
  }
}

Result<void> Database::Read(const std::function<Result<void>()>& body) {
  for (int restart = 0;; ++restart) {
    Result<void> result = Transaction("BEGIN", false, body);
    if (result.ok() || result.error().code != ErrorCode::kStoreBusy || restart == kRestarts)
      return result;
  }
}

Result<void> Database::CopyTo(const std::string& path) {
  if (const int error = BAILIFF_FAULT(StoreCopy)) return Injected(path, error);
  BAILIFF_TRY_ASSIGN(Database copy, Open({.path = path, .create = true, .busy_ms = busy_ms_}));
  // The copy has no log yet that could be ahead of its file.
  BAILIFF_TRY(copy.Script("PRAGMA journal_mode=DELETE"));
  sqlite3_backup* const backup = sqlite3_backup_init(copy.database_, "main", database_, "main");
  if (backup == nullptr)
    return MakeError(copy.database_, sqlite3_extended_errcode(copy.database_), path);
  int result = SQLITE_OK;
  do {
    result = sqlite3_backup_step(backup, -1);
  } while (result == SQLITE_OK);
  const int finished = sqlite3_backup_finish(backup);
  if (result != SQLITE_DONE) return MakeError(copy.database_, result, path);
  if (finished != SQLITE_OK) return MakeError(copy.database_, finished, path);
  BAILIFF_TRY_ASSIGN(Statement check, copy.Prepare("PRAGMA integrity_check(1)"));
  BAILIFF_TRY_ASSIGN(const bool row, check.Step());
  if (!row || check.Bytes(0) != "ok")
    return Error{.code = ErrorCode::kStoreCorrupt,
                 .subject = path,
                 .why = row ? check.Bytes(0) : "the check says nothing",
                 .fix = {}};
  return {};
}

std::int64_t Database::LastRow() const { return sqlite3_last_insert_rowid(database_); }

bool Database::in_transaction() const {
  return database_ != nullptr && sqlite3_get_autocommit(database_) == 0;
}

}  // namespace bailiff::controller
