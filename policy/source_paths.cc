// SPDX-License-Identifier: Apache-2.0
#include "policy/source_paths.h"

#include <algorithm>
#include <array>
#include <utility>

#include "policy/jcs.h"
#include "policy/paths.h"

namespace bailiff::policy {
namespace {

struct LimitRow {
  std::string_view member;
  std::uint64_t SourcePathsRecipe::*field;
  Range range;
};

// In the canonical order.
constexpr std::array kLimitRows = {
    LimitRow{"max_paths", &SourcePathsRecipe::max_paths, kPathCount},
    LimitRow{"max_total_bytes", &SourcePathsRecipe::max_total_bytes, kObservedBytes},
    LimitRow{"max_output_bytes", &SourcePathsRecipe::max_output_bytes, kObservationBytes},
    LimitRow{"timeout_ms", &SourcePathsRecipe::timeout_ms, kTimeoutMs},
};

void ReadLimits(Members& members, SourcePathsRecipe& recipe, Faults& faults) {
  const Value* value = members.Required("limits");
  if (value == nullptr) return;
  Members inner(*value, Child(members.pointer(), "limits"), faults);
  for (const LimitRow& row : kLimitRows) {
    const auto number = inner.Number(row.member);
    if (!number.has_value()) continue;
    recipe.*row.field = *number;
    if (row.range.Holds(*number)) continue;
    faults.Add(Child(inner.pointer(), row.member), ErrorCode::kPathsLimit,
               std::string(row.member) + " " + std::to_string(*number),
               "outside of " + std::to_string(row.range.smallest) + " to " +
                   std::to_string(row.range.largest));
  }
  inner.Finish();
}

void ReadExpectations(Members& members, SourcePathsRecipe& recipe, Faults& faults) {
  const Value::Array* list = members.List("expectations");
  if (list == nullptr) return;
  const std::string pointer = Child(members.pointer(), "expectations");
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string at = Child(pointer, i);
    Members item((*list)[i], at, faults);
    const auto path = item.String("path");
    const auto sha256 = item.Hash("sha256");
    item.Finish();
    if (path.has_value()) {
      const PathFault fault = CheckPortablePath(*path);
      if (fault != PathFault::kNone) {
        const Error error = PathError(fault, *path);
        faults.Add(Child(at, "path"), error.code, "\"" + *path + "\"", error.why);
      }
    }
    recipe.expectations.push_back(
        Expectation{path.value_or(std::string()), sha256.value_or(Digest{})});
  }
  if (list->empty()) {
    faults.Add(pointer, ErrorCode::kPathsNone, "list", "names no path");
  } else if (list->size() > kPathCount.largest || list->size() > recipe.max_paths) {
    faults.Add(pointer, ErrorCode::kPathsMany, std::to_string(list->size()) + " paths",
               "more than " + std::to_string(std::min(kPathCount.largest, recipe.max_paths)));
  }
  std::sort(recipe.expectations.begin(), recipe.expectations.end(),
            [](const Expectation& a, const Expectation& b) { return a.path < b.path; });
  for (std::size_t i = 1; i < recipe.expectations.size(); ++i) {
    const std::string& path = recipe.expectations[i].path;
    if (path.empty() || path != recipe.expectations[i - 1].path) continue;
    faults.Add(pointer, ErrorCode::kPathsDuplicate, "\"" + path + "\"", "is named twice");
  }
}

}  // namespace

std::optional<SourcePathsRecipe> ReadSourcePaths(const Value& value, std::string_view pointer,
                                                 Faults& faults) {
  const std::size_t before = faults.size();
  Members members(value, pointer, faults);
  SourcePathsRecipe recipe;
  if (const auto version = members.Number("version"); version.has_value() && *version != 1) {
    faults.Add(Child(pointer, "version"), ErrorCode::kRecipeVersion, std::to_string(*version),
               "this version of Bailiff reads version 1");
  }
  ReadLimits(members, recipe, faults);
  ReadExpectations(members, recipe, faults);
  members.Finish();
  if (faults.size() != before || faults.cut()) return std::nullopt;
  return recipe;
}

std::string CanonicalSourcePaths(const SourcePathsRecipe& recipe) {
  std::string out = "{\"version\":1,\"expectations\":[";
  for (std::size_t i = 0; i < recipe.expectations.size(); ++i) {
    if (i > 0) out += ',';
    out += "{\"path\":";
    AppendQuoted(out, recipe.expectations[i].path);
    out += ",\"sha256\":\"" + recipe.expectations[i].sha256.hex() + "\"}";
  }
  out += "],\"limits\":{";
  for (std::size_t i = 0; i < kLimitRows.size(); ++i) {
    if (i > 0) out += ',';
    AppendQuoted(out, kLimitRows[i].member);
    out += ':' + std::to_string(recipe.*kLimitRows[i].field);
  }
  out += "}}";
  return out;
}

Digest SourcePathsDigest(const SourcePathsRecipe& recipe) {
  return Hash(CanonicalSourcePaths(recipe));
}

}  // namespace bailiff::policy
