// SPDX-License-Identifier: Apache-2.0
// Every bound of R2 and R6 at its smallest, its largest and one beyond on either side.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fault_list.h"
#include "policy/limits.h"
#include "policy/recipe.h"

namespace bailiff::policy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

CommandRecipe Plain() {
  CommandRecipe recipe;
  recipe.image = "sha256:" + Digest{}.hex();
  recipe.executable = "/bin/true";
  return recipe;
}

// Judged twice: as flags make it, and through the bytes of a file.
std::vector<std::string> FaultsOf(const CommandRecipe& recipe) {
  Faults direct;
  CheckRecipe(recipe, "", direct);
  Faults read;
  const auto again = ParseRecipe(CanonicalRecipe(recipe), read);
  EXPECT_EQ(Listed(direct), Listed(read));
  if (again.has_value()) {
    EXPECT_EQ(*again, recipe);
  }
  return Listed(direct);
}

struct Bound {
  const char* requirement;
  std::uint64_t Limits::*field;
  std::uint64_t smallest;
  std::uint64_t largest;
  const char* member;
  const char* code;
};

class LimitBounds : public ::testing::TestWithParam<Bound> {};

TEST_P(LimitBounds, inclusive_at_both_ends_and_refused_one_beyond) {
  const Bound& bound = GetParam();
  CommandRecipe recipe = Plain();
  for (const std::uint64_t good : {bound.smallest, bound.smallest + 1, bound.largest}) {
    recipe.limits.*bound.field = good;
    EXPECT_THAT(FaultsOf(recipe), IsEmpty()) << good;
  }
  const std::string at = std::string("/limits/") + bound.member + " recipe." + bound.code;
  for (const std::uint64_t low : {bound.smallest - 1, std::uint64_t{0}}) {
    recipe.limits.*bound.field = low;
    EXPECT_THAT(FaultsOf(recipe), ElementsAre(at + ".low")) << low;
  }
  for (const std::uint64_t high : {bound.largest + 1, std::uint64_t{9007199254740991}}) {
    recipe.limits.*bound.field = high;
    EXPECT_THAT(FaultsOf(recipe), ElementsAre(at + ".high")) << high;
  }
}

INSTANTIATE_TEST_SUITE_P(
    R6, LimitBounds,
    ::testing::Values(
        Bound{"R6_01", &Limits::timeout_ms, 1, 300'000, "timeout_ms", "timeout"},
        Bound{"R6_02", &Limits::max_output_bytes, 256, 1'048'576, "max_output_bytes", "output"},
        Bound{"R6_03", &Limits::memory_bytes, 16'777'216, 4'294'967'296, "memory_bytes", "memory"},
        Bound{"R6_04", &Limits::scratch_bytes, 1'048'576, 1'073'741'824, "scratch_bytes",
              "scratch"},
        Bound{"R6_05", &Limits::pids, 1, 256, "pids", "pids"},
        Bound{"R6_06", &Limits::cpu_millis, 100, 4000, "cpu_millis", "cpu"}),
    [](const auto& tested) { return std::string(tested.param.requirement); });

TEST(RecipeBounds, R2_13_arguments_are_at_most_64) {
  CommandRecipe recipe = Plain();
  EXPECT_THAT(FaultsOf(recipe), IsEmpty());
  recipe.arguments.assign(64, "x");
  EXPECT_THAT(FaultsOf(recipe), IsEmpty());
  recipe.arguments.assign(65, "x");
  EXPECT_THAT(FaultsOf(recipe), ElementsAre("/arguments recipe.arguments.many"));
}

TEST(RecipeBounds, R2_14_argument_text_is_at_most_16_kib_together) {
  CommandRecipe recipe = Plain();
  recipe.arguments = {std::string(16'384, 'x'), ""};
  EXPECT_THAT(FaultsOf(recipe), IsEmpty());
  recipe.arguments = {std::string(16'384, 'x'), "y"};
  EXPECT_THAT(FaultsOf(recipe), ElementsAre("/arguments recipe.arguments.long"));
  // Bytes count, not characters, and not the bytes of the escapes in the document.
  recipe.arguments = {std::string(8'192, '\n')};
  for (int i = 0; i < 4'096; ++i) recipe.arguments[0] += "\xc3\xa9";
  EXPECT_THAT(FaultsOf(recipe), IsEmpty());
  recipe.arguments[0] += "z";
  EXPECT_THAT(FaultsOf(recipe), ElementsAre("/arguments recipe.arguments.long"));
}

TEST(RecipeBounds, R2_15_environment_entries_are_at_most_32) {
  CommandRecipe recipe = Plain();
  for (int i = 0; i < 32; ++i) recipe.environment["N" + std::to_string(i)] = "";
  EXPECT_THAT(FaultsOf(recipe), IsEmpty());
  recipe.environment["M"] = "";
  EXPECT_THAT(FaultsOf(recipe), ElementsAre("/environment recipe.environment.many"));
}

TEST(RecipeBounds, R2_16_environment_text_is_at_most_16_kib_together) {
  CommandRecipe recipe = Plain();
  recipe.environment["NAME"] = std::string(16'380, 'x');
  EXPECT_THAT(FaultsOf(recipe), IsEmpty());
  recipe.environment["NAME"] += "x";
  EXPECT_THAT(FaultsOf(recipe), ElementsAre("/environment recipe.environment.long"));
  recipe.environment = {{std::string(16'384, 'N'), ""}};
  EXPECT_THAT(FaultsOf(recipe), IsEmpty());
  recipe.environment = {{std::string(16'385, 'N'), ""}};
  EXPECT_THAT(FaultsOf(recipe), ElementsAre("/environment recipe.environment.long"));
}

// The cell takes no more than this from any recipe (contracts, section 2: the profile adds four).
TEST(RecipeBounds, R16_12_to_R16_16_the_usual_limits_are_the_profile_of_the_source) {
  const Limits usual;
  EXPECT_EQ(usual.memory_bytes, 512 * kMiB);
  EXPECT_EQ(usual.cpu_millis, 1000U);
  EXPECT_EQ(usual.pids, 64U);
  EXPECT_EQ(usual.timeout_ms, 30'000U);
  EXPECT_THAT(FaultsOf(Plain()), IsEmpty());
}

}  // namespace
}  // namespace bailiff::policy
