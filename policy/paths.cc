// SPDX-License-Identifier: Apache-2.0
#include "policy/paths.h"

#include <string>

#include "policy/tree_path.h"
#include "policy/utf8.h"

namespace bailiff::policy {
namespace {

PathFault FaultOf(std::string_view component, TreeNames names) {
  if (component.empty()) return PathFault::kEmptyComponent;
  if (component == ".") return PathFault::kDot;
  if (component == "..") return PathFault::kDotDot;
  if (component.find('\0') != std::string_view::npos) return PathFault::kNul;
  if (component.size() > kMaxTreeComponent) return PathFault::kComponentTooLong;
  if (names == TreeNames::kSource && IsReservedName(component)) return PathFault::kReserved;
  return PathFault::kNone;
}

// Same verdict as CheckTreePath, named more finely.
PathFault FaultOfComponents(std::string_view path, TreeNames names) {
  std::size_t depth = 0;
  for (std::size_t begin = 0;;) {
    const std::size_t slash = path.find('/', begin);
    const std::size_t end = slash == std::string_view::npos ? path.size() : slash;
    const PathFault fault = FaultOf(path.substr(begin, end - begin), names);
    if (fault != PathFault::kNone) return fault;
    if (++depth > kMaxTreeDepth) return PathFault::kTooDeep;
    if (slash == std::string_view::npos) return PathFault::kNone;
    begin = slash + 1;
  }
}

}  // namespace

PathFault CheckPortablePath(std::string_view path) {
  if (path.empty()) return PathFault::kEmpty;
  if (path.front() == '/') return PathFault::kAbsolute;
  if (path.size() > kMaxTreePath) return PathFault::kTooLong;
  const PathFault fault = FaultOfComponents(path, TreeNames::kSource);
  if (fault != PathFault::kNone) return fault;
  if (!IsUtf8(path)) return PathFault::kNotUtf8;
  if (path.find('\\') != std::string_view::npos) return PathFault::kBackslash;
  if (HasControl(path)) return PathFault::kControl;
  return PathFault::kNone;
}

PathFault CheckExecutable(std::string_view path) {
  if (path.empty()) return PathFault::kEmpty;
  if (path.front() != '/') return PathFault::kRelative;
  if (path.size() > kMaxTreePath) return PathFault::kTooLong;
  return FaultOfComponents(path.substr(1), TreeNames::kImage);
}

std::string_view PathFaultText(PathFault fault) {
  switch (fault) {
    case PathFault::kNone:
      return "";
    case PathFault::kEmpty:
      return "is empty";
    case PathFault::kAbsolute:
      return "begins with '/'";
    case PathFault::kRelative:
      return "does not begin with '/'";
    case PathFault::kTooLong:
      return "longer than 4095 bytes";
    case PathFault::kComponentTooLong:
      return "has a component longer than 255 bytes";
    case PathFault::kTooDeep:
      return "has more than 255 components";
    case PathFault::kEmptyComponent:
      return "has an empty component";
    case PathFault::kDot:
      return "has a component '.'";
    case PathFault::kDotDot:
      return "has a component '..'";
    case PathFault::kReserved:
      return "has a component that git export and workspaces reserve";
    case PathFault::kNul:
      return "holds a NUL byte";
    case PathFault::kBackslash:
      return "holds a backslash";
    case PathFault::kControl:
      return "holds a control character";
    case PathFault::kNotUtf8:
      return "is not valid UTF-8";
  }
  return "";
}

Error PathError(PathFault fault, std::string_view path) {
  const auto code = [fault] {
    switch (fault) {
      case PathFault::kNone:
      case PathFault::kEmpty:
        return ErrorCode::kPathEmpty;
      case PathFault::kAbsolute:
        return ErrorCode::kPathAbsolute;
      case PathFault::kRelative:
        return ErrorCode::kPathRelative;
      case PathFault::kTooLong:
        return ErrorCode::kPathLong;
      case PathFault::kComponentTooLong:
        return ErrorCode::kPathComponentLong;
      case PathFault::kTooDeep:
        return ErrorCode::kPathDeep;
      case PathFault::kEmptyComponent:
        return ErrorCode::kPathComponentEmpty;
      case PathFault::kDot:
        return ErrorCode::kPathDot;
      case PathFault::kDotDot:
        return ErrorCode::kPathDotDot;
      case PathFault::kReserved:
        return ErrorCode::kPathReserved;
      case PathFault::kNul:
        return ErrorCode::kPathNul;
      case PathFault::kBackslash:
        return ErrorCode::kPathBackslash;
      case PathFault::kControl:
        return ErrorCode::kPathControl;
      case PathFault::kNotUtf8:
        return ErrorCode::kPathUtf8;
    }
    return ErrorCode::kPathEmpty;
  }();
  return Error{code, std::string(path), std::string(PathFaultText(fault)), 0, {}};
}

}  // namespace bailiff::policy
