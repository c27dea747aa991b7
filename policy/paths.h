// SPDX-License-Identifier: Apache-2.0
// The one place that says which path may come in (contracts, section 2; R10.09..R10.12, R14.02).
// Paths are bytes. Nothing here touches a file system or allocates, so helpers may use it after
// lockdown.
#pragma once

#include <cstddef>
#include <string_view>

#include "ipc/result.h"

namespace bailiff::policy {

inline constexpr std::size_t kMaxPathBytes = 4095;
inline constexpr std::size_t kMaxComponentBytes = 255;
inline constexpr std::size_t kMaxPathDepth = 255;  // components

enum class PathUse {
  kSource,    // an entry of a source tree: any bytes but NUL; reserved names refused
  kImage,     // an entry of an image: as above, reserved names allowed
  kPortable,  // a path in a document (recipe, candidate): UTF-8, no backslash, no control too
};

enum class PathFault {
  kNone,
  kEmpty,
  kAbsolute,
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

// A whole relative path, components joined by '/'.
PathFault CheckPath(std::string_view path, PathUse use);
// One component of it.
PathFault CheckComponent(std::string_view name, PathUse use);
// Target of a symbolic link: 1..4095 bytes, no NUL. Links are data; nothing follows them on the way
// in.
PathFault CheckLinkTarget(std::string_view target);

// `.git .agentscm .agentscm-workspace agentscm-data`, ASCII letters in any case.
bool IsReservedName(std::string_view component);

// An absolute executable: starts with '/', at most 4095 bytes, no `.`, `..` or empty component, no
// NUL.
PathFault CheckExecutable(std::string_view path);

// Words for a person: "has a component '..'".
std::string_view PathFaultText(PathFault fault);
// The error of a fault other than kNone.
Error PathError(PathFault fault, std::string_view path);

}  // namespace bailiff::policy
