// SPDX-License-Identifier: Apache-2.0
#include "policy/recipe.h"

#include <array>
#include <utility>

#include "policy/environment.h"
#include "policy/jcs.h"
#include "policy/json.h"
#include "policy/paths.h"
#include "policy/units.h"
#include "policy/utf8.h"

namespace bailiff::policy {
namespace {

enum class Shown { kBytes, kTime, kCount, kCores };

struct LimitRow {
  std::string_view member;  // in the document
  std::uint64_t Limits::*field;
  Range range;
  Shown shown;
  ErrorCode low;
  ErrorCode high;
};

// In the canonical order.
constexpr std::array kLimitRows = {
    LimitRow{"timeout_ms", &Limits::timeout_ms, kTimeoutMs, Shown::kTime,
             ErrorCode::kRecipeTimeoutLow, ErrorCode::kRecipeTimeoutHigh},
    LimitRow{"max_output_bytes", &Limits::max_output_bytes, kOutputBytes, Shown::kBytes,
             ErrorCode::kRecipeOutputLow, ErrorCode::kRecipeOutputHigh},
    LimitRow{"memory_bytes", &Limits::memory_bytes, kMemoryBytes, Shown::kBytes,
             ErrorCode::kRecipeMemoryLow, ErrorCode::kRecipeMemoryHigh},
    LimitRow{"scratch_bytes", &Limits::scratch_bytes, kScratchBytes, Shown::kBytes,
             ErrorCode::kRecipeScratchLow, ErrorCode::kRecipeScratchHigh},
    LimitRow{"pids", &Limits::pids, kPids, Shown::kCount, ErrorCode::kRecipePidsLow,
             ErrorCode::kRecipePidsHigh},
    LimitRow{"cpu_millis", &Limits::cpu_millis, kCpuMillis, Shown::kCores, ErrorCode::kRecipeCpuLow,
             ErrorCode::kRecipeCpuHigh},
};

std::string Show(Shown shown, std::uint64_t value) {
  switch (shown) {
    case Shown::kBytes:
      return FormatBytesExact(value);
    case Shown::kTime:
      return std::to_string(value) + " ms";
    case Shown::kCount:
      return std::to_string(value);
    case Shown::kCores:
      return FormatCpu(value);
  }
  return {};
}

void CheckLimits(const Limits& limits, std::string_view pointer, Faults& faults) {
  for (const LimitRow& row : kLimitRows) {
    const std::uint64_t value = limits.*row.field;
    if (value < row.range.smallest) {
      faults.Add(Child(pointer, row.member), row.low, Show(row.shown, value),
                 "below the smallest bound, " + Show(row.shown, row.range.smallest));
    } else if (value > row.range.largest) {
      faults.Add(Child(pointer, row.member), row.high, Show(row.shown, value),
                 "above the largest bound, " + Show(row.shown, row.range.largest));
    }
  }
}

void CheckText(std::string_view text, std::string_view pointer, std::string_view subject,
               Faults& faults) {
  if (IsText(text)) return;
  faults.Add(pointer, ErrorCode::kJsonText, std::string(subject),
             "not valid UTF-8, or holds U+0000");
}

void CheckArguments(const std::vector<std::string>& arguments, std::string_view pointer,
                    Faults& faults) {
  if (arguments.size() > kMaxArguments) {
    faults.Add(pointer, ErrorCode::kRecipeArgumentCount, std::to_string(arguments.size()),
               "more than 64");
  }
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    CheckText(arguments[i], Child(pointer, i), "argument " + std::to_string(i + 1), faults);
    bytes += arguments[i].size();
  }
  if (bytes > kMaxArgumentBytes) {
    faults.Add(pointer, ErrorCode::kRecipeArgumentBytes, std::to_string(bytes) + " bytes",
               "more than 16384 together");
  }
}

ErrorCode FamilyCode(EnvironmentFamily family) {
  switch (family) {
    case EnvironmentFamily::kProfile:
      return ErrorCode::kRecipeEnvironmentProfile;
    case EnvironmentFamily::kLoader:
      return ErrorCode::kRecipeEnvironmentLoader;
    case EnvironmentFamily::kShell:
      return ErrorCode::kRecipeEnvironmentShell;
    case EnvironmentFamily::kControl:
      return ErrorCode::kRecipeEnvironmentControl;
  }
  return ErrorCode::kRecipeEnvironmentName;
}

std::string_view FamilyWhy(EnvironmentFamily family) {
  switch (family) {
    case EnvironmentFamily::kProfile:
      return "fixed by the execution profile";
    case EnvironmentFamily::kLoader:
      return "read by the loader or libc before the command starts";
    case EnvironmentFamily::kShell:
      return "read by a shell before its first command";
    case EnvironmentFamily::kControl:
      return "steers a container runtime";
  }
  return "";
}

void CheckEnvironment(const std::map<std::string, std::string>& environment,
                      std::string_view pointer, Faults& faults) {
  if (environment.size() > kMaxEnvironment) {
    faults.Add(pointer, ErrorCode::kRecipeEnvironmentCount, std::to_string(environment.size()),
               "more than 32 variables");
  }
  std::size_t bytes = 0;
  for (const auto& [name, value] : environment) {
    bytes += name.size() + value.size();
    const std::string at = Child(pointer, name);
    if (!IsEnvironmentName(name)) {
      faults.Add(at, ErrorCode::kRecipeEnvironmentName, name, "not a name for a variable");
    } else if (const auto family = RefusedFamily(name); family.has_value()) {
      faults.Add(at, FamilyCode(*family), name, std::string(FamilyWhy(*family)));
    }
    CheckText(value, at, "value of " + name, faults);
  }
  if (bytes > kMaxEnvironmentBytes) {
    faults.Add(pointer, ErrorCode::kRecipeEnvironmentBytes, std::to_string(bytes) + " bytes",
               "more than 16384 together");
  }
}

std::vector<std::string> ReadArguments(Members& members, Faults& faults) {
  std::vector<std::string> arguments;
  const Value::Array* list = members.List("arguments");
  if (list == nullptr) return arguments;
  const std::string pointer = Child(members.pointer(), "arguments");
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string* text = (*list)[i].string();
    if (text == nullptr) {
      AddTypeFault(faults, Child(pointer, i), "argument " + std::to_string(i + 1), "a string",
                   (*list)[i]);
    }
    arguments.push_back(text == nullptr ? std::string() : *text);
  }
  return arguments;
}

std::map<std::string, std::string> ReadEnvironment(Members& members, Faults& faults) {
  std::map<std::string, std::string> environment;
  const Value* value = members.Required("environment");
  if (value == nullptr) return environment;
  const std::string pointer = Child(members.pointer(), "environment");
  if (value->object() == nullptr) {
    AddTypeFault(faults, pointer, "environment", "an object", *value);
    return environment;
  }
  for (const Value::Member& member : *value->object()) {
    const std::string* text = member.value.string();
    if (text == nullptr) {
      AddTypeFault(faults, Child(pointer, member.name), member.name, "a string", member.value);
    }
    environment[member.name] = text == nullptr ? std::string() : *text;
  }
  return environment;
}

void ReadLimits(Members& members, Limits& limits, Faults& faults) {
  const Value* value = members.Required("limits");
  if (value == nullptr) return;
  Members inner(*value, Child(members.pointer(), "limits"), faults);
  for (const LimitRow& row : kLimitRows) {
    // A value that cannot be read leaves the default in place: one fault a member is enough.
    if (const auto number = inner.Number(row.member); number.has_value()) {
      limits.*row.field = *number;
    }
  }
  inner.Finish();
}

void AppendEnvironment(std::string& out, const std::map<std::string, std::string>& environment) {
  out += '{';
  bool first = true;
  for (const auto& [name, value] : environment) {
    if (!first) out += ',';
    first = false;
    AppendQuoted(out, name);
    out += ':';
    AppendQuoted(out, value);
  }
  out += '}';
}

}  // namespace

bool IsImageId(std::string_view text) {
  constexpr std::string_view kPrefix = "sha256:";
  return text.starts_with(kPrefix) && ParseDigest(text.substr(kPrefix.size())).has_value();
}

void CheckRecipe(const CommandRecipe& recipe, std::string_view pointer, Faults& faults) {
  if (!IsImageId(recipe.image)) {
    faults.Add(Child(pointer, "image"), ErrorCode::kRecipeImage, "\"" + recipe.image + "\"",
               "not an image id; names and tags move");
  }
  const std::string executable_at = Child(pointer, "executable");
  if (const PathFault fault = CheckExecutable(recipe.executable); fault != PathFault::kNone) {
    const Error error = PathError(fault, recipe.executable);
    faults.Add(executable_at, error.code, "\"" + recipe.executable + "\"", error.why);
  }
  CheckText(recipe.executable, executable_at, "executable", faults);
  CheckArguments(recipe.arguments, Child(pointer, "arguments"), faults);
  CheckEnvironment(recipe.environment, Child(pointer, "environment"), faults);
  CheckLimits(recipe.limits, Child(pointer, "limits"), faults);
}

std::optional<CommandRecipe> ReadRecipe(const Value& value, std::string_view pointer,
                                        Faults& faults) {
  const std::size_t before = faults.size();
  Members members(value, pointer, faults);
  CommandRecipe recipe;
  if (const auto version = members.Number("version"); version.has_value() && *version != 1) {
    faults.Add(Child(pointer, "version"), ErrorCode::kRecipeVersion, std::to_string(*version),
               "this version of Bailiff reads version 1");
  }
  const auto image = members.String("image");
  const auto executable = members.String("executable");
  recipe.arguments = ReadArguments(members, faults);
  recipe.environment = ReadEnvironment(members, faults);
  recipe.toolchain = members.Hash("toolchain").value_or(Digest{});
  ReadLimits(members, recipe.limits, faults);
  if (members.Optional("network") != nullptr) {
    faults.Add(Child(pointer, "network"), ErrorCode::kRecipeNetwork, "member",
               "a check never has a network");
  }
  if (members.Optional("artifacts") != nullptr) {
    faults.Add(Child(pointer, "artifacts"), ErrorCode::kRecipeArtifacts, "member",
               "this version of Bailiff takes no artifacts out of a cell");
  }
  members.Finish();
  if (!members.valid()) return std::nullopt;
  // Bounds are judged beside faults of form, so that all come at once; what is missing was named.
  recipe.image = image.value_or("sha256:" + Digest{}.hex());
  recipe.executable = executable.value_or("/-");
  CheckRecipe(recipe, pointer, faults);
  if (faults.size() != before || faults.cut()) return std::nullopt;
  return recipe;
}

std::optional<CommandRecipe> ParseRecipe(std::string_view bytes, Faults& faults) {
  const std::optional<Value> value = ParseJsonWithFaults(bytes, faults);
  if (!value.has_value()) return std::nullopt;
  std::optional<CommandRecipe> result = ReadRecipe(*value, "", faults);
  if (!faults.empty()) return std::nullopt;
  return result;
}

std::string CanonicalRecipe(const CommandRecipe& recipe) {
  std::string out = "{\"version\":1,\"image\":";
  AppendQuoted(out, recipe.image);
  out += ",\"executable\":";
  AppendQuoted(out, recipe.executable);
  out += ",\"arguments\":[";
  for (std::size_t i = 0; i < recipe.arguments.size(); ++i) {
    if (i > 0) out += ',';
    AppendQuoted(out, recipe.arguments[i]);
  }
  out += "],\"environment\":";
  AppendEnvironment(out, recipe.environment);
  out += ",\"toolchain\":\"" + recipe.toolchain.hex() + "\",\"limits\":{";
  bool first = true;
  for (const LimitRow& row : kLimitRows) {
    if (!first) out += ',';
    first = false;
    AppendQuoted(out, row.member);
    out += ':' + std::to_string(recipe.limits.*row.field);
  }
  out += "}}";
  return out;
}

Digest RecipeDigest(const CommandRecipe& recipe) { return Hash(CanonicalRecipe(recipe)); }

Digest EnvironmentDigest(const std::map<std::string, std::string>& environment) {
  std::string bytes;
  AppendEnvironment(bytes, environment);
  return Hash(bytes);
}

Result<CommandRecipe> ParseStoredRecipe(std::string_view bytes) {
  Faults faults;
  std::optional<CommandRecipe> recipe = ParseRecipe(bytes, faults);
  if (!recipe.has_value()) return faults.ToError();
  if (CanonicalRecipe(*recipe) != bytes) {
    return Error{ErrorCode::kJsonCanonical, "recipe", "differs from its own canonical form", 0, {}};
  }
  return *std::move(recipe);
}

Command WritableSource(const Command& command) {
  Command wrapped;
  wrapped.executable = "/bin/sh";
  wrapped.arguments = {"-c",
                       "cp -R /source/. /scratch/source && chmod -R u+w /scratch/source && "
                       "cd /scratch/source && exec \"$@\"",
                       "sh", command.executable};
  wrapped.arguments.insert(wrapped.arguments.end(), command.arguments.begin(),
                           command.arguments.end());
  return wrapped;
}

}  // namespace bailiff::policy
