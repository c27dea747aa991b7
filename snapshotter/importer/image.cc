// SPDX-License-Identifier: Apache-2.0
#include "snapshotter/importer/image.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "snapshotter/importer/archive_stream.h"
#include "snapshotter/importer/unpack.h"

namespace bailiff::snapshotter {
namespace {

using policy::MakeFault;
using policy::SnapshotFault;

// Headers, names and padding beside the bytes of the files: three blocks an entry are generous.
constexpr std::uint64_t kMostUnpacked =
    policy::kImageBounds.bytes + policy::kImageBounds.entries * 4 * 512;

Result<void> WriteConfig(int out, const std::string& config) {
  const ipc::Fd file(
      openat(out, "config.json", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444));
  if (!file.valid()) return MakeFault(SnapshotFault::kIo, "config.json", "openat", errno);
  return ipc::WriteAll(file.get(), config, "config.json");
}

}  // namespace

Result<JobResult> UnpackRoot(ArchiveStream& stream, int root, Reporter& reporter) {
  TarReader tar(stream);
  Unpacker unpacker(root, reporter);
  for (;;) {
    BAILIFF_TRY_ASSIGN(const auto entry, tar.Next());
    if (!entry) break;
    BAILIFF_TRY(unpacker.Write(*entry, tar));
  }
  if (unpacker.entries() == 0)
    return MakeFault(SnapshotFault::kArchiveEmpty, "archive", "no file in it");
  BAILIFF_TRY(unpacker.MakeMountPoints());
  JobResult result{{}, {}, unpacker.entries(), unpacker.bytes()};
  const policy::Digest diff_id = stream.Finish();
  BAILIFF_TRY(reporter.Object(policy::ObjectKind::kLayer, diff_id, stream.bytes()));
  result.digest = policy::Hash(policy::RootfsConfig(diff_id));
  result.tree = diff_id;
  return result;
}

Result<JobResult> ImportImage(int archive, int out, Reporter& reporter) {
  struct stat status;
  if (fstat(archive, &status) != 0) return MakeFault(SnapshotFault::kIo, "archive", "fstat", errno);
  BAILIFF_TRY_ASSIGN(
      const auto stream,
      ArchiveStream::Open(archive, static_cast<std::uint64_t>(status.st_size), kMostUnpacked));
  if (mkdirat(out, "root", 0755) != 0)
    return MakeFault(SnapshotFault::kIo, "root", "mkdirat", errno);
  const ipc::Fd root(openat(out, "root", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!root.valid()) return MakeFault(SnapshotFault::kIo, "root", "openat", errno);
  BAILIFF_TRY_ASSIGN(JobResult result, UnpackRoot(*stream, root.get(), reporter));
  BAILIFF_TRY(WriteConfig(out, policy::RootfsConfig(*result.tree)));
  result.tree.reset();
  return result;
}

}  // namespace bailiff::snapshotter
