// SPDX-License-Identifier: Apache-2.0
// The lists as values: what they say, that the program says the same for every number and for every
// edge of an argument, and that the committed dumps are what is compiled.
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#include "policy/filter_assemble.h"
#include "policy/filter_table.h"

namespace bailiff::policy {
namespace {

constexpr Role kRoles[] = {Role::kCollector, Role::kSnapshotter, Role::kImporter, Role::kWarden,
                           Role::kCandidate};

// What the table says, read top down without any program.
std::uint32_t TableAnswer(Role role, const seccomp_data& data) {
  if (data.arch != AUDIT_ARCH_X86_64 || static_cast<std::uint32_t>(data.nr) >= kX32Bit)
    return SECCOMP_RET_KILL_PROCESS;
  if (data.nr > kHighestKnownCall || (data.nr >= kGapFirst && data.nr <= kGapLast))
    return SECCOMP_RET_ERRNO | ENOSYS;
  for (const FilterLine& line : FilterLines(role)) {
    if (line.number != data.nr) continue;
    bool match = true;
    for (const ArgTest& test : line.tests) {
      if (test.mask == 0) continue;
      const auto low = static_cast<std::uint32_t>(data.args[test.index]);
      match = match && ((low & test.mask) == test.value) != test.negated;
    }
    if (match) return line.action;
  }
  return FilterOtherwise(role);
}

// The instructions of classic BPF that a filter of ours uses; any other fails the test.
std::uint32_t ProgramAnswer(std::span<const sock_filter> program, const seccomp_data& data) {
  std::uint32_t accumulator = 0;
  for (std::size_t at = 0; at < program.size(); ++at) {
    const sock_filter& code = program[at];
    bool taken = false;
    switch (code.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        std::memcpy(&accumulator, reinterpret_cast<const char*>(&data) + code.k, 4);
        continue;
      case BPF_ALU | BPF_AND | BPF_K:
        accumulator &= code.k;
        continue;
      case BPF_JMP | BPF_JA:
        at += code.k;
        continue;
      case BPF_RET | BPF_K:
        return code.k;
      case BPF_JMP | BPF_JEQ | BPF_K:
        taken = accumulator == code.k;
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        taken = accumulator >= code.k;
        break;
      case BPF_JMP | BPF_JGT | BPF_K:
        taken = accumulator > code.k;
        break;
      default:
        ADD_FAILURE() << "instruction " << at << " has code " << code.code;
        return 0;
    }
    at += taken ? code.jt : code.jf;
  }
  ADD_FAILURE() << "ran off the end";
  return 0;
}

// Every value a comparison of this role looks at, its neighbours, single bits, and high halves.
std::vector<std::uint64_t> Edges(Role role) {
  std::set<std::uint64_t> edges = {0, 1, 0x7FFFFFFF, 0xFFFFFFFF, ~0ULL, 1ULL << 32};
  for (const FilterLine& line : FilterLines(role)) {
    for (const ArgTest& test : line.tests) {
      if (test.mask == 0) continue;
      for (const std::uint64_t value : {test.value, test.value + 1, test.value - 1, test.mask}) {
        edges.insert(value);
        edges.insert(value | 0xFFFFFFFF00000000);
      }
    }
  }
  for (int bit = 0; bit < 64; ++bit) edges.insert(1ULL << bit);
  return {edges.begin(), edges.end()};
}

TEST(FilterList, b06_ProgramAnswersAsTheTableForEveryNumberAndEdge) {
  for (const Role role : kRoles) {
    const std::vector<std::uint64_t> edges = Edges(role);
    std::vector<int> numbers;
    for (int number = 0; number <= kHighestKnownCall + 64; ++number) numbers.push_back(number);
    for (const std::uint32_t number :
         {0x3FFFFFFFU, 0x40000000U, 0x40000029U, 0x7FFFFFFFU, 0x80000000U, 0xFFFFFFFFU})
      numbers.push_back(static_cast<int>(number));
    for (const int number : numbers) {
      for (const std::uint64_t first : edges) {
        for (const std::uint64_t other : {std::uint64_t{0}, std::uint64_t{4}, ~std::uint64_t{0}}) {
          const seccomp_data data{
              number, AUDIT_ARCH_X86_64, 0, {first, first ^ other, other, first, other, first}};
          const seccomp_data swapped{
              number, AUDIT_ARCH_X86_64, 0, {other, first, first, other, first, other}};
          for (const seccomp_data& one : {data, swapped}) {
            ASSERT_EQ(ProgramAnswer(FilterProgram(role), one), TableAnswer(role, one))
                << RoleName(role) << " call " << number << " args " << one.args[0] << ' '
                << one.args[1] << ' ' << one.args[2];
          }
        }
      }
    }
  }
}

TEST(FilterList, b06_ForeignArchitecturesAreKilledWhateverTheNumber) {
  for (const Role role : kRoles) {
    for (const std::uint32_t arch :
         {std::uint32_t{AUDIT_ARCH_I386}, std::uint32_t{AUDIT_ARCH_AARCH64}, 0U}) {
      for (int number = 0; number <= kHighestKnownCall; ++number) {
        const seccomp_data data{number, arch, 0, {}};
        ASSERT_EQ(ProgramAnswer(FilterProgram(role), data), SECCOMP_RET_KILL_PROCESS);
      }
    }
  }
}

TEST(FilterList, EveryLineHasAReasonAndCanBeReached) {
  for (const Role role : kRoles) {
    std::set<int> settled;
    std::set<std::string> seen;
    for (const FilterLine& line : ShippedFilter(role).lines) {
      const std::string where = std::string(RoleName(role)) + ": " + std::string(line.call);
      EXPECT_FALSE(line.reason.empty()) << where;
      EXPECT_FALSE(settled.contains(line.number))
          << where << " is behind a line that always answers";
      EXPECT_TRUE(seen.insert(where + ConditionText(line)).second) << where << " is there twice";
      // The candidate's list names what it refuses, for the reason's sake.
      if (role != Role::kCandidate) {
        EXPECT_NE(line.action, ShippedFilter(role).otherwise) << where;
      }
      if (line.tests[0].mask == 0) settled.insert(line.number);
    }
  }
}

TEST(FilterList, HelpersHaveNoAnswerThatLetsAForbiddenCallGoOnUnnoticed) {
  for (const Role role : {Role::kCollector, Role::kSnapshotter, Role::kImporter, Role::kWarden})
    EXPECT_EQ(FilterOtherwise(role), SECCOMP_RET_TRAP);
}

TEST(FilterList, NumbersEndWhereTheListsKnowledgeEnds) {
  EXPECT_EQ(kHighestKnownCall, __NR_set_mempolicy_home_node);
  EXPECT_EQ(kGapFirst, __NR_rseq + 1);
  EXPECT_EQ(kGapLast, __NR_pidfd_send_signal - 1);
}

TEST(FilterList, GoldenDumpsAreWhatIsCompiled) {
  for (const Role role : kRoles) {
    const std::string path = std::string(BAILIFF_TEST_SOURCE_DIR) + "/policy/golden/" +
                             std::string(RoleName(role)) + ".txt";
    std::ostringstream committed;
    committed << std::ifstream(path).rdbuf();
    EXPECT_EQ(committed.str(), DumpFilter(role))
        << "if the change of the list is meant: tools/bailiff_filter_dump " << RoleName(role)
        << " > " << path;
  }
}

TEST(FilterList, DigestIsOfTheArrayGivenToTheKernel) {
  std::set<std::string> digests;
  for (const Role role : kRoles) {
    const std::span<const sock_filter> program = FilterProgram(role);
    std::string bytes("bailiff.filter.v1\0", 18);
    bytes.append(reinterpret_cast<const char*>(program.data()), program.size_bytes());
    EXPECT_EQ(FilterDigest(role), Hash(bytes));
    digests.insert(FilterDigest(role).hex());
  }
  EXPECT_EQ(digests.size(), std::size(kRoles));
}

}  // namespace
}  // namespace bailiff::policy
