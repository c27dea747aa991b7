// SPDX-License-Identifier: Apache-2.0
// Recovery and cancellation: fence, reconcile, finish (design, section 3; R11). One routine,
// whoever calls it.
#pragma once

#include <string>

#include "controller/store/owners_lock.h"
#include "controller/store/store.h"
#include "controller/supervisor/attempt.h"
#include "controller/supervisor/host_mode.h"

namespace bailiff::controller {

struct RecoveryRequest {
  std::string id;
  std::int64_t generation = 0;
  std::string reason;
  bool cancel = false;  // of a pending or running attempt, owner alive or dead; otherwise only of a
                        // dead owner's
  bool abandon_unconfirmed =
      false;  // finish as `indeterminate` when cleanup cannot be confirmed (R11.17)
};

struct RecoveryReport {
  AttemptRow before;
  AttemptRow after;         // finished, or cancelled when it was pending
  bool other_boot = false;  // the cell is gone with the boot it ran in
  std::vector<std::string> proof;
};

// Errors: kAttemptConflict and kAttemptFinished name the present generation, kOwnerAlive,
// kOtherMachine; kUnconfirmed leaves the attempt running at the generation its text names, with the
// latest custody.
Result<RecoveryReport> Recover(HostMode& mode, Store& store, OwnersLock& locks,
                               const std::string& repository, const RecoveryRequest& request);

}  // namespace bailiff::controller
