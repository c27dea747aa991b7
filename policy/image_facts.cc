// SPDX-License-Identifier: Apache-2.0
#include "policy/image_facts.h"

#include "policy/environment.h"

namespace bailiff::policy {

std::optional<std::string> ImageRefusal(const ImageFacts& facts,
                                        const std::map<std::string, std::string>& effective) {
  if (const auto entry = ForeignImageEntry(facts.environment, effective)) {
    const std::string_view name = std::string_view(*entry).substr(0, entry->find('='));
    const bool settable = IsEnvironmentName(name) && !RefusedFamily(name);
    return "the image sets " + *entry + ", which the command does not get: " +
           (settable ? "run it with --env " + *entry : "use an image without it");
  }
  if (facts.volumes) return "the image declares volumes: use an image without them";
  if (facts.health_command) return "the image has a health command: use an image without it";
  return std::nullopt;
}

}  // namespace bailiff::policy
