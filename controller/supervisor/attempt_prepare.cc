// SPDX-License-Identifier: Apache-2.0
// Up to the release of the candidate. Nothing of it runs before every fact the recipe demands has
// been read back from the kernel.
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "controller/store/layout.h"
#include "controller/supervisor/attempt_state.h"
#include "controller/supervisor/image_record.h"
#include "controller/supervisor/objects.h"
#include "controller/supervisor/spools.h"
#include "controller/supervisor/witness.h"
#include "ipc/fault.h"
#include "policy/cell.h"
#include "policy/environment.h"
#include "policy/image_facts.h"
#include "policy/lockdown.h"
#include "policy/request.h"
#include "policy/view.h"

namespace bailiff::controller {
namespace {

constexpr std::uint64_t kCollectorMemory = 64ULL << 20;
constexpr std::uint64_t kMinScratchInodes = 1024;
constexpr std::uint64_t kMaxScratchInodes = 262144;
constexpr std::uint64_t kPage = 4096;

// Files of a scratch: one a page of it, within bounds; each costs the cell about 1 KiB of its
// memory (c04).
std::uint64_t ScratchInodes(std::uint64_t bytes) {
  return std::clamp(bytes / kPage, kMinScratchInodes, kMaxScratchInodes);
}

std::int64_t BoottimeOffset() {
  timespec boot{};
  timespec monotonic{};
  clock_gettime(CLOCK_BOOTTIME, &boot);
  clock_gettime(CLOCK_MONOTONIC, &monotonic);
  return (boot.tv_sec - monotonic.tv_sec) * 1000000000LL + (boot.tv_nsec - monotonic.tv_nsec);
}

}  // namespace

void RunningAttempt::Refuse(policy::Reason reason, const Error& cause) {
  if (!facts_.refused) facts_.refused = reason;
  Note(cause.subject + ": " + cause.why);
}

Result<void> RunningAttempt::Prepare() {
  BAILIFF_TRY(Start());
  // The rest is done while the helpers come up.
  SweepSpools(owner_.mode->data.get(), store_);
  BAILIFF_TRY_ASSIGN(runtime_,
                     ReadRuntimeIdentity(owner_.subtree.version(), policy::LandlockAbi()));
  return HashPrograms(owner_.mode->programs, owner_.mode->data.get());
}

Result<void> RunningAttempt::Start() {
  boottime_offset_ns_ = BoottimeOffset();
  BAILIFF_TRY_ASSIGN(recipe_, policy::ParseStoredRecipe(row_.recipe));
  facts_.output_bound = recipe_.limits.max_output_bytes;
  BAILIFF_TRY_ASSIGN(request_digest_, RequestDigestOf(row_, owner_.repository,
                                                      static_cast<std::uint64_t>(row_.generation)));
  const auto context = policy::ParseDigest(row_.context_digest);
  const auto revision = policy::ParseDigest(row_.revision);
  if (!context || !revision)
    return Error{ErrorCode::kStoreCorrupt, row_.id, "a digest of its row is malformed", 0, {}};
  subject_ = {owner_.repository,
              row_.change,
              static_cast<std::uint64_t>(row_.change_version),
              *context,
              static_cast<std::uint64_t>(row_.context_generation),
              static_cast<std::uint64_t>(row_.policy_epoch),
              *revision};

  auto image = store_.FindImage(recipe_.image);
  auto root = image.ok() ? ipc::OpenBeneath(owner_.mode->data.get(),
                                            ("images/" + recipe_.image.substr(7) + "/root").c_str(),
                                            O_PATH | O_DIRECTORY)
                         : Result<ipc::Fd>(image.error());
  if (!root.ok()) {
    Refuse(policy::Reason::kImageUnavailable, root.error());
    return {};
  }
  image_tree_ = policy::ParseDigest(image->tree);
  image_directory_ = std::move(*root);
  const auto record = ReadImageRecord(owner_.mode->data.get(), recipe_.image.substr(7));
  if (!record.ok()) {
    Refuse(policy::Reason::kImageUnavailable, record.error());
    return {};
  }
  if (const auto held = PrepareImage(); !held.ok()) {
    Refuse(policy::Reason::kImageUnavailable, held.error());
    return {};
  }
  if (const auto why =
          policy::ImageRefusal(record->facts, policy::EffectiveEnvironment(recipe_.environment))) {
    Refuse(policy::Reason::kConfigurationRejected,
           Error{ErrorCode::kImageRejected, "configuration", *why, 0, {}});
    return {};
  }

  if (auto source = PrepareSource(); !source.ok()) {
    facts_.snapshot_failed = true;
    Note(source.error().subject + ": " + source.error().why);
    return {};
  }
  cgroup_.emplace();
  auto made =
      cgroup_->Make(owner_.subtree, row_.id + "." + std::to_string(row_.generation),
                    {recipe_.limits.memory_bytes, recipe_.limits.pids, recipe_.limits.cpu_millis},
                    owner_.ids.helper);
  if (!made.ok()) {
    Refuse(made.error().code == ErrorCode::kLimitNotEnforceable
               ? policy::Reason::kLimitNotEnforceable
               : policy::Reason::kRuntimeUnavailable,
           made.error());
    return {};
  }
  // The warden first: building the cell takes longest, and the rest is done beside it.
  for (auto start : {&RunningAttempt::MakePipes, &RunningAttempt::StartWarden,
                     &RunningAttempt::StartCollector}) {
    if (auto started = (this->*start)(); !started.ok()) {
      Refuse(policy::Reason::kRuntimeUnavailable, started.error());
      return {};
    }
  }
  return MakeSnapshotDirectory();
}

// Its files are those it was imported with, or nothing runs: evidence names their tree.
Result<void> RunningAttempt::PrepareImage() {
  if (!image_tree_)
    return Error{ErrorCode::kStoreCorrupt, recipe_.image, "its tree is no digest", 0, {}};
  return EnsureImage(AsController(MakeJobHost(*owner_.mode, owner_.slot), *owner_.mode),
                     recipe_.image.substr(7), *image_tree_, StoppingHooks());
}

JobHooks RunningAttempt::StoppingHooks() {
  JobHooks hooks;
  hooks.cancelled = [this] {
    ReadSignals();
    return facts_.stopped_by != policy::StoppedBy::kNothing;
  };
  return hooks;
}

Result<void> RunningAttempt::PrepareSource() {
  BAILIFF_TRY_ASSIGN(const RevisionRow revision, store_.FindRevision(row_.revision));
  const auto tree = policy::ParseDigest(revision.tree);
  if (!tree) return Error{ErrorCode::kStoreCorrupt, row_.revision, "its tree is no digest", 0, {}};
  BAILIFF_TRY(EnsureTree(MakeJobHost(*owner_.mode, owner_.slot), *tree, StoppingHooks()));
  BAILIFF_TRY_ASSIGN(tree_directory_,
                     ipc::OpenBeneath(owner_.mode->data.get(), ("trees/" + tree->hex()).c_str(),
                                      O_PATH | O_DIRECTORY));
  tree_ = *tree;
  facts_.source = policy::Check::kMatched;
  return {};
}

Result<void> RunningAttempt::MakeSnapshotDirectory() {
  snapshot_name_ = "snapshot-" + row_.id + "-" + std::to_string(row_.generation);
  BAILIFF_TRY_ASSIGN(const ipc::Fd execution, ipc::OpenBeneath(owner_.mode->data.get(), "execution",
                                                               O_RDONLY | O_DIRECTORY));
  if (const int error = BAILIFF_FAULT(SnapshotDirectory))
    return SystemError("mkdirat", snapshot_name_, error);
  // Empty: the cell mounts the tree itself, by a descriptor. A marker in it would be read by nobody
  // here; a backend that hands a path to a daemon puts one in.
  BAILIFF_TRY(MakeDirectory(execution.get(), snapshot_name_.c_str()));
  return {};
}

Result<void> RunningAttempt::MakePipes() {
  BAILIFF_TRY_ASSIGN(out_, ipc::MakePipe());
  BAILIFF_TRY_ASSIGN(err_, ipc::MakePipe());
  for (const ipc::Pipe* const pipe : {&out_, &err_}) {
    if (fchmod(pipe->write.get(), policy::kStreamMode) != 0) return SystemError("fchmod", "pipe");
  }
  return {};
}

Result<void> RunningAttempt::StartCollector() {
  ipc::SpawnRequest request;
  request.name = "bailiff-collector";
  request.executable = owner_.mode->programs.collector.file.get();
  request.namespaces =
      CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
  request.uid_map = owner_.mode->Map(owner_.ids.helper);
  request.gid_map = request.uid_map;
  request.clear_groups = !owner_.mode->one_id();
  request.limits = HelperLimits(kCollectorMemory);
  request.descriptors = {out_.read.get(), err_.read.get()};
  BAILIFF_TRY_ASSIGN(collector_.child, ipc::Spawn(request));
  out_.read.reset();
  err_.read.reset();
  return {};
}

Result<void> RunningAttempt::StartWarden() {
  BAILIFF_TRY_ASSIGN(const ipc::Fd image,
                     policy::CloneTree(image_directory_.get(), policy::MountUse::kCellRoot));
  BAILIFF_TRY_ASSIGN(const ipc::Fd source,
                     policy::CloneTree(tree_directory_.get(), policy::MountUse::kCellSource));
  ipc::SpawnRequest request;
  request.name = "bailiff-warden";
  request.executable = owner_.mode->programs.warden.file.get();
  request.namespaces =
      CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
  request.uid_map = owner_.mode->Map(owner_.ids.helper, owner_.ids.candidate);
  request.gid_map = request.uid_map;
  request.clear_groups = !owner_.mode->one_id();
  request.cgroup = cgroup_->warden_directory();
  request.descriptors = {image.get(), source.get(), out_.write.get(), err_.write.get()};
  for (const int descriptor : cgroup_->cell_descriptors())
    request.descriptors.push_back(descriptor);
  BAILIFF_TRY_ASSIGN(warden_.child, ipc::Spawn(request));
  out_.write.reset();
  err_.write.reset();

  wire::ToWarden message;
  wire::CellOrder& order = *message.mutable_order();
  order.set_candidate_id(owner_.mode->one_id() ? 0 : policy::kCellId);
  order.set_shown_id(policy::kCellId);
  order.set_cgroup_version(static_cast<std::uint32_t>(owner_.subtree.version()));
  order.set_scratch_bytes(recipe_.limits.scratch_bytes);
  order.set_scratch_inodes(ScratchInodes(recipe_.limits.scratch_bytes));
  order.set_nofile(policy::kCellLimits.front().value);
  order.set_executable(recipe_.executable);
  order.add_argv(recipe_.executable);
  for (const std::string& argument : recipe_.arguments) order.add_argv(argument);
  for (const std::string& entry :
       policy::EnvironmentStrings(policy::EffectiveEnvironment(recipe_.environment)))
    order.add_environment(entry);
  return ipc::SendMessage(warden_.child->channel.get(), message);
}

// Who is in the cell, from the kernel alone, and custody of it. The process may still be building
// its own mounts: nothing of the candidate runs before Release().
Result<void> RunningAttempt::Identify() {
  BAILIFF_TRY_ASSIGN(const std::vector<pid_t> members, cgroup_->CellProcesses());
  if (members.empty() && !built_) return {};
  if (members.size() != 1) {
    return Error{ErrorCode::kHelperNotLocked,
                 "cell",
                 std::to_string(members.size()) + " processes where one was to be",
                 0,
                 {}};
  }
  const pid_t pid = members.front();
  candidate_ = ipc::Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!candidate_.valid()) {
    // One that ended while it built the cell: the warden says at which step.
    return built_ ? SystemError("pidfd_open", "candidate") : Result<void>();
  }
  const auto start = StartTicks(pid);
  const auto warden_start = StartTicks(warden_.child->pid);
  if (!start.ok() || !warden_start.ok()) {
    candidate_.reset();
    return !built_ ? Result<void>() : start.ok() ? warden_start.error() : start.error();
  }
  owner_.custody.warden = ProcessIdentity{warden_.child->pid, *warden_start};
  owner_.custody.candidate = ProcessIdentity{pid, *start};
  owner_.custody.cgroups = cgroup_->places();
  owner_.custody.created = true;
  BAILIFF_TRY_ASSIGN(const std::string custody, EncodeCustody(owner_.custody));
  BAILIFF_TRY(store_.PersistCustody(row_.id, row_.generation, custody));
  identified_ = true;
  return {};
}

// The warden says the cell is complete. What it says is not used: the candidate is whoever the
// kernel has in the cell's cgroup, and every fact about it is read here.
Result<void> RunningAttempt::Release() {
  if (!identified_) BAILIFF_TRY(Identify());
  const auto [pid, start] = *owner_.custody.candidate;
  // Still the same process, and alone: custody names it.
  const Error another{
      ErrorCode::kHelperNotLocked, "cell", "does not hold the one process it held before", 0, {}};
  BAILIFF_TRY_ASSIGN(const std::vector<pid_t> members, cgroup_->CellProcesses());
  if (members != std::vector<pid_t>{pid}) return another;
  BAILIFF_TRY_ASSIGN(const std::uint64_t start_now, StartTicks(pid));
  if (start_now != start) return another;

  CellExpectation expectation;
  expectation.id = owner_.ids.candidate;
  expectation.cgroup_version = owner_.subtree.version();
  expectation.scratch_bytes = recipe_.limits.scratch_bytes;
  expectation.own_groups = !owner_.mode->one_id();
  BAILIFF_TRY_ASSIGN(readback_, cgroup_->ReadLimits());
  BAILIFF_TRY_ASSIGN(std::vector<policy::Readback> cell, ReadCell(pid, expectation));
  BAILIFF_TRY_ASSIGN(const ProcessStatus status, ReadStatus(pid));
  readback_.push_back(
      {"parent",
       "warden",
       status.Get("PPid") == std::to_string(warden_.child->pid) ? "warden" : "other",
       {}});
  readback_.push_back({"cgroup.membership",
                       "every hierarchy",
                       cgroup_->OwnsProcess(pid) ? "every hierarchy" : "not in one",
                       {}});
  readback_.insert(readback_.end(), std::make_move_iterator(cell.begin()),
                   std::make_move_iterator(cell.end()));
  facts_.readback_before = policy::CheckBefore(readback_);
  if (facts_.readback_before != policy::Check::kMatched) {
    for (const policy::Readback& row : readback_) {
      if (row.before != row.required) {
        return Error{
            ErrorCode::kHelperNotLocked,
            row.name,
            "is " + row.before.value_or("absent") + " where " + row.required + " was asked for",
            0,
            {}};
      }
    }
  }

  if (const int error = BAILIFF_FAULT(BeforeRelease))
    return SystemError("release", "candidate", error);

  wire::ToWarden message;
  message.mutable_release();
  facts_.released = true;  // before it is sent: from here on it may have run
  released_at_ = Clock::now();
  started_unix_ms_ = UnixMs();
  warden_.phase = Phase::kWorking;
  BAILIFF_TRY(ipc::SendMessage(warden_.child->channel.get(), message));
  static_cast<void>(BAILIFF_FAULT(AfterRelease));
  next_progress_ = *released_at_ + kProgressEvery;
  store_.WriteBack();
  return {};
}

}  // namespace bailiff::controller
