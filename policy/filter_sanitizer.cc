// SPDX-License-Identifier: Apache-2.0
// WEAKER FILTERS, never in a program that is installed: compiled only with BAILIFF_SANITIZE, where
// the runtime of AddressSanitizer and UndefinedBehaviorSanitizer lives inside every helper. No
// golden dump shows these lines and no digest of a release covers them.
#include "policy/filter_sanitizer.h"

#include <sys/prctl.h>

#include <map>
#include <vector>

#include "policy/filter_assemble.h"

// The leak check would start a tracer at exit, which no list lets it do. A process without a filter
// is checked as ever.
extern "C" int __lsan_is_turned_off();
extern "C" int __lsan_is_turned_off() { return prctl(PR_GET_SECCOMP) != 0 ? 1 : 0; }

namespace bailiff::policy {
namespace {

// clang-format off
constexpr std::array kSanitizer = std::to_array<FilterLine>({
  {BAILIFF_CALL(mmap), {}, kAllow, "shadow memory"},
  {BAILIFF_CALL(mprotect), {}, kAllow, "shadow memory"},
  {BAILIFF_CALL(write), {}, kAllow, "a report"},
  {BAILIFF_CALL(open), {}, kAllow, "a report reads /proc/self/maps"},
  {BAILIFF_CALL(openat), {}, kAllow, "the same"},
  {BAILIFF_CALL(read), {}, kAllow, "the same"},
  {BAILIFF_CALL(pipe2), {}, kAllow, "asks the kernel through a pipe whether memory is readable, before it looks at a virtual table"},
  {BAILIFF_CALL(pipe), {}, kAllow, "the same"},
  {BAILIFF_CALL(readlink), {}, kAllow, "a report names the program"},
  {BAILIFF_CALL(stat), {}, kAllow, "a report looks for the symbolizer"},
  {BAILIFF_CALL(newfstatat), {}, kAllow, "the same"},
  {BAILIFF_CALL(ioctl), {}, kAllow, "is it a terminal"},
  {BAILIFF_CALL(getpid), {}, kAllow, "names the process"},
  {BAILIFF_CALL(gettid), {}, kAllow, "names the thread"},
  {BAILIFF_CALL(sched_yield), {}, kAllow, "spin locks"},
  {BAILIFF_CALL(sigaltstack), {}, kAllow, "stack of the fault handler"},
  {BAILIFF_CALL(rt_sigprocmask), {}, kAllow, "fault handler"},
  {BAILIFF_CALL(rt_sigaction), {}, kAllow, "fault handler"},
  {BAILIFF_CALL(rt_sigreturn), {}, kAllow, "fault handler"},
  {BAILIFF_CALL(prctl), {}, kAllow, "names its mappings"},
  {BAILIFF_CALL(getrlimit), {}, kAllow, "size of the stack"},
  {BAILIFF_CALL(prlimit64), {}, kAllow, "size of the stack"},
  {BAILIFF_CALL(getrusage), {}, kAllow, "its own memory bound"},
});
// clang-format on

struct Extended {
  std::vector<FilterLine> lines;
  Assembly assembly;
  FilterTable table;
};

Extended* Extend(Role role) {
  const FilterTable& shipped = ShippedFilter(role);
  auto* extended = new Extended;
  for (const FilterLine& line : kSanitizer) extended->lines.push_back(line);
  for (const FilterLine& line : shipped.lines) extended->lines.push_back(line);
  extended->assembly = Assemble(extended->lines, shipped.otherwise);
  extended->table = {extended->lines,
                     shipped.otherwise,
                     {extended->assembly.code.data(), extended->assembly.size}};
  return extended;
}

}  // namespace

const FilterTable& SanitizerFilter(Role role) {
  if (role == Role::kCandidate) return ShippedFilter(role);
  static auto* made = new std::map<Role, Extended*>;
  Extended*& entry = (*made)[role];
  if (entry == nullptr) entry = Extend(role);
  return entry->table;
}

}  // namespace bailiff::policy
