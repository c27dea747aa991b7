// SPDX-License-Identifier: Apache-2.0
// The schema itself: what SCHEMA.md says of it, what its triggers refuse, how it moves on.
#include "controller/store/schema.h"

#include <array>
#include <fstream>
#include <sstream>

#include "tests/unit/store/support.h"

namespace bailiff::controller {
namespace {

using namespace test;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The reference as it must stand in SCHEMA.md after its marker: every table and view with its
// columns, primary key first, every trigger with what it says.
std::string Reference(Database& database) {
  std::string text;
  const auto rows = [&](std::string_view sql, std::initializer_list<Value> values,
                        const std::function<void(const Statement&)>& each) {
    auto statement = database.Prepare(sql, values);
    ASSERT_OK(statement);
    for (;;) {
      const auto row = statement->Step();
      ASSERT_OK(row);
      if (!*row) return;
      each(*statement);
    }
  };
  text += "| table | columns |\n|---|---|\n";
  rows("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid", {},
       [&](const Statement& table) {
         const std::string name = table.Bytes(0);
         std::string columns;
         rows("SELECT name, type, \"notnull\", pk FROM pragma_table_info(?1) ORDER BY cid",
              {std::string_view(name)}, [&](const Statement& column) {
                columns += columns.empty() ? "" : ", ";
                columns += column.Bytes(0) + " " + column.Bytes(1);
                if (column.Integer(3) != 0) columns += " key";
                if (column.Integer(3) == 0 && column.Integer(2) == 0) columns += "?";
              });
         text += "| " + name + " | " + columns + " |\n";
       });
  text += "\n| view | columns |\n|---|---|\n";
  rows("SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY rowid", {},
       [&](const Statement& view) {
         const std::string name = view.Bytes(0);
         std::string columns;
         rows("SELECT name FROM pragma_table_info(?1) ORDER BY cid", {std::string_view(name)},
              [&](const Statement& column) {
                columns += (columns.empty() ? "" : ", ") + column.Bytes(0);
              });
         text += "| " + name + " | " + columns + " |\n";
       });
  text += "\n| trigger | on | refuses with |\n|---|---|---|\n";
  rows("SELECT name, tbl_name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid", {},
       [&](const Statement& trigger) {
         const std::string sql = trigger.Bytes(2);
         const std::size_t begin = sql.find("ABORT, '") + 8;
         text += "| " + trigger.Bytes(0) + " | " + trigger.Bytes(1) + " | " +
                 sql.substr(begin, sql.find("')", begin) - begin) + " |\n";
       });
  return text;
}

class Schema : public testing::Test {
 protected:
  TemporaryDirectory directory_;
  Data data_{directory_.path()};
  Store store_ = data_.Open();
};

TEST_F(Schema, reference_document_equals_the_schema) {
  auto database = Database::Open({.path = data_.database});
  ASSERT_OK(database);
  const std::string reference = Reference(*database);
  const std::string document = ReadFile(BAILIFF_TEST_SOURCE_DIR "/controller/store/SCHEMA.md");
  const std::string marker = "<!-- generated: tests/unit/store/schema_test.cc -->\n";
  const std::size_t at = document.find(marker);
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(document.substr(at + marker.size()), reference) << "the reference is:\n" << reference;
}

TEST_F(Schema, r9_05_r9_06_version_is_6_and_shows_the_names_of_the_seed) {
  EXPECT_EQ(ForeignSql(data_.database, "PRAGMA user_version"), "6");
  const AttemptRow running = RunningRun(store_);
  ASSERT_OK(store_.PersistCustody(running.id, 1, R"({"v":1})"));
  EXPECT_EQ(ForeignSql(data_.database, "SELECT CAST(custody_json AS TEXT) FROM command_attempts"),
            R"({"v":1})");
  ASSERT_OK(store_.Finish(SampleFinish(running)));
  EXPECT_EQ(ForeignSql(data_.database, "SELECT CAST(record AS TEXT) FROM command_evidence"),
            R"({"e":1})");
}

TEST_F(Schema, every_table_is_strict) {
  EXPECT_EQ(ForeignSql(data_.database,
                       "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND type = "
                       "'table' AND strict = 0 AND name <> 'sqlite_schema'"),
            "0");
}

TEST_F(Schema, audit_is_append_only) {
  for (const char* sql : {"UPDATE audit SET action = 'x'", "DELETE FROM audit",
                          "INSERT OR REPLACE INTO audit VALUES (1, 0, x'', 'x', 'x', x'', x'')"}) {
    EXPECT_TRUE(ForeignSql(data_.database, sql).starts_with("error: audit is append-only")) << sql;
  }
}

TEST_F(Schema, what_is_recorded_cannot_be_rewritten_by_a_mistake) {
  const AttemptRow running = RunningRun(store_);
  ASSERT_OK(store_.Finish(SampleFinish(running)));
  PendingRun(store_);
  const std::string before = Dump(data_.database);
  for (const char* sql : {
           "UPDATE evidence SET bytes = x'00'",
           "DELETE FROM evidence",
           "INSERT OR REPLACE INTO evidence SELECT evidence_id, attempt, kind, x'00' FROM evidence",
           "INSERT INTO evidence VALUES "
           "('0000000000000000000000000000000000000000000000000000000000000000', 'run-2', "
           "'command/v1', x'00')",
           "UPDATE attempts SET outcome = 'failed' WHERE id = 'run-1'",
           "UPDATE attempts SET state = 'running', generation = 3, outcome = NULL, evidence_id = "
           "NULL WHERE id = 'run-1'",
           "UPDATE attempts SET state = 'running', owner_json = x'00', backend = 'n' WHERE id = "
           "'run-2'",
           "UPDATE attempts SET state = 'finished', generation = 1 WHERE id = 'run-2'",
           "UPDATE attempts SET recipe = x'00' WHERE id = 'run-2'",
           "DELETE FROM attempts",
           "UPDATE contexts SET policy_epoch = 9",
           "DELETE FROM contexts",
           "UPDATE revisions SET tree = revision",
           "DELETE FROM revisions",
           "UPDATE authority SET repository = '00000000000000000000000000000000'",
           "DELETE FROM authority",
           "INSERT INTO authority VALUES ('00000000000000000000000000000000', 0, 0, 1)",
           "INSERT INTO outputs VALUES "
           "('0000000000000000000000000000000000000000000000000000000000000000', "
           "zeroblob(1048577), "
           "NULL)",
           "UPDATE changes SET policy_epoch = 'x'",
       }) {
    EXPECT_TRUE(ForeignSql(data_.database, sql).starts_with("error: ")) << sql;
  }
  EXPECT_EQ(Dump(data_.database), before);
}

TEST_F(Schema, r9_07_migration_refuses_while_an_attempt_is_running) {
  constexpr std::array kSteps = {Migration{6, "CREATE TABLE extra (id TEXT PRIMARY KEY) STRICT"}};
  const AttemptRow running = RunningRun(store_);
  auto database = Database::Open({.path = data_.database});
  ASSERT_OK(database);
  const auto refused = MigrateWith(*database, kSteps, 7);
  ASSERT_CODE(ErrorCode::kStoreSchemaBusy, refused);
  EXPECT_NE(refused.error().why.find(running.id), std::string::npos);
  EXPECT_EQ(*ReadSchemaVersion(*database), 6);
  ASSERT_OK(store_.Finish(SampleFinish(running)));
  ASSERT_OK(MigrateWith(*database, kSteps, 7));
  EXPECT_EQ(*ReadSchemaVersion(*database), 7);
  ASSERT_OK(MigrateWith(*database, kSteps, 7));  // nothing is due
}

TEST_F(Schema, a_migration_that_fails_changes_nothing) {
  constexpr std::array kSteps = {Migration{6, "CREATE TABLE extra (id TEXT PRIMARY KEY) STRICT"},
                                 Migration{7, "CREATE TABLE extra (id TEXT PRIMARY KEY) STRICT"}};
  auto database = Database::Open({.path = data_.database});
  ASSERT_OK(database);
  ASSERT_FALSE(MigrateWith(*database, kSteps, 8).ok());
  EXPECT_EQ(*ReadSchemaVersion(*database), 6);
  EXPECT_EQ(ForeignSql(data_.database, "SELECT count(*) FROM sqlite_schema WHERE name = 'extra'"),
            "0");
}

TEST_F(Schema, a_newer_schema_is_refused) {
  ASSERT_EQ(ForeignSql(data_.database, "PRAGMA user_version = 7"), "");
  ASSERT_CODE(ErrorCode::kStoreSchemaNewer,
              Store::Open({.path = data_.database, .operator_json = kOperator, .repository = {}}));
}

TEST_F(Schema, a_database_of_another_data_directory_is_refused) {
  ASSERT_CODE(ErrorCode::kStoreForeign, Store::Open({.path = data_.database,
                                                     .operator_json = kOperator,
                                                     .repository = std::string(32, '0')}));
}

TEST_F(Schema, what_is_no_database_of_ours_is_refused) {
  const std::string other = directory_.path() + "/other.sqlite";
  ASSERT_CODE(ErrorCode::kStoreOpen,
              Store::Open({.path = other, .operator_json = kOperator, .repository = {}}));
  std::ofstream(other) << std::string(8192, 'x');
  ASSERT_CODE(ErrorCode::kStoreCorrupt,
              Store::Open({.path = other, .operator_json = kOperator, .repository = {}}));
}

}  // namespace
}  // namespace bailiff::controller
