// SPDX-License-Identifier: Apache-2.0
// ReviewContext: what an operator requires of a change (R14.06..R14.09, R9.01..R9.03; contracts,
// section 2), and the bound context whose digest is the `context_digest` used everywhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/result.h"
#include "policy/digest.h"
#include "policy/document.h"
#include "policy/recipe.h"
#include "policy/value.h"

namespace bailiff::policy {

inline constexpr std::string_view kContextDomain = "agentscm.review-context/v1";
inline constexpr std::string_view kRecipeSetDomain = "bailiff.recipe-set.v1";
inline constexpr std::string_view kContextCapability = "agentscm.review-context/v1";
inline constexpr std::string_view kCommandCapability = "agentscm.checks.command/v1";
inline constexpr std::string_view kSourcePathsCapability = "agentscm.checks.source-paths/v1";

struct RequiredEvidence {
  std::string identity;  // kCommandKind or kSourcePathsKind
  Digest recipe;
  bool operator==(const RequiredEvidence&) const = default;
};

// The operator's file. An identity that is `none` is an empty optional.
struct ReviewContext {
  std::optional<Digest> recipe;
  std::optional<Digest> toolchain;
  std::optional<Digest> environment;
  std::vector<RequiredEvidence> required_evidence;  // at most one of each kind
  std::vector<std::string> required_capabilities;
  bool operator==(const ReviewContext&) const = default;
};

std::optional<ReviewContext> ReadContext(const Value& value, Faults& faults);
std::optional<ReviewContext> ParseContext(std::string_view bytes, Faults& faults);
// The five members as they stand in the file.
Value ContextValue(const ReviewContext& context);

// The context of one command recipe, as `bailiff run` makes it.
ReviewContext ContextOfRecipe(const CommandRecipe& recipe);

// The digest of a context's `recipe` when both kinds are required.
Digest RecipeSetDigest(const std::vector<RequiredEvidence>& required);

// R9.02, R9.03: the context requires this very recipe, with its toolchain and environment.
Result<void> CheckContextRecipe(const ReviewContext& context, const CommandRecipe& recipe);

// Where and when a context was installed.
struct ContextBinding {
  std::string change;
  std::uint64_t generation = 0;
  std::uint64_t policy_epoch = 0;
  std::string repository;
  Digest revision;
};

struct BoundContext {
  Digest digest;      // D("agentscm.review-context/v1", bytes)
  std::string bytes;  // JCS, stored as bound_json
};
Result<BoundContext> BindContext(const ContextBinding& binding, const ReviewContext& context);

// A stored bound context: canonical bytes, binding and file.
struct StoredContext {
  ContextBinding binding;
  ReviewContext review;
};
Result<StoredContext> ParseBoundContext(std::string_view bytes);

}  // namespace bailiff::policy
