// SPDX-License-Identifier: Apache-2.0
#include "policy/outcome.h"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace bailiff::policy {
namespace {

constexpr int kKilledExit = 128 + SIGKILL;

// The candidate may have run: then nothing may be called unavailable.
bool MayHaveRun(const Facts& facts) {
  return facts.started || (facts.released && !facts.exec_errno.has_value());
}

// Written without a sum, which a lying collector could make wrap.
bool CrossedBound(const Facts& facts) {
  if (facts.out.seen > facts.output_bound) return true;
  return facts.err.seen > facts.output_bound - facts.out.seen;
}

// Both streams reached their end, and all that was seen is held.
bool CaptureComplete(const Facts& facts) {
  return facts.out.eof && facts.err.eof && !CrossedBound(facts) &&
         facts.out.retained == facts.out.seen && facts.err.retained == facts.err.seen;
}

ProcessEnd EndOf(const Facts& facts) {
  ProcessEnd end;
  if (facts.started && facts.exec_errno.has_value()) return end;  // contradiction: unknown
  if (!MayHaveRun(facts)) {
    end.state = ProcessEnd::State::kNotStarted;
    end.error = facts.exec_errno;
    return end;
  }
  if (!facts.wait_status.has_value()) return end;
  const int status = *facts.wait_status;
  if (WIFEXITED(status)) {
    end.state = ProcessEnd::State::kExited;
    end.code = WEXITSTATUS(status);
  } else if (WIFSIGNALED(status)) {
    end.state = ProcessEnd::State::kSignalled;
    end.signal = WTERMSIG(status);
    end.core = WCOREDUMP(status);
  }
  return end;
}

class Reasons {
 public:
  void Add(bool holds, Reason reason) {
    if (holds && std::find(list_.begin(), list_.end(), reason) == list_.end()) {
      list_.push_back(reason);
    }
  }
  bool empty() const { return list_.empty(); }
  std::vector<Reason> Take() && { return std::move(list_); }

 private:
  std::vector<Reason> list_;
};

// What was observed and does not fit a verdict, the most telling first: what the kernel and the
// witnesses saw stands before what a hijacked collector can bring about.
void AddObserved(const Facts& facts, const ProcessEnd& end, bool capture_incomplete,
                 Reasons& reasons) {
  const bool ran = MayHaveRun(facts);
  const bool oom = facts.oom_kills.value_or(0) > 0;
  const bool killed = end.state == ProcessEnd::State::kSignalled && end.signal == SIGKILL;
  const bool exited = end.state == ProcessEnd::State::kExited;
  // A SIGKILL that one of these explains was sent by the controller itself.
  const bool ours = facts.stopped_by != StoppedBy::kNothing || facts.backstop || facts.recovered ||
                    facts.storage_failed || facts.warden == HelperEnd::kDied ||
                    facts.warden == HelperEnd::kViolation || facts.collector == HelperEnd::kDied ||
                    facts.collector == HelperEnd::kViolation;

  reasons.Add(facts.recovered, Reason::kRecovered);
  reasons.Add(facts.snapshot_failed || facts.source == Check::kMismatched, Reason::kSnapshotFailed);
  reasons.Add(oom, facts.oom_ancestor ? Reason::kOomAncestor : Reason::kOomLocal);
  if (facts.refused.has_value()) reasons.Add(true, *facts.refused);
  reasons.Add(
      facts.warden == HelperEnd::kViolation || facts.collector == HelperEnd::kViolation ||
          (facts.started && facts.exec_errno.has_value()) ||
          (ran && facts.wait_status.has_value() && end.state == ProcessEnd::State::kUnknown),
      Reason::kProtocolViolation);
  reasons.Add(facts.warden == HelperEnd::kDied, Reason::kWardenDied);
  reasons.Add((facts.wait_status.has_value() && facts.pidfd_status.has_value() &&
               *facts.wait_status != *facts.pidfd_status) ||
                  (exited && !facts.started),
              Reason::kWitnessMismatch);
  reasons.Add(facts.identity == Check::kMismatched, Reason::kIdentityChanged);
  // A gap before release is `refused`; one that was nevertheless released is worse.
  reasons.Add(facts.readback_after == Check::kMismatched ||
                  (ran && facts.readback_before == Check::kMismatched),
              Reason::kReadbackMismatch);
  reasons.Add(facts.storage_failed, Reason::kStorageFailed);
  reasons.Add(facts.collector == HelperEnd::kDied, Reason::kCollectorDied);
  reasons.Add(facts.backstop, Reason::kControllerBackstop);
  // Without the kernel's count nobody can say who killed it; AddMissing names that.
  reasons.Add(killed && !oom && !ours && facts.oom_kills.has_value(), Reason::kExternalKill);
  reasons.Add(exited && end.code == kKilledExit && !oom, Reason::kSelfExit137);
  reasons.Add(capture_incomplete, Reason::kCaptureIncomplete);
}

// What must be there for a verdict and is not. Named only when nothing observed explains the end.
void AddMissing(const Facts& facts, Reasons& reasons) {
  const bool ran = MayHaveRun(facts);
  reasons.Add(!ran, Reason::kControllerBackstop);
  reasons.Add(ran && facts.source != Check::kMatched, Reason::kSnapshotFailed);
  reasons.Add(ran && (facts.warden != HelperEnd::kClean || !facts.wait_status.has_value()),
              Reason::kWardenDied);
  reasons.Add(ran && !facts.started, Reason::kWitnessMismatch);
  reasons.Add(ran && facts.collector != HelperEnd::kClean, Reason::kCollectorDied);
  reasons.Add(ran && facts.identity != Check::kMatched, Reason::kIdentityChanged);
  reasons.Add(ran && (!facts.released || facts.readback_before != Check::kMatched ||
                      facts.readback_after != Check::kMatched || !facts.oom_kills.has_value()),
              Reason::kReadbackMismatch);
  reasons.Add(ran && facts.output_bound == 0, Reason::kCaptureIncomplete);
}

Outcome StoppedOutcome(StoppedBy stopped_by) {
  switch (stopped_by) {
    case StoppedBy::kWallClock:
      return Outcome::kTimedOut;
    case StoppedBy::kOutputLimit:
      return Outcome::kOutputLimit;
    case StoppedBy::kCancel:
      return Outcome::kCancelled;
    case StoppedBy::kNothing:
      break;
  }
  return Outcome::kIncomplete;
}

}  // namespace

std::optional<Verdict> Judge(const Facts& facts) {
  if (!facts.cleanup_confirmed && !facts.abandoned) return std::nullopt;

  Verdict verdict;
  verdict.process = EndOf(facts);
  const bool ran = MayHaveRun(facts);
  // A kill for memory during exec itself is a fact of the cell, not a missing executable (a03).
  const bool oom = facts.oom_kills.value_or(0) > 0;
  const bool cut_by_latch = facts.stopped_by == StoppedBy::kOutputLimit && CrossedBound(facts);
  verdict.capture_incomplete = ran && !CaptureComplete(facts) && !cut_by_latch;

  Reasons reasons;
  const bool refused = facts.refused.has_value() && IsUnavailable(*facts.refused);
  if (!facts.cleanup_confirmed) {
    verdict.outcome = Outcome::kIndeterminate;
    reasons.Add(true, Reason::kCleanupUnconfirmed);
    AddObserved(facts, verdict.process, verdict.capture_incomplete, reasons);
  } else if (!ran && !oom && (refused || facts.exec_errno.has_value())) {
    verdict.outcome = Outcome::kUnavailable;
    reasons.Add(true, refused ? *facts.refused : Reason::kExecutableUnavailable);
    AddObserved(facts, verdict.process, verdict.capture_incomplete, reasons);
  } else {
    AddObserved(facts, verdict.process, verdict.capture_incomplete, reasons);
    if (facts.stopped_by != StoppedBy::kNothing) {
      verdict.outcome = StoppedOutcome(facts.stopped_by);
    } else {
      if (reasons.empty()) AddMissing(facts, reasons);
      if (!reasons.empty()) {
        verdict.outcome = Outcome::kIncomplete;
      } else if (verdict.process.state == ProcessEnd::State::kExited && verdict.process.code == 0) {
        verdict.outcome = Outcome::kSuccess;
      } else {
        verdict.outcome = Outcome::kFailed;
      }
    }
  }
  reasons.Add(facts.pids_refused.value_or(0) > 0, Reason::kPidsLimitHit);
  verdict.reasons = std::move(reasons).Take();
  return verdict;
}

}  // namespace bailiff::policy
