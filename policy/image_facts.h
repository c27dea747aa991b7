// SPDX-License-Identifier: Apache-2.0
// What an image's own configuration says about running it, and what a run makes of it.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bailiff::policy {

// Only what a rule asks for. Command, entry point, user, working directory, ports, labels and the
// rest are the recipe's or the profile's, and are not looked at.
struct ImageFacts {
  std::vector<std::string> environment;  // Env: NAME=VALUE, in the image's order
  bool volumes = false;                  // Volumes: at least one is declared
  bool health_command = false;           // Healthcheck: there is a command

  bool operator==(const ImageFacts&) const = default;
};

// Of `environment`; an image with more is refused when it is imported. A recipe has at most 32
// entries and 16 KiB (R2.15, R2.16), the profile four: what is over this could never be matched.
inline constexpr std::size_t kMaxImageEnvironment = 64;
inline constexpr std::size_t kMaxImageEnvironmentBytes = 32 * 1024;

// Why a command with this effective environment may not run on such an image, or nothing. Such a
// run ends as `configuration_rejected` before anything of it is started: an entry of Env that is
// not one of the command's (R2.11), a declared volume (R5.13, case c11), a health command (R5.14).
// The same on every backend.
std::optional<std::string> ImageRefusal(const ImageFacts& facts,
                                        const std::map<std::string, std::string>& effective);

}  // namespace bailiff::policy
