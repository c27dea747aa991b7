// SPDX-License-Identifier: Apache-2.0
// The words the lists are written in, and one accessor per list.
#pragma once

#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "ipc/bounds.h"
#include "policy/filter.h"

// A call by name: the name for people and the number for the kernel cannot differ.
#define BAILIFF_CALL(name) #name, __NR_##name

namespace bailiff::policy {

inline constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW;
inline constexpr std::uint32_t kTrap = SECCOMP_RET_TRAP;
inline constexpr std::uint32_t kKill = SECCOMP_RET_KILL_PROCESS;
constexpr std::uint32_t Errno(int error) {
  return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error);
}

constexpr ArgTest ArgIs(std::uint8_t index, std::uint32_t value) {
  return {index, false, ~0U, value};
}
constexpr ArgTest ArgIsNot(std::uint8_t index, std::uint32_t value) {
  return {index, true, ~0U, value};
}
// (argument & mask) == value
constexpr ArgTest ArgBits(std::uint8_t index, std::uint32_t mask, std::uint32_t value) {
  return {index, false, mask, value};
}
constexpr ArgTest ArgWithout(std::uint8_t index, std::uint32_t bits) {
  return {index, false, bits, 0};
}

template <std::size_t... kSizes>
constexpr auto Join(const std::array<FilterLine, kSizes>&... parts) {
  std::array<FilterLine, (kSizes + ...)> all{};
  std::size_t at = 0;
  const auto append = [&](const auto& part) {
    for (const FilterLine& line : part) all[at++] = line;
  };
  (append(parts), ...);
  return all;
}

struct FilterTable {
  std::span<const FilterLine> lines;
  std::uint32_t otherwise;
  std::span<const sock_filter> program;
};

const FilterTable& CollectorFilter();
const FilterTable& SnapshotterFilter();
const FilterTable& ImporterFilter();
const FilterTable& WardenFilter();
const FilterTable& CandidateFilter();
// As shipped, whatever this build adds (filter_sanitizer.cc).
const FilterTable& ShippedFilter(Role role);

// Lists for people: the table, then the program instruction by instruction, then its digest. The
// content of policy/golden/<role>.txt.
std::string DumpFilter(Role role);

}  // namespace bailiff::policy
