// SPDX-License-Identifier: Apache-2.0
// Names and digests of content-addressed objects (contracts, section 2 "Objects" and section 3).
// The bytes of a tree are read and written by the snapshotter only; what is here is what both ends
// must agree on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "policy/digest.h"

namespace bailiff::policy {

// The numbers of Object.kind. A layer is no object of the store: it reports the digest (diff_id)
// and size of an image's uncompressed archive.
enum class ObjectKind : std::uint32_t { kBlob = 1, kTree = 2, kRevision = 3, kLayer = 4 };

std::optional<ObjectKind> ParseObjectKind(std::uint32_t number);
std::string_view ObjectKindName(ObjectKind kind);  // "blob", "tree", "revision", "layer"

// What an image is imported from; the numbers of ImportImage.format. kFound: what its content says.
enum class ImageFormat : std::uint32_t { kRootfs = 1, kOci = 2, kDocker = 3, kFound = 4 };

std::optional<ImageFormat> ParseImageFormat(std::uint32_t number);
// "rootfs", "oci", "docker"; nothing for another word.
std::optional<ImageFormat> ImageFormatNamed(std::string_view name);

// Most layers of one image, and most bytes of its configuration: what both ends hold each other to.
inline constexpr std::size_t kMaxImageLayers = 128;  // docker stops at 127
inline constexpr std::size_t kMaxImageConfig = 1 << 20;

// Hashes the bytes of one object the way its kind demands: a blob plainly, tree and revision under
// their domain.
class ObjectHasher {
 public:
  explicit ObjectHasher(ObjectKind kind);
  void Update(std::string_view bytes) { sha_.Update(bytes); }
  Digest Finish() { return sha_.Finish(); }

 private:
  Sha256 sha_;
};

// "blob/ab/cdef…" below objects/.
std::string ObjectPath(ObjectKind kind, const Digest& digest);
// "blob-<64 hex>", the name of a staged object.
std::string StagedName(ObjectKind kind, const Digest& digest);

// The bytes of a revision made from a directory, and of the image configuration made for a rootfs
// archive: both are functions of one digest, so the controller makes them itself and compares.
std::string DirectoryRevision(const Digest& tree);
std::string RootfsConfig(const Digest& diff_id);

}  // namespace bailiff::policy
