// SPDX-License-Identifier: Apache-2.0
// The irrevocable surrender of every right a process does not need. Each function is the last thing
// its process does before it touches a byte from outside (helpers) or before exec (candidate); the
// filter is always the last step. An error says which step failed in `subject` and errno in
// `system_error`; the caller must then exit without doing any work. The controller believes none of
// it and reads /proc itself. Single-threaded callers only.
#pragma once

#include <cstdint>

#include "ipc/result.h"
#include "policy/role.h"

namespace bailiff::policy {

// Exit status of a helper or warden that made a call its filter traps. Before it the handler writes
// one line to fd 2: "SIGSYS: collector: system call 41 (arch 0xc000003e) is not allowed".
inline constexpr int kForbiddenCallExit = 159;  // 128 + SIGSYS, what a shell would show

// Collector, snapshotter, importer; after EnterView. Steps, in this order: secure bits (all
// locked), bounding set empty, ambient set empty, every capability set empty, not dumpable,
// no_new_privs, Landlock, SIGSYS handler, seccomp.
// Landlock: every access right of the best ABI the kernel offers is handled (files, TCP, scopes);
// allowed again is only reading below /in and working below /out, where the view has them; nothing
// for the collector. `landlock_abi` receives the ABI, 0 where the kernel has none (contracts 7.7:
// the helper still runs, its view is empty).
Result<void> LockHelper(Role role, std::uint32_t* landlock_abi);

// The warden, once its child has said that the cell is built and before Built is sent: the same
// without Landlock. What remains is its channel, its pipes, wait4, SIGKILL through a pidfd (for
// which it keeps CAP_KILL, good only below its own user namespace: the candidate has another id),
// exit.
Result<void> LockWarden();

// The candidate's process inside the finished cell, just before it waits for Release and execs.
// The same steps without Landlock and handler: a refused call gives EPERM or ENOSYS and goes on.
// Sockets of the cell's own network namespace, exec and threads stay allowed; filter_candidate.cc.
Result<void> LockCandidate();

// The best Landlock ABI of this kernel, 0 for none.
std::uint32_t LandlockAbi();

}  // namespace bailiff::policy
