// SPDX-License-Identifier: Apache-2.0
#include "policy/request.h"

#include <algorithm>
#include <utility>

#include "policy/evidence.h"
#include "policy/ids.h"
#include "policy/jcs.h"
#include "policy/json.h"

namespace bailiff::policy {
namespace {

Result<Value> RequestValue(const CheckRequest& request) {
  Faults faults;
  std::optional<Value> recipe = ParseJson(CanonicalOf(request.recipe), faults);
  if (!recipe.has_value()) return faults.ToError();
  Value change = Value::MakeObject();
  change.Set("repository", request.repository).Set("id", request.change);
  Value value = Value::MakeObject();
  value.Set("attempt_id", request.attempt_id)
      .Set("change", std::move(change))
      .Set("change_version", request.change_version)
      .Set("context_digest", request.context_digest)
      .Set("revision", request.revision)
      .Set("recipe", *std::move(recipe));
  return value;
}

std::string ReadId(Members& members, std::string_view name, Faults& faults) {
  const auto text = members.String(name);
  if (!text.has_value()) return {};
  if (!IsId(*text)) {
    faults.Add(Child(members.pointer(), name), ErrorCode::kIdForm,
               std::string(name) + " \"" + *text + "\"", "not of the form of an id");
  }
  return *text;
}

// Objects of canonical documents: both sides sorted the same way by the caller.
std::optional<std::string> Differ(const Value& a, const Value& b, const std::string& pointer) {
  if (a == b) return std::nullopt;
  if (a.kind() != b.kind()) return pointer;
  if (a.array() != nullptr) {
    const std::size_t common = std::min(a.array()->size(), b.array()->size());
    for (std::size_t i = 0; i < common; ++i) {
      auto inner = Differ((*a.array())[i], (*b.array())[i], Child(pointer, i));
      if (inner.has_value()) return inner;
    }
    return Child(pointer, common);
  }
  if (a.object() != nullptr) {
    for (const Value::Member& member : *a.object()) {
      const Value* other = b.Find(member.name);
      if (other == nullptr) return Child(pointer, member.name);
      auto inner = Differ(member.value, *other, Child(pointer, member.name));
      if (inner.has_value()) return inner;
    }
    for (const Value::Member& member : *b.object()) {
      if (a.Find(member.name) == nullptr) return Child(pointer, member.name);
    }
    return std::nullopt;  // the same members in another order
  }
  return pointer;
}

}  // namespace

std::string_view KindOf(const AnyRecipe& recipe) {
  return std::holds_alternative<CommandRecipe>(recipe) ? kCommandKind : kSourcePathsKind;
}

std::string CanonicalOf(const AnyRecipe& recipe) {
  if (const auto* command = std::get_if<CommandRecipe>(&recipe); command != nullptr) {
    return CanonicalRecipe(*command);
  }
  return CanonicalSourcePaths(std::get<SourcePathsRecipe>(recipe));
}

Digest DigestOf(const AnyRecipe& recipe) { return Hash(CanonicalOf(recipe)); }

std::optional<AnyRecipe> ReadAnyRecipe(const Value& value, std::string_view pointer,
                                       Faults& faults) {
  if (value.Find("expectations") != nullptr) {
    auto paths = ReadSourcePaths(value, pointer, faults);
    if (!paths.has_value()) return std::nullopt;
    return AnyRecipe(*std::move(paths));
  }
  if (value.Find("image") != nullptr || value.Find("executable") != nullptr) {
    auto command = ReadRecipe(value, pointer, faults);
    if (!command.has_value()) return std::nullopt;
    return AnyRecipe(*std::move(command));
  }
  faults.Add(pointer, ErrorCode::kRecipeKind, "members",
             "neither executable (command/v1) nor expectations (source_paths/v1) is there");
  return std::nullopt;
}

std::optional<AnyRecipe> ParseAnyRecipe(std::string_view bytes, Faults& faults) {
  const std::optional<Value> value = ParseJsonWithFaults(bytes, faults);
  if (!value.has_value()) return std::nullopt;
  std::optional<AnyRecipe> result = ReadAnyRecipe(*value, "", faults);
  if (!faults.empty()) return std::nullopt;
  return result;
}

std::optional<CheckRequest> ReadRequest(const Value& value, Faults& faults) {
  const std::size_t before = faults.size();
  CheckRequest request;
  Members members(value, "", faults);
  request.attempt_id = ReadId(members, "attempt_id", faults);
  if (const Value* change = members.Required("change"); change != nullptr) {
    Members inner(*change, "/change", faults);
    const auto repository = inner.String("repository");
    if (repository.has_value() && !IsRepository(*repository)) {
      faults.Add("/change/repository", ErrorCode::kRepositoryForm, "\"" + *repository + "\"",
                 "not 32 lower-case hexadecimal digits");
    }
    request.repository = repository.value_or("");
    request.change = ReadId(inner, "id", faults);
    inner.Finish();
  }
  const auto version = members.Number("change_version");
  if (version == 0U) {
    faults.Add("/change_version", ErrorCode::kRequestVersion, "0", "no change has version 0");
  }
  request.change_version = version.value_or(0);
  request.context_digest = members.Hash("context_digest").value_or(Digest{});
  request.revision = members.Hash("revision").value_or(Digest{});
  if (const Value* recipe = members.Required("recipe"); recipe != nullptr) {
    auto any = ReadAnyRecipe(*recipe, "/recipe", faults);
    if (any.has_value()) request.recipe = *std::move(any);
  }
  members.Finish();
  if (faults.size() != before || faults.cut()) return std::nullopt;
  return request;
}

std::optional<CheckRequest> ParseRequest(std::string_view bytes, Faults& faults) {
  const std::optional<Value> value = ParseJsonWithFaults(bytes, faults);
  if (!value.has_value()) return std::nullopt;
  std::optional<CheckRequest> result = ReadRequest(*value, faults);
  if (!faults.empty()) return std::nullopt;
  return result;
}

Result<std::string> CanonicalRequest(const CheckRequest& request) {
  BAILIFF_TRY_ASSIGN(const Value value, RequestValue(request));
  return Canonical(value);
}

std::optional<std::string> FirstDifference(const Value& a, const Value& b) {
  return Differ(a, b, "");
}

Result<void> CheckSameRequest(std::string_view stored, std::string_view given) {
  if (stored == given) return {};
  BAILIFF_TRY_ASSIGN(const Value before, ParseCanonical(stored));
  BAILIFF_TRY_ASSIGN(const Value now, ParseCanonical(given));
  const Value* id = before.Find("attempt_id");
  return Error{ErrorCode::kRequestConflict,
               id != nullptr && id->string() != nullptr ? *id->string() : std::string(),
               "is registered with other input; first difference at " +
                   FirstDifference(before, now).value_or("the document"),
               0,
               {}};
}

Result<Digest> RequestDigest(const ExecutionBinding& binding) {
  Value value = Value::MakeObject();
  value.Set("attempt_id", binding.attempt_id)
      .Set("change", binding.change)
      .Set("change_version", binding.change_version)
      .Set("context_digest", binding.context_digest)
      .Set("environment_digest", binding.environment_digest)
      .Set("generation", binding.generation)
      .Set("kind", binding.kind)
      .Set("recipe_digest", binding.recipe_digest)
      .Set("repository", binding.repository)
      .Set("revision", binding.revision)
      .Set("toolchain", binding.toolchain);
  BAILIFF_TRY_ASSIGN(const std::string bytes, Canonical(value));
  return HashDomain(kRequestDomain, bytes);
}

}  // namespace bailiff::policy
