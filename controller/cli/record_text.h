// SPDX-License-Identifier: Apache-2.0
// A record for eyes: the block of `evidence show`, and the one line that ends a `run`.
#pragma once

#include <optional>
#include <string>

#include "controller/cli/output.h"
#include "policy/evidence.h"
#include "policy/recipe.h"

namespace bailiff::controller::cli {

// "exit 0", "SIGKILL", "not started: ENOENT".
std::string ProcessText(const policy::ProcessEnd& process);

// "oom_local", "pids_limit_hit (64)".
std::string ReasonsText(const policy::CommandRecord& record,
                        const std::optional<policy::Limits>& limits);

Style StyleOf(policy::Outcome outcome);

// "success  exit 0 in 18.2 s  cleanup confirmed  evidence 77ab…", coloured for standard error.
std::string SummaryLine(const policy::CommandRecord& record, const std::string& evidence_id,
                        const std::optional<policy::Limits>& limits, const Output& output);

// The block, for standard output. `limits`: of the recipe, when it is at hand.
std::string RecordBlock(const policy::CommandRecord& record, const std::string& evidence_id,
                        const std::optional<policy::Limits>& limits, const Output& output);

}  // namespace bailiff::controller::cli
