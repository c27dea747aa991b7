// SPDX-License-Identifier: Apache-2.0
// After the end: what the kernel still shows is read, what is left is killed and removed, and one
// record is stored.
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "controller/store/layout.h"
#include "controller/supervisor/attempt_state.h"
#include "controller/supervisor/pidfd.h"
#include "controller/supervisor/version.h"
#include "ipc/fault.h"
#include "policy/filter.h"
#include "policy/lockdown.h"
#include "policy/view.h"

namespace bailiff::controller {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRemovalDeadline{5000};
constexpr milliseconds kReapDeadline{5000};

// Waits for the process behind a pidfd, bounded: an unkillable task must not hang the controller
// (c08).
std::optional<siginfo_t> WaitFor(int pidfd, milliseconds bound) {
  pollfd end{pidfd, POLLIN, 0};
  int ready = -1;
  do {
    ready = poll(&end, 1, static_cast<int>(bound.count()));
  } while (ready < 0 && errno == EINTR);
  siginfo_t info{};
  if (ready != 1 ||
      waitid(P_PIDFD, static_cast<id_t>(pidfd), &info, WEXITED | WNOHANG | __WALL) != 0 ||
      info.si_pid == 0)
    return std::nullopt;
  return info;
}

}  // namespace

void RunningAttempt::Reap(Helper& helper) {
  if (!helper.child) return;
  const bool collector = &helper == &collector_;
  // Whoever still lives at this point has no more work.
  if (!helper.closed) KillHelper(helper);
  auto info =
      WaitFor(helper.child->pidfd.get(),
              helper.closed && helper.end == policy::HelperEnd::kNotStarted ? milliseconds(1000)
                                                                            : kReapDeadline);
  if (!info) {
    KillHelper(helper);
    info = WaitFor(helper.child->pidfd.get(), kReapDeadline);
  }
  if (helper.child->diagnosis.valid()) ReadDiagnosis(helper);
  if (!helper.diagnosis.empty())
    Note(std::string(collector ? "collector: " : "warden: ") + helper.diagnosis);
  if (!info) {
    unreaped_ = true;
    if (helper.end == policy::HelperEnd::kNotStarted) helper.end = policy::HelperEnd::kDied;
    return;
  }
  proof_.push_back(collector ? "collector_reaped" : "warden_reaped");
  if (helper.end != policy::HelperEnd::kNotStarted) return;
  const bool clean = info->si_code == CLD_EXITED && info->si_status == 0 &&
                     (collector ? helper.phase == Phase::kDone : ended_ || failed_step_);
  // A warden whose candidate we killed before it had run has nothing to report.
  const bool ours = !collector && killed_at_.has_value();
  helper.end = clean  ? policy::HelperEnd::kClean
               : ours ? policy::HelperEnd::kKilled
                      : policy::HelperEnd::kDied;
}

void RunningAttempt::ReadAfter() {
  usage_ = cgroup_ ? cgroup_->ReadUsage() : CgroupUsage{};
  if (!facts_.released) return;
  auto rows = cgroup_->ReadLimits();
  if (rows.ok()) {
    for (const policy::Readback& now : *rows) {
      for (policy::Readback& row : readback_) {
        if (row.name == now.name) row.after = now.before;
      }
    }
  }
  facts_.readback_after = rows.ok() ? policy::CheckAfter(readback_) : policy::Check::kMissing;
  const auto runtime = ReadRuntimeIdentity(owner_.subtree.version(), policy::LandlockAbi());
  facts_.identity = runtime.ok() && runtime->digest == runtime_->digest ? policy::Check::kMatched
                    : runtime.ok()                                      ? policy::Check::kMismatched
                                                                        : policy::Check::kMissing;
  facts_.oom_kills = usage_.oom_kills;
  // A kill without this cgroup's own limit having been hit came from a limit above it.
  facts_.oom_ancestor = usage_.oom_kills.value_or(0) > 0 && usage_.oom_hits.value_or(1) == 0;
  facts_.pids_refused = usage_.pids_refused;
}

void RunningAttempt::CleanUp() {
  Reap(warden_);
  Reap(collector_);
  bool removed = true;
  if (cgroup_) {
    const auto deadline = Clock::now() + kRemovalDeadline;
    Result<void> result;
    for (;;) {
      result = cgroup_->Remove();
      if (result.ok() || result.error().system_error != EBUSY || Clock::now() >= deadline) break;
      cgroup_->KillAll();
      if (candidate_.valid()) KillByPidfd(candidate_.get());
      // rmdir has no event of its own on v1; the pid namespace is already gone, so this is a matter
      // of microseconds.
      const timespec pause{0, 1000000};
      nanosleep(&pause, nullptr);
    }
    removed = result.ok();
    if (removed) {
      proof_.push_back("cgroups_removed");
    } else {
      Note(result.error().subject + ": " + result.error().why);
    }
  }
  static_cast<void>(BAILIFF_FAULT(AfterRemoval));
  if (!snapshot_name_.empty()) {
    auto execution = ipc::OpenBeneath(owner_.mode->data.get(), "execution", O_RDONLY | O_DIRECTORY);
    const auto gone = execution.ok() ? RemoveTree(execution->get(), snapshot_name_.c_str())
                                     : Result<void>(execution.error());
    if (gone.ok()) {
      proof_.push_back("snapshot_removed");
    } else {
      removed = false;
      Note(gone.error().subject + ": " + gone.error().why);
    }
  }
  facts_.cleanup_confirmed = removed && !unreaped_;
}

policy::CommandRecord RunningAttempt::MakeRecord(const policy::Verdict& verdict) {
  policy::CommandRecord record;
  record.attempt = {row_.id, static_cast<std::uint64_t>(row_.generation), request_digest_};
  record.subject = subject_;
  record.recipe_digest = policy::RecipeDigest(recipe_);
  record.toolchain = recipe_.toolchain;
  record.environment_digest = policy::EnvironmentDigest(recipe_.environment);
  record.image = recipe_.image;
  record.tree = tree_;
  record.image_tree = image_tree_;
  record.backend = "native";
  record.profile_digest = ProfileDigest(owner_.subtree.version());
  record.runtime = {runtime_->digest, facts_.identity == policy::Check::kMatched, runtime_->facts};
  record.isolation.observed = facts_.readback_before == policy::Check::kMatched;
  record.isolation.candidate_filter = policy::FilterDigest(policy::Role::kCandidate);
  record.isolation.collector_filter = policy::FilterDigest(policy::Role::kCollector);
  record.isolation.snapshotter_filter = policy::FilterDigest(policy::Role::kSnapshotter);
  record.isolation.readback = readback_;
  record.outcome = verdict.outcome;
  record.reasons = verdict.reasons;
  record.capture_incomplete = verdict.capture_incomplete;
  record.stopped_by = facts_.stopped_by;
  record.process = verdict.process;
  if (facts_.released) {
    const auto stream = [](const Captured& captured, const policy::StreamFacts& facts) {
      return policy::StreamRecord{facts.seen, facts.retained, policy::Hash(captured.bytes),
                                  facts.eof};
    };
    record.streams =
        policy::Streams{stream(captured_[0], facts_.out), stream(captured_[1], facts_.err)};
    const auto end = ended_at_.value_or(Clock::now());
    record.usage.wall_us = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(end - *released_at_).count());
    record.usage.user_us = usage_.user_us ? usage_.user_us
                           : ended_       ? std::optional(ended_->user_us)
                                          : std::nullopt;
    record.usage.system_us = usage_.system_us ? usage_.system_us
                             : ended_         ? std::optional(ended_->system_us)
                                              : std::nullopt;
    record.usage.memory_peak_bytes = usage_.memory_peak;
    record.usage.pids_peak = usage_.pids_peak;
    record.usage.oom_kills = usage_.oom_kills;
    record.usage.pids_refused = usage_.pids_refused;
    record.times.started_unix_ms = started_unix_ms_;
  }
  record.cleanup = {facts_.cleanup_confirmed, proof_};
  record.times.claimed_unix_ms = owner_.claimed_unix_ms;
  record.times.finished_unix_ms = UnixMs();
  record.times.suspended_ms = SuspendedMs();
  const Programs& programs = owner_.mode->programs;
  record.writer = {kVersion,
                   programs.controller.digest,
                   programs.warden.digest,
                   programs.collector.digest,
                   programs.snapshotter.digest,
                   owner_.host.boot_id};
  return record;
}

std::uint64_t RunningAttempt::SuspendedMs() const {
  timespec boot{};
  timespec monotonic{};
  clock_gettime(CLOCK_BOOTTIME, &boot);
  clock_gettime(CLOCK_MONOTONIC, &monotonic);
  const std::int64_t offset =
      (boot.tv_sec - monotonic.tv_sec) * 1000000000LL + (boot.tv_nsec - monotonic.tv_nsec);
  // The two reads are not at one instant: only what exceeds a millisecond is a suspend.
  return offset - boottime_offset_ns_ > 1000000
             ? static_cast<std::uint64_t>((offset - boottime_offset_ns_) / 1000000)
             : 0;
}

Result<AttemptReport> RunningAttempt::Finish() {
  ReadAfter();
  CleanUp();
  facts_.collector = collector_.end;
  facts_.warden = warden_.end;
  policy::StreamFacts* streams[] = {&facts_.out, &facts_.err};
  for (std::size_t i = 0; i < 2; ++i) {
    streams[i]->retained = captured_[i].bytes.size();
    streams[i]->seen = captured_[i].end ? captured_[i].end->seen : captured_[i].bytes.size();
    streams[i]->eof = captured_[i].end && captured_[i].end->eof;
  }
  if (facts_.cleanup_confirmed) owner_.LeaveCgroups();  // done while the record is written
  if (fenced_) return std::move(*fenced_);
  if (!facts_.cleanup_confirmed) {
    return Error{ErrorCode::kUnconfirmed,
                 row_.id,
                 "something of it may be left; it stays running at generation " +
                     std::to_string(row_.generation),
                 0,
                 {}};
  }
  const auto verdict = policy::Judge(facts_);
  if (!verdict)
    return Error{ErrorCode::kUnconfirmed, row_.id, "its facts do not allow a verdict", 0, {}};
  AttemptReport report;
  report.record = MakeRecord(*verdict);
  BAILIFF_TRY_ASSIGN(report.evidence, policy::EncodeEvidence(report.record));
  FinishInput input;
  input.id = row_.id;
  input.generation = row_.generation;
  input.outcome = policy::OutcomeName(verdict->outcome);
  input.evidence = report.evidence.bytes;
  if (facts_.released) input.outputs = {captured_[0].bytes, captured_[1].bytes};
  BAILIFF_TRY_ASSIGN(report.row, store_.Finish(input));
  static_cast<void>(BAILIFF_FAULT(AfterRecord));
  RemoveSpool();
  return report;
}

void RunningAttempt::RemoveSpool() {
  // The bytes are in the store now; a spool that stays behind is read by nobody (SweepSpools).
  const std::string base = "execution/output-" + row_.id + "-" + std::to_string(row_.generation);
  for (std::size_t i = 0; i < 2; ++i) {
    if (captured_[i].spool.valid())
      unlinkat(owner_.mode->data.get(), (base + (i == 0 ? ".stdout" : ".stderr")).c_str(), 0);
  }
}

Result<AttemptReport> RunningAttempt::Run() {
  if (auto prepared = Prepare(); !prepared.ok()) {
    KillHelper(warden_);
    KillHelper(collector_);
    CleanUp();
    return std::move(prepared).error();
  }
  Watch();
  return Finish();
}

}  // namespace bailiff::controller
