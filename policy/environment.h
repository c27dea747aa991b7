// SPDX-License-Identifier: Apache-2.0
// Which environment a command gets: the recipe's entries and a fixed profile, nothing inherited
// (R2.10, R2.11, R2.17..R2.20; contracts, section 2).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bailiff::policy {

// Why a recipe may not set a name.
enum class EnvironmentFamily {
  kProfile,  // fixed by the execution profile
  kLoader,   // read by the dynamic loader or libc before main
  kShell,    // read by a shell before its first command
  kControl,  // steers a container runtime's client
};
std::string_view FamilyName(EnvironmentFamily family);

// [A-Za-z_][A-Za-z0-9_]*
bool IsEnvironmentName(std::string_view name);
// The family that refuses the name, or nothing. Upper and lower case differ, as for every reader of
// these names.
std::optional<EnvironmentFamily> RefusedFamily(std::string_view name);

// What the command gets: the recipe's entries plus HOME, TMPDIR, HOSTNAME, and PATH unless the
// recipe sets it. The same on every backend.
std::map<std::string, std::string> EffectiveEnvironment(
    const std::map<std::string, std::string>& recipe);
// As NAME=VALUE, in byte order of the names.
std::vector<std::string> EnvironmentStrings(const std::map<std::string, std::string>& environment);

// The first entry of an image's own Env that is not an entry of the effective environment, or
// nothing. One such entry refuses the run: `configuration_rejected` (R2.11).
std::optional<std::string> ForeignImageEntry(const std::vector<std::string>& image_env,
                                             const std::map<std::string, std::string>& effective);

}  // namespace bailiff::policy
