// SPDX-License-Identifier: Apache-2.0
// One attempt of command/v1 on the native backend, from its claim to its record (design, section
// 3).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "controller/store/owners_lock.h"
#include "controller/store/store.h"
#include "controller/supervisor/cgroup.h"
#include "controller/supervisor/custody.h"
#include "controller/supervisor/host_mode.h"
#include "controller/supervisor/intake.h"
#include "controller/supervisor/job.h"
#include "policy/evidence.h"

namespace bailiff::controller {

struct AttemptProgress {
  std::uint64_t elapsed_ms = 0;
  CgroupUsage usage;
  std::uint64_t output_bytes = 0;
};

// What the caller wants to see while it runs. All optional; called on the one thread, must not
// block long.
struct AttemptHooks {
  std::function<void(Stream, std::string_view)> output;  // bytes as kept, in order
  std::function<void(const AttemptProgress&)> progress;  // about ten a second
  std::function<void()> still_cleaning;  // a second interruption while it must still clean up
  std::function<void(std::string_view)>
      note;  // one line about what happens: a diagnosis of a helper
};

struct AttemptReport {
  AttemptRow row;  // finished
  policy::CommandRecord record;
  policy::Evidence evidence;
};

// Everything that must be held before an attempt may be claimed: its cgroup parent, ids of its own,
// the runtime's identity.
class AttemptOwner {
 public:
  // Errors of the host (kCgroupUnavailable, kIdSlots, …): nothing has been claimed, the attempt
  // stays pending. The preparer is still at work on return: the caller opens its store meanwhile.
  static Result<AttemptOwner> Prepare(HostMode& mode, OwnersLock& locks,
                                      const std::string& repository, std::string operator_json);
  AttemptOwner(AttemptOwner&&) noexcept;
  AttemptOwner& operator=(AttemptOwner&&) noexcept;
  ~AttemptOwner();

  // Waits for the preparer; the errors of the cgroups come from here. Claim() does it too.
  Result<void> Ready();

  // Locks the owner's byte of the pending row and says what the claim records, first custody
  // included (R11.01). May be called again for the same row. kOwnerAlive when the byte is taken.
  Result<ClaimInput> Claim(const AttemptRow& pending);

  // Runs a row this owner has just claimed. `signals`: a signalfd with SIGINT, SIGTERM and SIGHUP,
  // or -1. Every end of the command is a report; an error means that no record could be stored: the
  // attempt is still running in the store, and recovery finishes it.
  Result<AttemptReport> Run(Store& store, const AttemptRow& running, int signals,
                            const AttemptHooks& hooks);

  // For other jobs under the same slot of host ids (importing the source of a `run`).
  JobHost Jobs() const;

  struct State;  // attempt_state.h

 private:
  explicit AttemptOwner(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The job host of a slot.
JobHost MakeJobHost(const HostMode& mode, std::uint32_t slot);
// The same, with helpers under the controller's own id: files of an image that only their owner may
// read are the controller's. View, filter and Landlock rules are those of every helper.
JobHost AsController(JobHost host, const HostMode& mode);

}  // namespace bailiff::controller
