// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/attempt.h"

#include <time.h>
#include <unistd.h>

#include <utility>

#include "controller/store/layout.h"
#include "controller/supervisor/attempt_state.h"
#include "controller/supervisor/spools.h"
#include "controller/supervisor/witness.h"
#include "policy/jcs.h"
#include "policy/request.h"

namespace bailiff::controller {
namespace {

// Path of the attempt's cell in each hierarchy, before it is made.
std::vector<CgroupPlace> PlannedPlaces(const CgroupSubtree& subtree, const std::string& name) {
  std::vector<CgroupPlace> places;
  for (const auto& hierarchy : subtree.hierarchies()) {
    places.push_back({hierarchy.controller,
                      hierarchy.path + "/" + name + (subtree.version() == 2 ? "/cell" : ""), 0});
  }
  return places;
}

}  // namespace

std::uint64_t UnixMs() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000 +
         static_cast<std::uint64_t>(now.tv_nsec) / 1000000;
}

Result<policy::Digest> RequestDigestOf(const AttemptRow& row, const std::string& repository,
                                       std::uint64_t generation) {
  const auto parse = [&](const std::string& hex) { return policy::ParseDigest(hex); };
  const auto context = parse(row.context_digest);
  const auto environment = parse(row.environment_digest);
  const auto recipe = parse(row.recipe_digest);
  const auto revision = parse(row.revision);
  const auto toolchain = parse(row.toolchain);
  if (!context || !environment || !recipe || !revision || !toolchain) {
    return Error{ErrorCode::kStoreCorrupt, row.id, "a digest of its row is malformed", 0, {}};
  }
  return policy::RequestDigest({row.id, row.change, static_cast<std::uint64_t>(row.change_version),
                                *context, *environment, generation, row.kind, *recipe, repository,
                                *revision, *toolchain});
}

AttemptOwner::AttemptOwner(std::unique_ptr<State> state) : state_(std::move(state)) {}
AttemptOwner::AttemptOwner(AttemptOwner&&) noexcept = default;
AttemptOwner& AttemptOwner::operator=(AttemptOwner&&) noexcept = default;

void AttemptOwner::State::LeaveCgroups() {
  if (left_cgroups || !mode->preparer) return;
  const auto last = locks->TryOwnCgroups();
  if (!last.ok() || !*last) return;
  left_cgroups = true;
  mode->preparer->BeginRemoval();
}

AttemptOwner::~AttemptOwner() {
  if (state_ == nullptr) return;
  state_->LeaveCgroups();
  state_->mode->preparer.reset();  // waits for its end
  state_->locks->ReleaseCgroups();
  if (state_->row) state_->locks->ReleaseRow(*state_->row);
  state_->locks->ReleaseSlot(state_->slot);
}

Result<AttemptOwner> AttemptOwner::Prepare(HostMode& mode, OwnersLock& locks,
                                           const std::string& repository,
                                           std::string operator_json) {
  auto state = std::make_unique<State>();
  state->mode = &mode;
  state->locks = &locks;
  state->repository = repository;
  BAILIFF_TRY_ASSIGN(state->instance, ReadInstance(mode.data.get()));
  state->operator_json = std::move(operator_json);
  BAILIFF_TRY(locks.ShareCgroups());
  auto slot = locks.AcquireIdSlot(mode.slots());
  if (!slot.ok()) {
    locks.ReleaseCgroups();
    return std::move(slot).error();
  }
  state->slot = *slot;
  state->ids = mode.Slot(*slot);
  AttemptOwner owner(std::move(state));  // from here on it gives back what was taken
  BAILIFF_TRY_ASSIGN(owner.state_->layout, CgroupSubtree::Begin(mode, owner.state_->instance));
  BAILIFF_TRY_ASSIGN(owner.state_->host, ReadHostInstance(mode));
  return owner;
}

Result<void> AttemptOwner::Ready() {
  State& state = *state_;
  if (!state.layout) return {};
  const CgroupLayout layout = *std::exchange(state.layout, std::nullopt);
  BAILIFF_TRY_ASSIGN(state.subtree, CgroupSubtree::Finish(*state.mode, state.instance, layout));
  return {};
}

Result<ClaimInput> AttemptOwner::Claim(const AttemptRow& pending) {
  State& state = *state_;
  BAILIFF_TRY(Ready());
  if (state.row != pending.row) {
    BAILIFF_TRY_ASSIGN(const bool locked, state.locks->TryRow(pending.row));
    if (!locked) return Error{ErrorCode::kOwnerAlive, pending.id, "another process owns it", 0, {}};
    if (state.row) state.locks->ReleaseRow(*state.row);
    state.row = pending.row;
  }
  const std::uint64_t generation = static_cast<std::uint64_t>(pending.generation) + 1;
  BAILIFF_TRY_ASSIGN(const policy::Digest label,
                     RequestDigestOf(pending, state.repository, generation));
  Custody& custody = state.custody;
  custody = Custody{};
  custody.label = label.hex();
  BAILIFF_TRY_ASSIGN(custody.nonce, MakeNonce());
  custody.machine_id = state.host.machine_id;
  custody.boot_id = state.host.boot_id;
  custody.pid_namespace = state.host.pid_namespace;
  custody.cgroup_namespace = state.host.cgroup_namespace;
  custody.parent_device = state.subtree.hierarchies().front().device;
  custody.parent_inode = state.subtree.hierarchies().front().inode;
  custody.cgroups = PlannedPlaces(state.subtree, pending.id + "." + std::to_string(generation));

  policy::Value owner = policy::Value::MakeObject();
  owner.Set("boot_id", state.host.boot_id);
  owner.Set("pid", getpid());
  BAILIFF_TRY_ASSIGN(const std::uint64_t start, StartTicks(getpid()));
  owner.Set("start_ticks", start);
  owner.Set("row", pending.row);
  ClaimInput claim;
  claim.id = pending.id;
  claim.generation = pending.generation;
  claim.backend = "native";
  BAILIFF_TRY_ASSIGN(claim.owner_json, policy::Canonical(owner));
  BAILIFF_TRY_ASSIGN(claim.custody_json, EncodeCustody(custody));
  state.claimed_unix_ms = UnixMs();
  return claim;
}

Result<AttemptReport> AttemptOwner::Run(Store& store, const AttemptRow& running, int signals,
                                        const AttemptHooks& hooks) {
  RunningAttempt attempt(*state_, store, running, signals, hooks);
  return attempt.Run();
}

JobHost AttemptOwner::Jobs() const { return MakeJobHost(*state_->mode, state_->slot); }

JobHost MakeJobHost(const HostMode& mode, std::uint32_t slot) {
  JobHost host;
  host.data = mode.data.get();
  host.snapshotter = mode.programs.snapshotter.file.get();
  host.importer = mode.programs.importer.file.get();
  const std::uint32_t id = mode.Slot(slot).snapshotter;
  host.identity.uid_map = mode.Map(id);
  host.identity.gid_map = mode.Map(id);
  host.identity.clear_groups = !mode.one_id();
  host.identity.uid = id;
  host.identity.gid = id;
  if (const std::uint32_t reader = mode.import_id(); reader != 0) {
    host.source_reader = host.identity;
    host.source_reader->uid_map = host.source_reader->gid_map = mode.Map(reader);
    host.source_reader->uid = host.source_reader->gid = reader;
  }
  return host;
}

JobHost AsController(JobHost host, const HostMode& mode) {
  host.identity.uid = host.identity.gid = 0;
  host.identity.uid_map = host.identity.gid_map = mode.Map(0);
  return host;
}

}  // namespace bailiff::controller
