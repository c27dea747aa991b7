// SPDX-License-Identifier: Apache-2.0
#include "policy/tree_path.h"

#include <array>

namespace bailiff::policy {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool EqualsIgnoringCase(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (Lower(text[i]) != lower[i]) return false;
  }
  return true;
}

}  // namespace

bool IsReservedName(std::string_view component) {
  constexpr std::array<std::string_view, 4> kReserved = {".git", ".agentscm", ".agentscm-workspace",
                                                         "agentscm-data"};
  for (const std::string_view name : kReserved) {
    if (EqualsIgnoringCase(component, name)) return true;
  }
  return false;
}

SnapshotFault CheckComponent(std::string_view component, TreeNames names) {
  if (component.empty() || component == "." || component == "..") return SnapshotFault::kPathShape;
  if (component.find('/') != std::string_view::npos ||
      component.find('\0') != std::string_view::npos)
    return SnapshotFault::kPathShape;
  if (component.size() > kMaxTreeComponent) return SnapshotFault::kComponentBytes;
  if (names == TreeNames::kSource && IsReservedName(component)) return SnapshotFault::kReservedName;
  return SnapshotFault::kNone;
}

SnapshotFault CheckTreePath(std::string_view path, TreeNames names) {
  if (path.size() > kMaxTreePath) return SnapshotFault::kPathBytes;
  std::size_t depth = 0;
  for (std::size_t begin = 0;;) {
    const std::size_t slash = path.find('/', begin);
    const std::size_t end = slash == std::string_view::npos ? path.size() : slash;
    const SnapshotFault fault = CheckComponent(path.substr(begin, end - begin), names);
    if (fault != SnapshotFault::kNone) return fault;
    if (++depth > kMaxTreeDepth) return SnapshotFault::kDepth;
    if (slash == std::string_view::npos) return SnapshotFault::kNone;
    begin = slash + 1;
  }
}

}  // namespace bailiff::policy
