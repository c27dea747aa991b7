// SPDX-License-Identifier: Apache-2.0
// Any bytes as a recipe: refused with faults, or read into something whose canonical bytes mean the
// same. A broken rule aborts.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "policy/jcs.h"
#include "policy/json.h"
#include "policy/recipe.h"
#include "policy/request.h"

namespace {

using namespace bailiff::policy;

void Require(bool holds) {
  if (!holds) std::abort();
}

// A value that was read can be written, unless it holds null, and then reads back the same.
void RoundTrip(std::string_view bytes) {
  Faults faults;
  const auto value = ParseJson(bytes, faults);
  Require(value.has_value() == faults.empty());
  if (!value.has_value()) return;
  const auto canonical = Canonical(*value);
  if (!canonical.ok()) return;
  const auto again = ParseCanonical(*canonical);
  Require(again.ok());
  Require(*Canonical(*again) == *canonical);
}

void Recipe(std::string_view bytes) {
  Faults faults;
  const auto recipe = ParseAnyRecipe(bytes, faults);
  Require(recipe.has_value() == faults.empty());
  if (!recipe.has_value()) return;
  const std::string canonical = CanonicalOf(*recipe);
  Faults none;
  const auto again = ParseAnyRecipe(canonical, none);
  Require(again.has_value() && *again == *recipe);
  Require(CanonicalOf(*again) == canonical);
  if (const auto* command = std::get_if<CommandRecipe>(&*recipe); command != nullptr) {
    Require(ParseStoredRecipe(canonical).ok());
    Require(RecipeDigest(*command) == DigestOf(*recipe));
    const auto wrapped = WritableSource({command->executable, command->arguments});
    Require(wrapped.arguments.size() == command->arguments.size() + 4);
    Require(!EnvironmentDigest(command->environment).hex().empty());
  } else {
    Require(SourcePathsDigest(std::get<SourcePathsRecipe>(*recipe)) == DigestOf(*recipe));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  RoundTrip(bytes);
  Recipe(bytes);
  Require(!ParseStoredRecipe(std::string(bytes) + "\n").ok());
  return 0;
}
