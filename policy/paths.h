// SPDX-License-Identifier: Apache-2.0
// Paths in the operator's documents, with words for each fault. What a tree itself may hold is said
// by tree_path.h; a portable path is one of those and more besides (contracts, section 2; R2.03,
// R10.09 to R10.12, R14.02).
#pragma once

#include <string_view>

#include "ipc/result.h"

namespace bailiff::policy {

enum class PathFault {
  kNone,
  kEmpty,
  kAbsolute,  // where it must be relative
  kRelative,  // where it must be absolute
  kTooLong,
  kComponentTooLong,
  kTooDeep,
  kEmptyComponent,  // "a//b", "a/"
  kDot,
  kDotDot,
  kReserved,  // R10.12, in any case of letters
  kNul,
  kBackslash,
  kControl,
  kNotUtf8,
};

// A path of a recipe or a candidate: relative, UTF-8, no backslash, no control character, no
// reserved name, and within the bounds of a source tree. Every path that passes passes
// CheckTreePath too.
PathFault CheckPortablePath(std::string_view path);

// An absolute executable inside the image: at most 4095 bytes, no `.`, `..` or empty component, no
// NUL. Reserved names are allowed: they are the image's own.
PathFault CheckExecutable(std::string_view path);

// Words for a person: "has a component '..'".
std::string_view PathFaultText(PathFault fault);
// The error of a fault other than kNone.
Error PathError(PathFault fault, std::string_view path);

}  // namespace bailiff::policy
