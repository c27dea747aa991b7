// SPDX-License-Identifier: Apache-2.0
// The loop of a running attempt: one thread, one poll. Every wait has a deadline of the
// controller's own monotonic clock.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "controller/supervisor/attempt_state.h"
#include "controller/supervisor/pidfd.h"
#include "controller/supervisor/witness.h"
#include "ipc/fault.h"

namespace bailiff::controller {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSetUpDeadline{
    20000};  // from spawn to release; a slow machine building a cell takes tens of ms
constexpr milliseconds kKillDeadline{
    2000};  // from SIGKILL to the warden's word, before the warden goes too
constexpr milliseconds kDrainDeadline{5000};  // from the warden's end to both ends of streams

int Left(Clock::time_point now, Clock::time_point deadline) {
  const auto left = std::chrono::ceil<milliseconds>(deadline - now).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60000));
}

}  // namespace

void RunningAttempt::Note(const std::string& text) const {
  if (hooks_.note) hooks_.note(text);
}

void RunningAttempt::KillCandidate() {
  if (!killed_at_) killed_at_ = Clock::now();
  if (candidate_.valid() && facts_.released) {
    KillByPidfd(candidate_.get());  // pid 1 of its namespace: the kernel ends every process in it
  } else {
    KillHelper(warden_);  // nothing of the candidate ran, or its process is not known: end the
                          // outer namespace
  }
}

void RunningAttempt::KillHelper(Helper& helper) {
  if (!helper.child) return;
  // One whose channel has closed ended by itself: how is for Reap() to say.
  if (helper.end == policy::HelperEnd::kNotStarted && !helper.closed) {
    helper.end = policy::HelperEnd::kKilled;
  }
  KillByPidfd(helper.child->pidfd.get());
}

void RunningAttempt::Latch(policy::StoppedBy by) {
  if (facts_.stopped_by != policy::StoppedBy::kNothing || failed_step_) return;
  // A command that ended is neither cancelled nor late any more. But what it wrote before may be
  // read after the warden's word: one byte too many is one byte too many (a11).
  if (ended_ && by != policy::StoppedBy::kOutputLimit) return;
  facts_.stopped_by = by;  // before the first signal: what decides is set once
  if (warden_.child && !ended_) KillCandidate();
}

void RunningAttempt::Violation(Helper& helper, const Error& cause) {
  helper.end = policy::HelperEnd::kViolation;
  Note(std::string(&helper == &collector_ ? "collector: " : "warden: ") + cause.subject + ": " +
       cause.why);
  KillHelper(helper);
  if (!ended_) KillCandidate();
}

bool RunningAttempt::Over() const {
  const auto gone = [](const Helper& helper) { return !helper.child || helper.closed; };
  return gone(warden_) && gone(collector_);
}

int RunningAttempt::Timeout() const {
  const auto now = Clock::now();
  int timeout = 60000;
  if (!facts_.released) timeout = std::min(timeout, Left(now, begin_ + kSetUpDeadline));
  if (released_at_ && !ended_)
    timeout = std::min(timeout, Left(now, *released_at_ + milliseconds(recipe_.limits.timeout_ms)));
  if (killed_at_ && !warden_.closed)
    timeout = std::min(timeout, Left(now, *killed_at_ + kKillDeadline));
  if (warden_gone_at_) timeout = std::min(timeout, Left(now, *warden_gone_at_ + kDrainDeadline));
  if (hooks_.progress && released_at_ && !ended_)
    timeout = std::min(timeout, Left(now, next_progress_));
  return timeout;
}

void RunningAttempt::CheckDeadlines() {
  const auto now = Clock::now();
  if (!facts_.released && !killed_at_ && now >= begin_ + kSetUpDeadline) {
    facts_.backstop = true;
    Note("setting up the cell took longer than its deadline");
    KillCandidate();
    KillHelper(collector_);
  }
  if (released_at_ && !ended_ && !killed_at_ &&
      now >= *released_at_ + milliseconds(recipe_.limits.timeout_ms)) {
    Latch(policy::StoppedBy::kWallClock);
  }
  if (killed_at_ && !warden_.closed && now >= *killed_at_ + kKillDeadline) {
    facts_.backstop = facts_.backstop || !ended_;
    if (cgroup_) cgroup_->KillAll();
    KillHelper(warden_);
    warden_.closed = true;  // Reap() waits for it, bounded
    warden_gone_at_ = now;
  }
  if (warden_gone_at_ && !collector_.closed && now >= *warden_gone_at_ + kDrainDeadline) {
    facts_.backstop = true;
    KillHelper(collector_);
    collector_.closed = true;
  }
  if (hooks_.progress && released_at_ && !ended_ && now >= next_progress_) ReportProgress();
}

void RunningAttempt::ReportProgress() {
  next_progress_ = Clock::now() + kProgressEvery;
  AttemptProgress progress;
  progress.elapsed_ms = static_cast<std::uint64_t>(
      std::chrono::duration_cast<milliseconds>(Clock::now() - *released_at_).count());
  progress.usage = cgroup_->ReadUsage();
  progress.output_bytes = captured_[0].bytes.size() + captured_[1].bytes.size();
  hooks_.progress(progress);
}

void RunningAttempt::ReadSignals() {
  if (signals_ < 0) return;
  signalfd_siginfo info{};
  while (read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    if (++interruptions_ == 1) {
      Latch(policy::StoppedBy::kCancel);
    } else if (hooks_.still_cleaning) {
      hooks_.still_cleaning();
    }
  }
}

void RunningAttempt::ReadDiagnosis(Helper& helper) {
  std::array<char, 1024> buffer;
  ssize_t got = 0;
  while ((got = read(helper.child->diagnosis.get(), buffer.data(), buffer.size())) > 0) {
    const std::size_t room =
        ipc::kMaxDiagnosis - std::min(ipc::kMaxDiagnosis, helper.diagnosis.size());
    helper.diagnosis.append(buffer.data(), std::min(room, static_cast<std::size_t>(got)));
  }
  if (got == 0) helper.child->diagnosis.reset();
}

void RunningAttempt::OnOutput(OutputValue value) {
  Captured& captured = captured_[static_cast<std::size_t>(value.stream)];
  const std::uint64_t kept = captured_[0].bytes.size() + captured_[1].bytes.size();
  if (captured.end || value.offset != captured.bytes.size() ||
      kept + value.data.size() > facts_.output_bound) {
    return Violation(
        collector_,
        {ErrorCode::kRoute, "Output", "does not continue its stream within the bound", 0, {}});
  }
  captured.bytes += value.data;
  if (hooks_.output) hooks_.output(value.stream, value.data);
  if (facts_.storage_failed) return;
  Result<void> spooled;
  if (const int error = BAILIFF_FAULT(SpoolWrite)) spooled = SystemError("write", "output", error);
  if (spooled.ok() && !captured.spool.valid()) {
    const std::string name = "execution/output-" + row_.id + "-" + std::to_string(row_.generation) +
                             (value.stream == Stream::kOut ? ".stdout" : ".stderr");
    auto spool = ipc::OpenBeneath(owner_.mode->data.get(), name.c_str(),
                                  O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
    if (spool.ok()) {
      captured.spool = std::move(*spool);
    } else {
      spooled = std::move(spool).error();
    }
  }
  if (spooled.ok()) spooled = ipc::WriteAll(captured.spool.get(), value.data, "output");
  if (!spooled.ok()) {
    facts_.storage_failed = true;
    Note("output: " + spooled.error().why);
    KillCandidate();
  }
}

void RunningAttempt::OnStreamEnd(const StreamEndValue& value) {
  Captured& captured = captured_[static_cast<std::size_t>(value.stream)];
  if (captured.end || value.seen < captured.bytes.size() ||
      (value.eof && value.seen != captured.bytes.size())) {
    return Violation(collector_,
                     {ErrorCode::kRoute, "StreamEnd", "does not end its stream", 0, {}});
  }
  captured.end = value;
  if (!captured_[0].end || !captured_[1].end) return;
  collector_.phase = Phase::kDone;
  wire::ToCollector quit;
  quit.mutable_quit();
  // It has nothing left to say; one that is gone already is as good.
  static_cast<void>(ipc::SendMessage(collector_.child->channel.get(), quit).ok());
  const bool both = captured_[0].end->eof && captured_[1].end->eof;
  if (!both && captured_[0].end->seen + captured_[1].end->seen > facts_.output_bound)
    Latch(policy::StoppedBy::kOutputLimit);
}

void RunningAttempt::OnCollector(wire::FromCollector& message) {
  switch (message.body_case()) {
    case wire::FromCollector::kHello: {
      const auto hello = Accept(message.hello(), policy::Role::kCollector);
      if (!hello.ok()) return Violation(collector_, hello.error());
      HelperExpectation expectation;
      expectation.name = "collector";
      expectation.id = owner_.ids.helper;
      expectation.descriptors = CommonDescriptors();
      expectation.descriptors.push_back({ipc::kFirstJobFd, "pipe:"});
      expectation.descriptors.push_back({ipc::kFirstJobFd + 1, "pipe:"});
      expectation.limits = HelperLimits(RLIM_INFINITY - 1);
      expectation.own_groups = !owner_.mode->one_id();
      if (const auto verified = VerifyHelper(collector_.child->pid, expectation); !verified.ok())
        return Violation(collector_, verified.error());
      wire::ToCollector go;
      go.mutable_go()->set_kind(1);
      go.mutable_go()->set_retained_bound(facts_.output_bound);
      // A peer that is gone shows as a closed channel; there is nothing else to do about it here.
      if (ipc::SendMessage(collector_.child->channel.get(), go).ok())
        collector_.phase = Phase::kWorking;
      return;
    }
    case wire::FromCollector::kOutput: {
      auto value = Accept(*message.mutable_output());
      if (!value.ok()) return Violation(collector_, value.error());
      return OnOutput(std::move(*value));
    }
    case wire::FromCollector::kStreamEnd: {
      const auto value = Accept(message.stream_end());
      if (!value.ok()) return Violation(collector_, value.error());
      return OnStreamEnd(*value);
    }
    case wire::FromCollector::BODY_NOT_SET:
      return;
  }
}

void RunningAttempt::OnWarden(wire::FromWarden& message) {
  switch (message.body_case()) {
    case wire::FromWarden::kBuilt: {
      const auto facts = Accept(message.built());
      if (!facts.ok()) return Violation(warden_, facts.error());
      built_ = true;
      warden_.phase = Phase::kReady;
      return;
    }
    case wire::FromWarden::kStarted:
      facts_.started = true;
      return;
    case wire::FromWarden::kExecFailed: {
      const auto failed = Accept(message.exec_failed());
      if (!failed.ok()) return Violation(warden_, failed.error());
      failed_step_ = failed->step;
      if (!ended_at_) ended_at_ = Clock::now();
      const policy::CellStepInfo* step =
          policy::FindCellStep(static_cast<std::uint32_t>(failed->step));
      if (failed->step == policy::CellStep::kExecute) facts_.exec_errno = failed->error;
      // A candidate that was killed between its release and its exec did not refuse anything.
      if (facts_.stopped_by == policy::StoppedBy::kNothing && !killed_at_) {
        Refuse(policy::ParseReason(step->reason).value_or(policy::Reason::kRuntimeUnavailable),
               SystemError(step->name, "cell", failed->error));
      }
      return;
    }
    case wire::FromWarden::kEnded: {
      const auto ended = Accept(message.ended());
      if (!ended.ok()) return Violation(warden_, ended.error());
      ended_at_ = Clock::now();
      // An end that is seen after the deadline is a timeout, whatever woke us first (a06).
      if (*ended_at_ >= *released_at_ + milliseconds(recipe_.limits.timeout_ms)) {
        Latch(policy::StoppedBy::kWallClock);
      }
      ended_ = *ended;
      warden_.phase = Phase::kDone;
      static_cast<void>(BAILIFF_FAULT(AfterEnd));
      facts_.wait_status = ended->wait_status;
      if (candidate_.valid()) facts_.pidfd_status = PidfdExitStatus(candidate_.get());
      return;
    }
    case wire::FromWarden::BODY_NOT_SET:
      return;
  }
}

// One frame a turn, so that a flood of output never delays the warden's word, a signal or a
// deadline.
void RunningAttempt::ReadCollector() {
  auto frame =
      collector_.reader.Receive(collector_.child->channel.get(), ipc::FrameReader::Wait::kPoll);
  if (!frame.ok()) {
    Violation(collector_, frame.error());
    collector_.closed = true;
    return;
  }
  if (collector_.reader.closed()) {
    collector_.closed = true;
    if (collector_.phase != Phase::kDone && !ended_ &&
        facts_.stopped_by == policy::StoppedBy::kNothing && !facts_.refused)
      KillCandidate();
    return;
  }
  if (!frame->has_value()) return;
  auto message = collector_gate_.Admit(**frame, collector_.phase);
  if (!message.ok()) {
    Violation(collector_, message.error());
    collector_.closed = true;
    return;
  }
  OnCollector(*message);
  if (collector_.end == policy::HelperEnd::kViolation) collector_.closed = true;
}

void RunningAttempt::ReadWarden() {
  auto frame = warden_.reader.Receive(warden_.child->channel.get(), ipc::FrameReader::Wait::kPoll);
  if (!frame.ok()) {
    Violation(warden_, frame.error());
    warden_.closed = true;
  } else if (warden_.reader.closed()) {
    warden_.closed = true;
  } else if (frame->has_value()) {
    auto message = warden_gate_.Admit(**frame, warden_.phase);
    if (message.ok()) {
      OnWarden(*message);
    } else {
      Violation(warden_, message.error());
    }
    if (warden_.end == policy::HelperEnd::kViolation) warden_.closed = true;
  }
  if (warden_.closed && !warden_gone_at_) {
    warden_gone_at_ = Clock::now();
    // Without a released candidate nobody will ever write to the pipes; the collector would see
    // their end by itself.
    if (!facts_.released) KillHelper(collector_);
  }
}

void RunningAttempt::Watch() {
  if (facts_.refused || facts_.snapshot_failed) {
    KillHelper(warden_);
    KillHelper(collector_);
  }
  while (!Over()) {
    std::array<pollfd, 5> polls;
    std::size_t count = 0;
    const auto add = [&](int fd) { polls[count++] = {fd, POLLIN, 0}; };
    add(signals_);
    add(collector_.child && !collector_.closed ? collector_.child->channel.get() : -1);
    add(warden_.child && !warden_.closed ? warden_.child->channel.get() : -1);
    add(collector_.child && collector_.child->diagnosis.valid() ? collector_.child->diagnosis.get()
                                                                : -1);
    add(warden_.child && warden_.child->diagnosis.valid() ? warden_.child->diagnosis.get() : -1);
    if (poll(polls.data(), count, Timeout()) < 0 && errno != EINTR) {
      facts_.backstop = true;
      KillCandidate();
      KillHelper(collector_);
      return;
    }
    CheckDeadlines();
    if (polls[0].revents != 0) ReadSignals();
    if (polls[2].revents != 0) ReadWarden();
    if (polls[1].revents != 0) ReadCollector();
    if (polls[3].revents != 0) ReadDiagnosis(collector_);
    if (polls[4].revents != 0) ReadDiagnosis(warden_);
    // A collector that has said its last word already is believed about its streams and no more.
    const bool collecting = collector_.phase == Phase::kWorking || collector_.phase == Phase::kDone;
    if (facts_.released || !collecting || collector_.closed || killed_at_) continue;
    // The commit of custody is written while the cell is built; where the process is not there yet
    // it is written before the release.
    const bool early = !built_;
    if (early && (identified_ || !warden_.child || warden_.closed)) continue;
    if (auto released = early ? Identify() : Release(); !released.ok()) {
      if (released.error().code == ErrorCode::kAttemptConflict ||
          released.error().code == ErrorCode::kAttemptFinished) {
        fenced_ = std::move(released).error();
      } else if (!facts_.released) {
        const bool configuration = facts_.readback_before == policy::Check::kMismatched;
        Refuse(configuration ? policy::Reason::kConfigurationRejected
                             : policy::Reason::kRuntimeUnavailable,
               released.error());
      }
      KillCandidate();
      KillHelper(collector_);
    }
  }
}

}  // namespace bailiff::controller
