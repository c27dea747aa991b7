// SPDX-License-Identifier: Apache-2.0
#include "snapshotter/materialize.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "ipc/fault.h"

namespace bailiff::snapshotter {
namespace {

using policy::MakeFault;
using policy::ObjectKind;
using policy::SnapshotFault;

constexpr std::size_t kBuffer = 256 * 1024;

// The 256 directories of one kind, opened when first needed: 10,000 lookups of two components
// become 10,000 of one.
class ObjectDirectories {
 public:
  ObjectDirectories(int objects, ObjectKind kind) : objects_(objects), kind_(kind) {}

  Result<ipc::Fd> Open(const policy::Digest& digest) {
    const std::string path = policy::ObjectPath(kind_, digest);
    const std::size_t last = path.rfind('/');
    ipc::Fd& shelf = shelves_[digest.bytes[0]];
    if (!shelf.valid()) {
      const int fd = openat(objects_, path.substr(0, last).c_str(),
                            O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      if (fd < 0) return Missing(digest);
      shelf = ipc::Fd(fd);
    }
    const int fd = openat(shelf.get(), path.c_str() + last + 1,
                          O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return Missing(digest);
    return ipc::Fd(fd);
  }

 private:
  Error Missing(const policy::Digest& digest) const {
    const int error = errno;
    return MakeFault(error == ENOENT ? SnapshotFault::kObjectMissing : SnapshotFault::kIo,
                     policy::StagedName(kind_, digest), "openat", error);
  }

  int objects_;
  ObjectKind kind_;
  std::array<ipc::Fd, 256> shelves_;
};

Error Damaged(ObjectKind kind, const policy::Digest& digest, const char* why) {
  return MakeFault(SnapshotFault::kObjectDamaged, policy::StagedName(kind, digest), why);
}

class Writer {
 public:
  // `alone`: nobody else writes a part of the tree there.
  Writer(int objects, int out, const TreeModes& modes, bool alone, Reporter& reporter)
      : blobs_(objects, ObjectKind::kBlob),
        out_(out),
        modes_(modes),
        alone_(alone),
        reporter_(reporter),
        buffer_(new char[kBuffer]) {}

  Result<void> Write(const TreeEntry& entry) {
    BAILIFF_TRY_ASSIGN(const int directory, Directory(entry.path));
    const std::string name(
        entry.path.substr(entry.path.rfind('/') + 1));  // npos + 1 == 0: the whole path
    if (const int error = BAILIFF_FAULT(HelperWrite))
      return MakeFault(SnapshotFault::kIo, entry.path, "write", error);
    BAILIFF_TRY(entry.kind == EntryKind::kLink ? Link(directory, name, entry)
                                               : File(directory, name, entry));
    bytes_ += entry.size;
    return reporter_.Progress(++entries_, bytes_);
  }

 private:
  struct OpenDirectory {
    std::string path;
    ipc::Fd fd;
  };

  // Entries of one directory are neighbours in a sorted manifest, so a stack of open directories
  // makes each exactly once; one that is there already was made by the other writer.
  Result<int> Directory(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    const std::string_view wanted = slash == std::string_view::npos ? "" : path.substr(0, slash);
    while (!open_.empty() && !Holds(open_.back().path, wanted)) open_.pop_back();
    std::size_t begin = open_.empty() ? 0 : open_.back().path.size() + 1;
    while (begin < wanted.size()) {
      const std::size_t end = std::min(wanted.find('/', begin), wanted.size());
      const std::string name(wanted.substr(begin, end - begin));
      const int parent = open_.empty() ? out_ : open_.back().fd.get();
      if (mkdirat(parent, name.c_str(), 0755) != 0 && (errno != EEXIST || alone_))
        return NotMade(path, "mkdirat", errno);
      const int fd = openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      if (fd < 0) return MakeFault(SnapshotFault::kIo, path, "openat", errno);
      open_.push_back({std::string(wanted.substr(0, end)), ipc::Fd(fd)});
      begin = end + 1;
    }
    return open_.empty() ? out_ : open_.back().fd.get();
  }

  // A tree has no name twice and is written into nothing: what is there already has a name that the
  // file system takes for this one. Going on would lose one of the two.
  static Error NotMade(std::string_view path, const char* call, int error) {
    if (error != EEXIST) return MakeFault(SnapshotFault::kIo, path, call, error);
    return MakeFault(SnapshotFault::kNameTaken, path,
                     "the file system takes it for another name of the same tree");
  }

  static bool Holds(std::string_view directory, std::string_view path) {
    return path.starts_with(directory) &&
           (path.size() == directory.size() || path[directory.size()] == '/');
  }

  Result<void> Link(int directory, const std::string& name, const TreeEntry& entry) {
    BAILIFF_TRY_ASSIGN(const ipc::Fd blob, blobs_.Open(entry.blob));
    BAILIFF_TRY_ASSIGN(const std::string target,
                       ipc::ReadToEnd(blob.get(), entry.size, entry.path));
    if (target.size() != entry.size || policy::Hash(target) != entry.blob)
      return Damaged(ObjectKind::kBlob, entry.blob, "not its digest or size");
    if (target.find('\0') != std::string::npos)
      return MakeFault(SnapshotFault::kLinkTarget, entry.path, "holds NUL");
    if (symlinkat(target.c_str(), directory, name.c_str()) != 0)
      return NotMade(entry.path, "symlinkat", errno);
    return {};
  }

  Result<void> File(int directory, const std::string& name, const TreeEntry& entry) {
    BAILIFF_TRY_ASSIGN(const ipc::Fd blob, blobs_.Open(entry.blob));
    const mode_t mode = entry.kind == EntryKind::kExecutable ? modes_.executable : modes_.file;
    const ipc::Fd file(openat(directory, name.c_str(),
                              O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    if (!file.valid()) return NotMade(entry.path, "openat", errno);
    policy::Sha256 sha;
    std::uint64_t copied = 0;
    for (;;) {
      const ssize_t got = read(blob.get(), buffer_.get(), kBuffer);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return MakeFault(SnapshotFault::kIo, entry.path, "read", errno);
      const std::string_view data(buffer_.get(), static_cast<std::size_t>(got));
      copied += data.size();
      if (copied > entry.size)
        return Damaged(ObjectKind::kBlob, entry.blob, "longer than its entry");
      sha.Update(data);
      BAILIFF_TRY(ipc::WriteAll(file.get(), data, entry.path));
      // A read that did not fill the buffer met the end of a file that nobody writes to.
      if (data.size() < kBuffer) break;
      BAILIFF_TRY(reporter_.Progress(entries_, bytes_ + copied));
    }
    if (copied != entry.size || sha.Finish() != entry.blob)
      return Damaged(ObjectKind::kBlob, entry.blob, "not its digest or size");
    return {};
  }

  ObjectDirectories blobs_;
  int out_;
  const TreeModes& modes_;
  bool alone_;
  Reporter& reporter_;
  std::unique_ptr<char[]> buffer_;
  std::vector<OpenDirectory> open_;
  std::uint64_t entries_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace

Result<std::string> ReadObject(int objects, ObjectKind kind, const policy::Digest& digest,
                               std::size_t limit) {
  ObjectDirectories shelves(objects, kind);
  BAILIFF_TRY_ASSIGN(const ipc::Fd file, shelves.Open(digest));
  auto bytes = ipc::ReadToEnd(file.get(), limit, policy::StagedName(kind, digest));
  if (!bytes.ok()) {
    return MakeFault(
        bytes.error().system_error == EFBIG ? SnapshotFault::kObjectDamaged : SnapshotFault::kIo,
        policy::StagedName(kind, digest), "read", bytes.error().system_error);
  }
  policy::ObjectHasher hasher(kind);
  hasher.Update(*bytes);
  if (hasher.Finish() != digest) return Damaged(kind, digest, "not its digest");
  return bytes;
}

namespace {

Result<TreeManifest> ReadTree(int objects, const policy::Digest& digest) {
  BAILIFF_TRY_ASSIGN(std::string bytes, ReadObject(objects, ObjectKind::kTree, digest,
                                                   MaxManifestBytes(policy::kSourceBounds)));
  return ParseTree(std::move(bytes), policy::kSourceBounds, policy::TreeNames::kSource);
}

}  // namespace

Result<JobResult> ListTree(int objects, const policy::Digest& digest, Reporter& reporter) {
  BAILIFF_TRY_ASSIGN(const TreeManifest tree, ReadTree(objects, digest));
  std::uint32_t index = 0;
  for (const TreeEntry& entry : tree.entries) {
    BAILIFF_TRY(reporter.Observe(index++, entry.kind, entry.size, entry.blob, entry.path));
    BAILIFF_TRY(reporter.Progress(index, 0));
  }
  return JobResult{digest, digest, tree.entries.size(), tree.total};
}

Result<JobResult> Materialize(int objects, int out, const policy::Digest& digest,
                              const TreeModes& modes, Share share, Reporter& reporter) {
  BAILIFF_TRY_ASSIGN(const TreeManifest tree, ReadTree(objects, digest));
  const std::size_t begin = tree.entries.size() * share.part / share.parts;
  const std::size_t end = tree.entries.size() * (share.part + 1) / share.parts;
  Writer writer(objects, out, modes, share.parts == 1, reporter);
  for (std::size_t i = begin; i < end; ++i) BAILIFF_TRY(writer.Write(tree.entries[i]));
  return JobResult{digest, digest, tree.entries.size(), tree.total};
}

}  // namespace bailiff::snapshotter
