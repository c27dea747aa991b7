// SPDX-License-Identifier: Apache-2.0
// Ownership of trees that somebody else made: iterative, below descriptors only, no
// link followed, no path joined, so neither depth nor names can stop it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "ipc/result.h"

namespace bailiff::controller {

// Gives `name` below `directory` and everything in it to uid:gid, links themselves included,
// nothing followed. Directories get `directory_mode` where one is given. Fails after more than
// `max_entries` entries.
Result<void> ChownTree(int directory, const char* name, uid_t uid, gid_t gid,
                       std::uint64_t max_entries, std::optional<mode_t> directory_mode = {});

}  // namespace bailiff::controller
