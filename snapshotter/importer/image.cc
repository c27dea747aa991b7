// SPDX-License-Identifier: Apache-2.0
#include "snapshotter/importer/image.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "ipc/fault.h"
#include "snapshotter/importer/archive_stream.h"
#include "snapshotter/importer/image_plan.h"

namespace bailiff::snapshotter {
namespace {

using policy::ImageFormat;
using policy::MakeFault;
using policy::SnapshotFault;
using policy::SnapshotWarning;

constexpr std::size_t kBuffer = 256 * 1024;
// An archive of an image: its layers as tars, and the files beside them.
constexpr std::uint64_t kMostArchive = kMostUnpacked + (64ULL << 20);

Result<void> WriteConfig(int out, const std::string& config) {
  const ipc::Fd file(
      openat(out, "config.json", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444));
  if (!file.valid()) return MakeFault(SnapshotFault::kIo, "config.json", "openat", errno);
  return ipc::WriteAll(file.get(), config, "config.json");
}

Result<ipc::Fd> MakeRoot(int out) {
  if (mkdirat(out, "root", 0755) != 0)
    return MakeFault(SnapshotFault::kIo, "root", "mkdirat", errno);
  ipc::Fd root(openat(out, "root", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!root.valid()) return MakeFault(SnapshotFault::kIo, "root", "openat", errno);
  return root;
}

Result<JobResult> ImportRoot(FilePart archive, int out, Reporter& reporter) {
  BAILIFF_TRY_ASSIGN(const auto stream, ArchiveStream::Open(archive, kMostUnpacked));
  BAILIFF_TRY_ASSIGN(const ipc::Fd root, MakeRoot(out));
  BAILIFF_TRY_ASSIGN(JobResult result, UnpackRoot(*stream, root.get(), reporter));
  BAILIFF_TRY(WriteConfig(out, policy::RootfsConfig(*result.tree)));
  result.tree.reset();
  return result;
}

// A compressed archive cannot be read in the order its documents ask for: its bytes are put into a
// file without a name first.
Result<ipc::Fd> Spool(FilePart archive, int out, Reporter& reporter) {
  if (const int error = BAILIFF_FAULT(HelperWrite))
    return MakeFault(SnapshotFault::kIo, "archive", "openat", error);
  ipc::Fd file(openat(out, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file.valid()) return MakeFault(SnapshotFault::kIo, "archive", "openat", errno);
  BAILIFF_TRY_ASSIGN(const auto stream, ArchiveStream::Open(archive, kMostArchive));
  const std::unique_ptr<char[]> buffer(new char[kBuffer]);
  for (;;) {
    BAILIFF_TRY_ASSIGN(const std::size_t got, stream->Read(buffer.get(), kBuffer));
    if (got == 0) return file;
    const auto written = ipc::WriteAll(file.get(), {buffer.get(), got}, "archive");
    if (!written.ok())
      return MakeFault(SnapshotFault::kIo, "archive", "write", written.error().system_error);
    BAILIFF_TRY(reporter.Progress(0, stream->bytes()));
  }
}

bool HoldsOci(const ImageFiles& files) {
  return files.Holds("oci-layout") && files.Holds("index.json");
}

Result<ImageFormat> Decide(const ImageFiles& files) {
  const bool oci = HoldsOci(files);
  if (!oci && !files.Holds("manifest.json")) return ImageFormat::kRootfs;
  if (!files.foreign().empty())
    return MakeFault(SnapshotFault::kFormat, files.foreign(),
                     "lies beside the documents of an image archive");
  return oci ? ImageFormat::kOci : ImageFormat::kDocker;
}

Result<void> ApplyLayers(const ImagePlan& plan, Unpacker& unpacker, Reporter& reporter) {
  std::uint64_t unpacked = 0;
  for (std::size_t i = 0; i < plan.layers.size(); ++i) {
    auto stream = OpenLayer(plan.layers[i], kMostUnpacked - unpacked);
    if (!stream.ok()) return InLayer(stream.error(), plan, i);
    if (const auto applied = ApplyLayer(**stream, unpacker); !applied.ok())
      return InLayer(applied.error(), plan, i);
    unpacked += (*stream)->bytes();
    if ((*stream)->Finish() != plan.layers[i].diff_id)
      return InLayer(MakeFault(SnapshotFault::kChanged, "layer", "changed after it was verified"),
                     plan, i);
    BAILIFF_TRY(
        reporter.Object(policy::ObjectKind::kLayer, plan.layers[i].diff_id, (*stream)->bytes()));
  }
  return {};
}

Result<JobResult> ImportPlan(const ImagePlan& plan, int out, Reporter& reporter) {
  BAILIFF_TRY(VerifyLayers(plan, reporter));
  BAILIFF_TRY_ASSIGN(const ipc::Fd root, MakeRoot(out));
  Unpacker unpacker(root.get(), reporter);
  BAILIFF_TRY(ApplyLayers(plan, unpacker, reporter));
  if (unpacker.entries() == 0)
    return MakeFault(SnapshotFault::kArchiveEmpty, "image", "no file in it");
  BAILIFF_TRY(unpacker.MakeMountPoints());
  BAILIFF_TRY(WriteConfig(out, plan.config));
  return JobResult{plan.image, {}, unpacker.entries(), unpacker.bytes()};
}

Result<JobResult> ImportDirectoryLayout(int directory, int out, ImageFormat format,
                                        Reporter& reporter) {
  const ImageFiles files = ImageFiles::OfDirectory(directory);
  const bool asked = format == ImageFormat::kOci;
  if (!asked && (format != ImageFormat::kFound || !files.Holds("oci-layout")))
    return MakeFault(SnapshotFault::kFormat, "directory", "it is no OCI layout");
  BAILIFF_TRY_ASSIGN(const ImagePlan plan, PlanOci(files));
  return ImportPlan(plan, out, reporter);
}

Result<ImagePlan> PlanArchive(const ImageFiles& files, ImageFormat format) {
  const bool oci = format == ImageFormat::kOci;
  BAILIFF_TRY_ASSIGN(ImagePlan plan, oci ? PlanOci(files) : PlanDocker(files));
  if (!(oci ? files.Holds("manifest.json") : HoldsOci(files))) return plan;
  BAILIFF_TRY_ASSIGN(const ImagePlan other, oci ? PlanDocker(files) : PlanOci(files));
  BAILIFF_TRY(oci ? CheckAgreement(plan, other) : CheckAgreement(other, plan));
  return plan;
}

Result<JobResult> ImportArchive(FilePart archive, int out, ImageFormat format, Reporter& reporter) {
  BAILIFF_TRY_ASSIGN(const auto stream, ArchiveStream::Open(archive, kMostArchive));
  const bool plain = stream->compression() == Compression::kNone;
  PlainSource plain_source(archive);
  ByteSource* const source = plain ? static_cast<ByteSource*>(&plain_source) : stream.get();
  BAILIFF_TRY_ASSIGN(ImageFiles files, ImageFiles::OfTar(*source, reporter));
  if (format == ImageFormat::kFound) {
    BAILIFF_TRY_ASSIGN(format, Decide(files));
  }
  if (format == ImageFormat::kRootfs) return ImportRoot(archive, out, reporter);
  if (plain) {
    files.LieIn(archive.file);
  } else {
    BAILIFF_TRY_ASSIGN(ipc::Fd spooled, Spool(archive, out, reporter));
    files.LieIn(std::move(spooled));
  }
  BAILIFF_TRY_ASSIGN(const ImagePlan plan, PlanArchive(files, format));
  return ImportPlan(plan, out, reporter);
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

Result<void> ApplyLayer(ByteSource& stream, Unpacker& unpacker) {
  unpacker.BeginLayer();
  TarReader tar(stream, TarEnd::kMayBeAbsent);
  for (;;) {
    BAILIFF_TRY_ASSIGN(const auto entry, tar.Next());
    if (!entry) return {};
    BAILIFF_TRY(unpacker.Write(*entry, tar));
  }
}

Result<JobResult> ImportImage(ImageInput input, int out, ImageFormat format, Reporter& reporter) {
  if (input.archive < 0) return ImportDirectoryLayout(input.directory, out, format, reporter);
  struct stat status;
  if (fstat(input.archive, &status) != 0)
    return MakeFault(SnapshotFault::kIo, "archive", "fstat", errno);
  const FilePart archive{input.archive, 0, static_cast<std::uint64_t>(status.st_size)};
  if (format == ImageFormat::kRootfs) return ImportRoot(archive, out, reporter);
  return ImportArchive(archive, out, format, reporter);
}

Result<JobResult> ReadImageConfig(int config, Reporter& reporter) {
  struct stat status;
  if (fstat(config, &status) != 0)
    return MakeFault(SnapshotFault::kIo, "config.json", "fstat", errno);
  const FilePart part{config, 0, static_cast<std::uint64_t>(status.st_size)};
  if (part.size > policy::kMaxImageConfig)
    return MakeFault(SnapshotFault::kDocument, "config.json", "larger than 1 MiB");
  std::string bytes(static_cast<std::size_t>(part.size), '\0');
  BAILIFF_TRY_ASSIGN(const std::size_t got, ReadPart(part, 0, bytes.data(), bytes.size()));
  bytes.resize(got);
  BAILIFF_TRY_ASSIGN(const ImageConfig read, ParseImageConfig(bytes, "config.json"));
  for (const policy::Digest& diff_id : read.diff_ids)
    BAILIFF_TRY(reporter.Object(policy::ObjectKind::kLayer, diff_id, 0));
  BAILIFF_TRY(reporter.Facts(read.facts));
  return JobResult{policy::Hash(bytes), {}, 0, bytes.size()};
}

}  // namespace bailiff::snapshotter
