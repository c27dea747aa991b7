// SPDX-License-Identifier: Apache-2.0
// The real warden, driven frame by frame.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "tests/support/cell_host.h"

namespace bailiff::test {
namespace {

class Host : public testing::Environment {
 public:
  void SetUp() override { CellHost::Get().Enter(); }
  void TearDown() override { CellHost::Get().Leave(); }
};
[[maybe_unused]] auto* const kHost = testing::AddGlobalTestEnvironment(new Host);

CellOptions Shell(const std::string& script) {
  CellOptions options;
  options.argv = {"/bin/sh", "-c", script};
  return options;
}

TEST(Warden, a08_runs_and_reports_the_raw_status) {
  CellUnderTest cell(Shell("echo hello; echo oops >&2; exit 5"));
  const auto status = cell.Run();
  ASSERT_TRUE(status.has_value());
  EXPECT_TRUE(WIFEXITED(*status));
  EXPECT_EQ(WEXITSTATUS(*status), 5);
  EXPECT_EQ(cell.out(), "hello\n");
  EXPECT_EQ(cell.err(), "oops\n");
  EXPECT_EQ(cell.WaitWarden(), 0);
}

}  // namespace
}  // namespace bailiff::test
