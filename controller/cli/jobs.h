// SPDX-License-Identifier: Apache-2.0
// Imports and exports as verbs see them: a slot of host ids, a progress line, Ctrl-C.
#pragma once

#include <string>

#include "controller/cli/interrupts.h"
#include "controller/cli/progress_line.h"
#include "controller/cli/verbs.h"
#include "controller/store/owners_lock.h"
#include "controller/store/store.h"
#include "controller/supervisor/job.h"
#include "controller/supervisor/objects.h"
#include "ipc/result.h"

namespace bailiff::controller::cli {

// A slot of host ids held for the life of the object.
class JobSlot {
 public:
  // For a job that adds nothing to the store.
  static Result<JobSlot> Acquire(HostMode& host);
  // For an import: also shares what it adds to, so that nothing it finds there is removed before
  // its row is stored. Waits for a removal.
  static Result<JobSlot> Acquire(HostMode& host, OwnersLock::Contents adds);
  JobSlot(JobSlot&&) noexcept = default;
  JobSlot& operator=(JobSlot&&) noexcept = default;

  const JobHost& jobs() const { return jobs_; }
  OwnersLock& locks() { return locks_; }
  std::uint32_t id() const { return jobs_.identity.uid; }

 private:
  JobSlot(OwnersLock locks, JobHost jobs) : locks_(std::move(locks)), jobs_(std::move(jobs)) {}
  OwnersLock locks_;
  JobHost jobs_;
};

// Shows `what` with its figures; asks whether a signal has come.
JobHooks HooksFor(ProgressLine& line, const Interrupts& interrupts, std::string what);

// Warnings of a job, one line each on standard error; a kind with many is counted.
void NoteWarnings(Output& output, const std::vector<JobWarning>& warnings);
void AddWarnings(JsonWriter& json, const std::vector<JobWarning>& warnings);

// Imports the directory, or with `git` the commit of the repository there, and records the
// revision. Shares Contents::kObjects meanwhile.
Result<RevisionInfo> ImportSource(Context& context, Store& store, OwnersLock& locks,
                                  const JobHost& jobs, int directory, const GitSource* git,
                                  const Interrupts& interrupts);

}  // namespace bailiff::controller::cli
