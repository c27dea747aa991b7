// SPDX-License-Identifier: Apache-2.0
// What the warden does to its own namespaces before the candidate exists, and the clone.
#pragma once

#include <sys/types.h>

#include "collector/warden/order.h"
#include "ipc/fd.h"

namespace bailiff::warden {

// Exactly the descriptors of the job's row, each of its kind; anything else inherited is a fault of
// the spawner and refused.
Result<void> CheckDescriptors(const Order& order);

// lo up in the warden's network namespace, read back. The one socket a warden ever has, closed
// before the candidate exists.
Result<void> RaiseLoopback();
Result<void> SetHostname();

struct Candidate {
  pid_t pid = -1;
  ipc::Fd pidfd;
  ipc::Fd release;  // one byte lets it exec
  ipc::Fd errors;   // Report records, then its end
};

// Makes the pipes and the candidate's process, pid 1 of its own pid namespace; on v2 inside the
// passed cgroup from its first instruction. Descriptors that only it needs are closed here.
Result<Candidate> CloneCandidate(const Order& order);

}  // namespace bailiff::warden
