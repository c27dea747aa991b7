// SPDX-License-Identifier: Apache-2.0
#include "snapshotter/importer/git_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <zlib.h>

#include "ipc/fault.h"
#include "policy/snapshot_codes.h"
#include "snapshotter/importer/git_store.h"

namespace bailiff::snapshotter {
namespace {

using policy::GitId;
using policy::MakeFault;
using policy::SnapshotFault;

constexpr std::size_t kBuffer = 64 * 1024;

// A stream of zlib, ended with its scope.
class Deflater {
 public:
  Deflater() : ready_(deflateInit(&stream_, Z_BEST_SPEED) == Z_OK) {}
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;
  ~Deflater() {
    if (ready_) deflateEnd(&stream_);
  }

  bool ready() const { return ready_; }

  // Compresses `bytes`, writing what comes out; `last` ends the stream.
  Result<void> Write(std::string_view bytes, bool last, int file, char* buffer,
                     std::string_view name) {
    // zlib counts in 32 bits: no object of a source is larger than 64 MiB.
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(buffer);
      stream_.avail_out = kBuffer;
      if (deflate(&stream_, last ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_ERROR)
        return MakeFault(SnapshotFault::kIo, name, "deflate");
      if (const auto put = ipc::WriteAll(file, {buffer, kBuffer - stream_.avail_out}, name);
          !put.ok())
        return MakeFault(SnapshotFault::kIo, name, "write", put.error().system_error);
    } while (stream_.avail_out == 0);
    return {};
  }

 private:
  z_stream stream_{};
  bool ready_;
};

}  // namespace

GitWriter::GitWriter(int repository) : repository_(repository), buffer_(new char[kBuffer]) {}
GitWriter::~GitWriter() = default;

Result<void> GitWriter::MakeDirectory(const std::string& name) {
  if (mkdirat(repository_, name.c_str(), 0755) != 0 && errno != EEXIST)
    return MakeFault(SnapshotFault::kIo, name, "mkdirat", errno);
  return {};
}

Result<ipc::Fd> GitWriter::Create(const std::string& name, unsigned mode) {
  if (const int error = BAILIFF_FAULT(HelperWrite))
    return MakeFault(SnapshotFault::kIo, name, "openat", error);
  const int fd =
      openat(repository_, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  if (fd < 0) return MakeFault(SnapshotFault::kIo, name, "openat", errno);
  return ipc::Fd(fd);
}

Result<void> GitWriter::WriteFile(const std::string& name, std::string_view bytes) {
  BAILIFF_TRY_ASSIGN(const ipc::Fd file, Create(name, 0644));
  if (const auto put = ipc::WriteAll(file.get(), bytes, name); !put.ok())
    return MakeFault(SnapshotFault::kIo, name, "write", put.error().system_error);
  return {};
}

Result<void> GitWriter::Begin() {
  for (const char* name : {"objects", "objects/info", "objects/pack", "refs", "refs/heads",
                           "refs/tags", "refs/bailiff"})
    BAILIFF_TRY(MakeDirectory(name));
  BAILIFF_TRY(WriteFile("HEAD", "ref: refs/heads/main\n"));
  return WriteFile("config", "[core]\n\trepositoryformatversion = 0\n\tbare = true\n");
}

Result<GitId> GitWriter::Put(GitType type, std::string_view bytes) {
  BAILIFF_TRY_ASSIGN(const GitId id, HashGitObject(type, bytes));
  if (!known_.insert(id).second) return id;
  const std::string hex = id.hex();
  const std::string shelf = "objects/" + hex.substr(0, 2);
  if (!shelves_[id.bytes[0]]) {
    BAILIFF_TRY(MakeDirectory(shelf));
    shelves_[id.bytes[0]] = true;
  }
  const std::string name = shelf + "/" + hex.substr(2);
  BAILIFF_TRY_ASSIGN(const ipc::Fd file, Create(name, 0444));
  Deflater deflater;
  if (!deflater.ready()) return MakeFault(SnapshotFault::kMemory, name, "deflateInit");
  std::string header(GitTypeName(type));
  header += ' ' + std::to_string(bytes.size()) + '\0';
  BAILIFF_TRY(deflater.Write(header, false, file.get(), buffer_.get(), name));
  BAILIFF_TRY(deflater.Write(bytes, true, file.get(), buffer_.get(), name));
  return id;
}

Result<void> GitWriter::PutRef(const std::string& name, const GitId& id) {
  return WriteFile(name, id.hex() + "\n");
}

}  // namespace bailiff::snapshotter
