// SPDX-License-Identifier: Apache-2.0
#include "controller/cli/run_flags.h"

#include <array>

#include "policy/units.h"

namespace bailiff::controller::cli {
namespace {

using Parser = Result<std::uint64_t> (*)(std::string_view);

struct LimitFlag {
  std::string_view option;
  Parser parse;
  std::uint64_t policy::Limits::*field;
};

constexpr std::array kLimitFlags = {
    LimitFlag{"timeout", policy::ParseMilliseconds, &policy::Limits::timeout_ms},
    LimitFlag{"memory", policy::ParseBytes, &policy::Limits::memory_bytes},
    LimitFlag{"scratch", policy::ParseBytes, &policy::Limits::scratch_bytes},
    LimitFlag{"output", policy::ParseBytes, &policy::Limits::max_output_bytes},
    LimitFlag{"pids", policy::ParseCount, &policy::Limits::pids},
    LimitFlag{"cpu", policy::ParseCpu, &policy::Limits::cpu_millis},
};

// Stands for the image until its name is looked up; satisfies the recipe's own rules.
std::string PlaceholderImage() { return "sha256:" + std::string(64, '0'); }

void AddFlagFault(policy::Faults& faults, const std::string& option, const Error& error) {
  faults.Add("", error.code, "--" + option + " " + error.subject, error.why, error.fix);
}

void ParseEnvironment(const Command& command, policy::CommandRecipe& recipe,
                      policy::Faults& faults) {
  for (const std::string_view entry : command.All("env")) {
    const std::size_t equals = entry.find('=');
    const std::string name(entry.substr(0, equals));
    if (equals == entry.npos) {
      faults.Add("", ErrorCode::kOptionValue, "--env \"" + name + "\"", "no = in it",
                 "--env NAME=VALUE");
      continue;
    }
    if (!recipe.environment.emplace(name, entry.substr(equals + 1)).second) {
      faults.Add("", ErrorCode::kOptionTwice, "--env " + name, "given more than once",
                 "give each name once");
    }
  }
}

}  // namespace

std::optional<RunFlags> ParseRunFlags(const Command& command, policy::Faults& faults) {
  RunFlags flags;
  policy::CommandRecipe& recipe = flags.recipe;
  recipe.image = PlaceholderImage();
  for (const LimitFlag& flag : kLimitFlags) {
    const std::string* text = command.Get(flag.option);
    if (text == nullptr) continue;
    const Result<std::uint64_t> value = flag.parse(*text);
    if (value.ok()) {
      recipe.limits.*flag.field = *value;
    } else {
      AddFlagFault(faults, std::string(flag.option), value.error());
    }
  }
  if (const std::string* text = command.Get("toolchain"); text != nullptr) {
    const auto digest = policy::ParseDigest(*text);
    flags.toolchain_given = digest.has_value();
    if (digest.has_value()) {
      recipe.toolchain = *digest;
    } else {
      faults.Add("", ErrorCode::kOptionValue, "--toolchain \"" + *text + "\"",
                 "not 64 lower-case hex digits", "--toolchain H");
    }
  }
  ParseEnvironment(command, recipe, faults);
  policy::Command run{command.argv.front(), {command.argv.begin() + 1, command.argv.end()}};
  if (command.Has("writable-source")) run = policy::WritableSource(run);
  recipe.executable = std::move(run.executable);
  recipe.arguments = std::move(run.arguments);
  policy::CheckRecipe(recipe, "", faults);
  if (!faults.empty()) return std::nullopt;
  return flags;
}

}  // namespace bailiff::controller::cli
