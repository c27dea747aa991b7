// SPDX-License-Identifier: Apache-2.0
#include "snapshotter/importer/export.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <map>
#include <memory>

#include "ipc/fault.h"
#include "ipc/fd.h"
#include "policy/snapshot_codes.h"
#include "policy/ustar.h"
#include "snapshotter/disk_walk.h"
#include "snapshotter/read_file.h"

namespace bailiff::snapshotter {
namespace {

using policy::MakeFault;
using policy::SnapshotFault;
using policy::TarMember;

constexpr std::size_t kBuffer = 256 * 1024;

// Collects small writes; everything that passes is hashed.
class LayerFile {
 public:
  explicit LayerFile(ipc::Fd file) : file_(std::move(file)), buffer_(new char[kBuffer]) {}

  Result<void> Put(std::string_view bytes) {
    sha_.Update(bytes);
    size_ += bytes.size();
    while (!bytes.empty()) {
      const std::size_t count = std::min(bytes.size(), kBuffer - used_);
      std::copy_n(bytes.begin(), count, buffer_.get() + used_);
      used_ += count;
      bytes.remove_prefix(count);
      if (used_ == kBuffer) BAILIFF_TRY(Flush());
    }
    return {};
  }

  Result<void> PutZeros(std::size_t count) {
    constexpr std::array<char, 2 * policy::kTarBlock> kZeros{};
    return Put({kZeros.data(), count});
  }

  Result<void> Flush() {
    if (const int error = BAILIFF_FAULT(HelperWrite))
      return MakeFault(SnapshotFault::kIo, "layer.tar", "write", error);
    const auto written = ipc::WriteAll(file_.get(), {buffer_.get(), used_}, "layer.tar");
    if (!written.ok())
      return MakeFault(SnapshotFault::kIo, "layer.tar", "write", written.error().system_error);
    used_ = 0;
    return {};
  }

  std::uint64_t size() const { return size_; }
  policy::Digest Finish() { return sha_.Finish(); }

 private:
  ipc::Fd file_;
  std::unique_ptr<char[]> buffer_;
  std::size_t used_ = 0;
  std::uint64_t size_ = 0;
  policy::Sha256 sha_;
};

class Exporter final : public WalkVisitor {
 public:
  Exporter(LayerFile& layer, Reporter& reporter) : layer_(layer), reporter_(reporter) {}

  Result<void> Enter(std::string_view path, int, const struct stat& status) override {
    if (path.empty()) return {};
    return Header(std::string(path) + "/", '5', status, 0, {});
  }

  Result<void> Leave(std::string_view, const struct stat&, const struct stat&, bool) override {
    return {};
  }

  Result<void> Entry(const WalkEntry& entry) override {
    ++entries_;
    if (entry.type == DT_LNK) return Link(entry);
    if (entry.type == DT_REG) return File(entry);
    return MakeFault(SnapshotFault::kFileType, entry.path, "neither file, directory nor link");
  }

  std::uint64_t entries() const { return entries_; }

 private:
  Result<void> Link(const WalkEntry& entry) {
    struct stat status {};
    status.st_mode = 0777;
    BAILIFF_TRY_ASSIGN(const std::string target, ReadLink(entry.directory, entry.name, entry.path));
    return Header(entry.path, '2', status, 0, target);
  }

  Result<void> File(const WalkEntry& entry) {
    BAILIFF_TRY_ASSIGN(const ipc::Fd file, OpenForeign(entry.directory, entry.name, entry.path));
    struct stat status;
    if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
      return MakeFault(SnapshotFault::kFileType, entry.path, "no regular file");
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (size > policy::kImageBounds.file_bytes)
      return MakeFault(SnapshotFault::kFileBytes, entry.path, "found on disk");
    if (status.st_nlink > 1) {
      const auto [first, fresh] = shared_.emplace(status.st_ino, entry.path);
      if (!fresh) return Header(entry.path, '1', status, 0, first->second);
    }
    BAILIFF_TRY(Header(entry.path, '0', status, size, {}));
    BAILIFF_TRY(reader_.Read(file.get(), status, entry.path, reporter_, entries_, layer_.size(),
                             [this](std::string_view bytes) { return layer_.Put(bytes); }));
    return layer_.PutZeros(policy::TarPadding(size));
  }

  // A name that does not fit stands in an extended header, and cut in the plain one.
  Result<void> Header(std::string_view path, char type, const struct stat& status,
                      std::uint64_t size, std::string_view link) {
    std::string records;
    if (path.size() > policy::kMaxTarName) records += policy::PaxRecord("path", path);
    if (link.size() > policy::kMaxTarName) records += policy::PaxRecord("linkpath", link);
    if (!records.empty()) {
      BAILIFF_TRY(Block({"pax", 'x', 0644, records.size(), {}}));
      BAILIFF_TRY(layer_.Put(records));
      BAILIFF_TRY(layer_.PutZeros(policy::TarPadding(records.size())));
    }
    BAILIFF_TRY(Block({path.substr(0, policy::kMaxTarName), type, status.st_mode & 0777, size,
                       link.substr(0, policy::kMaxTarName)}));
    return reporter_.Progress(entries_, layer_.size());
  }

  Result<void> Block(const TarMember& member) {
    const auto block = policy::TarHeader(member);
    return layer_.Put({block.data(), block.size()});
  }

  LayerFile& layer_;
  Reporter& reporter_;
  FileReader reader_;
  std::map<ino_t, std::string> shared_;
  std::uint64_t entries_ = 0;
};

}  // namespace

Result<JobResult> ExportImage(int root, int out, Reporter& reporter) {
  ipc::Fd file(
      openat(out, "layer.tar", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400));
  if (!file.valid()) return MakeFault(SnapshotFault::kIo, "layer.tar", "openat", errno);
  LayerFile layer(std::move(file));
  Exporter exporter(layer, reporter);
  BAILIFF_TRY(WalkTree(root, policy::kImageBounds, policy::TreeNames::kImage, exporter));
  BAILIFF_TRY(layer.PutZeros(2 * policy::kTarBlock));
  BAILIFF_TRY(layer.Flush());
  const policy::Digest diff_id = layer.Finish();
  BAILIFF_TRY(reporter.Object(policy::ObjectKind::kLayer, diff_id, layer.size()));
  return JobResult{diff_id, {}, exporter.entries(), layer.size()};
}

}  // namespace bailiff::snapshotter
