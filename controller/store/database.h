// SPDX-License-Identifier: Apache-2.0
// The few calls of SQLite the store uses, with our errors. Only this folder includes sqlite3.h.
//
// Rules of the connection: WAL, synchronous FULL, foreign keys, defensive, untrusted schema, no
// extension, no attached database, nothing in files of its own but the three of the database.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ipc/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace bailiff::controller {

// A value bound as BLOB. Plain string_view is bound as TEXT.
struct Blob {
  std::string_view bytes;
};
// References what it is given; lives no longer than the call that binds it.
using Value = std::variant<std::nullptr_t, std::int64_t, std::string_view, Blob>;

inline Value OptionalText(const std::optional<std::string>& text) {
  return text ? Value(std::string_view(*text)) : Value(nullptr);
}
inline Value OptionalBlob(const std::optional<std::string>& bytes) {
  return bytes ? Value(Blob{*bytes}) : Value(nullptr);
}

class Database;

// One prepared and bound statement. Columns are read between a Step that gave true and the next.
// Must not outlive its Database, nor live on while that is moved.
class Statement {
 public:
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&&) = delete;
  ~Statement();

  Result<bool> Step();  // true: a row
  std::int64_t Integer(int column) const;
  std::string Bytes(int column) const;  // TEXT or BLOB; empty for NULL
  std::optional<std::string> OptionalBytes(int column) const;

 private:
  friend class Database;
  Statement(Database& database, sqlite3_stmt* statement, std::string_view sql)
      : database_(&database), statement_(statement), sql_(sql) {}
  Database* database_;
  sqlite3_stmt* statement_;
  std::string_view sql_;
};

class Database {
  friend class Statement;

 public:
  struct Options {
    std::string path;
    bool create = false;
    int busy_ms =
        20000;  // one wait for another writer; transactions restart at most kRestarts times
  };
  static constexpr int kRestarts = 3;
  static constexpr int kLongLog = 80;  // pages, the work of three attempts
  static constexpr int kMaxLog = 400;  // from here on every commit writes it back

  static Result<Database> Open(const Options& options);
  Database(Database&& other) noexcept;
  Database& operator=(Database&&) = delete;
  ~Database();

  // `sql` must outlive the statement (a literal). Compiled once, it is kept for the next time.
  Result<Statement> Prepare(std::string_view sql, std::initializer_list<Value> values = {});
  // Runs to the end, ignoring rows; gives the number of rows changed.
  Result<std::int64_t> Run(std::string_view sql, std::initializer_list<Value> values = {});
  // Several statements without values: schema and pragmas.
  Result<void> Script(const char* sql);

  // `body` inside BEGIN IMMEDIATE … COMMIT. Any error rolls back. SQLITE_BUSY in any form restarts
  // the whole (e07), at most kRestarts times; then kStoreBusy and nothing is written.
  Result<void> Write(const std::function<Result<void>()>& body);
  // `body` inside one read snapshot.
  Result<void> Read(const std::function<Result<void>()>& body);

  // Writes the log back into the database where it is longer than kLongLog: the first connection of
  // a process reads all of it again. For a time when nobody waits for this one. The log's commits
  // are durable with or without it.
  Result<void> WriteBack();
  // This database as it is at one moment, in a new file: one read snapshot, so writers go on.
  Result<void> CopyTo(const std::string& path);

  std::int64_t LastRow() const;
  bool in_transaction() const;
  const std::string& path() const { return path_; }

 private:
  Database(sqlite3* database, std::string path, int busy_ms)
      : database_(database), path_(std::move(path)), busy_ms_(busy_ms) {}
  Result<void> Configure(bool create);
  Result<void> Transaction(const char* begin, bool writes,
                           const std::function<Result<void>()>& body);
  Result<void> Control(const char* sql);  // BEGIN …, COMMIT, ROLLBACK
  void Keep(sqlite3_stmt* statement);
  static int Wait(void* self, int tries);
  static int Logged(void* self, sqlite3* handle, const char* name, int frames);

  sqlite3* database_;
  std::string path_;
  int busy_ms_;
  std::int64_t wait_until_ns_ = 0;
  int logged_ = 0;                   // pages in the log when this connection last wrote
  std::vector<sqlite3_stmt*> kept_;  // compiled, reset, without values, in use by no Statement
};

}  // namespace bailiff::controller
