// SPDX-License-Identifier: Apache-2.0
// Signals and statuses by pidfd: a reused pid is never hit, and the kernel itself is a witness of
// how a process ended.
#pragma once

#include <optional>

namespace bailiff::controller {

// SIGKILL; nothing when the process has ended.
void KillByPidfd(int pidfd);

// Raw wait status of a process that has been reaped by its parent (PIDFD_GET_INFO, PIDFD_INFO_EXIT;
// Linux 6.15). Nothing where the kernel does not offer it.
std::optional<int> PidfdExitStatus(int pidfd);

}  // namespace bailiff::controller
