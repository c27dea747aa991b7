// SPDX-License-Identifier: Apache-2.0
#include "policy/paths.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>

#include "policy/tree_path.h"

namespace bailiff::policy {
namespace {

std::string Repeated(std::string_view piece, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += piece;
  return text;
}

TEST(Paths, R10_09_R10_10_R10_11_what_is_not_portable_is_refused_by_name) {
  const std::pair<std::string, PathFault> cases[] = {
      {"src/lib.rs", PathFault::kNone},
      {".github/x", PathFault::kNone},
      {"...", PathFault::kNone},
      {"a b", PathFault::kNone},
      {"\xc3\xa9/\xf0\x9f\x98\x80", PathFault::kNone},
      {"", PathFault::kEmpty},
      {"/etc/passwd", PathFault::kAbsolute},
      {"/", PathFault::kAbsolute},
      {".", PathFault::kDot},
      {"a/./b", PathFault::kDot},
      {"..", PathFault::kDotDot},
      {"a/../b", PathFault::kDotDot},
      {"a/..", PathFault::kDotDot},
      {"a//b", PathFault::kEmptyComponent},
      {"a/", PathFault::kEmptyComponent},
      {"a\\b", PathFault::kBackslash},
      {std::string("a\0b", 3), PathFault::kNul},
      {"a\nb", PathFault::kControl},
      {"a\x7f", PathFault::kControl},
      {"a\xc2\x85", PathFault::kControl},
      {"a\xff", PathFault::kNotUtf8},
  };
  for (const auto& [path, fault] : cases) EXPECT_EQ(CheckPortablePath(path), fault) << path;
}

TEST(Paths, R10_12_reserved_names_are_refused_in_any_case_anywhere) {
  for (const char* name : {".git", ".agentscm", ".agentscm-workspace", "agentscm-data", ".GIT",
                           ".Git", ".AgentSCM", ".agentscm-WORKSPACE", "AGENTSCM-data"}) {
    EXPECT_EQ(CheckPortablePath(name), PathFault::kReserved) << name;
    EXPECT_EQ(CheckPortablePath(std::string("a/") + name), PathFault::kReserved) << name;
    EXPECT_EQ(CheckPortablePath(std::string(name) + "/a"), PathFault::kReserved) << name;
  }
  for (const char* name : {".gitignore", "git", ".git2", ".agentscm2", "agentscm-data2", "x.git"}) {
    EXPECT_EQ(CheckPortablePath(name), PathFault::kNone) << name;
  }
}

TEST(Paths, bounds_hold_at_the_edge) {
  EXPECT_EQ(CheckPortablePath(std::string(255, 'a')), PathFault::kNone);
  EXPECT_EQ(CheckPortablePath(std::string(256, 'a')), PathFault::kComponentTooLong);
  const std::string longest = Repeated(std::string(255, 'a') + "/", 15) + std::string(255, 'b');
  ASSERT_EQ(longest.size(), 4095U);
  EXPECT_EQ(CheckPortablePath(longest), PathFault::kNone);
  EXPECT_EQ(CheckPortablePath("c" + longest), PathFault::kTooLong);
  EXPECT_EQ(CheckPortablePath(Repeated("a/", 254) + "a"), PathFault::kNone);
  EXPECT_EQ(CheckPortablePath(Repeated("a/", 255) + "a"), PathFault::kTooDeep);
}

TEST(Paths, R2_03_an_executable_is_absolute_and_plain) {
  const std::pair<std::string, PathFault> cases[] = {
      {"/bin/sh", PathFault::kNone},
      {"/a", PathFault::kNone},
      {"/opt/.git/run", PathFault::kNone},
      {"", PathFault::kEmpty},
      {"bin/sh", PathFault::kRelative},
      {"./x", PathFault::kRelative},
      {"/", PathFault::kEmptyComponent},
      {"/bin/", PathFault::kEmptyComponent},
      {"//bin/sh", PathFault::kEmptyComponent},
      {"/bin/../sh", PathFault::kDotDot},
      {"/./sh", PathFault::kDot},
      {std::string("/a\0b", 4), PathFault::kNul},
  };
  for (const auto& [path, fault] : cases) EXPECT_EQ(CheckExecutable(path), fault) << path;
  const std::string longest =
      "/" + Repeated(std::string(255, 'a') + "/", 15) + std::string(254, 'b');
  ASSERT_EQ(longest.size(), 4095U);
  EXPECT_EQ(CheckExecutable(longest), PathFault::kNone);
  EXPECT_EQ(CheckExecutable(longest + "b"), PathFault::kTooLong);
}

// The words of this file and the verdict every tree entry gets must never come apart.
TEST(Paths, property_a_portable_path_is_a_path_of_a_source_tree) {
  std::mt19937 random(1012);  // NOLINT(cert-msc51-cpp)
  const char* const pieces[] = {"a",    "/",  ".",  "..",   ".git",
                                ".GIT", "\\", "\n", "\xff", "agentscm-data"};
  int passed = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string path;
    for (auto n = random() % 7; n > 0; --n) path += pieces[random() % std::size(pieces)];
    const PathFault fault = CheckPortablePath(path);
    const bool tree = CheckTreePath(path, TreeNames::kSource) == SnapshotFault::kNone;
    if (fault == PathFault::kNone) {
      ++passed;
      EXPECT_TRUE(tree) << path;
    } else if (fault != PathFault::kBackslash && fault != PathFault::kControl &&
               fault != PathFault::kNotUtf8) {
      EXPECT_FALSE(tree) << path;
    }
  }
  EXPECT_GT(passed, 1000);
}

TEST(Paths, every_fault_has_its_own_code_and_words) {
  std::vector<std::string_view> seen;
  for (int i = 1; i <= static_cast<int>(PathFault::kNotUtf8); ++i) {
    const Error error = PathError(static_cast<PathFault>(i), "p");
    EXPECT_FALSE(error.why.empty());
    for (const std::string_view name : seen) EXPECT_NE(name, Info(error.code).name);
    seen.push_back(Info(error.code).name);
  }
}

}  // namespace
}  // namespace bailiff::policy
