// SPDX-License-Identifier: Apache-2.0
// The documents of a container image: the first byte says which one the rest is.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "policy/image_facts.h"
#include "policy/object.h"
#include "snapshotter/importer/oci_documents.h"

namespace {

namespace s = bailiff::snapshotter;
namespace policy = bailiff::policy;

void Require(bool holds) {
  if (!holds) std::abort();
}

void CheckConfig(const s::ImageConfig& config) {
  Require(!config.diff_ids.empty() && config.diff_ids.size() <= policy::kMaxImageLayers);
  Require(config.facts.environment.size() <= policy::kMaxImageEnvironment);
  std::size_t bytes = 0;
  for (const std::string& entry : config.facts.environment) {
    bytes += entry.size();
    Require(entry.find('\0') == std::string::npos);
  }
  Require(bytes <= policy::kMaxImageEnvironmentBytes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0:
      static_cast<void>(s::ParseLayoutMarker(bytes, "oci-layout"));
      break;
    case 1:
      if (const auto index = s::ParseIndex(bytes, "index.json"); index.ok())
        Require(!index->empty() && index->size() <= s::kMaxManifests);
      break;
    case 2:
      if (const auto manifest = s::ParseManifest(bytes, "manifest"); manifest.ok())
        Require(!manifest->layers.empty() && manifest->layers.size() <= policy::kMaxImageLayers &&
                manifest->config.type == s::MediaType::kConfig);
      break;
    case 3:
      if (const auto config = s::ParseImageConfig(bytes, "config"); config.ok())
        CheckConfig(*config);
      break;
    case 4:
      if (const auto docker = s::ParseDockerManifest(bytes, "manifest.json"); docker.ok()) {
        Require(!docker->config.empty() && !docker->layers.empty() &&
                docker->layers.size() <= policy::kMaxImageLayers);
        for (const std::string& name : docker->layers) Require(!name.empty() && name.size() <= 255);
      }
      break;
  }
  return 0;
}
