// SPDX-License-Identifier: Apache-2.0
// From facts to an outcome: one pure function (design, section 5; contracts, sections 2 and 7;
// R8.*). The controller fills Facts; nothing here reads a clock, a file or a process.
//
// Every field starts as "not known". A fact that nobody filled in can therefore never help a run to
// `success`: success needs each of them present and matching.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace bailiff::policy {

enum class Outcome {
  kSuccess,
  kFailed,
  kIncomplete,
  kTimedOut,
  kOutputLimit,
  kCancelled,
  kUnavailable,
  kIndeterminate,
};

// The closed list of contracts, section 2, in its order.
enum class Reason {
  kOomLocal,
  kOomAncestor,
  kPidsLimitHit,
  kExternalKill,
  kSelfExit137,
  kCaptureIncomplete,
  kIdentityChanged,
  kReadbackMismatch,
  kProtocolViolation,
  kCollectorDied,
  kSnapshotFailed,
  kRecovered,
  kWitnessMismatch,
  kWardenDied,
  kRuntimeUnavailable,
  kImageUnavailable,
  kConfigurationRejected,
  kLimitNotEnforceable,
  kProcMasked,
  kExecutableUnavailable,
  kStorageFailed,
  kControllerBackstop,
  kCleanupUnconfirmed,
};

// The controller's one latch (contracts 7.2): the first of these wins and is set before the first
// signal of that cause is sent; it is never changed afterwards.
enum class StoppedBy { kNothing, kWallClock, kOutputLimit, kCancel };

// Names as they stand in evidence. The Parse functions accept exactly those.
std::string_view OutcomeName(Outcome outcome);
std::string_view ReasonName(Reason reason);
std::string_view StoppedByName(StoppedBy stopped_by);  // "" for kNothing
std::optional<Outcome> ParseOutcome(std::string_view name);
std::optional<Reason> ParseReason(std::string_view name);
std::optional<StoppedBy> ParseStoppedBy(std::string_view name);

// Exit status of a command that ends with this outcome: 0, 1 or 2 (contracts, section 6).
int OutcomeExit(Outcome outcome);

// True for the reasons that mean "nothing of the candidate ran" (outcome `unavailable`).
bool IsUnavailable(Reason reason);

// A comparison the controller made itself. kMissing: not made, or it could not be read.
enum class Check { kMissing, kMatched, kMismatched };

// How a process of ours ended.
enum class HelperEnd {
  kNotStarted,
  kClean,   // did its whole job and exited 0
  kKilled,  // ended by the controller on purpose: after the latch, or because another part failed
  kDied,    // any other end, a missed deadline of its own included
  kViolation,  // broke its protocol or was not confined as declared; the controller killed it
};

struct StreamFacts {
  std::uint64_t seen = 0;      // bytes, from StreamEnd
  std::uint64_t retained = 0;  // bytes the controller holds and hashed
  bool eof = false;            // StreamEnd said end of stream
};

struct Facts {
  // --- before release
  // Why nothing of the candidate ran, as one of the IsUnavailable reasons; any other reason, or one
  // given although something ran, makes the attempt `incomplete` with it. Set by whoever refused:
  // a gap in the read-back before release, a limit that could not be set, an exec errno. Leave it
  // empty when the preparation ended for another cause (latch, dead helper, snapshot).
  std::optional<Reason> refused;
  // Tree digest of the materialized snapshot, recomputed by the second job, against the subject's.
  Check source = Check::kMissing;
  // Materializing or verifying failed (R9.16). A digest that differs is source == kMismatched.
  bool snapshot_failed = false;
  // The controller's own read of the effective configuration just before release, all rows.
  Check readback_before = Check::kMissing;
  // Release was sent: from here on the candidate may have run.
  bool released = false;

  // --- the witnesses of the end
  bool started = false;            // warden: exec succeeded
  std::optional<int> exec_errno;   // warden: exec failed with this errno
  std::optional<int> wait_status;  // warden: raw status, wait(2)
  // The kernel's own word by PIDFD_GET_INFO (Linux 6.15), raw; absent where it is not offered.
  std::optional<int> pidfd_status;
  HelperEnd warden = HelperEnd::kNotStarted;
  HelperEnd collector = HelperEnd::kNotStarted;

  // --- the controller's latch and its other kills
  StoppedBy stopped_by = StoppedBy::kNothing;
  // The last deadline of the controller for a phase (set-up, drain, removal) ended the attempt.
  bool backstop = false;

  // --- kernel counters of the cell, read after the end and before removal
  std::optional<std::uint64_t> oom_kills;     // tasks of the cell killed by the kernel for memory
  bool oom_ancestor = false;                  // those kills came from a limit above the cell's own
  std::optional<std::uint64_t> pids_refused;  // forks refused by the pids limit

  // --- capture
  StreamFacts out;
  StreamFacts err;
  std::uint64_t output_bound = 0;  // the recipe's max_output_bytes, both streams together
  bool storage_failed = false;     // spooling or storing what was captured failed

  // --- after the end
  Check readback_after = Check::kMissing;  // every row that still exists after exit, before removal
  Check identity = Check::kMissing;        // runtime identity after the end against before release
  // Every process, cgroup, mount and directory of the attempt is gone and that was observed. Also
  // true when nothing was ever made. False with abandoned false: nothing may be stored yet.
  bool cleanup_confirmed = false;
  bool abandoned = false;  // operator: --abandon-unconfirmed
  bool recovered = false;  // finished by recovery and not by its owner
};

// The `process` member of evidence.
struct ProcessEnd {
  enum class State { kExited, kSignalled, kAmbiguous, kNotStarted, kUnknown };
  State state = State::kUnknown;
  std::optional<int> code;    // kExited
  std::optional<int> signal;  // kSignalled
  bool core = false;          // kSignalled: the core flag of the raw status (core size is 0)
  std::optional<int> error;   // kNotStarted: errno of exec
  bool operator==(const ProcessEnd&) const = default;
};
std::string_view ProcessStateName(ProcessEnd::State state);
std::optional<ProcessEnd::State> ParseProcessState(std::string_view name);

struct Verdict {
  Outcome outcome = Outcome::kIncomplete;
  // First = decisive for `unavailable`, `incomplete` and `indeterminate`. For the others all of
  // them only stand beside (the latch or the command's own end decided). No duplicates.
  std::vector<Reason> reasons;
  bool capture_incomplete = false;  // a stream that had begun has no end (R7.03)
  ProcessEnd process;
};

// Nothing: cleanup is unconfirmed and was not abandoned, so no terminal outcome may be stored; the
// attempt stays running (contracts 7.3, R11.13).
std::optional<Verdict> Judge(const Facts& facts);

}  // namespace bailiff::policy
