// SPDX-License-Identifier: Apache-2.0
#include "snapshotter/importer/unpack.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "ipc/fault.h"
#include "policy/snapshot_codes.h"

namespace bailiff::snapshotter {
namespace {

using policy::MakeFault;
using policy::SnapshotFault;
using policy::SnapshotWarning;

constexpr std::size_t kBuffer = 256 * 1024;
constexpr mode_t kParentMode = 0755;
constexpr std::array kMountPoints = {"source", "scratch", "proc", "sys", "dev"};

// The error of creating or opening something in the unpacked root.
Error CreateFault(const char* call, std::string_view path, int error = errno) {
  if (error == EEXIST) return MakeFault(SnapshotFault::kEntryConflict, path, call, error);
  if (error == ELOOP || error == ENOTDIR)
    return MakeFault(SnapshotFault::kThroughLink, path, call, error);
  return MakeFault(SnapshotFault::kIo, path, call, error);
}

// "./usr/bin/" → "usr/bin"; "" for the root itself, which some writers call "/". Everything else
// stays as it is, for CheckTreePath to judge.
std::string_view Trim(std::string_view path) {
  while (path.starts_with("./")) path.remove_prefix(2);
  if (path.ends_with('/')) path.remove_suffix(1);
  return path == "." ? "" : path;
}

Result<std::string> Normal(std::string_view raw) {
  const std::string_view path = Trim(raw);
  if (path.empty() && !raw.empty()) return std::string();
  const SnapshotFault fault = policy::CheckTreePath(path, policy::TreeNames::kImage);
  if (fault == SnapshotFault::kPathShape)
    return MakeFault(SnapshotFault::kEntryPath, raw, "not a path inside the root");
  if (fault != SnapshotFault::kNone) return MakeFault(fault, raw, "in the archive");
  return std::string(path);
}

bool BelowDev(std::string_view path) { return path.starts_with("dev/"); }

constexpr std::string_view kWhiteout = ".wh.";
constexpr std::string_view kOpaque = ".wh..wh..opq";

std::string_view LastOf(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 == 0: the whole path
}

bool HoldsWhiteout(std::string_view path) {
  return path.starts_with(kWhiteout) || path.find("/.wh.") != std::string_view::npos;
}

}  // namespace

Unpacker::Unpacker(int root, Reporter& reporter)
    : root_(root), reporter_(reporter), buffer_(new char[kBuffer]) {}

void Unpacker::BeginLayer() {
  ++layer_;
  seen_.Clear();
  parent_.reset();
}

Result<void> Unpacker::Write(const TarEntry& entry, TarReader& tar) {
  const Result<std::string> normal = Normal(entry.path);
  if (!normal.ok()) return normal.error();
  const std::string& path = *normal;
  if (BelowDev(path)) return reporter_.Warn(SnapshotWarning::kDeviceEntries, path);
  if (path.empty()) {
    if (entry.type == TarType::kDirectory) return {};
    return MakeFault(SnapshotFault::kEntryPath, entry.path, "the root is a directory");
  }
  if (layer_ != 0 && HoldsWhiteout(path)) return Whiteout(path, entry);
  if ((entry.mode & 07000) != 0 && entry.type != TarType::kSymbolicLink)
    BAILIFF_TRY(reporter_.Warn(SnapshotWarning::kSpecialBits, path));
  if (entry.attributes) BAILIFF_TRY(reporter_.Warn(SnapshotWarning::kExtendedAttributes, path));
  switch (entry.type) {
    case TarType::kDirectory:
      return Directory(path, entry.mode);
    case TarType::kFile:
      return File(path, entry, tar);
    case TarType::kSymbolicLink:
      return SymbolicLink(path, entry);
    case TarType::kHardLink:
      return HardLink(path, entry);
    case TarType::kDevice:
      return MakeFault(SnapshotFault::kEntryType, path, "a device");
    case TarType::kFifo:
      return MakeFault(SnapshotFault::kEntryType, path, "a FIFO");
  }
  return MakeFault(SnapshotFault::kEntryType, path, "unknown");
}

// Takes one name of the directory it stands in away, or all of them, as far as lower layers wrote
// them. Nothing else may be aimed at: not the directory itself, nothing above it, nothing beyond a
// link.
Result<void> Unpacker::Whiteout(const std::string& path, const TarEntry& entry) {
  const std::string_view last = LastOf(path);
  const std::string parent =
      path.substr(0, path.size() - last.size() - (last.size() == path.size() ? 0 : 1));
  const std::string_view hidden = last.substr(std::min(kWhiteout.size(), last.size()));
  const bool opaque = last == kOpaque;
  if (HoldsWhiteout(parent) || entry.type != TarType::kFile || entry.size != 0)
    return MakeFault(SnapshotFault::kWhiteout, path, "not an empty file in a directory");
  if (!opaque &&
      (policy::CheckComponent(hidden, policy::TreeNames::kImage) != SnapshotFault::kNone ||
       hidden.starts_with(kWhiteout)))
    return MakeFault(SnapshotFault::kWhiteout, path, "it names no entry of its directory");
  BAILIFF_TRY(Count(path, 0));
  const auto opened = parent.empty()
                          ? ipc::OpenAt(root_, ".", O_PATH | O_DIRECTORY)
                          : ipc::OpenBeneath(root_, parent.c_str(), O_PATH | O_DIRECTORY);
  if (!opened.ok() && opened.error().system_error == ENOENT) return {};
  if (!opened.ok()) return CreateFault("openat2", path, opened.error().system_error);
  if (opaque) {
    if (!parent.empty()) seen_.Add(parent);
    return RemoveLowerInside(opened->get(), parent, seen_, reporter_);
  }
  const std::string name(hidden);
  return RemoveLower(opened->get(), name, parent.empty() ? name : parent + "/" + name, seen_,
                     reporter_);
}

// What a lower layer wrote makes room for what this one writes, whatever either is.
Result<void> Unpacker::MakeRoom(const Place& place, const std::string& path) {
  if (layer_ == 0) return {};
  if (seen_.Holds(path))
    return MakeFault(SnapshotFault::kEntryConflict, path, "comes twice in one layer");
  if (layer_ > 1) BAILIFF_TRY(RemoveLower(place.directory, place.name, path, seen_, reporter_));
  seen_.Add(path);
  return {};
}

// A directory over a directory is one directory; over anything else of a lower layer it takes its
// place.
Result<void> Unpacker::MakeRoomForDirectory(const Place& place, const std::string& path) {
  if (layer_ == 0) return {};
  struct stat status;
  const bool there =
      layer_ > 1 && fstatat(place.directory, place.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  if (there && !S_ISDIR(status.st_mode) && !seen_.Holds(path))
    BAILIFF_TRY(RemoveLower(place.directory, place.name, path, seen_, reporter_));
  seen_.Add(path);
  return {};
}

Result<void> Unpacker::Count(const std::string& path, std::uint64_t size) {
  if (entries_ >= policy::kImageBounds.entries)
    return MakeFault(SnapshotFault::kEntries, path, "too many entries");
  if (size > policy::kImageBounds.file_bytes)
    return MakeFault(SnapshotFault::kFileBytes, path, "too large");
  if (size > policy::kImageBounds.bytes - bytes_)
    return MakeFault(SnapshotFault::kTotalBytes, path, "too much in all");
  ++entries_;
  bytes_ += size;
  return reporter_.Progress(entries_, bytes_);
}

Result<Unpacker::Place> Unpacker::Locate(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return Place{root_, path};
  BAILIFF_TRY_ASSIGN(const int directory, OpenParent(path.substr(0, slash)));
  return Place{directory, path.substr(slash + 1)};
}

// Entries of one directory mostly follow each other, so the last parent is kept.
Result<int> Unpacker::OpenParent(const std::string& parent) {
  if (parent_.valid() && parent == parent_path_) return parent_.get();
  auto opened = ipc::OpenBeneath(root_, parent.c_str(), O_PATH | O_DIRECTORY);
  if (!opened.ok() && opened.error().system_error == ENOENT) {
    BAILIFF_TRY(MakeParents(parent));
    opened = ipc::OpenBeneath(root_, parent.c_str(), O_PATH | O_DIRECTORY);
  }
  if (!opened.ok()) return CreateFault("openat2", parent, opened.error().system_error);
  if (layer_ != 0) seen_.Add(parent);
  parent_ = std::move(*opened);
  parent_path_ = parent;
  return parent_.get();
}

Result<void> Unpacker::MakeParents(const std::string& parent) {
  ipc::Fd above;
  int directory = root_;
  for (std::size_t begin = 0; begin < parent.size();) {
    const std::size_t end = std::min(parent.find('/', begin), parent.size());
    const std::string name = parent.substr(begin, end - begin);
    if (mkdirat(directory, name.c_str(), kParentMode) == 0) {
      if (++directories_ > policy::kImageBounds.entries * policy::kDirectoriesPerEntry)
        return MakeFault(SnapshotFault::kEntries, parent, "too many directories");
    } else if (errno != EEXIST) {
      return CreateFault("mkdirat", parent);
    }
    auto below = ipc::OpenBeneath(directory, name.c_str(), O_PATH | O_DIRECTORY);
    if (!below.ok()) return CreateFault("openat2", parent, below.error().system_error);
    above = std::move(*below);
    directory = above.get();
    begin = end + 1;
  }
  return {};
}

Result<void> Unpacker::Directory(const std::string& path, std::uint32_t mode) {
  BAILIFF_TRY_ASSIGN(const Place place, Locate(path));
  BAILIFF_TRY(MakeRoomForDirectory(place, path));
  if (mkdirat(place.directory, place.name.c_str(), kParentMode) == 0) {
    if (++directories_ > policy::kImageBounds.entries * policy::kDirectoriesPerEntry)
      return MakeFault(SnapshotFault::kEntries, path, "too many directories");
  } else if (errno != EEXIST) {
    return CreateFault("mkdirat", path);
  }
  const ipc::Fd directory(
      openat(place.directory, place.name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.valid()) {
    // A file or link of this name came before.
    if (errno == ELOOP || errno == ENOTDIR)
      return MakeFault(SnapshotFault::kEntryConflict, path, "no directory", errno);
    return CreateFault("openat", path);
  }
  if (fchmod(directory.get(), (mode & 0777) | 0700) != 0) return CreateFault("fchmod", path);
  return reporter_.Progress(entries_, bytes_);
}

Result<void> Unpacker::File(const std::string& path, const TarEntry& entry, TarReader& tar) {
  BAILIFF_TRY(Count(path, entry.size));
  BAILIFF_TRY_ASSIGN(const Place place, Locate(path));
  BAILIFF_TRY(MakeRoom(place, path));
  if (const int error = BAILIFF_FAULT(HelperWrite)) return CreateFault("openat", path, error);
  const ipc::Fd file(openat(place.directory, place.name.c_str(),
                            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                            (entry.mode & 0777) | 0400));
  if (!file.valid()) return CreateFault("openat", path);
  for (;;) {
    BAILIFF_TRY_ASSIGN(const std::size_t got, tar.Data(buffer_.get(), kBuffer));
    if (got == 0) return {};
    if (const auto written = ipc::WriteAll(file.get(), {buffer_.get(), got}, path); !written.ok())
      return MakeFault(SnapshotFault::kIo, path, "write", written.error().system_error);
    BAILIFF_TRY(reporter_.Progress(entries_, bytes_));
  }
}

Result<void> Unpacker::SymbolicLink(const std::string& path, const TarEntry& entry) {
  if (entry.link.empty() || entry.link.size() > policy::kMaxTreePath)
    return MakeFault(SnapshotFault::kLinkTarget, path, "empty or too long");
  BAILIFF_TRY(Count(path, entry.link.size()));
  BAILIFF_TRY_ASSIGN(const Place place, Locate(path));
  BAILIFF_TRY(MakeRoom(place, path));
  if (symlinkat(entry.link.c_str(), place.directory, place.name.c_str()) != 0)
    return CreateFault("symlinkat", path);
  return {};
}

Result<void> Unpacker::HardLink(const std::string& path, const TarEntry& entry) {
  const auto target = Normal(entry.link);
  if (!target.ok() || target->empty() || BelowDev(*target))
    return MakeFault(SnapshotFault::kHardLink, path, "not to a file of the archive");
  const auto file = ipc::OpenBeneath(root_, target->c_str(), O_PATH);
  struct stat status;
  if (!file.ok() || fstat(file->get(), &status) != 0 || !S_ISREG(status.st_mode))
    return MakeFault(SnapshotFault::kHardLink, path, "its target is no regular file seen before");
  // What makes room for the link may not be what it leads to.
  if (layer_ != 0 && (*target == path || target->starts_with(path + "/")))
    return MakeFault(SnapshotFault::kHardLink, path, "to itself");
  BAILIFF_TRY(Count(path, static_cast<std::uint64_t>(status.st_size)));
  BAILIFF_TRY_ASSIGN(const Place place, Locate(path));
  BAILIFF_TRY(MakeRoom(place, path));
  // No component of the target is a link (just checked, and this process is the only writer), and
  // linkat does not follow the last.
  // no fault point: staged, and looked at only after this process has ended well
  if (linkat(root_, target->c_str(), place.directory, place.name.c_str(), 0) != 0)
    return CreateFault("linkat", path);
  return {};
}

Result<void> Unpacker::MakeMountPoints() {
  for (const char* name : kMountPoints) {
    if (mkdirat(root_, name, kParentMode) == 0) continue;
    struct stat status;
    if (errno != EEXIST || fstatat(root_, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
      return MakeFault(SnapshotFault::kIo, name, "mkdirat", errno);
    if (!S_ISDIR(status.st_mode))
      return MakeFault(SnapshotFault::kMountPoint, name, "not a directory in the image");
  }
  return {};
}

}  // namespace bailiff::snapshotter
