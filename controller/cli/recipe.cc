// SPDX-License-Identifier: Apache-2.0
// Recipes as files: no data directory, no image looked up, nothing run.
#include "policy/recipe.h"

#include "controller/cli/read_document.h"
#include "controller/cli/verbs.h"
#include "policy/request.h"

namespace bailiff::controller::cli {
namespace {

// The recipe of the file, or its faults reported and an exit status.
Result<std::optional<policy::AnyRecipe>> Read(Context& context, int& status) {
  BAILIFF_TRY_ASSIGN(const std::string bytes, ReadDocument(context.command.opened[0]));
  policy::Faults faults;
  std::optional<policy::AnyRecipe> recipe = policy::ParseAnyRecipe(bytes, faults);
  if (!faults.empty()) {
    status = context.output.Fail(faults, context.command.opened[0].name);
    return std::optional<policy::AnyRecipe>();
  }
  return recipe;
}

}  // namespace

Result<int> RecipeCheck(Context& context) {
  int status = 0;
  BAILIFF_TRY_ASSIGN(const auto recipe, Read(context, status));
  if (!recipe.has_value()) return status;
  const std::string digest = policy::DigestOf(*recipe).hex();
  const std::string kind(policy::KindOf(*recipe));
  context.output.Line("ok  " + kind + "  " + digest);
  JsonWriter json("recipe.check");
  json.Member("kind", kind).Member("digest", digest);
  context.output.Json(std::move(json));
  return 0;
}

Result<int> RecipeDigest(Context& context) {
  int status = 0;
  BAILIFF_TRY_ASSIGN(const auto recipe, Read(context, status));
  if (!recipe.has_value()) return status;
  const std::string digest = policy::DigestOf(*recipe).hex();
  context.output.Line(digest);
  JsonWriter json("recipe.digest");
  json.Member("kind", policy::KindOf(*recipe)).Member("digest", digest);
  json.Member("canonical", policy::CanonicalOf(*recipe));
  context.output.Json(std::move(json));
  return 0;
}

Result<int> RecipeExample(Context& context) {
  const std::string* kind = context.command.Get("kind");
  if (kind != nullptr && *kind != "command/v1") {
    return Error{ErrorCode::kCheckKind, "\"" + *kind + "\"", "this version runs command/v1", 0, {}};
  }
  const std::string example = policy::ExampleRecipe();
  context.output.Line(example);
  policy::Faults faults;
  const auto recipe = policy::ParseRecipe(example, faults);
  if (!recipe.has_value()) return faults.ToError();
  JsonWriter json("recipe.example");
  json.Member("kind", "command/v1").Raw("recipe", policy::CanonicalRecipe(*recipe));
  context.output.Json(std::move(json));
  return 0;
}

}  // namespace bailiff::controller::cli
