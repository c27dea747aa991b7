// SPDX-License-Identifier: Apache-2.0
// What host mode needs of the operator: found, checked and opened while the operator's rights are
// still there.
#pragma once

#include <string>

#include "controller/cli/command_line.h"
#include "controller/supervisor/host_mode.h"
#include "ipc/result.h"

namespace bailiff::controller::cli {

// For a verb whose row needs the data directory. Moves the opened directories of `command` into the
// request. Makes the data directory for `init`, and the new directory of an export.
// Errors: of the data directory (kData*), of the ids (host_ids.h), kFileExists.
Result<HostModeRequest> MakeHostRequest(Command& command);

// Who acts, for the audit log: {"login_uid":…,"name":…,"uid":…}, canonical. The name is what
// /etc/passwd says, read from the file itself; recorded, not authenticated (contracts 7.13).
std::string OperatorJson();

// The data directory of this command line: --data-dir, or the default.
Result<std::string> DataDirectoryOf(const Command& command);

}  // namespace bailiff::controller::cli
