// SPDX-License-Identifier: Apache-2.0
// Reads the candidate's two streams to their end, or to the bound.
#pragma once

#include <cstdint>

#include "collector/session.h"

namespace bailiff::collector {

// Sends every byte in the order it arrived, until both streams have ended, the joint bound is
// crossed, or the controller says Quit. Exactly `bound` bytes are complete; with one more the first
// `bound` are sent and every stream that had not ended yet is ended with eof false and what was
// seen of it (contracts, section 5, and 7.6; R2.14). After a crossing the pipes stay open until
// their writers are gone, the controller says Quit, or it is gone itself, so that a candidate dies
// of the controller's signal and not of its own SIGPIPE.
Result<void> Pump(Session& session, int out, int err, std::uint64_t bound);

}  // namespace bailiff::collector
