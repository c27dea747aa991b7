// SPDX-License-Identifier: Apache-2.0
// The operator's documents, read from what was opened at the start.
#pragma once

#include <string>

#include "controller/cli/command_line.h"

namespace bailiff::controller::cli {

// The bytes of a document, at most 1 MiB (contracts, section 1). Errors: kFileTooLarge,
// kFileMissing when it is empty, or of the failed read.
Result<std::string> ReadDocument(const Opened& document);

}  // namespace bailiff::controller::cli
