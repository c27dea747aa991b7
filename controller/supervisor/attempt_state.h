// SPDX-License-Identifier: Apache-2.0
// What the parts of a running attempt share: attempt.cc (before the claim), attempt_prepare.cc (up
// to release), attempt_watch.cc (the loop), attempt_finish.cc (cleanup and record).
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "controller/supervisor/attempt.h"
#include "controller/supervisor/gate.h"
#include "controller/supervisor/runtime.h"
#include "ipc/frame.h"
#include "ipc/spawn.h"
#include "policy/outcome.h"
#include "policy/recipe.h"

namespace bailiff::controller {

using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC

struct AttemptOwner::State {
  HostMode* mode = nullptr;
  OwnersLock* locks = nullptr;
  std::string repository;
  std::string instance;
  std::string operator_json;
  std::uint32_t slot = 0;
  SlotIds ids;
  std::optional<CgroupLayout> layout;  // while the preparer makes the subtree
  CgroupSubtree subtree;
  HostInstance host;
  std::optional<std::int64_t> row;
  Custody custody;
  std::uint64_t claimed_unix_ms = 0;
  bool left_cgroups = false;

  // The last attempt of the data directory has the parent cgroup taken away, when its own are gone;
  // when that fails, the next one does it. Nobody else makes one in it until the locks are
  // released.
  void LeaveCgroups();
};

inline constexpr std::chrono::milliseconds kProgressEvery{100};

// A helper of a running attempt and how far it has come.
struct Helper {
  std::optional<ipc::Child> child;
  Phase phase = Phase::kStart;
  ipc::FrameReader reader;
  std::string diagnosis;  // at most kMaxDiagnosis bytes
  bool closed = false;    // its channel has closed
  policy::HelperEnd end = policy::HelperEnd::kNotStarted;
};

struct Captured {
  std::string bytes;  // retained
  std::optional<StreamEndValue> end;
  ipc::Fd spool;
};

class RunningAttempt {
 public:
  RunningAttempt(AttemptOwner::State& owner, Store& store, const AttemptRow& row, int signals,
                 const AttemptHooks& hooks)
      : owner_(owner), store_(store), row_(row), signals_(signals), hooks_(hooks) {}
  Result<AttemptReport> Run();

 private:
  // attempt_prepare.cc: sets `facts_.refused` and friends for what ends the attempt; an error only
  // where nothing can be recorded.
  Result<void> Prepare();
  Result<void> Start();
  Result<void> PrepareImage();
  Result<void> PrepareSource();
  JobHooks StoppingHooks();  // of a job that a signal ends
  Result<void> MakeSnapshotDirectory();
  Result<void> MakePipes();
  Result<void> StartCollector();
  Result<void> StartWarden();
  Result<void> Identify();
  Result<void> Release();
  void Refuse(policy::Reason reason, const Error& cause);

  // attempt_watch.cc
  void Watch();
  int Timeout() const;
  void CheckDeadlines();
  void ReadSignals();
  void ReadDiagnosis(Helper& helper);
  void ReadCollector();
  void ReadWarden();
  void OnCollector(wire::FromCollector& message);
  void OnWarden(wire::FromWarden& message);
  void OnOutput(OutputValue value);
  void OnStreamEnd(const StreamEndValue& value);
  void Violation(Helper& helper, const Error& cause);
  void Latch(policy::StoppedBy by);
  void KillCandidate();
  void KillHelper(Helper& helper);
  bool Over() const;
  void Note(const std::string& text) const;
  void ReportProgress();

  // attempt_finish.cc
  Result<AttemptReport> Finish();
  void ReadAfter();
  void Reap(Helper& helper);
  void RemoveSpool();
  std::uint64_t SuspendedMs() const;
  void CleanUp();
  policy::CommandRecord MakeRecord(const policy::Verdict& verdict);

  AttemptOwner::State& owner_;
  Store& store_;
  AttemptRow row_;
  int signals_;
  const AttemptHooks& hooks_;

  policy::CommandRecipe recipe_;
  policy::Facts facts_;
  policy::Subject subject_;
  policy::Digest request_digest_;
  std::optional<policy::Digest> tree_;
  std::optional<policy::Digest> image_tree_;
  ipc::Fd tree_directory_;
  ipc::Fd image_directory_;
  std::string snapshot_name_;
  std::optional<AttemptCgroup> cgroup_;
  std::optional<RuntimeIdentity> runtime_;
  std::vector<policy::Readback> readback_;
  Helper collector_;
  Helper warden_;
  Gate<CollectorPeer> collector_gate_;
  Gate<WardenPeer> warden_gate_;
  ipc::Pipe out_;
  ipc::Pipe err_;
  Captured captured_[2];
  ipc::Fd candidate_;  // pidfd, once identified
  std::optional<policy::CellStep> failed_step_;
  std::optional<EndedValue> ended_;
  CgroupUsage usage_;
  bool built_ = false;
  bool identified_ = false;      // custody with the candidate's identity is stored
  bool unreaped_ = false;        // a helper that did not end in time
  std::optional<Error> fenced_;  // recovery took the attempt over: nothing may be stored by us
  unsigned interruptions_ = 0;
  Clock::time_point begin_ = Clock::now();
  std::int64_t boottime_offset_ns_ = 0;
  std::optional<Clock::time_point> released_at_;
  std::optional<Clock::time_point> ended_at_;
  std::optional<Clock::time_point> killed_at_;
  std::optional<Clock::time_point> warden_gone_at_;
  Clock::time_point next_progress_ = Clock::now();
  std::uint64_t started_unix_ms_ = 0;
  std::vector<std::string> proof_;
};

std::uint64_t UnixMs();

// D("agentscm.execution-request.v1", …) of a row at a generation (R2.06, R2.07).
Result<policy::Digest> RequestDigestOf(const AttemptRow& row, const std::string& repository,
                                       std::uint64_t generation);

}  // namespace bailiff::controller
