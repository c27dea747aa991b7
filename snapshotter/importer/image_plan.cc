// SPDX-License-Identifier: Apache-2.0
#include "snapshotter/importer/image_plan.h"

#include <algorithm>
#include <set>
#include <utility>

#include "policy/snapshot_codes.h"
#include "policy/tree_path.h"

namespace bailiff::snapshotter {
namespace {

using policy::Digest;
using policy::MakeFault;
using policy::SnapshotFault;

constexpr std::size_t kMaxIndexes = 64;
constexpr std::size_t kMaxIndexDepth = 4;
constexpr std::size_t kBuffer = 256 * 1024;
// Layers may be named more than once; what is hashed in all is bounded by what an archive may hold.
constexpr std::uint64_t kMostStored = kMostUnpacked;

Error WrongSize(const std::string& name, std::uint64_t wanted, std::uint64_t found) {
  return MakeFault(SnapshotFault::kDigest, name,
                   "has " + std::to_string(found) + " bytes, not " + std::to_string(wanted));
}

Result<std::string> ReadBlob(const ImageFiles& files, const Descriptor& descriptor) {
  const std::string name = BlobName(descriptor.digest);
  BAILIFF_TRY_ASSIGN(std::string bytes, files.Read(name));
  if (bytes.size() != descriptor.size) return WrongSize(name, descriptor.size, bytes.size());
  if (policy::Hash(bytes) != descriptor.digest)
    return MakeFault(SnapshotFault::kDigest, name, "its bytes have another SHA-256");
  return bytes;
}

// Collects the manifests that may be meant, through nested indexes.
class Selection {
 public:
  explicit Selection(const ImageFiles& files) : files_(files) {}

  Result<Descriptor> Choose() {
    BAILIFF_TRY_ASSIGN(const std::string bytes, files_.Read("index.json"));
    BAILIFF_TRY(Collect(bytes, "index.json", 1));
    if (candidates_.empty())
      return MakeFault(SnapshotFault::kPlatform, "index.json",
                       others_ ? "it names images of other platforms only" : "it names no image");
    if (candidates_.size() != 1)
      return MakeFault(SnapshotFault::kManifests, "index.json",
                       std::to_string(candidates_.size()) + " images may be meant");
    return candidates_.front();
  }

 private:
  Result<void> Collect(std::string_view bytes, const std::string& name, std::size_t depth) {
    BAILIFF_TRY_ASSIGN(const std::vector<Descriptor> descriptors, ParseIndex(bytes, name));
    for (const Descriptor& descriptor : descriptors) {
      if (descriptor.has_platform && !descriptor.for_us) {
        others_ = true;
        continue;
      }
      if (descriptor.type == MediaType::kIndex) BAILIFF_TRY(Descend(descriptor, depth));
      if (descriptor.type == MediaType::kManifest) Add(descriptor);
    }
    return {};
  }

  Result<void> Descend(const Descriptor& descriptor, std::size_t depth) {
    if (!read_.insert(descriptor.digest).second) return {};
    const std::string name = BlobName(descriptor.digest);
    if (depth >= kMaxIndexDepth || read_.size() > kMaxIndexes)
      return MakeFault(SnapshotFault::kDocument, name, "indexes within indexes: too many or deep");
    BAILIFF_TRY_ASSIGN(const std::string bytes, ReadBlob(files_, descriptor));
    return Collect(bytes, name, depth + 1);
  }

  // Two names of one image are one image.
  void Add(const Descriptor& descriptor) {
    for (const Descriptor& known : candidates_) {
      if (known.digest == descriptor.digest && known.size == descriptor.size) return;
    }
    candidates_.push_back(descriptor);
  }

  const ImageFiles& files_;
  std::vector<Descriptor> candidates_;
  std::set<Digest> read_;
  bool others_ = false;
};

Compression CompressionOf(MediaType type) {
  if (type == MediaType::kLayerGzip) return Compression::kGzip;
  return type == MediaType::kLayerZstd ? Compression::kZstd : Compression::kNone;
}

// The digest that a name of docker save claims: "<64 hex>.json", "sha256:<64 hex>",
// "blobs/sha256/<64 hex>". Other names claim nothing.
std::optional<Digest> ClaimOf(std::string_view name) {
  if (const std::size_t slash = name.rfind('/'); slash != name.npos) name.remove_prefix(slash + 1);
  if (name.starts_with("sha256:")) name.remove_prefix(7);
  if (name.ends_with(".json")) name.remove_suffix(5);
  return policy::ParseDigest(name);
}

Result<void> SetDiffIds(ImagePlan& plan, const ImageConfig& config, const std::string& name) {
  if (config.diff_ids.size() != plan.layers.size())
    return MakeFault(SnapshotFault::kDocument, name,
                     std::to_string(config.diff_ids.size()) + " diff_ids for " +
                         std::to_string(plan.layers.size()) + " layers");
  for (std::size_t i = 0; i < plan.layers.size(); ++i) plan.layers[i].diff_id = config.diff_ids[i];
  return {};
}

Result<void> CheckStored(const ImageLayer& layer, std::uint64_t& total, char* buffer,
                         Reporter& reporter) {
  const FilePart& part = layer.file.part;
  if (part.size > kMostStored - total)
    return MakeFault(SnapshotFault::kTotalBytes, "layers", "more bytes than an image may have");
  total += part.size;
  if (!layer.blob) return {};
  policy::Sha256 sha;
  for (std::uint64_t at = 0; at < part.size;) {
    BAILIFF_TRY_ASSIGN(const std::size_t got, ReadPart(part, at, buffer, kBuffer));
    if (got == 0) return MakeFault(SnapshotFault::kChanged, "layer", "became shorter");
    sha.Update({buffer, got});
    at += got;
    BAILIFF_TRY(reporter.Progress(0, total - part.size + at));
  }
  if (sha.Finish() != *layer.blob)
    return MakeFault(SnapshotFault::kDigest, BlobName(*layer.blob),
                     "its bytes have another SHA-256");
  return {};
}

Result<void> CheckUnpacked(const ImageLayer& layer, std::uint64_t& total, char* buffer,
                           Reporter& reporter) {
  BAILIFF_TRY_ASSIGN(const auto stream, OpenLayer(layer, kMostUnpacked - total));
  for (;;) {
    BAILIFF_TRY_ASSIGN(const std::size_t got, stream->Read(buffer, kBuffer));
    if (got == 0) break;
    BAILIFF_TRY(reporter.Progress(0, total + stream->bytes()));
  }
  total += stream->bytes();
  if (stream->Finish() != layer.diff_id)
    return MakeFault(SnapshotFault::kDigest, "layer",
                     "uncompressed it is not the diff_id of the configuration");
  return {};
}

}  // namespace

Result<ImagePlan> PlanOci(const ImageFiles& files) {
  BAILIFF_TRY_ASSIGN(const std::string marker, files.Read("oci-layout"));
  BAILIFF_TRY(ParseLayoutMarker(marker, "oci-layout"));
  BAILIFF_TRY_ASSIGN(const Descriptor chosen, Selection(files).Choose());
  BAILIFF_TRY_ASSIGN(const std::string bytes, ReadBlob(files, chosen));
  BAILIFF_TRY_ASSIGN(const ImageManifest manifest, ParseManifest(bytes, BlobName(chosen.digest)));
  ImagePlan plan;
  plan.image = manifest.config.digest;
  BAILIFF_TRY_ASSIGN(plan.config, ReadBlob(files, manifest.config));
  const std::string name = BlobName(plan.image);
  BAILIFF_TRY_ASSIGN(const ImageConfig config, ParseImageConfig(plan.config, name));
  for (const Descriptor& descriptor : manifest.layers) {
    ImageLayer layer;
    BAILIFF_TRY_ASSIGN(layer.file, files.Find(BlobName(descriptor.digest)));
    if (layer.file.part.size != descriptor.size)
      return WrongSize(BlobName(descriptor.digest), descriptor.size, layer.file.part.size);
    layer.blob = descriptor.digest;
    layer.compression = CompressionOf(descriptor.type);
    plan.layers.push_back(std::move(layer));
  }
  BAILIFF_TRY(SetDiffIds(plan, config, name));
  return plan;
}

Result<ImagePlan> PlanDocker(const ImageFiles& files) {
  BAILIFF_TRY_ASSIGN(const std::string bytes, files.Read("manifest.json"));
  BAILIFF_TRY_ASSIGN(const DockerImage image, ParseDockerManifest(bytes, "manifest.json"));
  ImagePlan plan;
  BAILIFF_TRY_ASSIGN(plan.config, files.Read(image.config));
  plan.image = policy::Hash(plan.config);
  if (const auto claim = ClaimOf(image.config); claim && *claim != plan.image)
    return MakeFault(SnapshotFault::kDigest, image.config, "its bytes have another SHA-256");
  BAILIFF_TRY_ASSIGN(const ImageConfig config, ParseImageConfig(plan.config, image.config));
  for (const std::string& name : image.layers) {
    ImageLayer layer;
    BAILIFF_TRY_ASSIGN(layer.file, files.Find(name));
    if (name.starts_with("blobs/sha256/")) layer.blob = ClaimOf(name);
    plan.layers.push_back(std::move(layer));
  }
  BAILIFF_TRY(SetDiffIds(plan, config, image.config));
  return plan;
}

Result<void> CheckAgreement(const ImagePlan& oci, const ImagePlan& docker) {
  const auto same = [](const ImageLayer& a, const ImageLayer& b) {
    return a.file.part.offset == b.file.part.offset && a.file.part.size == b.file.part.size;
  };
  if (oci.image != docker.image || !std::equal(oci.layers.begin(), oci.layers.end(),
                                               docker.layers.begin(), docker.layers.end(), same))
    return MakeFault(SnapshotFault::kDocument, "manifest.json",
                     "it describes another image than index.json");
  return {};
}

Result<std::unique_ptr<ArchiveStream>> OpenLayer(const ImageLayer& layer, std::uint64_t most) {
  BAILIFF_TRY_ASSIGN(auto stream, ArchiveStream::Open(layer.file.part, most));
  const Compression found = stream->compression();
  if (found == Compression::kXz || (layer.compression && *layer.compression != found))
    return MakeFault(SnapshotFault::kMediaType, "layer", "its compression is not what was said");
  return stream;
}

Error InLayer(Error error, const ImagePlan& plan, std::size_t index) {
  error.why +=
      " (in layer " + std::to_string(index + 1) + " of " + std::to_string(plan.layers.size()) +
      ", sha256:" + plan.layers[index].blob.value_or(plan.layers[index].diff_id).hex() + ")";
  return error;
}

Result<void> VerifyLayers(const ImagePlan& plan, Reporter& reporter) {
  const std::unique_ptr<char[]> buffer(new char[kBuffer]);
  std::uint64_t stored = 0;
  for (std::size_t i = 0; i < plan.layers.size(); ++i) {
    const auto checked = CheckStored(plan.layers[i], stored, buffer.get(), reporter);
    if (!checked.ok()) return InLayer(checked.error(), plan, i);
  }
  std::uint64_t unpacked = 0;
  for (std::size_t i = 0; i < plan.layers.size(); ++i) {
    const auto checked = CheckUnpacked(plan.layers[i], unpacked, buffer.get(), reporter);
    if (!checked.ok()) return InLayer(checked.error(), plan, i);
  }
  return {};
}

}  // namespace bailiff::snapshotter
