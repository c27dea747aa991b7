// SPDX-License-Identifier: Apache-2.0
#include "policy/tree_path.h"

#include <algorithm>
#include <array>

#include "policy/disguise.h"

namespace bailiff::policy {
bool IsReservedName(std::string_view component) {
  constexpr std::array<std::string_view, 3> kReserved = {".agentscm", ".agentscm-workspace",
                                                         "agentscm-data"};
  if (LooksLikeDotGit(component) || LooksLikeDots(component)) return true;
  return std::any_of(kReserved.begin(), kReserved.end(),
                     [component](std::string_view name) { return LooksLike(component, name); });
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
