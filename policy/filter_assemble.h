// SPDX-License-Identifier: Apache-2.0
// From a reasoned list to the program the kernel runs. Everything here is constexpr, so the array
// is fixed when the program is built: no generator, no library, nothing to get wrong at run time.
// It is ours rather than libseccomp's because three answers cannot be written there: ENOSYS above a
// number, "not equal" under a mask (TIOCSTI with its high half set must still be refused), and
// first line wins.
//
// Shape: architecture, x32, newer numbers; then a binary decision over runs of numbers with the
// same answer; at its leaves a constant answer or the comparisons of one call.
#pragma once

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>

#include "policy/filter.h"

namespace bailiff::policy {

#if !defined(__x86_64__)
#error "the lists hold x86-64 numbers; a port brings its own"
#endif

inline constexpr std::size_t kMaxProgram = 1024;  // instructions; the kernel's own bound is 4096
inline constexpr std::uint32_t kX32Bit = 0x40000000;
// x86-64 has no calls between these two (rseq is 334, pidfd_send_signal 424).
inline constexpr int kGapFirst = 335;
inline constexpr int kGapLast = 423;

struct Assembly {
  std::array<sock_filter, kMaxProgram> code{};
  std::size_t size = 0;
};

namespace assemble {

constexpr std::uint32_t kArchOffset = 4;  // struct seccomp_data
constexpr std::uint32_t kNumberOffset = 0;
constexpr std::uint32_t kArgsOffset = 16;  // low half first: little endian
constexpr std::size_t kMaxLines = 512;
constexpr std::uint32_t kEnosys = SECCOMP_RET_ERRNO | ENOSYS;

// Calling it is not a constant expression, so a list that breaks a bound does not compile.
inline void Fail() {}

struct Run {
  int first = 0;             // numbers from here to the next run
  int line = -1;             // head of the call's lines, or -1
  std::uint32_t answer = 0;  // when line is -1
};

struct Assembler {
  std::span<const FilterLine> lines;
  std::uint32_t otherwise;
  Assembly out{};
  std::array<int, kHighestKnownCall + 1> head{};
  std::array<int, kHighestKnownCall + 1> tail{};
  std::array<int, kMaxLines> next{};
  std::array<Run, kHighestKnownCall + 2> runs{};
  std::size_t run_count = 0;

  constexpr void Emit(std::uint16_t code, std::uint32_t k, std::size_t jt = 0, std::size_t jf = 0) {
    if (out.size == kMaxProgram || jt > 255 || jf > 255) Fail();
    out.code[out.size++] =
        sock_filter{code, static_cast<std::uint8_t>(jt), static_cast<std::uint8_t>(jf), k};
  }
  constexpr void Return(std::uint32_t answer) { Emit(BPF_RET | BPF_K, answer); }

  static constexpr bool Tests(const ArgTest& test) { return test.mask != 0; }
  static constexpr bool Conditional(const FilterLine& line) {
    return Tests(line.tests[0]) || Tests(line.tests[1]);
  }
  static constexpr std::size_t TestSize(const ArgTest& test) {
    if (!Tests(test)) return 0;
    return test.mask == ~0U ? 2 : 3;
  }
  static constexpr std::size_t LineSize(const FilterLine& line) {
    return TestSize(line.tests[0]) + TestSize(line.tests[1]) + 1;
  }

  constexpr void Link() {
    if (lines.size() > kMaxLines) Fail();
    for (int& at : head) at = -1;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const int number = lines[i].number;
      if (number < 0 || number > kHighestKnownCall) Fail();
      if (number >= kGapFirst && number <= kGapLast) Fail();
      const auto at = static_cast<std::size_t>(number);
      next[i] = -1;
      if (head[at] < 0) {
        head[at] = static_cast<int>(i);
      } else {
        next[static_cast<std::size_t>(tail[at])] = static_cast<int>(i);
      }
      tail[at] = static_cast<int>(i);
    }
  }

  constexpr Run RunOf(int number) const {
    const int line = head[static_cast<std::size_t>(number)];
    if (line >= 0) {
      const FilterLine& first = lines[static_cast<std::size_t>(line)];
      if (Conditional(first)) return {number, line, 0};
      return {number, -1, first.action};
    }
    return {number, -1, number >= kGapFirst && number <= kGapLast ? kEnosys : otherwise};
  }

  constexpr void FindRuns() {
    for (int number = 0; number <= kHighestKnownCall; ++number) {
      const Run run = RunOf(number);
      const bool same = run_count > 0 && run.line < 0 && runs[run_count - 1].line < 0 &&
                        runs[run_count - 1].answer == run.answer;
      if (!same) runs[run_count++] = run;
    }
  }

  constexpr std::size_t LeafSize(const Run& run) const {
    if (run.line < 0) return 1;
    std::size_t size = 0;
    for (int at = run.line; at >= 0; at = next[static_cast<std::size_t>(at)]) {
      const FilterLine& line = lines[static_cast<std::size_t>(at)];
      size += LineSize(line);
      if (!Conditional(line)) return size;
    }
    return size + 1;
  }

  constexpr std::size_t Size(std::size_t from, std::size_t to) const {
    if (to - from == 1) return LeafSize(runs[from]);
    const std::size_t middle = from + (to - from) / 2;
    const std::size_t left = Size(from, middle);
    return 1 + (left > 255 ? 1 : 0) + left + Size(middle, to);
  }

  // Falls through when the test holds, otherwise jumps `past` instructions beyond the test's own.
  constexpr void EmitTest(const ArgTest& test, std::size_t past) {
    if (!Tests(test)) return;
    Emit(BPF_LD | BPF_W | BPF_ABS, kArgsOffset + 8U * test.index);
    if (test.mask != ~0U) Emit(BPF_ALU | BPF_AND | BPF_K, test.mask);
    Emit(BPF_JMP | BPF_JEQ | BPF_K, test.value, test.negated ? past : 0, test.negated ? 0 : past);
  }

  constexpr void EmitLeaf(const Run& run) {
    if (run.line < 0) return Return(run.answer);
    for (int at = run.line; at >= 0; at = next[static_cast<std::size_t>(at)]) {
      const FilterLine& line = lines[static_cast<std::size_t>(at)];
      EmitTest(line.tests[0], TestSize(line.tests[1]) + 1);
      EmitTest(line.tests[1], 1);
      Return(line.action);
      if (!Conditional(line)) return;
    }
    Return(otherwise);
  }

  constexpr void EmitTree(std::size_t from, std::size_t to) {
    if (to - from == 1) return EmitLeaf(runs[from]);
    const std::size_t middle = from + (to - from) / 2;
    const std::size_t left = Size(from, middle);
    const auto pivot = static_cast<std::uint32_t>(runs[middle].first);
    if (left > 255) {
      Emit(BPF_JMP | BPF_JGE | BPF_K, pivot, 0, 1);
      Emit(BPF_JMP | BPF_JA, static_cast<std::uint32_t>(left));
    } else {
      Emit(BPF_JMP | BPF_JGE | BPF_K, pivot, left, 0);
    }
    EmitTree(from, middle);
    EmitTree(middle, to);
  }

  constexpr Assembly Build() {
    Link();
    FindRuns();
    Emit(BPF_LD | BPF_W | BPF_ABS, kArchOffset);
    Emit(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
    Return(SECCOMP_RET_KILL_PROCESS);
    Emit(BPF_LD | BPF_W | BPF_ABS, kNumberOffset);
    Emit(BPF_JMP | BPF_JGE | BPF_K, kX32Bit, 0, 1);
    Return(SECCOMP_RET_KILL_PROCESS);
    Emit(BPF_JMP | BPF_JGT | BPF_K, kHighestKnownCall, 0, 1);
    Return(kEnosys);
    EmitTree(0, run_count);
    return out;
  }
};

}  // namespace assemble

constexpr Assembly Assemble(std::span<const FilterLine> lines, std::uint32_t otherwise) {
  return assemble::Assembler{lines, otherwise}.Build();
}

// The same, cut to its length.
template <const auto& kLines, std::uint32_t kOtherwise>
struct FixedProgram {
  static constexpr Assembly kWhole = Assemble(kLines, kOtherwise);
  static constexpr std::array<sock_filter, kWhole.size> kCode = [] {
    std::array<sock_filter, kWhole.size> code{};
    for (std::size_t i = 0; i < code.size(); ++i) code[i] = kWhole.code[i];
    return code;
  }();
};

}  // namespace bailiff::policy
