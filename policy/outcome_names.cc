// SPDX-License-Identifier: Apache-2.0
#include "policy/outcome.h"

#include <array>
#include <utility>

namespace bailiff::policy {
namespace {

template <class T>
using Names = std::pair<T, std::string_view>;

constexpr std::array kOutcomes = {
    Names<Outcome>{Outcome::kSuccess, "success"},
    Names<Outcome>{Outcome::kFailed, "failed"},
    Names<Outcome>{Outcome::kIncomplete, "incomplete"},
    Names<Outcome>{Outcome::kTimedOut, "timed_out"},
    Names<Outcome>{Outcome::kOutputLimit, "output_limit"},
    Names<Outcome>{Outcome::kCancelled, "cancelled"},
    Names<Outcome>{Outcome::kUnavailable, "unavailable"},
    Names<Outcome>{Outcome::kIndeterminate, "indeterminate"},
};

constexpr std::array kReasons = {
    Names<Reason>{Reason::kOomLocal, "oom_local"},
    Names<Reason>{Reason::kOomAncestor, "oom_ancestor"},
    Names<Reason>{Reason::kPidsLimitHit, "pids_limit_hit"},
    Names<Reason>{Reason::kExternalKill, "external_kill"},
    Names<Reason>{Reason::kSelfExit137, "self_exit_137"},
    Names<Reason>{Reason::kCaptureIncomplete, "capture_incomplete"},
    Names<Reason>{Reason::kIdentityChanged, "identity_changed"},
    Names<Reason>{Reason::kReadbackMismatch, "readback_mismatch"},
    Names<Reason>{Reason::kProtocolViolation, "protocol_violation"},
    Names<Reason>{Reason::kCollectorDied, "collector_died"},
    Names<Reason>{Reason::kSnapshotFailed, "snapshot_failed"},
    Names<Reason>{Reason::kRecovered, "recovered"},
    Names<Reason>{Reason::kWitnessMismatch, "witness_mismatch"},
    Names<Reason>{Reason::kWardenDied, "warden_died"},
    Names<Reason>{Reason::kRuntimeUnavailable, "runtime_unavailable"},
    Names<Reason>{Reason::kImageUnavailable, "image_unavailable"},
    Names<Reason>{Reason::kConfigurationRejected, "configuration_rejected"},
    Names<Reason>{Reason::kLimitNotEnforceable, "limit_not_enforceable"},
    Names<Reason>{Reason::kProcMasked, "proc_masked"},
    Names<Reason>{Reason::kExecutableUnavailable, "executable_unavailable"},
    Names<Reason>{Reason::kStorageFailed, "storage_failed"},
    Names<Reason>{Reason::kControllerBackstop, "controller_backstop"},
    Names<Reason>{Reason::kCleanupUnconfirmed, "cleanup_unconfirmed"},
};

constexpr std::array kStops = {
    Names<StoppedBy>{StoppedBy::kWallClock, "wall_clock"},
    Names<StoppedBy>{StoppedBy::kOutputLimit, "output_limit"},
    Names<StoppedBy>{StoppedBy::kCancel, "cancel"},
};

constexpr std::array kStates = {
    Names<ProcessEnd::State>{ProcessEnd::State::kExited, "exited"},
    Names<ProcessEnd::State>{ProcessEnd::State::kSignalled, "signalled"},
    Names<ProcessEnd::State>{ProcessEnd::State::kAmbiguous, "ambiguous"},
    Names<ProcessEnd::State>{ProcessEnd::State::kNotStarted, "not_started"},
    Names<ProcessEnd::State>{ProcessEnd::State::kUnknown, "unknown"},
};

template <class Table, class T>
constexpr std::string_view NameOf(const Table& table, T value) {
  for (const auto& [key, name] : table) {
    if (key == value) return name;
  }
  return {};
}

template <class T, class Table>
std::optional<T> ValueOf(const Table& table, std::string_view text) {
  for (const auto& [key, name] : table) {
    if (name == text) return key;
  }
  return std::nullopt;
}

}  // namespace

std::string_view OutcomeName(Outcome outcome) { return NameOf(kOutcomes, outcome); }
std::string_view ReasonName(Reason reason) { return NameOf(kReasons, reason); }
std::string_view StoppedByName(StoppedBy stopped_by) { return NameOf(kStops, stopped_by); }
std::string_view ProcessStateName(ProcessEnd::State state) { return NameOf(kStates, state); }
std::optional<Outcome> ParseOutcome(std::string_view name) {
  return ValueOf<Outcome>(kOutcomes, name);
}
std::optional<Reason> ParseReason(std::string_view name) { return ValueOf<Reason>(kReasons, name); }
std::optional<StoppedBy> ParseStoppedBy(std::string_view name) {
  return ValueOf<StoppedBy>(kStops, name);
}
std::optional<ProcessEnd::State> ParseProcessState(std::string_view name) {
  return ValueOf<ProcessEnd::State>(kStates, name);
}

int OutcomeExit(Outcome outcome) {
  switch (outcome) {
    case Outcome::kSuccess:
      return 0;
    case Outcome::kFailed:
      return 1;
    case Outcome::kIncomplete:
    case Outcome::kTimedOut:
    case Outcome::kOutputLimit:
    case Outcome::kCancelled:
    case Outcome::kUnavailable:
    case Outcome::kIndeterminate:
      return 2;
  }
  return 2;
}

bool IsUnavailable(Reason reason) {
  switch (reason) {
    case Reason::kRuntimeUnavailable:
    case Reason::kImageUnavailable:
    case Reason::kConfigurationRejected:
    case Reason::kLimitNotEnforceable:
    case Reason::kProcMasked:
    case Reason::kExecutableUnavailable:
      return true;
    case Reason::kOomLocal:
    case Reason::kOomAncestor:
    case Reason::kPidsLimitHit:
    case Reason::kExternalKill:
    case Reason::kSelfExit137:
    case Reason::kCaptureIncomplete:
    case Reason::kIdentityChanged:
    case Reason::kReadbackMismatch:
    case Reason::kProtocolViolation:
    case Reason::kCollectorDied:
    case Reason::kSnapshotFailed:
    case Reason::kRecovered:
    case Reason::kWitnessMismatch:
    case Reason::kWardenDied:
    case Reason::kStorageFailed:
    case Reason::kControllerBackstop:
    case Reason::kCleanupUnconfirmed:
      return false;
  }
  return false;
}

}  // namespace bailiff::policy
