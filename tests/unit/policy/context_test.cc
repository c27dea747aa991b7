// SPDX-License-Identifier: Apache-2.0
#include "policy/context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fault_list.h"
#include "policy/jcs.h"

namespace bailiff::policy {
namespace {

using ::testing::ElementsAre;

const std::string kR(64, '1');  // recipe
const std::string kT(64, '2');  // toolchain
const std::string kE(64, '3');  // environment

std::string State(const std::string& digest) {
  return R"({"state":"digest","sha256":")" + digest + R"("})";
}

std::string CommandContext() {
  return R"({"recipe":)" + State(kR) + R"(,"toolchain":)" + State(kT) + R"(,"environment":)" +
         State(kE) + R"(,"required_evidence":[{"identity":"command/v1","digest":)" + State(kR) +
         R"(}],"required_capabilities":["agentscm.review-context/v1","agentscm.checks.command/v1"]})";
}

std::vector<std::string> FaultsOf(std::string_view bytes) {
  Faults faults;
  const bool read = ParseContext(bytes, faults).has_value();
  EXPECT_EQ(read, faults.empty());
  return Listed(faults);
}

TEST(Context, R14_06_R14_07_R14_08_the_file_of_the_source_is_read) {
  Faults faults;
  const auto context = ParseContext(CommandContext(), faults);
  ASSERT_TRUE(context.has_value());
  EXPECT_EQ(context->recipe->hex(), kR);
  EXPECT_EQ(context->toolchain->hex(), kT);
  EXPECT_EQ(context->environment->hex(), kE);
  ASSERT_EQ(context->required_evidence.size(), 1U);
  EXPECT_EQ(context->required_evidence[0].identity, "command/v1");
  EXPECT_TRUE(FaultsOf(Replaced(Replaced(CommandContext(), "command/v1", "source_paths/v1"),
                                "checks.command/v1", "checks.source-paths/v1"))
                  .empty());
}

TEST(Context, R14_12_without_required_evidence_all_identities_are_none) {
  const std::string none =
      R"({"recipe":{"state":"none"},"toolchain":{"state":"none"},"environment":{"state":"none"},)"
      R"("required_evidence":[],"required_capabilities":["agentscm.review-context/v1"]})";
  EXPECT_TRUE(FaultsOf(none).empty());
  EXPECT_THAT(FaultsOf(Replaced(none, R"("recipe":{"state":"none"})", R"("recipe":)" + State(kR))),
              ElementsAre("/recipe context.identity.state"));
  EXPECT_THAT(FaultsOf(Replaced(CommandContext(), R"("toolchain":)" + State(kT),
                                R"("toolchain":{"state":"none"})")),
              ElementsAre("/toolchain context.identity.state"));
}

TEST(Context, R14_09_missing_unknown_or_mismatched_identities_are_refused) {
  EXPECT_THAT(FaultsOf(Replaced(CommandContext(), kR, std::string(64, '4'))),
              ElementsAre("/recipe/sha256 context.recipe.mismatch"));
  EXPECT_THAT(FaultsOf(Replaced(CommandContext(), R"("identity":"command/v1")",
                                R"("identity":"Command/v1")")),
              ElementsAre("/required_evidence/0/identity context.evidence.identity",
                          "/required_capabilities context.capability.mismatch"));
  EXPECT_THAT(FaultsOf(Replaced(CommandContext(), R"(,"agentscm.checks.command/v1")", "")),
              ElementsAre("/required_capabilities context.capability.mismatch"));
  EXPECT_THAT(FaultsOf(Replaced(CommandContext(), R"("agentscm.review-context/v1",)", "")),
              ElementsAre("/required_capabilities context.capability.mismatch"));
  EXPECT_THAT(FaultsOf(Replaced(CommandContext(), R"(checks.command/v1"])",
                                R"(checks.command/v1","agentscm.checks.source-paths/v1"])")),
              ElementsAre("/required_capabilities context.capability.mismatch"));
  EXPECT_THAT(
      FaultsOf(Replaced(CommandContext(), R"(checks.command/v1"])", R"(checks.command/v1","x"])")),
      ElementsAre("/required_capabilities/2 context.capability.mismatch"));
  EXPECT_THAT(FaultsOf(Replaced(CommandContext(), R"(checks.command/v1"])",
                                R"(checks.command/v1","agentscm.checks.command/v1"])")),
              ElementsAre("/required_capabilities/2 context.capability.mismatch"));
  EXPECT_THAT(FaultsOf(Replaced(CommandContext(), R"("state":"digest")", R"("state":"any")")),
              ElementsAre("/recipe/state context.identity.state"));
  EXPECT_THAT(FaultsOf(Replaced(CommandContext(), R"("command/v1","digest":)" + State(kR),
                                R"("command/v1","digest":{"state":"none"})")),
              ElementsAre("/required_evidence/0/digest context.identity.state"));
}

TEST(Context, the_file_has_exactly_five_members) {
  EXPECT_THAT(
      FaultsOf("{}"),
      ElementsAre("/recipe json.member.missing", "/toolchain json.member.missing",
                  "/environment json.member.missing", "/required_evidence json.member.missing",
                  "/required_capabilities json.member.missing"));
  EXPECT_THAT(FaultsOf(Replaced(CommandContext(), "{", R"({"note":"x",)")),
              ElementsAre("/note json.member.unknown"));
  EXPECT_THAT(FaultsOf(Replaced(CommandContext(), R"({"state":"digest",)",
                                R"({"state":"digest","md5":1,)")),
              ElementsAre("/recipe/md5 json.member.unknown"));
}

TEST(Context, what_is_missing_or_of_another_type_is_named) {
  const std::string identity = R"("identity":"command/v1",)";
  EXPECT_THAT(FaultsOf(Replaced(CommandContext(), identity, "")),
              ElementsAre("/required_evidence/0/identity json.member.missing",
                          "/required_capabilities context.capability.mismatch"));
  EXPECT_THAT(FaultsOf(Replaced(CommandContext(), R"("required_capabilities":[)",
                                R"("required_capabilities":[7,)")),
              ElementsAre("/required_capabilities/0 json.member.type"));
  EXPECT_THAT(FaultsOf(Replaced(CommandContext(), R"("recipe":)" + State(kR),
                                R"("recipe":{"state":"none"})")),
              ElementsAre("/recipe context.identity.state"));
}

TEST(Context, two_required_kinds_are_bound_by_a_digest_of_both) {
  const std::string s(64, '5');
  const std::string both = R"([{"digest":")" + kR + R"(","identity":"command/v1"},{"digest":")" +
                           s + R"(","identity":"source_paths/v1"}])";
  const std::string set = HashDomain("bailiff.recipe-set.v1", both).hex();
  const auto file = [&](const std::string& recipe) {
    return R"({"recipe":)" + State(recipe) + R"(,"toolchain":)" + State(kT) + R"(,"environment":)" +
           State(kE) + R"(,"required_evidence":[{"identity":"source_paths/v1","digest":)" +
           State(s) + R"(},{"identity":"command/v1","digest":)" + State(kR) +
           R"(}],"required_capabilities":["agentscm.checks.source-paths/v1",)"
           R"("agentscm.review-context/v1","agentscm.checks.command/v1"]})";
  };
  EXPECT_TRUE(FaultsOf(file(set)).empty());
  EXPECT_THAT(FaultsOf(file(kR)), ElementsAre("/recipe/sha256 context.recipe.mismatch"));
  EXPECT_THAT(FaultsOf(Replaced(
                  CommandContext(), R"("required_evidence":[)",
                  R"("required_evidence":[{"identity":"command/v1","digest":)" + State(kR) + "},")),
              ElementsAre("/required_evidence/1/identity context.evidence.identity"));
}

TEST(Context, R9_01_R9_02_R9_03_a_context_of_a_recipe_requires_it_with_its_bindings) {
  Faults faults;
  const auto recipe = ParseRecipe(ExampleRecipe(), faults);
  ASSERT_TRUE(recipe.has_value());
  const ReviewContext context = ContextOfRecipe(*recipe);
  const auto bytes = Canonical(ContextValue(context));
  ASSERT_TRUE(bytes.ok());
  EXPECT_TRUE(FaultsOf(*bytes).empty());
  EXPECT_TRUE(CheckContextRecipe(context, *recipe).ok());

  CommandRecipe other = *recipe;
  other.limits.pids = 65;
  EXPECT_EQ(CheckContextRecipe(context, other).error().code, ErrorCode::kContextRecipe);
  ReviewContext changed = context;
  changed.toolchain = Digest{{1}};
  EXPECT_EQ(CheckContextRecipe(changed, *recipe).error().code, ErrorCode::kContextBinding);
  changed = context;
  changed.environment = Digest{{1}};
  EXPECT_EQ(CheckContextRecipe(changed, *recipe).error().code, ErrorCode::kContextBinding);
  changed = context;
  changed.required_evidence.clear();
  EXPECT_EQ(CheckContextRecipe(changed, *recipe).error().code, ErrorCode::kContextRecipe);
}

TEST(Context,
     R10_22_R14_11_the_bound_digest_names_change_generation_epoch_repository_and_revision) {
  Faults faults;
  const auto context = ParseContext(CommandContext(), faults);
  ASSERT_TRUE(context.has_value());
  const std::string repository(32, 'f');
  const ContextBinding binding{"c1", 2, 3, repository, Digest{{7}}};
  const auto bound = BindContext(binding, *context);
  ASSERT_TRUE(bound.ok());
  const auto review = Canonical(ContextValue(*context));
  const std::string wanted = R"({"change":"c1","generation":2,"policy_epoch":3,"repository":")" +
                             repository + R"(","review":)" + *review + R"(,"revision":")" +
                             binding.revision.hex() + R"("})";
  EXPECT_EQ(bound->bytes, wanted);
  EXPECT_EQ(bound->digest, HashDomain("agentscm.review-context/v1", wanted));

  ContextBinding changed[5] = {binding, binding, binding, binding, binding};
  changed[0].change = "c2";
  changed[1].generation = 3;
  changed[2].policy_epoch = 4;
  changed[3].repository = std::string(32, 'e');
  changed[4].revision = Digest{{8}};
  for (const ContextBinding& other : changed) {
    EXPECT_NE(BindContext(other, *context)->digest, bound->digest);
  }

  const auto stored = ParseBoundContext(bound->bytes);
  ASSERT_TRUE(stored.ok()) << stored.error().why;
  EXPECT_EQ(stored->review, *context);
  EXPECT_EQ(stored->binding.generation, 2U);
  EXPECT_FALSE(ParseBoundContext(bound->bytes + "\n").ok());
  EXPECT_FALSE(ParseBoundContext(Replaced(bound->bytes, "\"c1\"", "\"../c\"")).ok());
  EXPECT_FALSE(ParseBoundContext(Replaced(bound->bytes, "\"generation\":2,", "")).ok());
  for (const std::string& other : {std::string(31, 'f'), std::string(33, 'f'), std::string(32, 'F'),
                                   std::string(32, 'g'), std::string()})
    EXPECT_FALSE(ParseBoundContext(Replaced(bound->bytes, repository, other)).ok()) << other;
}

}  // namespace
}  // namespace bailiff::policy
