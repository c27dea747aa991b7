// SPDX-License-Identifier: Apache-2.0
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <set>

#include "controller/store/files.h"
#include "controller/supervisor/chown_tree.h"
#include "controller/supervisor/object_store.h"
#include "controller/supervisor/objects.h"
#include "controller/supervisor/staging_directory.h"
#include "ipc/fault.h"
#include "policy/json.h"
#include "policy/tree_path.h"

namespace bailiff::controller {
namespace {

using policy::Digest;

constexpr std::size_t kBuffer = 256 * 1024;
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

// index.json names all there is of a layout by digest: its own digest is the directory's.
Result<Digest> HashLayout(int directory) {
  auto index = ipc::OpenBeneath(directory, "index.json", O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!index.ok() && index.error().system_error == EACCES)
    return Error{ErrorCode::kSnapshotUnreadable, "index.json", index.error().why, EACCES, {}};
  struct stat status;
  if (!index.ok() || fstat(index->get(), &status) != 0 || !S_ISREG(status.st_mode))
    return Error{ErrorCode::kImageFormat, "directory", "it has no index.json", 0, {}};
  BAILIFF_TRY_ASSIGN(const std::string bytes,
                     ipc::ReadToEnd(index->get(), policy::kMaxDocument, "index.json"));
  return policy::Hash(bytes);
}

Result<Digest> HashSource(const ImageSource& source, const JobHooks& hooks) {
  return source.file >= 0 ? HashArchive(source.file, hooks) : HashLayout(source.directory);
}

// What the importer left is exactly root/ and config.json; gives the bytes of the latter.
Result<std::string> ReadStaged(int out) {
  const ipc::Fd file(openat(out, "config.json", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status;
  if (!file.valid() || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_nlink != 1)
    return Mismatch("config.json", "is no file of its own");
  BAILIFF_TRY_ASSIGN(std::string config,
                     ipc::ReadToEnd(file.get(), policy::kMaxImageConfig, "config.json"));
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
  return config;
}

Result<ImageInfo> ReadExisting(int data, ImageInfo info) {
  BAILIFF_TRY_ASSIGN(info.record, ReadImageRecord(data, info.image.hex()));
  info.existed = true;
  return info;
}

Result<void> WriteComplete(int out, const ImageInfo& info) {
  BAILIFF_TRY_ASSIGN(const std::string text, EncodeImageRecord(info.record));
  BAILIFF_TRY_ASSIGN(const ipc::Fd file,
                     ipc::OpenAt(out, "complete", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0444));
  return ipc::WriteAll(file.get(), text, "complete");
}

Result<std::vector<Digest>> LayersOf(const JobClaims& claims) {
  std::vector<Digest> layers;
  for (const StagedObject& object : claims.objects) {
    if (object.kind != policy::ObjectKind::kLayer) return Mismatch("image", "not a layer");
    layers.push_back(object.digest);
  }
  if (layers.empty()) return Mismatch("image", "no layer");
  return layers;
}

// What the configuration says, from a process that reads it and nothing else. The bytes we make
// ourselves say nothing.
Result<policy::ImageFacts> ReadFacts(const JobHost& host, int out, const ImageInfo& info,
                                     const JobHooks& hooks) {
  if (info.diff_ids.size() == 1 && info.config == policy::RootfsConfig(info.diff_ids.front()))
    return policy::ImageFacts();
  BAILIFF_TRY_ASSIGN(const ipc::Fd config, ipc::OpenAt(out, "config.json", O_RDONLY | O_NOFOLLOW));
  JobRequest request{JobKind::kReadImageConfig};
  request.file = config.get();
  BAILIFF_TRY_ASSIGN(JobClaims claims, RunJob(host, request, hooks));
  BAILIFF_TRY_ASSIGN(const std::vector<Digest> named, LayersOf(claims));
  if (claims.digest != info.image || named != info.diff_ids)
    return Mismatch("config.json", "does not name the layers that were unpacked");
  if (!claims.facts) return Mismatch("config.json", "its reader gave no facts");
  return std::move(*claims.facts);
}

constexpr const char* kVerifiedName = "verified";

// What `verified` holds: where the root lies. A file that is restored or copied has another inode.
Result<std::string> PlaceOf(int root) {
  struct stat status;
  if (fstat(root, &status) != 0) return SystemError("fstat", "root");
  return std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino) + "\n";
}

Result<void> WriteVerified(int out, int root) {
  BAILIFF_TRY_ASSIGN(const std::string place, PlaceOf(root));
  BAILIFF_TRY_ASSIGN(
      const ipc::Fd file,
      ipc::OpenAt(out, kVerifiedName, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0400));
  return ipc::WriteAll(file.get(), place, kVerifiedName);
}

Result<ipc::Fd> OpenRoot(int data, const std::string& name) {
  return ipc::OpenBeneath(data, ("images/" + name + "/root").c_str(), O_RDONLY | O_DIRECTORY);
}

// The importer's claims against what it left.
Result<void> CheckImage(const JobClaims& claims, const ImageSource& source, int out,
                        ImageInfo& info) {
  BAILIFF_TRY_ASSIGN(info.diff_ids, LayersOf(claims));
  BAILIFF_TRY_ASSIGN(info.config, ReadStaged(out));
  info.image = policy::Hash(info.config);
  if (info.image != claims.digest)
    return Mismatch("image", "its id is not that of its configuration");
  if (source.format == policy::ImageFormat::kRootfs &&
      (info.diff_ids.size() != 1 || info.config != policy::RootfsConfig(info.diff_ids.front())))
    return Mismatch("config.json", "is not the configuration of its layer");
  return {};
}

}  // namespace

Result<ImageInfo> ImportImage(const JobHost& shared, const ImageSource& source,
                              const JobHooks& hooks) {
  const JobHost host = source.directory >= 0 ? ReaderOf(shared) : shared;
  ImageInfo info;
  BAILIFF_TRY_ASSIGN(info.source, HashSource(source, hooks));
  BAILIFF_TRY_ASSIGN(const ipc::Fd images, OpenData(host.data, "images"));
  BAILIFF_TRY(SweepStaging(host.data));
  BAILIFF_TRY_ASSIGN(const StagingDirectory staging, StagingDirectory::Make(host));
  JobRequest request{JobKind::kImportImage};
  request.in = source.directory;
  request.file = source.file;
  request.out = staging.out();
  request.format = source.format;
  BAILIFF_TRY_ASSIGN(JobClaims claims, RunJob(host, request, hooks));
  if (const int error = BAILIFF_FAULT(JobReaped)) return SystemError("waitid", "importer", error);
  BAILIFF_TRY(CheckImage(claims, source, staging.out(), info));
  info.warnings = std::move(claims.warnings);
  const std::string name = info.image.hex();
  if (faccessat(images.get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0)
    return ReadExisting(host.data, std::move(info));
  BAILIFF_TRY_ASSIGN(info.record.facts, ReadFacts(host, staging.out(), info, hooks));

  // Verified while its files are still the helpers': a file that only its owner may read is the
  // controller's alone afterwards. The importer is reaped, so nothing but the controller can change
  // them in between.
  BAILIFF_TRY_ASSIGN(const ipc::Fd root,
                     ipc::OpenAt(staging.out(), "root", O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  BAILIFF_TRY_ASSIGN(const JobClaims found,
                     RunJob(host, {JobKind::kVerifyImage, {}, root.get(), -1, 0, 1}, hooks));
  info.record.tree = found.digest;
  info.record.entries = found.entries;
  info.record.bytes = found.bytes;
  BAILIFF_TRY(ChownTree(staging.job(), "out", 0, 0, kMostNodes));
  BAILIFF_TRY(WriteComplete(staging.out(), info));
  BAILIFF_TRY(WriteVerified(staging.out(), root.get()));
  if (const int error = BAILIFF_FAULT(ImageSync)) return SystemError("syncfs", "image", error);
  if (syncfs(staging.out()) != 0) return SystemError("syncfs", "image");
  if (const int error = BAILIFF_FAULT(ImageRename)) return SystemError("renameat2", name, error);
  if (renameat2(staging.job(), "out", images.get(), name.c_str(), RENAME_NOREPLACE) != 0) {
    if (errno == EEXIST) return ReadExisting(host.data, std::move(info));
    return SystemError("renameat2", name);
  }
  BAILIFF_TRY(SyncDirectoryFd(images.get(), "images"));
  return info;
}

Result<void> VerifyImage(const JobHost& host, const std::string& name, const Digest& tree,
                         const JobHooks& hooks) {
  const auto damaged = [&](std::string why) {
    return Error{ErrorCode::kImageRecord, "image " + name, std::move(why), 0, {}};
  };
  BAILIFF_TRY_ASSIGN(const ipc::Fd image, OpenData(host.data, "images/" + name));
  BAILIFF_TRY_ASSIGN(const std::string config,
                     ipc::ReadFileAt(image.get(), "config.json", policy::kMaxImageConfig));
  if (policy::Hash(config).hex() != name) return damaged("its configuration has another digest");
  BAILIFF_TRY_ASSIGN(const ImageRecord record, ReadImageRecord(host.data, name));
  if (record.tree != tree) return damaged("its file \"complete\" names another tree");
  BAILIFF_TRY_ASSIGN(const ipc::Fd root, OpenRoot(host.data, name));
  BAILIFF_TRY_ASSIGN(const JobClaims found,
                     RunJob(host, {JobKind::kVerifyImage, {}, root.get(), -1, 0, 1}, hooks));
  if (found.digest == tree) return {};
  return damaged("its files are not those it was imported with: they are tree " +
                 found.digest.hex() + ", not " + tree.hex());
}

Result<void> EnsureImage(const JobHost& host, const std::string& name, const Digest& tree,
                         const JobHooks& hooks) {
  BAILIFF_TRY_ASSIGN(const ipc::Fd root, OpenRoot(host.data, name));
  BAILIFF_TRY_ASSIGN(const std::string place, PlaceOf(root.get()));
  BAILIFF_TRY_ASSIGN(const ipc::Fd image, OpenData(host.data, "images/" + name));
  const auto known = ipc::ReadFileAt(image.get(), kVerifiedName, 64);
  if (known.ok() && *known == place) return {};
  BAILIFF_TRY(VerifyImage(host, name, tree, hooks));
  // Without it the next run hashes again; that is no reason to end this one.
  static_cast<void>(WriteFileDurably(image.get(), kVerifiedName, place, 0400).ok());
  return {};
}

}  // namespace bailiff::controller
