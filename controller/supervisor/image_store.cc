// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <set>

#include "controller/supervisor/chown_tree.h"
#include "controller/supervisor/object_store.h"
#include "controller/supervisor/objects.h"
#include "controller/supervisor/staging_directory.h"
#include "ipc/fault.h"
#include "policy/tree_path.h"

namespace bailiff::controller {
namespace {

using policy::Digest;

constexpr std::size_t kBuffer = 256 * 1024;
constexpr std::size_t kMaxConfig = 4096;
constexpr std::uint64_t kMaxArchive = policy::kImageBounds.bytes + (512ULL << 20);
constexpr std::uint64_t kMostNodes =
    policy::kImageBounds.entries * (1 + policy::kDirectoriesPerEntry);

Error Mismatch(const char* what, const char* why) {
  return {ErrorCode::kJobStaged, what, why, 0, {}};
}

// The controller hashes what it does not read: the archive as it was given.
Result<Digest> HashArchive(int archive, const JobHooks& hooks) {
  struct stat status;
  if (fstat(archive, &status) != 0) return SystemError("fstat", "archive");
  if (!S_ISREG(status.st_mode))
    return Error{ErrorCode::kImportFile, "archive", "no regular file", 0, {}};
  if (static_cast<std::uint64_t>(status.st_size) > kMaxArchive)
    return Error{ErrorCode::kSnapshotBytes, "archive", "larger than any image", 0, {}};
  policy::Sha256 sha;
  static thread_local std::array<char, kBuffer> buffer;
  for (off_t at = 0;;) {
    if (hooks.cancelled && hooks.cancelled())
      return Error{ErrorCode::kCancelled, "import", "cancelled", 0, {}};
    const ssize_t got = pread(archive, buffer.data(), buffer.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError("pread", "archive");
    if (got == 0) break;
    sha.Update({buffer.data(), static_cast<std::size_t>(got)});
    at += got;
  }
  if (lseek(archive, 0, SEEK_SET) != 0) return SystemError("lseek", "archive");
  return sha.Finish();
}

// What the importer left is exactly root/ and config.json, and the latter holds the bytes that
// follow from the layer's digest.
Result<void> CheckStaged(int out, const std::string& config) {
  const ipc::Fd file(openat(out, "config.json", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status;
  if (!file.valid() || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_nlink != 1)
    return Mismatch("config.json", "is no file of its own");
  BAILIFF_TRY_ASSIGN(const std::string written,
                     ipc::ReadToEnd(file.get(), kMaxConfig, "config.json"));
  if (written != config) return Mismatch("config.json", "is not the configuration of its layer");
  BAILIFF_TRY_ASSIGN(ipc::Fd listing, ipc::OpenAt(out, ".", O_RDONLY | O_DIRECTORY));
  alignas(dirent64) char buffer[4096];
  std::set<std::string> names;
  while (names.size() <= 4) {
    const ssize_t got = getdents64(listing.get(), buffer, sizeof buffer);
    if (got < 0) return SystemError("getdents64", "staging");
    if (got == 0) break;
    for (ssize_t at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const dirent64*>(buffer + at);
      at += entry->d_reclen;
      names.insert(entry->d_name);
    }
  }
  if (names != std::set<std::string>{".", "..", "config.json", "root"})
    return Mismatch("image", "holds more than root and config.json");
  return {};
}

// `complete` is written last, by the controller: what the verifying job found.
std::string CompleteText(const ImageInfo& info) {
  return "bailiff-image 1\ntree " + info.tree.hex() + "\nentries " + std::to_string(info.entries) +
         "\nbytes " + std::to_string(info.bytes) + "\n";
}

Result<ImageInfo> ReadExisting(int images, const std::string& name, ImageInfo info) {
  BAILIFF_TRY_ASSIGN(const ipc::Fd image,
                     ipc::OpenAt(images, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  BAILIFF_TRY_ASSIGN(const std::string text, ipc::ReadFileAt(image.get(), "complete", 512));
  std::array<char, 65> tree;
  unsigned long long entries = 0;
  unsigned long long bytes = 0;
  if (std::sscanf(text.c_str(), "bailiff-image 1\ntree %64[0-9a-f]\nentries %llu\nbytes %llu\n",
                  tree.data(), &entries, &bytes) != 3 ||
      !policy::ParseDigest(tree.data()))
    return Error{
        ErrorCode::kTreeMismatch, "image " + name, "its file \"complete\" is damaged", 0, {}};
  info.tree = *policy::ParseDigest(tree.data());
  info.entries = entries;
  info.bytes = bytes;
  info.existed = true;
  return info;
}

Result<void> WriteComplete(int out, const ImageInfo& info) {
  BAILIFF_TRY_ASSIGN(const ipc::Fd file,
                     ipc::OpenAt(out, "complete", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0444));
  return ipc::WriteAll(file.get(), CompleteText(info), "complete");
}

Result<Digest> LayerOf(const JobClaims& claims) {
  if (claims.objects.size() != 1 || claims.objects.front().kind != policy::ObjectKind::kLayer)
    return Mismatch("image", "not one layer");
  return claims.objects.front().digest;
}

}  // namespace

Result<ImageInfo> ImportImage(const JobHost& host, int archive, const JobHooks& hooks) {
  ImageInfo info;
  BAILIFF_TRY_ASSIGN(info.source, HashArchive(archive, hooks));
  BAILIFF_TRY_ASSIGN(const ipc::Fd images, OpenData(host.data, "images"));
  BAILIFF_TRY(SweepStaging(host.data));
  BAILIFF_TRY_ASSIGN(const StagingDirectory staging, StagingDirectory::Make(host));
  BAILIFF_TRY_ASSIGN(
      JobClaims claims,
      RunJob(host, {JobKind::kImportImage, {}, archive, staging.out(), 0, 1}, hooks));
  if (const int error = BAILIFF_FAULT(JobReaped)) return SystemError("waitid", "importer", error);
  BAILIFF_TRY_ASSIGN(info.diff_id, LayerOf(claims));
  info.config = policy::RootfsConfig(info.diff_id);
  info.image = policy::Hash(info.config);
  info.warnings = std::move(claims.warnings);
  if (info.image != claims.digest)
    return Mismatch("image", "its id is not that of its configuration");
  BAILIFF_TRY(CheckStaged(staging.out(), info.config));
  const std::string name = info.image.hex();
  if (faccessat(images.get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0)
    return ReadExisting(images.get(), name, std::move(info));

  // Verified while its files are still the helpers': a file that only its owner may read is the
  // controller's alone afterwards. The importer is reaped, so nothing but the controller can change
  // them in between.
  BAILIFF_TRY_ASSIGN(const ipc::Fd root,
                     ipc::OpenAt(staging.out(), "root", O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  BAILIFF_TRY_ASSIGN(const JobClaims found,
                     RunJob(host, {JobKind::kVerifyImage, {}, root.get(), -1, 0, 1}, hooks));
  info.tree = found.digest;
  info.entries = found.entries;
  info.bytes = found.bytes;
  BAILIFF_TRY(ChownTree(staging.job(), "out", 0, 0, kMostNodes));
  BAILIFF_TRY(WriteComplete(staging.out(), info));
  if (const int error = BAILIFF_FAULT(ImageSync)) return SystemError("syncfs", "image", error);
  if (syncfs(staging.out()) != 0) return SystemError("syncfs", "image");
  if (const int error = BAILIFF_FAULT(ImageRename)) return SystemError("renameat2", name, error);
  if (renameat2(staging.job(), "out", images.get(), name.c_str(), RENAME_NOREPLACE) != 0) {
    if (errno == EEXIST) return ReadExisting(images.get(), name, std::move(info));
    return SystemError("renameat2", name);
  }
  BAILIFF_TRY(SyncDirectoryFd(images.get(), "images"));
  return info;
}

}  // namespace bailiff::controller
