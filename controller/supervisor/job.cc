// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/job.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "controller/supervisor/gate.h"
#include "controller/supervisor/helper_process.h"
#include "controller/supervisor/intake.h"
#include "controller/supervisor/job_order.h"
#include "controller/supervisor/measure.h"
#include "controller/supervisor/proc_text.h"
#include "controller/supervisor/witness.h"
#include "ipc/fault.h"
#include "ipc/frame.h"
#include "policy/tree_path.h"
#include "policy/view.h"

namespace bailiff::controller {
namespace {

using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kTick{100};
constexpr seconds kStartDeadline{30};  // until Hello: nothing of the job's size is in it
constexpr int kCancelGraceMs = 1000;
constexpr int kExitGraceMs = 10000;
constexpr std::uint64_t kMemory = 192ULL
                                  << 20;  // address space, not use: a static helper maps little
constexpr std::uint64_t kImporterMemory = 768ULL << 20;  // zstd and xz windows
constexpr rlim_t kDescriptors = 1024;  // 256 shelves of objects, 255 levels of directories
constexpr std::size_t kMaxWarnings = 1001;
constexpr seconds kFirstCount{1};
constexpr std::uint64_t kSmallTalk = 1
                                     << 20;  // diagnosis, and what it wrote before it was this job

// One action where the number alone says what it is; else the one of the fault.
std::string FixOf(int error) {
  if (error == ENOSPC) return "make room on the disk that is written to, then do it again";
  if (error == EDQUOT) return "raise the disk quota of who writes, then do it again";
  return {};
}

class RunningJob {
 public:
  RunningJob(const JobRequest& request, HelperExpectation expectation, ipc::Child child)
      : request_(request),
        row_(RowOf(request.kind)),
        expectation_(std::move(expectation)),
        helper_(std::move(child)),
        deadline_(Clock::now() + kStartDeadline) {}

  int channel() const { return helper_.child().channel.get(); }
  int diagnosis() const { return helper_.child().diagnosis.get(); }
  bool done() const { return phase_ == Phase::kDone; }
  Clock::time_point deadline() const { return deadline_; }
  const ProgressValue& progress() const { return progress_; }
  void DrainDiagnosis() { helper_.DrainDiagnosis(); }

  // Takes one frame.
  Result<void> Receive() {
    BAILIFF_TRY_ASSIGN(const auto frame, reader_.Receive(channel(), ipc::FrameReader::Wait::kPoll));
    if (reader_.closed()) return Died("it ended before its last word");
    if (!frame) return {};
    BAILIFF_TRY_ASSIGN(wire::FromSnapshotter message, gate_.Admit(*frame, phase_));
    return Handle(message);
  }

  // Reaps it after its last word: its claims, or its fault.
  Result<JobClaims> Finish() {
    const bool clean = helper_.End(kExitGraceMs);
    if (failure_) return std::move(*failure_);
    if (!clean) return Died("it did not end after its last word");
    return std::move(claims_);
  }

  // What it has made so far, as the kernel and the disk show it: a hijacked helper stages without
  // saying so, also into files without a name.
  Result<void> CheckSpent(Clock::time_point now) {
    const std::string io = "/proc/" + std::to_string(helper_.child().pid) + "/io";
    // Unreadable once it has ended; then it writes no more.
    if (const auto text = ipc::ReadFileAt(AT_FDCWD, io.c_str(), 4096); text.ok()) {
      const auto written = ParseWritten(*text);
      if (written && *written > row_.most_written + kSmallTalk)
        return Error{ErrorCode::kJobStaged, "staging", "more bytes than the job may write", 0, {}};
    }
    if (request_.out < 0 || now < next_count_) return {};
    // After 1, 2, 4, … s: a walk costs more than the rest of a tick.
    next_count_ = now + std::max<Clock::duration>(now - began_, kFirstCount);
    BAILIFF_TRY_ASSIGN(const bool more, HoldsMoreThan(request_.out, ".", row_.most_files));
    if (!more) return {};
    return Error{ErrorCode::kJobStaged, "staging", "more files than the job may make", 0, {}};
  }

  void Cancel() {
    wire::ToSnapshotter cancel;
    cancel.mutable_cancel();
    // It may be dead already; either way it is killed after the grace.
    static_cast<void>(ipc::SendMessage(channel(), cancel));
    helper_.End(kCancelGraceMs);
  }

 private:
  // It says that it is locked: the kernel is asked, and only then it is told what to do.
  Result<void> Believe(const wire::Hello& message) {
    BAILIFF_TRY_ASSIGN(
        const HelloValue hello,
        Accept(message, row_.importer ? policy::Role::kImporter : policy::Role::kSnapshotter));
    claims_.landlock_abi = hello.landlock_abi;
    BAILIFF_TRY(VerifyHelper(helper_.child().pid, expectation_));
    if (const int error = BAILIFF_FAULT(JobGo)) return SystemError("sendmsg", "Go", error);
    BAILIFF_TRY(ipc::SendMessage(channel(), GoFor(request_)));
    phase_ = Phase::kWorking;
    deadline_ = Clock::now() + row_.deadline;
    return {};
  }

  Result<void> Handle(wire::FromSnapshotter& message) {
    switch (message.body_case()) {
      case wire::FromSnapshotter::kHello:
        return Believe(message.hello());
      case wire::FromSnapshotter::kProgress: {
        BAILIFF_TRY_ASSIGN(progress_, Accept(message.progress()));
        return {};
      }
      case wire::FromSnapshotter::kObjects:
        return TakeObjects(message.objects());
      case wire::FromSnapshotter::kWarning: {
        BAILIFF_TRY_ASSIGN(WarningValue warning, Accept(*message.mutable_warning()));
        if (claims_.warnings.size() >= kMaxWarnings)
          return Refuse("Warning", "more than a job may have");
        claims_.warnings.push_back({warning.code, std::move(warning.path)});
        return {};
      }
      case wire::FromSnapshotter::kFailed: {
        BAILIFF_TRY_ASSIGN(FailedValue failed, Accept(*message.mutable_failed()));
        if (failed.error != 0) {
          failed.detail += ": ";
          failed.detail += strerrorname_np(failed.error) != nullptr ? strerrorname_np(failed.error)
                                                                    : "unknown error";
        }
        failure_ = Error{policy::FaultError(failed.fault), std::move(failed.path),
                         std::move(failed.detail), failed.error, FixOf(failed.error)};
        phase_ = Phase::kDone;
        return {};
      }
      case wire::FromSnapshotter::kDone: {
        BAILIFF_TRY_ASSIGN(const DoneValue done, Accept(message.done()));
        claims_.digest = done.digest;
        claims_.tree = done.tree;
        claims_.entries = done.entries;
        claims_.bytes = done.bytes;
        claims_.git_commit = done.git_commit;
        claims_.git_tree = done.git_tree;
        BAILIFF_TRY(CheckGit());
        phase_ = Phase::kDone;
        return {};
      }
      case wire::FromSnapshotter::kImageFacts: {
        if (request_.kind != JobKind::kReadImageConfig)
          return Refuse("ImageFacts", "of another job");
        BAILIFF_TRY_ASSIGN(claims_.facts, Accept(*message.mutable_image_facts()));
        return {};
      }
      case wire::FromSnapshotter::kObservation:
        return TakeObservation(*message.mutable_observation());
      case wire::FromSnapshotter::BODY_NOT_SET:
        break;
    }
    return Refuse("body", "not set");
  }

  // Ids of git come from the jobs that have them, and from no other.
  Result<void> CheckGit() const {
    const bool imports =
        request_.kind == JobKind::kImportGit || request_.kind == JobKind::kVerifyGit;
    const bool git = imports || request_.kind == JobKind::kExportGit;
    const bool commit = imports || request_.as_commit;
    if (claims_.git_tree.has_value() != git || claims_.git_commit.has_value() != commit)
      return Refuse("Done", "git ids that are not of this job");
    return {};
  }

  Result<void> TakeObjects(const wire::Objects& message) {
    BAILIFF_TRY_ASSIGN(const std::vector<ObjectValue> objects, Accept(message));
    if (claims_.objects.size() + objects.size() > MostObjects(request_.kind))
      return Refuse("Objects", "more than the job may make");
    for (const ObjectValue& object : objects)
      claims_.objects.push_back({object.kind, object.digest, object.size});
    return {};
  }

  Result<void> TakeObservation(wire::Observation& message) {
    BAILIFF_TRY_ASSIGN(ObservationValue entry, Accept(message));
    if (request_.kind != JobKind::kListTree || entry.index != claims_.listed.size() ||
        claims_.listed.size() >= policy::kSourceBounds.entries)
      return Refuse("Observation", "no entry of a listing in its turn");
    claims_.listed.push_back({entry.kind, entry.size, entry.blob, std::move(entry.path)});
    return {};
  }

  static Error Refuse(const char* message, const char* why) {
    return {ErrorCode::kRoute, message, why, 0, {}};
  }

  Error Died(const char* why) {
    helper_.End(kExitGraceMs);
    return Error{ErrorCode::kJobDied,
                 row_.importer ? "importer" : "snapshotter",
                 helper_.diagnosis().empty() ? why : std::string(why) + ": " + helper_.diagnosis(),
                 0,
                 {}};
  }

  const JobRequest& request_;
  const JobRow row_;
  const HelperExpectation expectation_;
  HelperProcess helper_;
  Gate<SnapshotterPeer> gate_;
  ipc::FrameReader reader_;
  Phase phase_ = Phase::kStart;
  Clock::time_point deadline_;
  const Clock::time_point began_ = Clock::now();
  Clock::time_point next_count_ = began_ + kFirstCount;
  ProgressValue progress_;
  JobClaims claims_;
  std::optional<Error> failure_;
};

std::vector<ipc::ResourceLimit> LimitsOf(const JobRow& row) {
  std::vector<ipc::ResourceLimit> limits = HelperLimits(row.importer ? kImporterMemory : kMemory);
  for (ipc::ResourceLimit& limit : limits) {
    if (limit.resource == RLIMIT_NOFILE) limit.value = kDescriptors;
  }
  limits.push_back({RLIMIT_FSIZE, row.largest_file});
  return limits;
}

Result<std::unique_ptr<RunningJob>> Start(const JobHost& host, const JobRequest& request) {
  const JobRow row = RowOf(request.kind);
  ipc::SpawnRequest spawn;
  spawn.name = row.importer ? "bailiff-importer" : "bailiff-snapshotter";
  spawn.executable = row.importer ? host.importer : host.snapshotter;
  spawn.namespaces =
      CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
  spawn.uid_map = host.identity.uid_map;
  spawn.gid_map = host.identity.gid_map;
  spawn.clear_groups = host.identity.clear_groups;
  spawn.cgroup = host.identity.cgroup;
  spawn.tasks = host.identity.tasks;
  spawn.limits = LimitsOf(row);

  HelperExpectation expectation;
  expectation.name = spawn.name;
  expectation.id = host.identity.uid;
  expectation.own_groups = host.identity.clear_groups;
  expectation.descriptors = CommonDescriptors();
  expectation.limits = spawn.limits;

  ipc::Fd in;
  ipc::Fd out;
  if (request.file >= 0) {
    spawn.descriptors.push_back(request.file);
    expectation.descriptors.push_back({ipc::kFirstJobFd, "/"});
  } else {
    BAILIFF_TRY_ASSIGN(in, policy::CloneTree(request.in, policy::MountUse::kViewInput));
    spawn.descriptors.push_back(in.get());
    expectation.has_in = true;
  }
  if (request.out >= 0) {
    BAILIFF_TRY_ASSIGN(out, policy::CloneTree(request.out, policy::MountUse::kViewOutput));
    spawn.descriptors.push_back(out.get());
    expectation.has_out = true;
  }
  BAILIFF_TRY_ASSIGN(ipc::Child child, ipc::Spawn(spawn));
  auto job = std::make_unique<RunningJob>(request, std::move(expectation), std::move(child));
  if (const int error = BAILIFF_FAULT(JobSpawned)) return SystemError("spawn", spawn.name, error);
  return job;
}

using Jobs = std::vector<std::unique_ptr<RunningJob>>;

Result<void> CheckSpace(const JobHost& host) {
  struct statvfs space;
  if (fstatvfs(host.data, &space) != 0) return SystemError("fstatvfs", "data directory");
  if (space.f_bavail * space.f_frsize < host.reserve_bytes ||
      (space.f_files != 0 && space.f_favail < host.reserve_inodes))
    return Error{ErrorCode::kJobSpace, "data directory", "the reserve is reached", ENOSPC, {}};
  return {};
}

// What is looked at every tick, whether or not a helper says something.
Result<void> Tick(const JobHost& host, const Jobs& jobs, const JobHooks& hooks) {
  if (hooks.cancelled && hooks.cancelled()) {
    for (const auto& job : jobs) job->Cancel();
    return Error{ErrorCode::kCancelled, "job", "cancelled", 0, {}};
  }
  ProgressValue sum;
  const auto now = Clock::now();
  for (const auto& job : jobs) {
    if (!job->done() && now >= job->deadline())
      return Error{ErrorCode::kJobDeadline, "job", "out of time", 0, {}};
    if (!job->done()) BAILIFF_TRY(job->CheckSpent(now));
    sum.entries += job->progress().entries;
    sum.bytes += job->progress().bytes;
  }
  if (hooks.progress) hooks.progress(sum.entries, sum.bytes);
  return CheckSpace(host);
}

// Waits at most one tick for any of the helpers and takes a frame of each that has one.
Result<void> Take(const Jobs& jobs) {
  std::vector<pollfd> fds;
  for (const auto& job : jobs) {
    fds.push_back({job->done() ? -1 : job->channel(), POLLIN, 0});
    fds.push_back({job->diagnosis(), POLLIN, 0});
  }
  const int ready = poll(fds.data(), fds.size(), static_cast<int>(kTick.count()));
  if (ready < 0 && errno != EINTR) return SystemError("poll", "snapshotter");
  if (ready <= 0) return {};
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if ((fds[2 * i + 1].revents & POLLIN) != 0) jobs[i]->DrainDiagnosis();
    if (fds[2 * i].revents != 0) BAILIFF_TRY(jobs[i]->Receive());
  }
  return {};
}

bool AllDone(const Jobs& jobs) {
  return std::all_of(jobs.begin(), jobs.end(), [](const auto& job) { return job->done(); });
}

}  // namespace

JobHost ReaderOf(JobHost host) {
  if (host.source_reader) host.identity = *host.source_reader;
  return host;
}

Result<std::vector<JobClaims>> RunJobs(const JobHost& host, const std::vector<JobRequest>& requests,
                                       const JobHooks& hooks) {
  Jobs jobs;
  for (const JobRequest& request : requests) {
    BAILIFF_TRY_ASSIGN(auto job, Start(host, request));
    jobs.push_back(std::move(job));
  }
  for (Clock::time_point next_tick{}; !AllDone(jobs);) {
    if (const auto now = Clock::now(); now >= next_tick) {
      next_tick = now + kTick;
      BAILIFF_TRY(Tick(host, jobs, hooks));
    }
    BAILIFF_TRY(Take(jobs));
  }
  std::vector<JobClaims> claims;
  for (const auto& job : jobs) {
    BAILIFF_TRY_ASSIGN(JobClaims claim, job->Finish());
    claims.push_back(std::move(claim));
  }
  return claims;
}

Result<JobClaims> RunJob(const JobHost& host, const JobRequest& request, const JobHooks& hooks) {
  BAILIFF_TRY_ASSIGN(std::vector<JobClaims> claims, RunJobs(host, {request}, hooks));
  return std::move(claims.front());
}

}  // namespace bailiff::controller
