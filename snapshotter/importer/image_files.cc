// SPDX-License-Identifier: Apache-2.0
#include "snapshotter/importer/image_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <utility>

#include "policy/snapshot_codes.h"
#include "policy/tree_path.h"
#include "snapshotter/read_file.h"

namespace bailiff::snapshotter {
namespace {

using policy::MakeFault;
using policy::SnapshotFault;

constexpr std::size_t kMaxName = 255;  // of a file of an image; longer names are never looked up

bool IsDigest(std::string_view text) { return policy::ParseDigest(text).has_value(); }

// What the writers of image archives put at the top: OCI layouts, docker save of every version,
// skopeo, go-containerregistry (which names files sha256:<hex>), nixpkgs.
bool AtTheTopOfAnImage(std::string_view name) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"oci-layout", "index.json", "blobs", "manifest.json", "repositories"});
  constexpr auto kEndings = std::to_array<std::string_view>({".json", ".tar", ".tar.gz"});
  const auto ends = [name](std::string_view ending) { return name.ends_with(ending); };
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end() ||
         std::any_of(kEndings.begin(), kEndings.end(), ends) || IsDigest(name) ||
         (name.starts_with("sha256:") && IsDigest(name.substr(7)));
}

std::string_view Trim(std::string_view name) {
  while (name.starts_with("./")) name.remove_prefix(2);
  if (name.ends_with('/')) name.remove_suffix(1);
  return name == "." ? "" : name;
}

// What a link beside `name` that says `target` stands for; "" when that is no name of the archive.
std::string Resolve(std::string_view name, std::string_view target) {
  const std::size_t slash = name.rfind('/');
  std::string path(slash == std::string_view::npos ? "" : name.substr(0, slash));
  if (target.starts_with('/')) return "";
  while (!target.empty()) {
    const std::size_t end = std::min(target.find('/'), target.size());
    const std::string_view part = target.substr(0, end);
    target.remove_prefix(std::min(end + 1, target.size()));
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      path.append(path.empty() ? "" : "/").append(part);
      continue;
    }
    if (path.empty()) return "";
    const std::size_t above = path.rfind('/');
    path.resize(above == std::string::npos ? 0 : above);
  }
  return path;
}

Error Missing(const std::string& name, const char* why) {
  return MakeFault(SnapshotFault::kFileMissing, name, why);
}

}  // namespace

ImageFiles ImageFiles::OfDirectory(int directory) {
  ImageFiles files;
  files.directory_ = directory;
  return files;
}

Result<ImageFiles> ImageFiles::OfTar(ByteSource& source, Reporter& reporter) {
  ImageFiles files;
  TarReader tar(source);
  for (;;) {
    BAILIFF_TRY_ASSIGN(const auto entry, tar.Next());
    if (!entry) break;
    files.Note(*entry, tar.offset());
    files.size_ = tar.offset() + entry->size;
    BAILIFF_TRY(reporter.Progress(0, files.size_));
  }
  return files;
}

void ImageFiles::LieIn(ipc::Fd file) {
  owned_ = std::move(file);
  file_ = owned_.get();
}

void ImageFiles::Note(const TarEntry& entry, std::uint64_t offset) {
  const std::string name(Trim(entry.path));
  if (name.empty()) return;
  if (foreign_.empty() && !AtTheTopOfAnImage(std::string_view(name).substr(0, name.find('/'))))
    foreign_ = name;
  if (entry.type != TarType::kFile && entry.type != TarType::kSymbolicLink &&
      entry.type != TarType::kHardLink)
    return;
  if (name.size() > kMaxName) return;
  if (members_.size() >= kMaxImageFiles) {
    overflow_ = true;
    return;
  }
  Member member{offset, entry.size, std::nullopt, false};
  if (entry.type == TarType::kHardLink) member.link = std::string(Trim(entry.link));
  if (entry.type == TarType::kSymbolicLink)
    member.link = entry.link.size() > kMaxName ? "" : Resolve(name, entry.link);
  if (const auto [place, fresh] = members_.emplace(name, std::move(member)); !fresh)
    place->second.twice = true;
}

bool ImageFiles::Holds(const std::string& name) const {
  if (directory_ < 0) return members_.count(name) != 0;
  struct stat status;
  return fstatat(directory_, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

Result<ImageFile> ImageFiles::Find(const std::string& name) const {
  if (directory_ >= 0) return FindOnDisk(name);
  if (overflow_)
    return MakeFault(SnapshotFault::kEntries, "archive",
                     "more than " + std::to_string(kMaxImageFiles) + " files");
  const auto found = members_.find(name);
  if (found == members_.end()) return Missing(name, "is not in the archive");
  const Member* member = &found->second;
  if (member->link && !member->twice) {
    const auto target = members_.find(*member->link);
    if (target == members_.end() || target->second.link)
      return Missing(name, "a link that does not lead to a file of the archive");
    member = &target->second;
  }
  if (member->twice)
    return MakeFault(SnapshotFault::kEntryConflict, name, "comes twice in the archive");
  return ImageFile{ipc::Fd(), FilePart{file_, member->offset, member->size}};
}

Result<ImageFile> ImageFiles::FindOnDisk(const std::string& name) const {
  auto opened = ipc::OpenBeneath(directory_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!opened.ok()) {
    const int error = opened.error().system_error;
    if (error == ENOENT || error == ENOTDIR || error == ELOOP || error == ENXIO)
      return Missing(name, "is not there as a regular file");
    return ForeignFault("openat2", name, error);
  }
  struct stat status;
  if (fstat(opened->get(), &status) != 0)
    return MakeFault(SnapshotFault::kIo, name, "fstat", errno);
  if (!S_ISREG(status.st_mode)) return Missing(name, "is no regular file");
  ImageFile file{std::move(*opened), {}};
  file.part = {file.owned.get(), 0, static_cast<std::uint64_t>(status.st_size)};
  return file;
}

Result<std::string> ImageFiles::Read(const std::string& name) const {
  BAILIFF_TRY_ASSIGN(const ImageFile file, Find(name));
  if (file.part.size > kMaxImageDocument)
    return MakeFault(SnapshotFault::kDocument, name, "larger than 1 MiB");
  std::string bytes(static_cast<std::size_t>(file.part.size), '\0');
  BAILIFF_TRY_ASSIGN(const std::size_t got, ReadPart(file.part, 0, bytes.data(), bytes.size()));
  if (got != bytes.size())
    return MakeFault(SnapshotFault::kChanged, name, "became shorter while it was read");
  return bytes;
}

std::string BlobName(const policy::Digest& digest) { return "blobs/sha256/" + digest.hex(); }

}  // namespace bailiff::snapshotter
