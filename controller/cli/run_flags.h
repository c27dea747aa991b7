// SPDX-License-Identifier: Apache-2.0
// The flags of `run` as a recipe. Nothing is opened and nothing run, so wrong flags are told before
// anything else happens.
#pragma once

#include <optional>

#include "controller/cli/command_line.h"
#include "policy/document.h"
#include "policy/recipe.h"

namespace bailiff::controller::cli {

struct RunFlags {
  policy::CommandRecipe
      recipe;  // `image` and, unless given, `toolchain` are set once the image is known
  bool toolchain_given = false;
};

// Every fault of the flags at once; nothing when there is one.
std::optional<RunFlags> ParseRunFlags(const Command& command, policy::Faults& faults);

}  // namespace bailiff::controller::cli
