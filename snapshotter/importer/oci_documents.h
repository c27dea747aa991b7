// SPDX-License-Identifier: Apache-2.0
// The JSON documents of an image, read strictly: bytes to values, no file is touched. OCI Image
// Format Specification 1.1 (image-layout.md, image-index.md, manifest.md, config.md,
// descriptor.md), Docker Image Manifest V2 Schema 2, and the manifest.json of `docker save` (moby,
// image/spec/v1.3.md).
//
// The specifications let documents grow, so unknown members are passed over; what two readers could
// understand differently is refused all the same: duplicate members, members that differ from a
// known one in case only (Go's decoder takes them for it), and everything policy/json.h refuses. A
// document has at most 1 MiB and 32 levels. All functions fail with kDocument unless they say more;
// `name` is the document's, for the error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/digest.h"
#include "snapshotter/reporter.h"

namespace bailiff::snapshotter {

inline constexpr std::size_t kMaxManifests = 256;  // named by one index

enum class MediaType { kIndex, kManifest, kConfig, kLayer, kLayerGzip, kLayerZstd, kOther };

// A name for bytes elsewhere: nothing is known of them until they were hashed.
struct Descriptor {
  MediaType type = MediaType::kOther;
  policy::Digest digest;
  std::uint64_t size = 0;
  bool has_platform = false;
  bool for_us = false;  // platform linux/amd64
};

struct ImageManifest {
  Descriptor config;
  std::vector<Descriptor> layers;
};

struct ImageConfig {
  std::vector<policy::Digest> diff_ids;  // 1 … kMaxImageLayers, lowest layer first
  policy::ImageFacts facts;
};

// One entry of manifest.json: names of files beside it.
struct DockerImage {
  std::string config;
  std::vector<std::string> layers;  // 1 … kMaxImageLayers
};

// The file oci-layout: its version must be 1.0.0.
Result<void> ParseLayoutMarker(std::string_view bytes, const std::string& name);
// index.json, an index below it, or a manifest list.
Result<std::vector<Descriptor>> ParseIndex(std::string_view bytes, const std::string& name);
// kMediaType when it is about something else than an image, or a layer is of a kind not known.
Result<ImageManifest> ParseManifest(std::string_view bytes, const std::string& name);
// kPlatform unless it is for linux on amd64.
Result<ImageConfig> ParseImageConfig(std::string_view bytes, const std::string& name);
// kManifests unless exactly one image is in it.
Result<DockerImage> ParseDockerManifest(std::string_view bytes, const std::string& name);

}  // namespace bailiff::snapshotter
