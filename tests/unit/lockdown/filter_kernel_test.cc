// SPDX-License-Identifier: Apache-2.0
// Every line of every list on the real kernel, allowed and altered, and every number that has no
// line. Permitted calls get bad pointers, bad descriptors and bad commands, so that they have no
// effect. The list is enumerated: a line cannot be forgotten.
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <set>
#include <vector>

#include "arena.h"
#include "policy/filter_assemble.h"
#include "policy/filter_table.h"

namespace bailiff::policy {
namespace {

enum class Answer : int { kAllowed, kErrno, kTrapped, kKilled, kUnknown };

struct Case {
  int number;
  unsigned long args[6];
  Answer expected;
  int error;  // with kErrno
};

// The kernel's own errors look like the filter's. The program under test therefore answers with
// errors no kernel has; nothing else of it is changed (FilterList tests compare the shipped
// answers).
constexpr int kMark = 2000;

std::vector<sock_filter> MarkedProgram(Role role) {
  const std::span<const sock_filter> shipped = FilterProgram(role);
  std::vector<sock_filter> program(shipped.begin(), shipped.end());
  for (sock_filter& code : program) {
    if (code.code == (BPF_RET | BPF_K) && (code.k & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO)
      code.k += kMark;
  }
  return program;
}

bool Matches(const FilterLine& line, const unsigned long* args) {
  for (const ArgTest& test : line.tests) {
    if (test.mask == 0) continue;
    if (((static_cast<std::uint32_t>(args[test.index]) & test.mask) == test.value) == test.negated)
      return false;
  }
  return true;
}

void Expect(Role role, Case* one) {
  std::uint32_t action = FilterOtherwise(role);
  if (one->number > kHighestKnownCall || (one->number >= kGapFirst && one->number <= kGapLast))
    action = SECCOMP_RET_ERRNO | ENOSYS;
  for (const FilterLine& line : FilterLines(role)) {
    if (line.number == one->number && Matches(line, one->args)) {
      action = line.action;
      break;
    }
  }
  one->error = 0;
  switch (action & SECCOMP_RET_ACTION_FULL) {
    case SECCOMP_RET_ALLOW:
      one->expected = Answer::kAllowed;
      return;
    case SECCOMP_RET_ERRNO:
      one->expected = Answer::kErrno;
      one->error = static_cast<int>(action & SECCOMP_RET_DATA) + kMark;
      return;
    case SECCOMP_RET_TRAP:
      one->expected = Answer::kTrapped;
      return;
    default:
      one->expected = Answer::kKilled;
  }
}

// Arguments with which the call, if it is let through, does nothing.
Case Harmless(int number) {
  const unsigned long bad = ~0UL;
  switch (number) {
    case __NR_kill:
    case __NR_tkill:
      return {number, {1UL << 30, 1000, 0, 0, 0, 0}, {}, 0};
    case __NR_tgkill:
      return {number, {1UL << 30, 1UL << 30, 1000, 0, 0, 0}, {}, 0};
    case __NR_msync:
    case __NR_munmap:
    case __NR_mprotect:
    case __NR_mremap:
      return {number, {1, bad, 0, 0, 1, 0}, {}, 0};
    case __NR_poll:
    case __NR_ppoll:
      return {number, {1, 1, 0, 0, 8, 0}, {}, 0};
    case __NR_select:
    case __NR_pselect6:
      return {number, {1, 1, 1, 1, 1, 1}, {}, 0};
    case __NR_alarm:
    case __NR_sync:
    case __NR_personality:
      return {number, {0, 0, 0, 0, 0, 0}, {}, 0};
    case __NR_msgget:
    case __NR_semget:
    case __NR_shmget:
      return {number, {1, 1UL << 40, 0, 0, 0, 0}, {}, 0};
    case __NR_clone:
      return {number, {bad, 0, 0, 0, 0, 0}, {}, 0};
    default:
      return {number, {bad, 1, bad, bad, bad, bad}, {}, 0};
  }
}

std::vector<Case> Cases(Role role) {
  std::vector<Case> cases;
  for (int number = 0; number <= kHighestKnownCall + 16; ++number) {
    // uretprobe and uprobe: from Linux 6.14 the kernel lets them past every filter, because a
    // tracer of the host puts them into programs that know nothing of it. They act only in its
    // trampolines.
    if (number == 335 || number == 336) continue;
    cases.push_back(Harmless(number));
    for (const FilterLine& line : FilterLines(role)) {
      if (line.number != number || line.tests[0].mask == 0) continue;
      Case meant = Harmless(number);
      for (const ArgTest& test : line.tests) {
        if (test.mask == 0) continue;
        const std::uint32_t value = test.negated ? ~test.value & test.mask : test.value;
        meant.args[test.index] = value;
      }
      cases.push_back(meant);
      for (const ArgTest& test : line.tests) {
        if (test.mask == 0) continue;
        Case high = meant;  // the kernel truncates: same answer (b06)
        high.args[test.index] |= 0xABCDULL << 32;
        cases.push_back(high);
        Case altered = meant;
        altered.args[test.index] =
            test.negated ? test.value : test.value ^ (test.mask & (~test.mask + 1));
        cases.push_back(altered);
        altered.args[test.index] |= 1ULL << 63;
        cases.push_back(altered);
      }
    }
  }
  for (Case& one : cases) Expect(role, &one);
  return cases;
}

struct Report {
  long result;
  int error;
  int made;
};

void OnTrap(int, siginfo_t*, void*) { syscall(SYS_exit_group, 159); }

// fork, vfork, clone. The child must not come back into this function: after vfork it stands on our
// stack, and it would write a report of its own.
long RawFork(long number, unsigned long flags) {
  long result = number;
  __asm__ volatile(
      "xor %%r10d, %%r10d\n\t"
      "xor %%r8d, %%r8d\n\t"
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "mov $60, %%eax\n\t"
      "xor %%edi, %%edi\n\t"
      "syscall\n\t"
      "1:"
      : "+a"(result), "+D"(flags)
      : "S"(0), "d"(0)
      : "rcx", "r8", "r10", "r11", "memory");
  return result;
}

[[noreturn]] void Perform(const Case& one, const std::vector<sock_filter>& program,
                          Report* report) {
  struct sigaction action {};
  action.sa_sigaction = OnTrap;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSYS, &action, nullptr);
  signal(SIGSEGV, SIG_DFL);  // a sanitizer would report what rt_sigreturn is meant to do here
  if (one.number == SYS_pause) {
    // Blocking is how pause shows that it was let through; the timer ends it.
    const itimerval soon{{0, 0}, {0, 10000}};
    setitimer(ITIMER_REAL, &soon, nullptr);
  }
  const sock_fprog code{static_cast<unsigned short>(program.size()),
                        const_cast<sock_filter*>(program.data())};
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &code) != 0) syscall(SYS_exit_group, 98);
  long result = 0;
  if (one.number == SYS_fork || one.number == SYS_vfork || one.number == SYS_clone) {
    result = RawFork(one.number, one.args[0]);
    report->error = result < 0 ? static_cast<int>(-result) : 0;
  } else {
    result = syscall(one.number, one.args[0], one.args[1], one.args[2], one.args[3], one.args[4],
                     one.args[5]);
    report->error = result < 0 ? errno : 0;
  }
  report->result = result;
  report->made = 1;
  syscall(SYS_exit_group, 0);
  __builtin_trap();
}

Answer Judge(const Case& one, const Report& report, int status, int* error) {
  *error = 0;
  if (WIFSIGNALED(status)) {
    if (WTERMSIG(status) == SIGSYS) return Answer::kKilled;
    // Let through, and then: a frame that is none, and a wait that the timer ended.
    if (one.number == SYS_rt_sigreturn && WTERMSIG(status) == SIGSEGV) return Answer::kAllowed;
    if (one.number == SYS_pause && WTERMSIG(status) == SIGALRM) return Answer::kAllowed;
    return Answer::kUnknown;
  }
  if (WEXITSTATUS(status) == 159) return Answer::kTrapped;
  if (report.made == 0) {
    const bool left = one.number == SYS_exit || one.number == SYS_exit_group;
    return left && WEXITSTATUS(status) == 255 ? Answer::kAllowed : Answer::kUnknown;
  }
  *error = report.error;
  return report.error >= kMark ? Answer::kErrno : Answer::kAllowed;
}

// All cases in one process tree with namespaces and no capability of its own, one process a case.
void RunCases(Role role, const std::vector<Case>& cases) {
  const std::vector<sock_filter> program = MarkedProgram(role);
  auto* report = static_cast<Report*>(
      mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(report, MAP_FAILED);
  const arena::Ended ended = arena::Run([&] {
    arena::EnterOwnNamespaces(CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWUTS);
    for (unsigned long capability = 0; capability < 64; ++capability)
      prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL);
    for (const Case& one : cases) {
      *report = {};
      const pid_t pid = fork();
      if (pid == 0) Perform(one, program, report);
      int status = 0;
      waitpid(pid, &status, 0);
      int error = 0;
      const Answer answer = Judge(one, *report, status, &error);
      if (answer != one.expected || error * (answer == Answer::kErrno ? 1 : 0) != one.error) {
        dprintf(2, "call %d(%lx, %lx, %lx): expected %d/%d, got %d/%d, status %x\n", one.number,
                one.args[0], one.args[1], one.args[2], static_cast<int>(one.expected), one.error,
                static_cast<int>(answer), error, status);
      }
    }
    dprintf(2, "ran %zu\n", cases.size());
  });
  EXPECT_EQ(ended.said, "ran " + std::to_string(cases.size()) + "\n");
  munmap(report, sizeof(Report));
}

class FilterKernel : public testing::TestWithParam<Role> {};

INSTANTIATE_TEST_SUITE_P(Roles, FilterKernel,
                         testing::Values(Role::kCollector, Role::kSnapshotter, Role::kImporter,
                                         Role::kWarden, Role::kCandidate),
                         [](const auto& one) { return std::string(RoleName(one.param)); });

TEST_P(FilterKernel, b06_b07_EveryLineAllowedAndAlteredAndEveryOtherNumber) {
  const std::vector<Case> cases = Cases(GetParam());
  // Each line is the expected answer of at least one case, or the cases do not show it.
  for (const FilterLine& line : FilterLines(GetParam())) {
    bool shown = false;
    for (const Case& one : cases)
      shown = shown || (one.number == line.number && Matches(line, one.args));
    EXPECT_TRUE(shown) << line.call << ' ' << ConditionText(line);
  }
  RunCases(GetParam(), cases);
}

}  // namespace
}  // namespace bailiff::policy
