// SPDX-License-Identifier: Apache-2.0
// A claimed attempt run in front of the caller: what `run` and `check run` share.
#pragma once

#include <optional>
#include <string>

#include "controller/cli/interrupts.h"
#include "controller/cli/verbs.h"
#include "controller/store/store.h"
#include "controller/supervisor/attempt.h"
#include "ipc/result.h"
#include "policy/recipe.h"

namespace bailiff::controller::cli {

// Runs it, forwards its output (with --json: keeps it for the answer), draws the progress line, and
// ends with the summary on standard error or the JSON value `schema`.
Result<AttemptReport> Execute(Context& context, Store& store, AttemptOwner& owner,
                              const AttemptRow& row, const Interrupts& interrupts,
                              std::string_view schema);

// The exit status of `run` (contracts, section 6): the command's own code when it exited, 0 only
// for `success`; 128 plus the signal; else 125.
int RunExit(const policy::CommandRecord& record);

// Members of an attempt's end that `run`, `check run` and `check show` share.
void AddRecord(JsonWriter& json, const AttemptRow& row, const policy::CommandRecord& record,
               const std::string& evidence_bytes);

}  // namespace bailiff::controller::cli
