// SPDX-License-Identifier: Apache-2.0
#include "policy/source_paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fault_list.h"
#include "policy/json.h"

namespace bailiff::policy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::optional<SourcePathsRecipe> Read(std::string_view bytes, Faults& faults) {
  const auto value = ParseJson(bytes, faults);
  if (!value.has_value()) return std::nullopt;
  return ReadSourcePaths(*value, "", faults);
}

std::vector<std::string> FaultsOf(std::string_view bytes) {
  Faults faults;
  const bool read = Read(bytes, faults).has_value();
  EXPECT_EQ(read, faults.empty());
  return Listed(faults);
}

std::string Document(const std::string& expectations, std::string_view limits = {}) {
  return R"({"version":1,"expectations":[)" + expectations + R"(],"limits":)" +
         std::string(limits.empty() ? R"({"max_paths":256,"max_total_bytes":16777216,)"
                                      R"("max_output_bytes":4096,"timeout_ms":30000})"
                                    : limits) +
         "}";
}

std::string Expect(const std::string& path, char digit = 'a') {
  return R"({"path":")" + path + R"(","sha256":")" + std::string(64, digit) + R"("})";
}

TEST(SourcePaths, R14_01_canonical_bytes_have_the_contract_order) {
  Faults faults;
  const auto recipe = Read(ExampleSourcePaths(), faults);
  ASSERT_TRUE(recipe.has_value());
  const std::string zeros(64, '0');
  EXPECT_EQ(CanonicalSourcePaths(*recipe),
            R"({"version":1,"expectations":[{"path":"src/lib.rs","sha256":")" + zeros +
                R"("}],"limits":{"max_paths":32,"max_total_bytes":16777216,)" +
                R"("max_output_bytes":4096,"timeout_ms":30000}})");
  EXPECT_EQ(SourcePathsDigest(*recipe), Hash(CanonicalSourcePaths(*recipe)));
}

TEST(SourcePaths, R14_05_order_of_expectations_does_not_change_the_digest) {
  Faults faults;
  const auto one = Read(Document(Expect("b") + "," + Expect("a/c") + "," + Expect("B")), faults);
  const auto two = Read(Document(Expect("B") + "," + Expect("b") + "," + Expect("a/c")), faults);
  const auto other =
      Read(Document(Expect("B", 'b') + "," + Expect("b") + "," + Expect("a/c")), faults);
  ASSERT_TRUE(one.has_value() && two.has_value() && other.has_value());
  EXPECT_EQ(SourcePathsDigest(*one), SourcePathsDigest(*two));
  EXPECT_NE(SourcePathsDigest(*one), SourcePathsDigest(*other));
}

TEST(SourcePaths, R14_02_paths_are_unique_portable_and_at_most_256) {
  EXPECT_THAT(FaultsOf(Document("")), ElementsAre("/expectations recipe.expectations.none"));
  EXPECT_THAT(FaultsOf(Document(Expect("a") + "," + Expect("a", 'b'))),
              ElementsAre("/expectations recipe.expectations.duplicate"));
  EXPECT_THAT(FaultsOf(Document(Expect("../x"))),
              ElementsAre("/expectations/0/path path.component.dotdot"));
  EXPECT_THAT(FaultsOf(Document(Expect(".GIT/config"))),
              ElementsAre("/expectations/0/path path.component.reserved"));
  EXPECT_THAT(FaultsOf(Document(Expect("a\\\\b"))),
              ElementsAre("/expectations/0/path path.entry.backslash"));
  EXPECT_THAT(FaultsOf(Document(Expect("a", 'A'))),
              ElementsAre("/expectations/0/sha256 json.digest.form"));
  std::string many = Expect("p0");
  for (int i = 1; i < 256; ++i) many += "," + Expect("p" + std::to_string(i));
  EXPECT_THAT(FaultsOf(Document(many)), IsEmpty());
  EXPECT_THAT(FaultsOf(Document(many + "," + Expect("p256"))),
              ElementsAre("/expectations recipe.expectations.many"));
}

TEST(SourcePaths, R14_03_R13_12_to_R13_15_every_limit_has_a_ceiling) {
  const auto limits = [](const char* paths, const char* total, const char* output,
                         const char* time) {
    return Document(Expect("a"), std::string(R"({"max_paths":)") + paths +
                                     R"(,"max_total_bytes":)" + total + R"(,"max_output_bytes":)" +
                                     output + R"(,"timeout_ms":)" + time + "}");
  };
  EXPECT_THAT(FaultsOf(limits("1", "1", "256", "1")), IsEmpty());
  EXPECT_THAT(FaultsOf(limits("256", "67108864", "65536", "300000")), IsEmpty());
  EXPECT_THAT(FaultsOf(limits("257", "67108865", "65537", "300001")),
              ElementsAre("/limits/max_paths recipe.limits.range",
                          "/limits/max_total_bytes recipe.limits.range",
                          "/limits/max_output_bytes recipe.limits.range",
                          "/limits/timeout_ms recipe.limits.range"));
  EXPECT_THAT(FaultsOf(limits("0", "0", "255", "0")).size(), 5U);  // and one path is more than none
  EXPECT_THAT(FaultsOf(Document(
                  Expect("a") + "," + Expect("b"),
                  R"({"max_paths":1,"max_total_bytes":1,"max_output_bytes":256,"timeout_ms":1})")),
              ElementsAre("/expectations recipe.expectations.many"));
}

TEST(SourcePaths, unknown_and_missing_members_are_named) {
  EXPECT_THAT(FaultsOf(R"({"version":1,"expectations":[{"path":"a","x":1}],"limits":{},"y":1})"),
              ElementsAre("/limits/max_paths json.member.missing",
                          "/limits/max_total_bytes json.member.missing",
                          "/limits/max_output_bytes json.member.missing",
                          "/limits/timeout_ms json.member.missing",
                          "/expectations/0/sha256 json.member.missing",
                          "/expectations/0/x json.member.unknown", "/y json.member.unknown"));
}

}  // namespace
}  // namespace bailiff::policy
