// SPDX-License-Identifier: Apache-2.0
// The connection: statements that are kept compiled, and the log that is written back.
#include "controller/store/database.h"

#include <sys/stat.h>

#include <filesystem>

#include "tests/unit/store/support.h"

namespace bailiff::controller {
namespace {

using namespace test;

class DatabaseTest : public testing::Test {
 protected:
  Result<Database> Make(const std::string& name) {
    BAILIFF_TRY_ASSIGN(Database database,
                       Database::Open({.path = Path(name), .create = true, .busy_ms = 50}));
    BAILIFF_TRY(database.Script("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT) STRICT"));
    return database;
  }
  std::string Path(const std::string& name) const { return directory_.path() + "/" + name; }

  static Result<void> Insert(Database& database, int rows) {
    for (int i = 0; i < rows; ++i) {
      BAILIFF_TRY(database.Write([&]() -> Result<void> {
        BAILIFF_TRY(database.Run("INSERT INTO t (b) VALUES (?1)", {std::string_view("row")}));
        return {};
      }));
    }
    return {};
  }
  static std::int64_t Count(Database& database) {
    auto statement = database.Prepare("SELECT count(*) FROM t");
    EXPECT_TRUE(statement.ok() && statement->Step().ok());
    return statement->Integer(0);
  }

  TemporaryDirectory directory_;
};

TEST_F(DatabaseTest, a_statement_that_is_used_again_has_no_value_of_before) {
  auto database = Make("db");
  ASSERT_OK(database);
  constexpr std::string_view insert = "INSERT INTO t (a, b) VALUES (?1, ?2)";
  ASSERT_OK(database->Run(insert, {std::int64_t{1}, std::string_view("secret")}));
  ASSERT_OK(database->Run(insert, {std::int64_t{2}}));
  auto row = database->Prepare("SELECT b FROM t WHERE a = ?1", {std::int64_t{2}});
  ASSERT_OK(row);
  ASSERT_OK(row->Step());
  EXPECT_EQ(row->OptionalBytes(0), std::nullopt);
}

TEST_F(DatabaseTest, a_statement_that_was_left_in_the_middle_holds_nothing) {
  auto database = Make("db");
  ASSERT_OK(database);
  ASSERT_OK(Insert(*database, 3));
  for (int round = 0; round < 2; ++round) {
    auto rows = database->Prepare("SELECT a FROM t ORDER BY a");
    ASSERT_OK(rows);
    ASSERT_OK(rows->Step());
    EXPECT_EQ(rows->Integer(0), 1) << "it begins anew each time";
  }
  // An open read would keep the log from starting over, and a schema from changing.
  ASSERT_OK(database->Script("DROP TABLE t"));
}

TEST_F(DatabaseTest, the_same_text_can_be_in_use_twice_at_once) {
  auto database = Make("db");
  ASSERT_OK(database);
  ASSERT_OK(Insert(*database, 2));
  for (int round = 0; round < 2; ++round) {
    constexpr std::string_view sql = "SELECT a FROM t WHERE a = ?1";
    auto one = database->Prepare(sql, {std::int64_t{1}});
    auto two = database->Prepare(sql, {std::int64_t{2}});
    ASSERT_OK(one);
    ASSERT_OK(two);
    ASSERT_OK(one->Step());
    ASSERT_OK(two->Step());
    EXPECT_EQ(one->Integer(0), 1);
    EXPECT_EQ(two->Integer(0), 2);
  }
}

TEST_F(DatabaseTest, statements_survive_a_move_and_a_change_of_the_schema) {
  auto made = Make("db");
  ASSERT_OK(made);
  ASSERT_OK(Insert(*made, 1));
  Database database = std::move(*made);
  ASSERT_OK(database.Script("ALTER TABLE t ADD COLUMN c INTEGER DEFAULT 5"));
  ASSERT_OK(Insert(database, 1));
  EXPECT_EQ(Count(database), 2);
}

TEST_F(DatabaseTest, the_log_is_written_back_when_it_is_long_and_not_before) {
  auto database = Make("db");
  ASSERT_OK(database);
  const auto in_the_file = [&] {
    // The database without its log, as another name.
    std::filesystem::copy_file(Path("db"), Path("copy"),
                               std::filesystem::copy_options::overwrite_existing);
    auto copy = Database::Open({.path = Path("copy"), .busy_ms = 50});
    EXPECT_TRUE(copy.ok());
    const bool table = copy->Prepare("SELECT count(*) FROM t").ok();
    const std::int64_t rows = table ? Count(*copy) : 0;
    std::filesystem::remove(Path("copy-wal"));
    std::filesystem::remove(Path("copy-shm"));
    return rows;
  };
  ASSERT_OK(Insert(*database, 3));
  ASSERT_OK(database->WriteBack());
  EXPECT_EQ(in_the_file(), 0);
  ASSERT_OK(Insert(*database, Database::kLongLog));
  EXPECT_EQ(in_the_file(), 0) << "nothing but WriteBack does it yet";
  ASSERT_OK(database->WriteBack());
  EXPECT_EQ(in_the_file(), 3 + Database::kLongLog);
}

TEST_F(DatabaseTest, the_log_does_not_grow_without_end_when_nobody_writes_it_back) {
  auto database = Make("db");
  ASSERT_OK(database);
  ASSERT_OK(Insert(*database, 3 * Database::kMaxLog));
  struct stat log {};
  ASSERT_EQ(stat(Path("db-wal").c_str(), &log), 0);
  EXPECT_LT(log.st_size, 2 * Database::kMaxLog * 4096LL);
}

TEST_F(DatabaseTest, a_log_that_a_reader_holds_is_left_for_the_next_time) {
  auto database = Make("db");
  ASSERT_OK(database);
  auto reader = Database::Open({.path = Path("db"), .busy_ms = 50});
  ASSERT_OK(reader);
  ASSERT_OK(reader->Read([&]() -> Result<void> {
    EXPECT_EQ(Count(*reader), 0);
    BAILIFF_TRY(Insert(*database, Database::kLongLog + 1));
    return database->WriteBack();
  }));
  EXPECT_EQ(Count(*reader), Database::kLongLog + 1);
}

}  // namespace
}  // namespace bailiff::controller
