// SPDX-License-Identifier: Apache-2.0
#include "policy/object.h"

namespace bailiff::policy {

std::optional<ObjectKind> ParseObjectKind(std::uint32_t number) {
  if (number < 1 || number > 4) return std::nullopt;
  return static_cast<ObjectKind>(number);
}

std::string_view ObjectKindName(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::kBlob:
      return "blob";
    case ObjectKind::kTree:
      return "tree";
    case ObjectKind::kRevision:
      return "revision";
    case ObjectKind::kLayer:
      return "layer";
  }
  return "?";
}

std::optional<ImageFormat> ParseImageFormat(std::uint32_t number) {
  if (number < 1 || number > 4) return std::nullopt;
  return static_cast<ImageFormat>(number);
}

std::optional<ImageFormat> ImageFormatNamed(std::string_view name) {
  if (name == "rootfs") return ImageFormat::kRootfs;
  if (name == "oci") return ImageFormat::kOci;
  if (name == "docker") return ImageFormat::kDocker;
  return std::nullopt;
}

ObjectHasher::ObjectHasher(ObjectKind kind) {
  using namespace std::string_view_literals;
  if (kind == ObjectKind::kTree) sha_.Update("bailiff.tree.v1\0"sv);
  if (kind == ObjectKind::kRevision) sha_.Update("bailiff.revision.v1\0"sv);
}

std::string ObjectPath(ObjectKind kind, const Digest& digest) {
  const std::string hex = digest.hex();
  std::string path(ObjectKindName(kind));
  path += '/';
  path.append(hex, 0, 2);
  path += '/';
  path.append(hex, 2);
  return path;
}

std::string StagedName(ObjectKind kind, const Digest& digest) {
  return std::string(ObjectKindName(kind)) + '-' + digest.hex();
}

std::string DirectoryRevision(const Digest& tree) {
  return R"({"origin":{"kind":"directory"},"parents":[],"schema":"bailiff/revision/v1","tree":")" +
         tree.hex() + "\"}";
}

std::string RootfsConfig(const Digest& diff_id) {
  return R"({"architecture":"amd64","config":{},"os":"linux","rootfs":{"diff_ids":["sha256:)" +
         diff_id.hex() + R"("],"type":"layers"}})";
}

}  // namespace bailiff::policy
