// SPDX-License-Identifier: Apache-2.0
// The data directory as a verb uses it, in host mode.
#pragma once

#include <string>

#include "controller/cli/verbs.h"
#include "controller/store/owners_lock.h"
#include "controller/store/store.h"
#include "controller/supervisor/attempt.h"
#include "ipc/result.h"

namespace bailiff::controller::cli {

// Checks the format, then opens the database that belongs to this directory. Errors: kDataMissing,
// kDataFormatUnknown, kStore*.
Result<Store> OpenStore(Context& context);

// What an attempt needs of the host, with the preparer at work on it (AttemptOwner::Prepare):
// before OpenStore, which takes as long. Errors: as OpenStore's, and those of Prepare.
Result<AttemptOwner> PrepareOwner(Context& context, OwnersLock& locks);

// The image named on the command line; for a tag the fix says how its content comes in.
Result<ImageRow> FindImage(Store& store, const std::string& text);

// A whole number of the command line, 0 or more. Error kArgumentValue naming `name`.
Result<std::int64_t> ParseWhole(const std::string& text, std::string_view name);

}  // namespace bailiff::controller::cli
