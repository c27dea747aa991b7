// SPDX-License-Identifier: Apache-2.0
#if defined(BAILIFF_SANITIZE) || defined(BAILIFF_TESTING)

#include "policy/filter_extra.h"

#include <signal.h>

#include <map>
#include <vector>

#include "policy/filter_assemble.h"

namespace bailiff::policy {
namespace {

#ifdef BAILIFF_TESTING
// clang-format off
constexpr std::array kFaultPoints = std::to_array<FilterLine>({
  {BAILIFF_CALL(getpid), {}, kAllow, "a fault point kills or stops its own process"},
  {BAILIFF_CALL(kill), {ArgIs(1, SIGKILL)}, kAllow, "a fault point told to kill"},
  {BAILIFF_CALL(kill), {ArgIs(1, SIGSTOP)}, kAllow, "a fault point told to stop"},
});
// clang-format on
#endif

struct Extended {
  std::vector<FilterLine> lines;
  Assembly assembly;
  FilterTable table;
};

void Append(std::vector<FilterLine>* to, std::span<const FilterLine> lines) {
  for (const FilterLine& line : lines) to->push_back(line);
}

Extended* Extend(Role role) {
  const FilterTable& shipped = ShippedFilter(role);
  auto* extended = new Extended;
#ifdef BAILIFF_SANITIZE
  Append(&extended->lines, SanitizerLines());
#endif
#ifdef BAILIFF_TESTING
  Append(&extended->lines, kFaultPoints);
#endif
  Append(&extended->lines, shipped.lines);
  extended->assembly = Assemble(extended->lines, shipped.otherwise);
  extended->table = {extended->lines,
                     shipped.otherwise,
                     {extended->assembly.code.data(), extended->assembly.size}};
  return extended;
}

}  // namespace

const FilterTable& ExtendedFilter(Role role) {
  if (role == Role::kCandidate) return ShippedFilter(role);
  static auto* made = new std::map<Role, Extended*>;
  Extended*& entry = (*made)[role];
  if (entry == nullptr) entry = Extend(role);
  return entry->table;
}

}  // namespace bailiff::policy

#endif
