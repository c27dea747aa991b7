// SPDX-License-Identifier: Apache-2.0
// --help, the manual pages and the completion scripts: all written from the command table and from
// ipc/errors.def.
#pragma once

#include <string>
#include <string_view>

#include "controller/cli/command_table.h"

namespace bailiff::controller::cli {

inline constexpr std::string_view kVersion = BAILIFF_VERSION;

// "image import FILE [--name NAME]"
std::string Synopsis(const VerbRow& row);

std::string GeneralHelp();
std::string NounHelp(std::string_view noun);
std::string VerbHelp(const VerbRow& row);

// roff, man(7).
std::string ManualPage();        // bailiff(1)
std::string ErrorsManualPage();  // bailiff-errors(7)

enum class Shell : unsigned char { kBash, kZsh, kFish };
std::string CompletionScript(Shell shell);

}  // namespace bailiff::controller::cli
