// SPDX-License-Identifier: Apache-2.0
#include "policy/filter.h"

#include "policy/filter_table.h"
#ifdef BAILIFF_SANITIZE
#include "policy/filter_sanitizer.h"
#endif

namespace bailiff::policy {

const FilterTable& ShippedFilter(Role role) {
  switch (role) {
    case Role::kCollector:
      return CollectorFilter();
    case Role::kSnapshotter:
      return SnapshotterFilter();
    case Role::kImporter:
      return ImporterFilter();
    case Role::kWarden:
      return WardenFilter();
    case Role::kCandidate:
      break;
  }
  return CandidateFilter();
}

namespace {

const FilterTable& Filter(Role role) {
#ifdef BAILIFF_SANITIZE
  return SanitizerFilter(role);
#else
  return ShippedFilter(role);
#endif
}

}  // namespace

std::span<const FilterLine> FilterLines(Role role) { return Filter(role).lines; }
std::uint32_t FilterOtherwise(Role role) { return Filter(role).otherwise; }
std::span<const sock_filter> FilterProgram(Role role) { return Filter(role).program; }

}  // namespace bailiff::policy
