// SPDX-License-Identifier: Apache-2.0
// The three steps of every call: read the command line and open what it names, as the operator;
// give the operator's rights up where the verb touches the data directory; do it.
#pragma once

#include <optional>

#include "controller/cli/command_line.h"
#include "controller/supervisor/host_mode.h"

namespace bailiff::controller::cli {

struct Start {
  Command command;
  std::string operator_json;
  std::optional<int> status;               // set: nothing more to do, exit with it
  std::optional<HostModeRequest> request;  // set: enter host mode before Perform
};

// Parses, opens, prints help. Errors are reported here.
Start Prepare(int argc, const char* const* argv);

// Runs the verb; `host` is the result of EnterHostMode when Prepare asked for it.
int Perform(Start& start, std::optional<Result<HostMode>> host);

}  // namespace bailiff::controller::cli
