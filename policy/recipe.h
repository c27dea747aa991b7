// SPDX-License-Identifier: Apache-2.0
// CommandRecipe: what one command/v1 check runs and within which limits (R2.*, R6.*; contracts,
// section 2). Its canonical bytes have the fixed member order of the contract; their plain SHA-256
// is its identity (R2.05).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/result.h"
#include "policy/digest.h"
#include "policy/document.h"
#include "policy/limits.h"
#include "policy/value.h"

namespace bailiff::policy {

struct CommandRecipe {
  std::string image;                   // "sha256:<64 lower-case hex>": an id, never a name (R2.02)
  std::string executable;              // argv[0], absolute
  std::vector<std::string> arguments;  // argv[1..]
  std::map<std::string, std::string> environment;
  Digest toolchain;  // declared by the operator, bound, not discovered (R2.12)
  Limits limits;
  bool operator==(const CommandRecipe&) const = default;
};

// Adds every fault of a recipe however it was made (file or flags). `pointer` is where the recipe
// stands in its document.
void CheckRecipe(const CommandRecipe& recipe, std::string_view pointer, Faults& faults);

// From a parsed document, schema and bounds. Nothing when there is a fault.
std::optional<CommandRecipe> ReadRecipe(const Value& value, std::string_view pointer,
                                        Faults& faults);
// The same from the bytes of a file.
std::optional<CommandRecipe> ParseRecipe(std::string_view bytes, Faults& faults);

// Only of a recipe that CheckRecipe found no fault in.
std::string CanonicalRecipe(const CommandRecipe& recipe);
Digest RecipeDigest(const CommandRecipe& recipe);
// SHA-256 of the canonical bytes of the environment object alone (R2.09).
Digest EnvironmentDigest(const std::map<std::string, std::string>& environment);

// A stored recipe: the bytes must be the canonical form of a faultless recipe.
Result<CommandRecipe> ParseStoredRecipe(std::string_view bytes);

// "sha256:" and 64 lower-case hex digits.
bool IsImageId(std::string_view text);

struct Command {
  std::string executable;
  std::vector<std::string> arguments;
  bool operator==(const Command&) const = default;
};
// `run --writable-source`: the command that copies /source to /scratch/source and runs the given
// one there. Sugar that stays visible in the recipe (contracts 7.11).
Command WritableSource(const Command& command);

// A faultless recipe as pretty text, for `recipe example`.
std::string ExampleRecipe();

}  // namespace bailiff::policy
