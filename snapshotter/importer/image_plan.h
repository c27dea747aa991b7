// SPDX-License-Identifier: Apache-2.0
// Which files make the image: from the documents of an OCI layout or of docker save to a
// configuration and a list of layers, everything hashed before it is read (case b09).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policy/tree_path.h"
#include "snapshotter/importer/image_files.h"
#include "snapshotter/importer/oci_documents.h"

namespace bailiff::snapshotter {

// Most bytes one image may unpack to, headers, names and padding beside those of its files
// included: three blocks an entry are generous.
inline constexpr std::uint64_t kMostUnpacked =
    policy::kImageBounds.bytes + policy::kImageBounds.entries * 4 * 512;

struct ImageLayer {
  ImageFile file;
  std::optional<policy::Digest> blob;      // of its bytes as they lie there; verified
  std::optional<Compression> compression;  // as its media type says
  policy::Digest diff_id;                  // of its bytes uncompressed; verified by VerifyLayers
};

struct ImagePlan {
  policy::Digest image;  // SHA-256 of `config`
  std::string config;
  std::vector<ImageLayer> layers;  // lowest first
};

// Of an OCI layout: the one manifest for linux/amd64 that index.json leads to. kManifests when
// several may be meant, kPlatform when none is. Documents below index.json are bounded: 64 of them,
// 4 levels, each read once.
Result<ImagePlan> PlanOci(const ImageFiles& files);
// Of manifest.json. The name of a file there binds its bytes where it holds a digest.
Result<ImagePlan> PlanDocker(const ImageFiles& files);
// kDocument unless both describe the same configuration and the same stored layers.
Result<void> CheckAgreement(const ImagePlan& oci, const ImagePlan& docker);

// Hashes every layer, as it lies there and uncompressed, without reading a name in it: kDigest when
// one is not what was named, kMediaType for another compression than was said. `kTotalBytes` and
// kExpansion as ArchiveStream, over all layers together.
Result<void> VerifyLayers(const ImagePlan& plan, Reporter& reporter);

// `error` with the layer it happened in.
Error InLayer(Error error, const ImagePlan& plan, std::size_t index);
// Opens a layer's bytes uncompressed; kMediaType when they are not as its media type says.
Result<std::unique_ptr<ArchiveStream>> OpenLayer(const ImageLayer& layer, std::uint64_t most);

}  // namespace bailiff::snapshotter
