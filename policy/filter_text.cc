// SPDX-License-Identifier: Apache-2.0
// Filters as text, for documents and for the dumps a reviewer reads.
#include <cstdio>
#include <cstring>

#include "policy/filter_assemble.h"
#include "policy/filter_table.h"

namespace bailiff::policy {
namespace {

std::string Hex32(std::uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, value < 10 ? "%u" : "0x%x", value);
  return text;
}

std::string TestText(const ArgTest& test) {
  std::string text = "arg" + std::to_string(test.index);
  if (test.mask != ~0U) text += '&' + Hex32(test.mask);
  return text + (test.negated ? "!=" : "=") + Hex32(test.value);
}

std::string LoadText(std::uint32_t offset) {
  if (offset == assemble::kNumberOffset) return "number";
  if (offset == assemble::kArchOffset) return "arch";
  return "arg" + std::to_string((offset - assemble::kArgsOffset) / 8) + ".low";
}

std::string InstructionText(const sock_filter& code, std::size_t at) {
  const auto jump = [at](std::size_t by) { return std::to_string(at + 1 + by); };
  const std::string branches = " then " + jump(code.jt) + " else " + jump(code.jf);
  switch (code.code) {
    case BPF_LD | BPF_W | BPF_ABS:
      return "load " + LoadText(code.k);
    case BPF_ALU | BPF_AND | BPF_K:
      return "and " + Hex32(code.k);
    case BPF_JMP | BPF_JEQ | BPF_K:
      return "if = " + Hex32(code.k) + branches;
    case BPF_JMP | BPF_JGE | BPF_K:
      return "if >= " + Hex32(code.k) + branches;
    case BPF_JMP | BPF_JGT | BPF_K:
      return "if > " + Hex32(code.k) + branches;
    case BPF_JMP | BPF_JA:
      return "jump " + jump(code.k);
    case BPF_RET | BPF_K:
      return "return " + ActionText(code.k);
    default:
      return "?";
  }
}

}  // namespace

std::string ConditionText(const FilterLine& line) {
  std::string text;
  for (const ArgTest& test : line.tests) {
    if (test.mask == 0) continue;
    if (!text.empty()) text += ' ';
    text += TestText(test);
  }
  return text;
}

std::string ActionText(std::uint32_t action) {
  switch (action & SECCOMP_RET_ACTION_FULL) {
    case SECCOMP_RET_ALLOW:
      return "allow";
    case SECCOMP_RET_TRAP:
      return "trap";
    case SECCOMP_RET_KILL_PROCESS:
      return "kill";
    case SECCOMP_RET_ERRNO: {
      const char* name = strerrorname_np(static_cast<int>(action & SECCOMP_RET_DATA));
      return name != nullptr ? name : "errno";
    }
    default:
      return "?";
  }
}

std::string DumpFilter(Role role) {
  const FilterTable& table = ShippedFilter(role);
  std::string text = "role " + std::string(RoleName(role)) + "\n\n";
  for (const FilterLine& line : table.lines) {
    const std::string condition = ConditionText(line);
    text += std::string(line.call) + (condition.empty() ? "" : "(" + condition + ")") + ": " +
            ActionText(line.action) + "; " + std::string(line.reason) + '\n';
  }
  text += "every other number up to " + std::to_string(kHighestKnownCall) + ": " +
          ActionText(table.otherwise) + "\n\n";
  for (std::size_t at = 0; at < table.program.size(); ++at) {
    text += std::to_string(at) + ": " + InstructionText(table.program[at], at) + '\n';
  }
  const Digest digest =
      HashDomain("bailiff.filter.v1", {reinterpret_cast<const char*>(table.program.data()),
                                       table.program.size() * sizeof(sock_filter)});
  return text + "\ndigest " + digest.hex() + '\n';
}

}  // namespace bailiff::policy
