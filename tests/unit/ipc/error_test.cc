// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <string>

#include "ipc/result.h"

namespace bailiff {
namespace {

TEST(Errors, EveryRowIsItsOwnAndComplete) {
  const std::set<int> exits = {1, 2, 64, 65, 66, 69, 70, 73, 74, 75, 77, 78, 130, 143};
  const std::regex shape("[a-z0-9_]+\\.[a-z0-9_]+\\.[a-z0-9_]+");
  std::set<std::string> names;
  const auto [rows, count] = AllErrors();
  for (std::size_t i = 0; i < count; ++i) {
    const ErrorInfo& row = rows[i];
    EXPECT_EQ(static_cast<std::size_t>(row.code), i);
    EXPECT_TRUE(std::regex_match(std::string(row.name), shape)) << row.name;
    EXPECT_TRUE(names.insert(std::string(row.name)).second) << row.name << " twice";
    EXPECT_TRUE(exits.contains(row.exit)) << row.name;
    EXPECT_FALSE(row.what.empty()) << row.name;
    EXPECT_FALSE(row.fix.empty()) << row.name;
  }
}

TEST(Errors, SystemErrorNamesCallSubjectAndErrno) {
  const Error error = SystemError("openat", "/x", ENOENT);
  EXPECT_EQ(error.subject, "/x");
  EXPECT_EQ(error.system_error, ENOENT);
  EXPECT_EQ(error.why, "openat: No such file or directory (ENOENT)");
}

Result<int> Half(int value) {
  if (value % 2 != 0) return Error{ErrorCode::kSystem, std::to_string(value), "odd", 0, {}};
  return value / 2;
}
Result<int> Quarter(int value) {
  BAILIFF_TRY_ASSIGN(const int half, Half(value));
  BAILIFF_TRY(Half(half));
  return Half(half);
}

TEST(Errors, TryReturnsTheFirstError) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(7).error().subject, "7");
  EXPECT_EQ(Quarter(6).error().subject, "3");
}

}  // namespace
}  // namespace bailiff
