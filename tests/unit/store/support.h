// SPDX-License-Identifier: Apache-2.0
// What the store's tests share: a directory of their own, an initialised data directory in it, and
// rows that are valid without a policy.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <functional>
#include <string>

#include "controller/store/layout.h"
#include "controller/store/owners_lock.h"
#include "controller/store/store.h"

namespace bailiff::controller::test {

inline constexpr const char* kOperator = R"({"login_uid":1000,"name":"t","uid":1000})";

// The value, or a failed test that prints the error.
#define ASSERT_OK(expression)                                                          \
  do {                                                                                 \
    const auto& asserted = (expression);                                               \
    ASSERT_TRUE(asserted.ok()) << ::bailiff::controller::test::Text(asserted.error()); \
  } while (false)
#define ASSERT_CODE(expected, expression)                            \
  do {                                                               \
    const auto& asserted = (expression);                             \
    ASSERT_FALSE(asserted.ok());                                     \
    ASSERT_EQ(Info(asserted.error().code).name, Info(expected).name) \
        << ::bailiff::controller::test::Text(asserted.error());      \
  } while (false)

std::string Text(const Error& error);

// Removed with all in it at the end.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A data directory at `path`/data, initialised; aborts the test process when that fails.
struct Data {
  explicit Data(const std::string& parent);
  std::string path;      // of the data directory
  std::string database;  // of its database
  ipc::Fd fd;
  std::string repository;
  Store Open(int busy_ms = 20000) const;
};

RevisionRow SampleRevision(int number = 1);
ImageRow SampleImage(int number = 1);
// Registers SampleRevision() when it is not there.
RunChangeInput SampleRun(int recipe_number = 1);
NewAttempt SampleAttempt(Store& store, const AttemptRow& run, const std::string& id);
std::string Owner(int number);
// A pending attempt made by CreateRunChange; aborts when that fails.
AttemptRow PendingRun(Store& store, int recipe_number = 1);
AttemptRow RunningRun(Store& store, int recipe_number = 1);
ClaimInput SampleClaim(const AttemptRow& row, int owner = 1);
FinishInput SampleFinish(const AttemptRow& row, const std::string& evidence = R"({"e":1})");

// Runs one SQL statement in a process of its own through the library, as somebody would who owns
// the file; returns its first column of the first row, or "error: …".
std::string ForeignSql(const std::string& database, const std::string& sql);
// Everything the database holds, as text: two equal texts, two equal databases (the audit aside).
std::string Dump(const std::string& database);

// Runs `body` in a forked child that exits with its result. Waits; returns the raw wait status.
int InChild(const std::function<int()>& body);
pid_t StartChild(const std::function<int()>& body);
int WaitChild(pid_t pid);

}  // namespace bailiff::controller::test
