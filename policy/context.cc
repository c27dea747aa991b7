// SPDX-License-Identifier: Apache-2.0
#include "policy/context.h"

#include <algorithm>
#include <utility>

#include "policy/evidence.h"
#include "policy/ids.h"
#include "policy/jcs.h"
#include "policy/json.h"
#include "policy/source_paths.h"

namespace bailiff::policy {
namespace {

// {"state":"digest","sha256":H} or {"state":"none"}.
std::optional<Digest> ReadIdentity(Members& members, std::string_view name, Faults& faults) {
  const Value* value = members.Required(name);
  if (value == nullptr) return std::nullopt;
  const std::string pointer = Child(members.pointer(), name);
  Members inner(*value, pointer, faults);
  const auto state = inner.String("state");
  std::optional<Digest> digest;
  if (state == "digest") {
    digest = inner.Hash("sha256");
  } else if (state.has_value() && state != "none") {
    inner.Optional("sha256");
    faults.Add(Child(pointer, "state"), ErrorCode::kContextState, "state \"" + *state + "\"",
               "must be digest or none");
  }
  inner.Finish();
  return digest;
}

void ReadEvidence(Members& members, ReviewContext& context, Faults& faults) {
  const Value::Array* list = members.List("required_evidence");
  if (list == nullptr) return;
  const std::string pointer = Child(members.pointer(), "required_evidence");
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string at = Child(pointer, i);
    Members item((*list)[i], at, faults);
    const auto identity = item.String("identity");
    const std::size_t before = faults.size();
    const std::optional<Digest> digest = ReadIdentity(item, "digest", faults);
    if (!digest.has_value() && item.Has("digest") && faults.size() == before) {
      faults.Add(Child(at, "digest"), ErrorCode::kContextState, "digest",
                 "required evidence must name a recipe");
    }
    item.Finish();
    if (!identity.has_value()) continue;
    if (*identity != kCommandKind && *identity != kSourcePathsKind) {
      faults.Add(Child(at, "identity"), ErrorCode::kContextEvidence, "\"" + *identity + "\"",
                 "no check of this kind is known");
    }
    for (const RequiredEvidence& other : context.required_evidence) {
      if (other.identity != *identity) continue;
      faults.Add(Child(at, "identity"), ErrorCode::kContextEvidence, "\"" + *identity + "\"",
                 "is required twice");
    }
    context.required_evidence.push_back(RequiredEvidence{*identity, digest.value_or(Digest{})});
  }
}

void ReadCapabilities(Members& members, ReviewContext& context, Faults& faults) {
  const Value::Array* list = members.List("required_capabilities");
  if (list == nullptr) return;
  const std::string pointer = Child(members.pointer(), "required_capabilities");
  std::vector<std::string>& names = context.required_capabilities;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string* name = (*list)[i].string();
    if (name == nullptr) {
      AddTypeFault(faults, Child(pointer, i), "capability", "a string", (*list)[i]);
      continue;
    }
    const bool known = *name == kContextCapability || *name == kCommandCapability ||
                       *name == kSourcePathsCapability;
    if (!known) {
      faults.Add(Child(pointer, i), ErrorCode::kContextCapability, "\"" + *name + "\"",
                 "is not known");
    } else if (std::find(names.begin(), names.end(), *name) != names.end()) {
      faults.Add(Child(pointer, i), ErrorCode::kContextCapability, "\"" + *name + "\"",
                 "is listed twice");
    }
    names.push_back(*name);
  }
  const auto expect = [&](std::string_view capability, bool wanted) {
    const bool listed = std::find(names.begin(), names.end(), capability) != names.end();
    if (listed == wanted) return;
    faults.Add(pointer, ErrorCode::kContextCapability, "\"" + std::string(capability) + "\"",
               wanted ? "is missing" : "is listed, but its evidence is not required");
  };
  const auto required = [&](std::string_view kind) {
    return std::any_of(context.required_evidence.begin(), context.required_evidence.end(),
                       [&](const RequiredEvidence& item) { return item.identity == kind; });
  };
  expect(kContextCapability, true);
  expect(kCommandCapability, required(kCommandKind));
  expect(kSourcePathsCapability, required(kSourcePathsKind));
}

// What the members say together. Only when each of them is faultless by itself.
void CheckTogether(const ReviewContext& context, Faults& faults) {
  const std::pair<std::string_view, const std::optional<Digest>*> identities[] = {
      {"recipe", &context.recipe},
      {"toolchain", &context.toolchain},
      {"environment", &context.environment},
  };
  const bool wanted = !context.required_evidence.empty();
  for (const auto& [name, identity] : identities) {
    if (identity->has_value() == wanted) continue;
    faults.Add(Child("", name), ErrorCode::kContextState, std::string(name),
               wanted ? "must be a digest: evidence is required"
                      : "must be none: no evidence is required");
  }
  if (!wanted || !context.recipe.has_value()) return;
  const Digest expected = context.required_evidence.size() == 1
                              ? context.required_evidence.front().recipe
                              : RecipeSetDigest(context.required_evidence);
  if (*context.recipe == expected) return;
  faults.Add("/recipe/sha256", ErrorCode::kContextRecipe, context.recipe->hex(),
             "the required evidence makes it " + expected.hex());
}

Value IdentityValue(const std::optional<Digest>& digest) {
  Value value = Value::MakeObject();
  value.Set("state", digest.has_value() ? "digest" : "none").SetIf("sha256", digest);
  return value;
}

}  // namespace

std::optional<ReviewContext> ReadContext(const Value& value, Faults& faults) {
  const std::size_t before = faults.size();
  ReviewContext context;
  Members members(value, "", faults);
  context.recipe = ReadIdentity(members, "recipe", faults);
  context.toolchain = ReadIdentity(members, "toolchain", faults);
  context.environment = ReadIdentity(members, "environment", faults);
  ReadEvidence(members, context, faults);
  ReadCapabilities(members, context, faults);
  members.Finish();
  if (faults.size() == before) CheckTogether(context, faults);
  if (faults.size() != before) return std::nullopt;
  return context;
}

std::optional<ReviewContext> ParseContext(std::string_view bytes, Faults& faults) {
  const std::optional<Value> value = ParseJsonWithFaults(bytes, faults);
  if (!value.has_value()) return std::nullopt;
  std::optional<ReviewContext> result = ReadContext(*value, faults);
  if (!faults.empty()) return std::nullopt;
  return result;
}

Value ContextValue(const ReviewContext& context) {
  Value evidence = Value::MakeArray();
  for (const RequiredEvidence& item : context.required_evidence) {
    Value entry = Value::MakeObject();
    entry.Set("identity", item.identity).Set("digest", IdentityValue(item.recipe));
    evidence.Append(std::move(entry));
  }
  Value capabilities = Value::MakeArray();
  for (const std::string& name : context.required_capabilities) capabilities.Append(name);
  Value value = Value::MakeObject();
  value.Set("recipe", IdentityValue(context.recipe))
      .Set("toolchain", IdentityValue(context.toolchain))
      .Set("environment", IdentityValue(context.environment))
      .Set("required_evidence", std::move(evidence))
      .Set("required_capabilities", std::move(capabilities));
  return value;
}

ReviewContext ContextOfRecipe(const CommandRecipe& recipe) {
  ReviewContext context;
  context.recipe = RecipeDigest(recipe);
  context.toolchain = recipe.toolchain;
  context.environment = EnvironmentDigest(recipe.environment);
  context.required_evidence.push_back(RequiredEvidence{std::string(kCommandKind), *context.recipe});
  context.required_capabilities = {std::string(kContextCapability),
                                   std::string(kCommandCapability)};
  return context;
}

Digest RecipeSetDigest(const std::vector<RequiredEvidence>& required) {
  std::vector<RequiredEvidence> sorted = required;
  std::sort(sorted.begin(), sorted.end(), [](const RequiredEvidence& a, const RequiredEvidence& b) {
    return a.identity < b.identity;
  });
  std::string bytes = "[";
  for (const RequiredEvidence& item : sorted) {
    if (bytes.size() > 1) bytes += ',';
    bytes += "{\"digest\":\"" + item.recipe.hex() + "\",\"identity\":";
    AppendQuoted(bytes, item.identity);
    bytes += '}';
  }
  bytes += ']';
  return HashDomain(kRecipeSetDomain, bytes);
}

Result<void> CheckContextRecipe(const ReviewContext& context, const CommandRecipe& recipe) {
  const Digest digest = RecipeDigest(recipe);
  const auto found =
      std::find_if(context.required_evidence.begin(), context.required_evidence.end(),
                   [](const RequiredEvidence& item) { return item.identity == kCommandKind; });
  if (found == context.required_evidence.end()) {
    return Error{
        ErrorCode::kContextRecipe, digest.hex(), "the context requires no command/v1", 0, {}};
  }
  if (found->recipe != digest) {
    return Error{ErrorCode::kContextRecipe,
                 digest.hex(),
                 "the context requires recipe " + found->recipe.hex(),
                 0,
                 {}};
  }
  if (context.toolchain != recipe.toolchain) {
    return Error{ErrorCode::kContextBinding, "toolchain", "differs from the recipe's", 0, {}};
  }
  if (context.environment != EnvironmentDigest(recipe.environment)) {
    return Error{ErrorCode::kContextBinding, "environment", "differs from the recipe's", 0, {}};
  }
  return {};
}

Result<BoundContext> BindContext(const ContextBinding& binding, const ReviewContext& context) {
  Value value = Value::MakeObject();
  value.Set("change", binding.change)
      .Set("generation", binding.generation)
      .Set("policy_epoch", binding.policy_epoch)
      .Set("repository", binding.repository)
      .Set("review", ContextValue(context))
      .Set("revision", binding.revision);
  BoundContext bound;
  BAILIFF_TRY_ASSIGN(bound.bytes, Canonical(value));
  bound.digest = HashDomain(kContextDomain, bound.bytes);
  return bound;
}

Result<StoredContext> ParseBoundContext(std::string_view bytes) {
  BAILIFF_TRY_ASSIGN(const Value value, ParseCanonical(bytes));
  Faults faults;
  StoredContext stored;
  Members members(value, "", faults);
  stored.binding.change = members.String("change").value_or("");
  stored.binding.generation = members.Number("generation").value_or(0);
  stored.binding.policy_epoch = members.Number("policy_epoch").value_or(0);
  stored.binding.repository = members.String("repository").value_or("");
  stored.binding.revision = members.Hash("revision").value_or(Digest{});
  if (const Value* review = members.Required("review"); review != nullptr) {
    stored.review = ReadContext(*review, faults).value_or(ReviewContext{});
  }
  members.Finish();
  if (faults.empty() && !IsId(stored.binding.change)) {
    faults.Add("/change", ErrorCode::kIdForm, stored.binding.change, "not an id");
  }
  if (faults.empty() && !IsRepository(stored.binding.repository)) {
    faults.Add("/repository", ErrorCode::kRepositoryForm, stored.binding.repository,
               "not 32 lower-case hexadecimal digits");
  }
  if (!faults.empty()) return faults.ToError();
  return stored;
}

}  // namespace bailiff::policy
