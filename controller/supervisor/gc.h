// SPDX-License-Identifier: Apache-2.0
// Removing what no row refers to: objects a killed import left, images whose row is gone, trees no
// open attempt asks for (they are copies, and the next attempt makes its own again), and what dead
// processes left in staging/ and execution/.
//
// Safe beside everything else: what may still be wanted is kept out of reach by locks
// (OwnersLock::Contents, and the byte every attempt shares), and where such a lock is taken, that
// part is left alone and the report says so. Under the locks things are only renamed, into a
// directory of staging/ that belongs to this process; they are removed afterwards. So a death at
// any point leaves each thing whole in its place or out of it, never half, and what is out of it is
// swept by the next job.
#pragma once

#include <cstdint>
#include <string>

#include "controller/store/owners_lock.h"
#include "controller/store/store.h"
#include "controller/supervisor/job.h"

namespace bailiff::controller {

// One part of the data directory.
struct GarbagePart {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  // sizes of the files, a file with several names once
  std::string kept;         // why it was not looked at; empty: it was
};

struct GarbageReport {
  GarbagePart objects;
  GarbagePart trees;
  GarbagePart images;
  GarbagePart staging;
};

// Removes it, or with `dry_run` only says what there is. Reads every tree a revision has, in a
// confined job each, before anything is moved: an object that is missing or damaged ends it with
// nothing removed (kSnapshotObjectMissing, kSnapshotObjectDamaged). One audit row, written before
// the first thing moves, unless there is nothing.
Result<GarbageReport> CollectGarbage(const JobHost& host, OwnersLock& locks, Store& store,
                                     bool dry_run, const JobHooks& hooks);

// Takes images/<name> away, whole at once; the caller owns Contents::kImages and has removed its
// row. A name that is not there is no error.
Result<void> DiscardImage(const JobHost& host, const std::string& name);

}  // namespace bailiff::controller
