// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/recovery.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "controller/store/layout.h"
#include "controller/supervisor/attempt_state.h"
#include "controller/supervisor/cgroup_layout.h"
#include "controller/supervisor/objects.h"
#include "controller/supervisor/pidfd.h"
#include "controller/supervisor/spools.h"
#include "controller/supervisor/version.h"
#include "controller/supervisor/witness.h"
#include "policy/filter.h"
#include "policy/jcs.h"
#include "policy/lockdown.h"
#include "policy/view.h"

namespace bailiff::controller {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kOwnerGrace{
    10000};  // from SIGTERM to an owner that has cleaned up, before SIGKILL
constexpr milliseconds kRemovalDeadline{5000};
constexpr timespec kPause{0, 5000000};

// A process is the recorded one only when its start time is too: pids are reused (e11).
ipc::Fd OpenProcess(const ProcessIdentity& process) {
  ipc::Fd pidfd(static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0)));
  if (!pidfd.valid()) return {};
  const auto start = StartTicks(process.pid);
  if (!start.ok() || *start != process.start_ticks) return {};
  return pidfd;
}

struct Owner {
  std::string boot_id;
  ProcessIdentity process;
};

std::optional<Owner> ParseOwner(const std::optional<std::string>& json) {
  if (!json) return std::nullopt;
  const auto value = policy::ParseCanonical(*json);
  if (!value.ok()) return std::nullopt;
  const policy::Value* boot = value->Find("boot_id");
  const policy::Value* pid = value->Find("pid");
  const policy::Value* start = value->Find("start_ticks");
  if (boot == nullptr || boot->string() == nullptr || pid == nullptr || pid->integer() == nullptr ||
      start == nullptr || start->integer() == nullptr) {
    return std::nullopt;
  }
  return Owner{
      *boot->string(),
      {static_cast<pid_t>(*pid->integer()), static_cast<std::uint64_t>(*start->integer())}};
}

bool WaitForRow(OwnersLock& locks, std::int64_t row, milliseconds bound) {
  const auto deadline = Clock::now() + bound;
  for (;;) {
    const auto locked = locks.TryRow(row);
    if (locked.ok() && *locked) return true;
    if (!locked.ok() || Clock::now() >= deadline) return false;
    // OFD locks have no event; a blocking F_OFD_SETLKW could not be bounded without a signal.
    nanosleep(&kPause, nullptr);
  }
}

// Ends a living owner: it is asked first, so that it kills and cleans up itself, then killed. Its
// store fails either way: the generation has moved (R11.08, R11.10).
bool StopOwner(OwnersLock& locks, const AttemptRow& row, const HostInstance& host) {
  const auto owner = ParseOwner(row.owner_json);
  if (owner && owner->boot_id == host.boot_id) {
    if (const ipc::Fd pidfd = OpenProcess(owner->process); pidfd.valid()) {
      syscall(SYS_pidfd_send_signal, pidfd.get(), SIGTERM, nullptr, 0);
      if (WaitForRow(locks, row.row, kOwnerGrace)) return true;
      KillByPidfd(pidfd.get());
    }
  }
  return WaitForRow(locks, row.row, kOwnerGrace);
}

std::string ParentOf(std::string path, int levels) {
  for (int i = 0; i < levels; ++i)
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  return path;
}

// Absence is proof only under the same parent directory, seen from the same namespaces (design,
// section 3). The parent is the one that the repository's own cgroup was made in.
bool SameView(const Custody& custody, const HostInstance& host) {
  if (custody.pid_namespace != host.pid_namespace ||
      custody.cgroup_namespace != host.cgroup_namespace || custody.cgroups.empty())
    return false;
  const bool v2 = custody.cgroups.front().controller.empty();
  struct stat status {};
  if (stat(ParentOf(custody.cgroups.front().path, v2 ? 3 : 2).c_str(), &status) != 0) return false;
  return status.st_dev == custody.parent_device && status.st_ino == custody.parent_inode;
}

// The directory of a repository's cgroups in each hierarchy, which every attempt's lies in.
std::string SubtreeOf(const Custody& custody) {
  if (custody.cgroups.empty()) return {};
  const bool v2 = custody.cgroups.front().controller.empty();
  const std::string subtree = ParentOf(custody.cgroups.front().path, v2 ? 2 : 1);
  return subtree.substr(subtree.rfind('/') + 1);
}

// Looks, and touches nothing: whether anything that custody names is there.
bool StillThere(const Custody& custody) {
  for (const auto& process : {custody.candidate, custody.warden}) {
    if (process && OpenProcess(*process).valid()) return true;
  }
  for (const CgroupPlace& place : custody.cgroups) {
    struct stat status {};
    if (stat(place.path.c_str(), &status) == 0) return true;
  }
  return false;
}

// A copy of a data directory, a restored backup for one, records the attempts that ran in the
// original while it was made. They are the original's to end: recovery here finds them gone, or
// leaves them alone.
Result<bool> RunsElsewhere(int data, const Custody& custody, const HostInstance& host) {
  BAILIFF_TRY_ASSIGN(const std::string instance, ReadInstance(data));
  return custody.boot_id == host.boot_id &&
         SubtreeOf(custody) != "bailiff." + instance.substr(0, 8) && StillThere(custody);
}

struct Reconciled {
  bool confirmed = false;
  bool other_boot = false;
  std::string left;  // what could not be confirmed
  std::vector<std::string> proof;
};

Result<Reconciled> ReconcileCell(const Custody& custody, const HostInstance& host) {
  Reconciled result;
  if (custody.boot_id != host.boot_id) {
    result.confirmed = result.other_boot = true;
    result.proof.push_back("other_boot");
    return result;
  }
  if (!SameView(custody, host)) {
    result.left = "the cgroup parent it ran under is not visible from here";
    return result;
  }
  for (const auto& process : {custody.candidate, custody.warden}) {
    if (!process) continue;
    if (const ipc::Fd pidfd = OpenProcess(*process); pidfd.valid()) KillByPidfd(pidfd.get());
  }
  const int version = custody.cgroups.front().controller.empty() ? 2 : 1;
  const auto deadline = Clock::now() + kRemovalDeadline;
  for (;;) {
    BAILIFF_TRY_ASSIGN(const bool gone, RemoveRecorded(version, custody.cgroups));
    if (gone) break;
    if (Clock::now() >= deadline) {
      result.left =
          "cgroup " + custody.cgroups.front().path + " is not empty, or is another one now";
      return result;
    }
    nanosleep(&kPause, nullptr);
  }
  result.confirmed = true;
  result.proof.push_back("cgroups_removed");
  return result;
}

// Every generation's snapshot directory and spool of the attempt (R11.12).
Result<void> RemoveDirectories(int data, const AttemptRow& row) {
  BAILIFF_TRY_ASSIGN(const ipc::Fd execution,
                     ipc::OpenBeneath(data, "execution", O_RDONLY | O_DIRECTORY));
  for (std::int64_t generation = 1; generation <= row.generation; ++generation) {
    const std::string suffix = row.id + "-" + std::to_string(generation);
    BAILIFF_TRY(RemoveTree(execution.get(), ("snapshot-" + suffix).c_str()));
    for (const char* stream : {".stdout", ".stderr"}) {
      if (unlinkat(execution.get(), ("output-" + suffix + stream).c_str(), 0) != 0 &&
          errno != ENOENT)
        return SystemError("unlinkat", "output-" + suffix);
    }
  }
  return {};
}

Result<policy::CommandRecord> MakeRecord(HostMode& mode, const std::string& repository,
                                         const AttemptRow& row, const policy::Facts& facts,
                                         const HostInstance& host, std::vector<std::string> proof) {
  const auto verdict = policy::Judge(facts);
  if (!verdict)
    return Error{ErrorCode::kUnconfirmed, row.id, "its facts do not allow a verdict", 0, {}};
  BAILIFF_TRY_ASSIGN(const policy::CommandRecipe recipe, policy::ParseStoredRecipe(row.recipe));
  policy::CommandRecord record;
  record.attempt.id = row.id;
  record.attempt.generation = static_cast<std::uint64_t>(row.generation);
  BAILIFF_TRY_ASSIGN(record.attempt.request_digest,
                     RequestDigestOf(row, repository, record.attempt.generation));
  const auto context = policy::ParseDigest(row.context_digest);
  const auto revision = policy::ParseDigest(row.revision);
  if (!context || !revision)
    return Error{ErrorCode::kStoreCorrupt, row.id, "a digest of its row is malformed", 0, {}};
  record.subject = {repository,
                    row.change,
                    static_cast<std::uint64_t>(row.change_version),
                    *context,
                    static_cast<std::uint64_t>(row.context_generation),
                    static_cast<std::uint64_t>(row.policy_epoch),
                    *revision};
  record.recipe_digest = policy::RecipeDigest(recipe);
  record.toolchain = recipe.toolchain;
  record.environment_digest = policy::EnvironmentDigest(recipe.environment);
  record.image = recipe.image;
  record.backend = "native";
  BAILIFF_TRY_ASSIGN(const CgroupLayout layout, FindCgroups(mode.cgroup_parent));
  BAILIFF_TRY_ASSIGN(RuntimeIdentity runtime,
                     ReadRuntimeIdentity(layout.version, policy::LandlockAbi()));
  record.profile_digest = ProfileDigest(layout.version);
  record.runtime = {runtime.digest, false, std::move(runtime.facts)};
  record.isolation.candidate_filter = policy::FilterDigest(policy::Role::kCandidate);
  record.isolation.collector_filter = policy::FilterDigest(policy::Role::kCollector);
  record.isolation.snapshotter_filter = policy::FilterDigest(policy::Role::kSnapshotter);
  record.outcome = verdict->outcome;
  record.reasons = verdict->reasons;
  record.capture_incomplete = verdict->capture_incomplete;
  record.stopped_by = facts.stopped_by;
  record.process = verdict->process;
  record.cleanup = {facts.cleanup_confirmed, std::move(proof)};
  if (!facts.cleanup_confirmed && row.custody_json) {
    // As it is stored: parsed, its members have the order in which a record reads back.
    BAILIFF_TRY_ASSIGN(record.cleanup_handle, policy::ParseCanonical(*row.custody_json));
  }
  record.times.claimed_unix_ms = static_cast<std::uint64_t>(row.changed_unix_ms);
  record.times.finished_unix_ms = UnixMs();
  BAILIFF_TRY(HashPrograms(mode.programs, mode.data.get()));
  record.writer = {kVersion,
                   mode.programs.controller.digest,
                   mode.programs.warden.digest,
                   mode.programs.collector.digest,
                   mode.programs.snapshotter.digest,
                   host.boot_id};
  return record;
}

Result<std::string> OwnerJson(const HostInstance& host, std::int64_t row) {
  policy::Value owner = policy::Value::MakeObject();
  owner.Set("boot_id", host.boot_id);
  owner.Set("pid", getpid());
  BAILIFF_TRY_ASSIGN(const std::uint64_t start, StartTicks(getpid()));
  owner.Set("start_ticks", start);
  owner.Set("row", row);
  return policy::Canonical(owner);
}

}  // namespace

Result<RecoveryReport> Recover(HostMode& mode, Store& store, OwnersLock& locks,
                               const std::string& repository, const RecoveryRequest& request) {
  RecoveryReport report;
  BAILIFF_TRY_ASSIGN(report.before, store.GetAttempt(request.id));
  SweepSpools(mode.data.get(), store);
  if (report.before.state == AttemptState::kPending && request.cancel) {
    BAILIFF_TRY_ASSIGN(report.after, store.Cancel(request.id, request.generation, request.reason));
    return report;
  }
  BAILIFF_TRY_ASSIGN(const HostInstance host, ReadHostInstance(mode));
  std::optional<Custody> custody;
  if (report.before.custody_json) {
    BAILIFF_TRY_ASSIGN(custody, ParseCustody(*report.before.custody_json));
    if (custody->machine_id != host.machine_id)
      return Error{ErrorCode::kOtherMachine, request.id, "it ran on another machine", 0, {}};
  }
  bool elsewhere = false;
  if (report.before.state == AttemptState::kRunning && custody) {
    BAILIFF_TRY_ASSIGN(elsewhere, RunsElsewhere(mode.data.get(), *custody, host));
  }
  if (elsewhere && !request.abandon_unconfirmed)
    return Error{ErrorCode::kOwnerAlive, request.id,
                 "it runs in the data directory that this one is a copy of", 0,
                 "wait until it has ended there, or recover it there"};
  bool owned = false;
  if (report.before.state == AttemptState::kRunning) {
    BAILIFF_TRY_ASSIGN(owned, locks.TryRow(report.before.row));
    if (!owned && !request.cancel)
      return Error{ErrorCode::kOwnerAlive, request.id, "its owner holds its lock", 0, {}};
  }
  BAILIFF_TRY_ASSIGN(const std::string owner, OwnerJson(host, report.before.row));
  BAILIFF_TRY_ASSIGN(AttemptRow fenced,
                     store.Fence(request.id, request.generation, owner, request.reason));
  if (!owned && !StopOwner(locks, report.before, host)) {
    return Error{ErrorCode::kUnconfirmed,
                 request.id,
                 "its owner does not end; the attempt is running at generation " +
                     std::to_string(fenced.generation),
                 0,
                 {}};
  }
  // The owner may have recorded identities between our first read and the fence: the fenced row is
  // what must be destroyed.
  if (fenced.custody_json) {
    BAILIFF_TRY_ASSIGN(custody, ParseCustody(*fenced.custody_json));
  }
  Reconciled reconciled;
  reconciled.confirmed = !custody;  // nothing was persisted, so nothing was made (R11.23 holds here
                                    // because a failed persist starts nothing)
  if (elsewhere) {
    reconciled.left = "it runs in another data directory";
  } else if (custody) {
    BAILIFF_TRY_ASSIGN(reconciled, ReconcileCell(*custody, host));
  }
  if (reconciled.confirmed) {
    BAILIFF_TRY(RemoveDirectories(mode.data.get(), fenced));
    // Of its snapshotters, if it died in one; what does not go now is swept by the next job.
    static_cast<void>(SweepStaging(mode.data.get()).ok());
    reconciled.proof.push_back("snapshot_removed");
  } else if (!request.abandon_unconfirmed) {
    return Error{ErrorCode::kUnconfirmed,
                 request.id,
                 reconciled.left + "; the attempt is running at generation " +
                     std::to_string(fenced.generation),
                 0,
                 {}};
  }
  policy::Facts facts;
  facts.recovered = true;
  facts.released = custody && custody->created;
  facts.cleanup_confirmed = reconciled.confirmed;
  facts.abandoned = !reconciled.confirmed;
  if (request.cancel) facts.stopped_by = policy::StoppedBy::kCancel;
  fenced.changed_unix_ms = report.before.changed_unix_ms;
  BAILIFF_TRY_ASSIGN(const policy::CommandRecord record,
                     MakeRecord(mode, repository, fenced, facts, host, reconciled.proof));
  BAILIFF_TRY_ASSIGN(const policy::Evidence evidence, policy::EncodeEvidence(record));
  FinishInput input;
  input.id = request.id;
  input.generation = fenced.generation;
  input.outcome = policy::OutcomeName(record.outcome);
  input.evidence = evidence.bytes;
  input.reason = request.reason;
  BAILIFF_TRY_ASSIGN(report.after, store.Finish(input));
  report.other_boot = reconciled.other_boot;
  report.proof = record.cleanup.proof;
  return report;
}

}  // namespace bailiff::controller
