// SPDX-License-Identifier: Apache-2.0
// The second wall around a view (landlock(7)). What /proc shows of it is nothing, so tests show it
// by behaviour.
#pragma once

#include <cstdint>

#include "ipc/result.h"

namespace bailiff::policy {

// Takes away every right the kernel's best ABI knows (capped at the newest one known here), except
// reading below /in and working below /out when `files`. Needs no_new_privs. Receives the ABI, 0
// where there is none; that is not an error.
Result<void> RestrictByLandlock(bool files, std::uint32_t* abi);

}  // namespace bailiff::policy
