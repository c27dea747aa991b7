// SPDX-License-Identifier: Apache-2.0
// Any bytes as a review context, a bound context, a check request and an evidence record. What is
// accepted must be written back to the same meaning; of stored rows, to the same bytes.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "policy/context.h"
#include "policy/evidence.h"
#include "policy/jcs.h"
#include "policy/recipe.h"
#include "policy/request.h"

namespace {

using namespace bailiff::policy;

void Require(bool holds) {
  if (!holds) std::abort();
}

void Context(std::string_view bytes) {
  Faults faults;
  const auto context = ParseContext(bytes, faults);
  Require(context.has_value() == faults.empty());
  if (!context.has_value()) return;
  const auto canonical = Canonical(ContextValue(*context));
  Require(canonical.ok());
  Faults none;
  const auto again = ParseContext(*canonical, none);
  Require(again.has_value() && *again == *context);
}

void Bound(std::string_view bytes) {
  const auto stored = ParseBoundContext(bytes);
  if (!stored.ok()) return;
  const auto bound = BindContext(stored->binding, stored->review);
  Require(bound.ok() && bound->bytes == bytes);
}

// What else is decided by comparing documents that were read.
void Compare(const CheckRequest& request, const std::string& canonical) {
  Faults none;
  CheckRequest other = request;
  other.recipe = *ParseRecipe(ExampleRecipe(), none);
  const auto altered = CanonicalRequest(other);
  Require(altered.ok());
  Require(CheckSameRequest(canonical, *altered).ok() == (canonical == *altered));
  other = request;
  other.change_version = request.change_version == 1 ? 2 : 1;
  const auto conflict = CheckSameRequest(canonical, *CanonicalRequest(other));
  Require(!conflict.ok() && conflict.error().why.ends_with("/change_version"));
  ExecutionBinding binding;
  binding.attempt_id = request.attempt_id;
  binding.recipe_digest = DigestOf(request.recipe);
  Require(RequestDigest(binding).ok());
  if (const auto* recipe = std::get_if<CommandRecipe>(&request.recipe); recipe != nullptr) {
    ReviewContext context = ContextOfRecipe(*recipe);
    Require(CheckContextRecipe(context, *recipe).ok());
    context.environment.reset();
    Require(!CheckContextRecipe(context, *recipe).ok());
    context.toolchain.reset();
    Require(!CheckContextRecipe(context, *recipe).ok());
    context.required_evidence.front().recipe = Digest{{1}};
    Require(!CheckContextRecipe(context, *recipe).ok());
    context.required_evidence.clear();
    Require(!CheckContextRecipe(context, *recipe).ok());
  }
}

void Request(std::string_view bytes) {
  Faults faults;
  const auto request = ParseRequest(bytes, faults);
  Require(request.has_value() == faults.empty());
  if (!request.has_value()) return;
  const auto canonical = CanonicalRequest(*request);
  Require(canonical.ok());
  Faults none;
  const auto again = ParseRequest(*canonical, none);
  Require(again.has_value() && *again == *request);
  Require(CheckSameRequest(*canonical, *CanonicalRequest(*again)).ok());
  Compare(*request, *canonical);
}

void Record(std::string_view bytes) {
  const auto record = ParseEvidence(bytes);
  if (!record.ok()) return;
  const auto evidence = EncodeEvidence(*record);
  Require(evidence.ok() && evidence->bytes == bytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Context(bytes);
  Bound(bytes);
  Request(bytes);
  Record(bytes);
  return 0;
}
