// SPDX-License-Identifier: Apache-2.0
// The candidate's own process from clone to exec: it builds its cell around itself, gives up every
// right, says that it is ready and waits for one byte.
#pragma once

#include <cstdint>

#include "collector/warden/order.h"
#include "policy/cell.h"

namespace bailiff::warden {

// What goes through the error pipe, whole in one write (pipe(7), PIPE_BUF). step 0: the cell is
// built. The pipe is close-on-exec, so its end without a word after that is the exec.
struct Report {
  std::uint32_t step = 0;  // policy::CellStep
  std::int32_t error = 0;
};

// Never returns. `release_fd` is the read end of the release pipe, `error_fd` the write end of the
// error pipe; both are moved to the numbers of policy/cell.h.
[[noreturn]] void RunCandidate(const Order& order, int release_fd, int error_fd);

}  // namespace bailiff::warden
