// SPDX-License-Identifier: Apache-2.0
#include "snapshotter/importer/staging.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "ipc/fault.h"

namespace bailiff::snapshotter {
namespace {

using policy::MakeFault;
using policy::ObjectKind;
using policy::SnapshotFault;

constexpr const char* kTemporary = "unnamed";
constexpr mode_t kMode = 0444;

Result<ipc::Fd> Create(int out, const char* name) {
  if (const int error = BAILIFF_FAULT(HelperWrite))
    return MakeFault(SnapshotFault::kIo, name, "openat", error);
  const int fd = openat(out, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kMode);
  if (fd < 0) return MakeFault(SnapshotFault::kIo, name, "openat", errno);
  return ipc::Fd(fd);
}

}  // namespace

std::size_t Staging::DigestHash::operator()(const policy::Digest& digest) const {
  std::size_t hash = 0;
  std::memcpy(&hash, digest.bytes.data(), sizeof hash);
  return hash;
}

bool Staging::Known(ObjectKind kind, const policy::Digest& digest) {
  return kind == ObjectKind::kBlob && !blobs_.insert(digest).second;
}

Result<policy::Digest> Staging::Put(ObjectKind kind, std::string_view bytes) {
  policy::ObjectHasher hasher(kind);
  hasher.Update(bytes);
  const policy::Digest digest = hasher.Finish();
  if (Known(kind, digest)) return digest;
  BAILIFF_TRY_ASSIGN(const ipc::Fd file, Create(out_, policy::StagedName(kind, digest).c_str()));
  BAILIFF_TRY(ipc::WriteAll(file.get(), bytes, "staged object"));
  BAILIFF_TRY(reporter_.Object(kind, digest, bytes.size()));
  return digest;
}

Result<ipc::Fd> Staging::Begin() { return Create(out_, kTemporary); }

Result<void> Staging::Commit(const policy::Digest& digest, std::uint64_t size) {
  if (Known(ObjectKind::kBlob, digest)) {
    if (unlinkat(out_, kTemporary, 0) != 0)
      return MakeFault(SnapshotFault::kIo, kTemporary, "unlinkat", errno);
    return {};
  }
  const std::string name = policy::StagedName(ObjectKind::kBlob, digest);
  // no fault point: staged, and looked at only after this process has ended well
  if (renameat(out_, kTemporary, out_, name.c_str()) != 0)
    return MakeFault(SnapshotFault::kIo, name, "renameat", errno);
  return reporter_.Object(ObjectKind::kBlob, digest, size);
}

}  // namespace bailiff::snapshotter
