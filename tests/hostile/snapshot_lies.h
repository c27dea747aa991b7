// SPDX-License-Identifier: Apache-2.0
// What the hostile snapshotter and the hostile importer share: breaking the protocol in each phase.
#pragma once

#include <string>

#include "policy/role.h"

namespace bailiff::hostile {

// Does what a mode "open-…", "start-…" or "work-…" says and ends the process. Returns for any other
// mode.
void BreakProtocol(policy::Role role, const std::string& mode);

}  // namespace bailiff::hostile
