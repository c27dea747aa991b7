// SPDX-License-Identifier: Apache-2.0
// The document that registers an attempt, and the digest that binds a running one to everything it
// stands for (R2.06..R2.08, R9.09, R14.14; contracts, section 2).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "ipc/result.h"
#include "policy/digest.h"
#include "policy/document.h"
#include "policy/recipe.h"
#include "policy/source_paths.h"
#include "policy/value.h"

namespace bailiff::policy {

inline constexpr std::string_view kRequestDomain = "agentscm.execution-request.v1";

using AnyRecipe = std::variant<CommandRecipe, SourcePathsRecipe>;

// "command/v1" or "source_paths/v1".
std::string_view KindOf(const AnyRecipe& recipe);
std::string CanonicalOf(const AnyRecipe& recipe);
Digest DigestOf(const AnyRecipe& recipe);
// The kind follows from the members: `expectations` is source_paths/v1, `image` or `executable`
// command/v1.
std::optional<AnyRecipe> ReadAnyRecipe(const Value& value, std::string_view pointer,
                                       Faults& faults);
std::optional<AnyRecipe> ParseAnyRecipe(std::string_view bytes, Faults& faults);

struct CheckRequest {
  std::string attempt_id;
  std::string repository;
  std::string change;
  std::uint64_t change_version = 0;
  Digest context_digest;
  Digest revision;
  AnyRecipe recipe;
  bool operator==(const CheckRequest&) const = default;
};

std::optional<CheckRequest> ReadRequest(const Value& value, Faults& faults);
std::optional<CheckRequest> ParseRequest(std::string_view bytes, Faults& faults);
// The same for the same request however it was written; this is what is stored and compared.
Result<std::string> CanonicalRequest(const CheckRequest& request);

// The JSON Pointer of the first member, in canonical order, in which two documents differ; nothing
// when they are equal.
std::optional<std::string> FirstDifference(const Value& a, const Value& b);
// R9.09: same id, other input. Nothing when the canonical bytes are equal.
Result<void> CheckSameRequest(std::string_view stored, std::string_view given);

// What a running attempt is bound to. `generation` is the running one, i.e. as claimed.
struct ExecutionBinding {
  std::string attempt_id;
  std::string change;
  std::uint64_t change_version = 0;
  Digest context_digest;
  Digest environment_digest;
  std::uint64_t generation = 0;
  std::string kind;
  Digest recipe_digest;
  std::string repository;
  Digest revision;
  Digest toolchain;
};
Result<Digest> RequestDigest(const ExecutionBinding& binding);

}  // namespace bailiff::policy
