// SPDX-License-Identifier: Apache-2.0
// An image out: a helper makes one layer of its root, the controller hashes that layer and writes
// the OCI layout around it, which follows from its digest and size.
#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "controller/supervisor/object_store.h"
#include "controller/supervisor/objects.h"
#include "controller/supervisor/staging_directory.h"
#include "ipc/fault.h"
#include "policy/ustar.h"

namespace bailiff::controller {
namespace {

using policy::Digest;

constexpr std::size_t kBuffer = 256 * 1024;

std::string Descriptor(std::string_view type, const Digest& digest, std::uint64_t size,
                       std::string_view more = {}) {
  return std::string(R"({"mediaType":"application/vnd.oci.image.)")
      .append(type)
      .append(R"(","digest":"sha256:)")
      .append(digest.hex())
      .append(R"(","size":)")
      .append(std::to_string(size))
      .append(more)
      .append("}");
}

std::string BlobName(const Digest& digest) { return "blobs/sha256/" + digest.hex(); }

// Writes members of a tar one after the other, and hashes what it writes.
class Archive {
 public:
  Archive(int file, const JobHooks& hooks) : file_(file), hooks_(hooks) {}

  Result<void> Directory(const std::string& name) {
    const auto header = policy::TarHeader({name, '5', 0755, 0, {}});
    return Put({header.data(), header.size()});
  }

  Result<void> File(const std::string& name, std::string_view bytes) {
    BAILIFF_TRY(Begin(name, bytes.size()));
    BAILIFF_TRY(Put(bytes));
    return Pad(policy::TarPadding(bytes.size()));
  }

  // `layer`: a file of exactly `size` bytes, whose digest is known; read from its start.
  Result<void> Copy(const std::string& name, int layer, std::uint64_t size) {
    BAILIFF_TRY(Begin(name, size));
    static thread_local std::array<char, kBuffer> buffer;
    for (std::uint64_t at = 0; at < size;) {
      if (hooks_.cancelled && hooks_.cancelled())
        return Error{ErrorCode::kCancelled, "export", "cancelled", 0, {}};
      const ssize_t got = pread(layer, buffer.data(), buffer.size(), static_cast<off_t>(at));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return SystemError("pread", "layer.tar", got == 0 ? EIO : errno);
      BAILIFF_TRY(Put({buffer.data(), static_cast<std::size_t>(got)}));
      at += static_cast<std::uint64_t>(got);
    }
    return Pad(policy::TarPadding(size));
  }

  Result<void> End() { return Pad(2 * policy::kTarBlock); }

  std::uint64_t bytes() const { return bytes_; }
  Digest Finish() { return sha_.Finish(); }

 private:
  Result<void> Begin(const std::string& name, std::uint64_t size) {
    const auto header = policy::TarHeader({name, '0', 0644, size, {}});
    return Put({header.data(), header.size()});
  }

  Result<void> Pad(std::size_t count) {
    constexpr std::array<char, 2 * policy::kTarBlock> kZeros{};
    return Put({kZeros.data(), count});
  }

  Result<void> Put(std::string_view bytes) {
    sha_.Update(bytes);
    bytes_ += bytes.size();
    return ipc::WriteAll(file_, bytes, "exported image");
  }

  int file_;
  const JobHooks& hooks_;
  policy::Sha256 sha_;
  std::uint64_t bytes_ = 0;
};

// OCI Image Format Specification 1.1: image-layout.md, image-index.md, manifest.md. The layer lies
// there as it is, not compressed: a compressor of another version would give other bytes.
Result<void> WriteLayout(Archive& archive, int layer, std::uint64_t size,
                         const ExportedImage& made) {
  const std::string config = policy::RootfsConfig(made.layer);
  const std::string manifest =
      R"({"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":)" +
      Descriptor("config.v1+json", made.image, config.size()) + R"(,"layers":[)" +
      Descriptor("layer.v1.tar", made.layer, size) + "]}";
  const std::string index =
      R"({"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[)" +
      Descriptor("manifest.v1+json", policy::Hash(manifest), manifest.size(),
                 R"(,"annotations":{"org.opencontainers.image.ref.name":"latest"},)"
                 R"("platform":{"architecture":"amd64","os":"linux"})") +
      "]}";
  BAILIFF_TRY(archive.File("oci-layout", R"({"imageLayoutVersion":"1.0.0"})"));
  BAILIFF_TRY(archive.File("index.json", index));
  BAILIFF_TRY(archive.Directory("blobs/"));
  BAILIFF_TRY(archive.Directory("blobs/sha256/"));
  BAILIFF_TRY(archive.File(BlobName(policy::Hash(manifest)), manifest));
  BAILIFF_TRY(archive.File(BlobName(made.image), config));
  BAILIFF_TRY(archive.Copy(BlobName(made.layer), layer, size));
  return archive.End();
}

}  // namespace

Result<ExportedImage> ExportImage(const JobHost& host, const std::string& name, int file,
                                  const JobHooks& hooks) {
  BAILIFF_TRY(ReadImageRecord(host.data, name));
  BAILIFF_TRY_ASSIGN(
      const ipc::Fd root,
      ipc::OpenBeneath(host.data, ("images/" + name + "/root").c_str(), O_RDONLY | O_DIRECTORY));
  BAILIFF_TRY(SweepStaging(host.data));
  BAILIFF_TRY_ASSIGN(const StagingDirectory staging, StagingDirectory::Make(host));
  BAILIFF_TRY_ASSIGN(
      const JobClaims claims,
      RunJob(host, {JobKind::kExportImage, {}, root.get(), staging.out(), 0, 1}, hooks));
  if (const int error = BAILIFF_FAULT(JobReaped)) return SystemError("waitid", "importer", error);
  if (claims.objects.size() != 1 || claims.objects.front().kind != policy::ObjectKind::kLayer ||
      claims.objects.front().size >= policy::kMaxTarSize)
    return Error{ErrorCode::kJobStaged, "layer.tar", "is not one layer", 0, {}};
  const std::uint64_t size = claims.objects.front().size;
  BAILIFF_TRY_ASSIGN(const ipc::Fd layer,
                     ipc::OpenAt(staging.out(), "layer.tar", O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  ExportedImage made;
  BAILIFF_TRY_ASSIGN(made.layer,
                     HashStaged(layer.get(), policy::ObjectKind::kLayer, size, "layer.tar"));
  if (made.layer != claims.digest)
    return Error{ErrorCode::kJobStaged, "layer.tar", "has another digest", 0, {}};
  made.image = policy::Hash(policy::RootfsConfig(made.layer));
  made.entries = claims.entries;
  Archive archive(file, hooks);
  BAILIFF_TRY(WriteLayout(archive, layer.get(), size, made));
  made.bytes = archive.bytes();
  made.file = archive.Finish();
  return made;
}

}  // namespace bailiff::controller
