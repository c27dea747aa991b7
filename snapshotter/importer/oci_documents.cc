// SPDX-License-Identifier: Apache-2.0
#include "snapshotter/importer/oci_documents.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <utility>

#include "policy/document.h"
#include "policy/json.h"
#include "policy/snapshot_codes.h"

namespace bailiff::snapshotter {
namespace {

using policy::Child;

using policy::Faults;
using policy::MakeFault;
using policy::Members;
using policy::SnapshotFault;
using policy::Value;

constexpr std::size_t kMaxName = 255;  // of a file that manifest.json names

constexpr auto kMediaTypes = std::to_array<std::pair<std::string_view, MediaType>>({
    {"application/vnd.oci.image.index.v1+json", MediaType::kIndex},
    {"application/vnd.docker.distribution.manifest.list.v2+json", MediaType::kIndex},
    {"application/vnd.oci.image.manifest.v1+json", MediaType::kManifest},
    {"application/vnd.docker.distribution.manifest.v2+json", MediaType::kManifest},
    {"application/vnd.oci.image.config.v1+json", MediaType::kConfig},
    {"application/vnd.docker.container.image.v1+json", MediaType::kConfig},
    {"application/vnd.oci.image.layer.v1.tar", MediaType::kLayer},
    {"application/vnd.oci.image.layer.v1.tar+gzip", MediaType::kLayerGzip},
    {"application/vnd.oci.image.layer.v1.tar+zstd", MediaType::kLayerZstd},
    {"application/vnd.docker.image.rootfs.diff.tar", MediaType::kLayer},
    {"application/vnd.docker.image.rootfs.diff.tar.gzip", MediaType::kLayerGzip},
    {"application/vnd.docker.image.rootfs.diff.tar.zstd", MediaType::kLayerZstd},
});

MediaType MediaTypeOf(std::string_view text) {
  for (const auto& [name, type] : kMediaTypes) {
    if (name == text) return type;
  }
  return MediaType::kOther;
}

bool IsLayer(MediaType type) {
  return type == MediaType::kLayer || type == MediaType::kLayerGzip ||
         type == MediaType::kLayerZstd;
}

Error Refused(const std::string& name, const Faults& faults) {
  const Error first = faults.ToError();
  return MakeFault(SnapshotFault::kDocument, name, first.subject + ": " + first.why);
}

Result<Value> Parse(std::string_view bytes, const std::string& name) {
  Faults faults;
  std::optional<Value> value = policy::ParseJson(bytes, faults);
  if (!value) return Refused(name, faults);
  return std::move(*value);
}

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool EqualButForCase(std::string_view a, std::string_view b) {
  return a != b && a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(),
                    [](char x, char y) { return Lower(x) == Lower(y); });
}

void RefuseOtherCase(const Value& object, std::initializer_list<std::string_view> known,
                     const std::string& pointer, Faults& faults) {
  if (object.object() == nullptr) return;
  for (const Value::Member& member : *object.object()) {
    for (const std::string_view name : known) {
      if (EqualButForCase(member.name, name))
        faults.Add(Child(pointer, member.name), ErrorCode::kJsonUnknown, member.name,
                   "differs from " + std::string(name) + " in case only");
    }
  }
}

// Go writes null for what is not set: it is as good as absent.
const Value* Present(Members& members, std::string_view name) {
  const Value* value = members.Optional(name);
  return value == nullptr || value->kind() == Value::Kind::kNull ? nullptr : value;
}

std::optional<std::string> Text(Members& members, std::string_view name) {
  if (Present(members, name) == nullptr) return std::nullopt;
  return members.String(name);
}

// "sha256:" and 64 lower-case digits: nothing else becomes a digest, and only a digest becomes a
// path (case b09).
std::optional<policy::Digest> DigestOf(std::string_view text, const std::string& pointer,
                                       Faults& faults) {
  constexpr std::string_view kAlgorithm = "sha256:";
  if (text.starts_with(kAlgorithm)) {
    if (const auto digest = policy::ParseDigest(text.substr(kAlgorithm.size()))) return digest;
  }
  faults.Add(pointer, ErrorCode::kJsonDigest, std::string(text.substr(0, 80)),
             "must be sha256: and 64 lower-case hexadecimal digits");
  return std::nullopt;
}

void ReadPlatform(const Value& value, const std::string& pointer, Faults& faults,
                  Descriptor& descriptor) {
  Members platform(value, pointer, faults);
  RefuseOtherCase(value, {"os", "architecture"}, pointer, faults);
  const auto os = platform.String("os");
  const auto architecture = platform.String("architecture");
  descriptor.has_platform = true;
  descriptor.for_us = os == "linux" && architecture == "amd64";
}

Descriptor ReadDescriptor(const Value& value, const std::string& pointer, Faults& faults) {
  Descriptor descriptor;
  Members members(value, pointer, faults);
  RefuseOtherCase(value, {"mediaType", "digest", "size", "platform"}, pointer, faults);
  if (const auto type = members.String("mediaType")) descriptor.type = MediaTypeOf(*type);
  if (const auto text = members.String("digest")) {
    if (const auto digest = DigestOf(*text, Child(pointer, "digest"), faults))
      descriptor.digest = *digest;
  }
  descriptor.size = members.Number("size").value_or(0);
  if (const Value* platform = Present(members, "platform"))
    ReadPlatform(*platform, Child(pointer, "platform"), faults, descriptor);
  return descriptor;
}

std::vector<Descriptor> ReadDescriptors(Members& members, std::string_view name, std::size_t most,
                                        Faults& faults) {
  std::vector<Descriptor> descriptors;
  const Value::Array* list = members.List(name);
  if (list == nullptr) return descriptors;
  const std::string pointer = Child(members.pointer(), name);
  if (list->empty() || list->size() > most) {
    faults.Add(pointer, ErrorCode::kJsonRange, std::to_string(list->size()) + " items",
               "must be 1 to " + std::to_string(most));
    return descriptors;
  }
  for (std::size_t i = 0; i < list->size(); ++i)
    descriptors.push_back(ReadDescriptor((*list)[i], Child(pointer, i), faults));
  return descriptors;
}

// Both kinds of document carry schemaVersion 2 and may repeat their own media type.
void CheckHead(Members& members, MediaType wanted, Faults& faults) {
  if (const auto version = members.Number("schemaVersion"); version && *version != 2)
    faults.Add("/schemaVersion", ErrorCode::kJsonRange, std::to_string(*version), "must be 2");
  if (const auto type = Text(members, "mediaType"); type && MediaTypeOf(*type) != wanted)
    faults.Add("/mediaType", ErrorCode::kJsonRange, type->substr(0, 120),
               "is not what this document is named as");
}

void ReadEnvironment(const Value& value, const std::string& pointer, Faults& faults,
                     policy::ImageFacts& facts) {
  const Value::Array* list = value.array();
  if (list == nullptr) {
    policy::AddTypeFault(faults, pointer, "Env", "an array", value);
    return;
  }
  std::size_t bytes = 0;
  for (const Value& item : *list) {
    if (item.string() == nullptr) {
      policy::AddTypeFault(faults, pointer, "Env", "strings", item);
      return;
    }
    bytes += item.string()->size();
    if (facts.environment.size() >= policy::kMaxImageEnvironment ||
        bytes > policy::kMaxImageEnvironmentBytes) {
      faults.Add(pointer, ErrorCode::kJsonRange, "Env",
                 "more than 64 entries or 32 KiB: no recipe could match it");
      return;
    }
    facts.environment.push_back(*item.string());
  }
}

// {"Test":["NONE"]} takes a health command of a lower image away; without Test nothing is set.
bool HasHealthCommand(const Value& value, const std::string& pointer, Faults& faults) {
  Members health(value, pointer, faults);
  RefuseOtherCase(value, {"Test"}, pointer, faults);
  const Value* test = Present(health, "Test");
  if (test == nullptr) return false;
  const Value::Array* words = test->array();
  if (words == nullptr) {
    policy::AddTypeFault(faults, pointer, "Test", "an array", *test);
    return true;
  }
  return !words->empty() && !(words->size() == 1 && words->front() == Value("NONE"));
}

void ReadExecution(const Value& value, Faults& faults, policy::ImageFacts& facts) {
  const std::string pointer = "/config";
  Members members(value, pointer, faults);
  RefuseOtherCase(value, {"Env", "Volumes", "Healthcheck"}, pointer, faults);
  if (const Value* environment = Present(members, "Env"))
    ReadEnvironment(*environment, Child(pointer, "Env"), faults, facts);
  if (const Value* volumes = Present(members, "Volumes")) {
    if (volumes->object() == nullptr)
      policy::AddTypeFault(faults, Child(pointer, "Volumes"), "Volumes", "an object", *volumes);
    facts.volumes = volumes->object() == nullptr || !volumes->object()->empty();
  }
  if (const Value* health = Present(members, "Healthcheck"))
    facts.health_command = HasHealthCommand(*health, Child(pointer, "Healthcheck"), faults);
}

void ReadDiffIds(const Value& value, Faults& faults, ImageConfig& config) {
  const std::string pointer = "/rootfs";
  Members rootfs(value, pointer, faults);
  RefuseOtherCase(value, {"type", "diff_ids"}, pointer, faults);
  if (const auto type = rootfs.String("type"); type && *type != "layers")
    faults.Add("/rootfs/type", ErrorCode::kJsonRange, type->substr(0, 80), "must be layers");
  const Value::Array* list = rootfs.List("diff_ids");
  if (list == nullptr) return;
  if (list->empty() || list->size() > policy::kMaxImageLayers) {
    faults.Add("/rootfs/diff_ids", ErrorCode::kJsonRange, std::to_string(list->size()) + " items",
               "must be 1 to " + std::to_string(policy::kMaxImageLayers));
    return;
  }
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::string* text = (*list)[i].string();
    const auto digest =
        DigestOf(text == nullptr ? "" : *text, Child("/rootfs/diff_ids", i), faults);
    if (digest) config.diff_ids.push_back(*digest);
  }
}

std::optional<std::string> FileName(const Value& value, const std::string& pointer,
                                    Faults& faults) {
  const std::string* name = value.string();
  if (name != nullptr && !name->empty() && name->size() <= kMaxName) return *name;
  faults.Add(pointer, ErrorCode::kJsonType, "a file's name", "must be a text of 1 to 255 bytes");
  return std::nullopt;
}

}  // namespace

Result<void> ParseLayoutMarker(std::string_view bytes, const std::string& name) {
  BAILIFF_TRY_ASSIGN(const Value document, Parse(bytes, name));
  Faults faults;
  Members members(document, "", faults);
  RefuseOtherCase(document, {"imageLayoutVersion"}, "", faults);
  if (const auto version = members.String("imageLayoutVersion"); version && *version != "1.0.0")
    faults.Add("/imageLayoutVersion", ErrorCode::kJsonRange, version->substr(0, 80),
               "must be 1.0.0");
  if (!faults.empty()) return Refused(name, faults);
  return {};
}

Result<std::vector<Descriptor>> ParseIndex(std::string_view bytes, const std::string& name) {
  BAILIFF_TRY_ASSIGN(const Value document, Parse(bytes, name));
  Faults faults;
  Members members(document, "", faults);
  RefuseOtherCase(document, {"schemaVersion", "mediaType", "manifests"}, "", faults);
  CheckHead(members, MediaType::kIndex, faults);
  std::vector<Descriptor> manifests = ReadDescriptors(members, "manifests", kMaxManifests, faults);
  if (!faults.empty()) return Refused(name, faults);
  return manifests;
}

Result<ImageManifest> ParseManifest(std::string_view bytes, const std::string& name) {
  BAILIFF_TRY_ASSIGN(const Value document, Parse(bytes, name));
  Faults faults;
  Members members(document, "", faults);
  RefuseOtherCase(document, {"schemaVersion", "mediaType", "config", "layers"}, "", faults);
  CheckHead(members, MediaType::kManifest, faults);
  ImageManifest manifest;
  if (const Value* config = members.Required("config"))
    manifest.config = ReadDescriptor(*config, "/config", faults);
  manifest.layers = ReadDescriptors(members, "layers", policy::kMaxImageLayers, faults);
  if (!faults.empty()) return Refused(name, faults);
  if (manifest.config.type != MediaType::kConfig)
    return MakeFault(SnapshotFault::kMediaType, name, "its config is not that of an image");
  for (const Descriptor& layer : manifest.layers) {
    if (!IsLayer(layer.type))
      return MakeFault(SnapshotFault::kMediaType, name,
                       "layer " + layer.digest.hex() + " is of a kind that is not known");
  }
  return manifest;
}

Result<ImageConfig> ParseImageConfig(std::string_view bytes, const std::string& name) {
  BAILIFF_TRY_ASSIGN(const Value document, Parse(bytes, name));
  Faults faults;
  Members members(document, "", faults);
  RefuseOtherCase(document, {"architecture", "os", "config", "rootfs"}, "", faults);
  ImageConfig config;
  const auto architecture = members.String("architecture");
  const auto os = members.String("os");
  if (const Value* execution = Present(members, "config"))
    ReadExecution(*execution, faults, config.facts);
  if (const Value* rootfs = members.Required("rootfs")) ReadDiffIds(*rootfs, faults, config);
  if (!faults.empty()) return Refused(name, faults);
  if (*os != "linux" || *architecture != "amd64")
    return MakeFault(SnapshotFault::kPlatform, name,
                     os->substr(0, 40) + "/" + architecture->substr(0, 40));
  return config;
}

Result<DockerImage> ParseDockerManifest(std::string_view bytes, const std::string& name) {
  BAILIFF_TRY_ASSIGN(const Value document, Parse(bytes, name));
  Faults faults;
  const Value::Array* images = document.array();
  if (images == nullptr || images->empty()) {
    policy::AddTypeFault(faults, "", name, "an array of images", document);
    return Refused(name, faults);
  }
  if (images->size() != 1)
    return MakeFault(SnapshotFault::kManifests, name,
                     std::to_string(images->size()) + " images are in it");
  Members members(images->front(), "/0", faults);
  RefuseOtherCase(images->front(), {"Config", "Layers"}, "/0", faults);
  DockerImage image;
  if (const Value* config = members.Required("Config"))
    image.config = FileName(*config, "/0/Config", faults).value_or("");
  const Value::Array* layers = members.List("Layers");
  if (layers != nullptr && (layers->empty() || layers->size() > policy::kMaxImageLayers)) {
    faults.Add("/0/Layers", ErrorCode::kJsonRange, std::to_string(layers->size()) + " items",
               "must be 1 to " + std::to_string(policy::kMaxImageLayers));
  } else if (layers != nullptr) {
    for (std::size_t i = 0; i < layers->size(); ++i)
      image.layers.push_back(FileName((*layers)[i], Child("/0/Layers", i), faults).value_or(""));
  }
  if (!faults.empty()) return Refused(name, faults);
  return image;
}

}  // namespace bailiff::snapshotter
