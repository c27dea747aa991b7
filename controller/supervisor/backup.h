// SPDX-License-Identifier: Apache-2.0
// A copy of the authority that can be restored: the database as it is at one moment, and the
// objects and images its rows name, as one tar that unpacks to a data directory (BACKUP.md).
#pragma once

#include <cstdint>

#include "controller/store/owners_lock.h"
#include "controller/store/store.h"
#include "controller/supervisor/host_ids.h"
#include "controller/supervisor/job.h"

namespace bailiff::controller {

struct BackupReport {
  policy::Digest digest;  // SHA-256 of the archive
  std::uint64_t bytes = 0;
  std::uint64_t revisions = 0;
  std::uint64_t objects = 0;
  std::uint64_t images = 0;
};

// Writes the archive into `file` (empty, borrowed) and syncs it; it gets no name here. Runs and
// imports go on meanwhile; removals leave objects and images alone until it has ended. Every object
// is hashed while it is copied, every tree of a revision is listed, and every image is hashed by a
// helper (`own`: as for VerifyImage) before it is copied, so an archive that is whole lacks
// nothing: kSnapshotObjectMissing, kSnapshotObjectDamaged, kImageRecord, kStoreCorrupt otherwise.
// Errors of writing carry errno (ENOSPC, EFBIG, EIO).
Result<BackupReport> WriteBackup(const JobHost& host, const JobHost& own, OwnersLock& locks,
                                 Store& store, const HostIdPlan& ids, int file,
                                 const JobHooks& hooks);

}  // namespace bailiff::controller
