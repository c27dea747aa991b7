// SPDX-License-Identifier: Apache-2.0
// The bounds of what a check may ask (R2.13..R2.16, R6.01..R6.06, R6.11, R13.12..R13.15). All are
// inclusive. A default is what `bailiff run` takes when nothing is said: the profile of source 004
// (R16.12..R16.16) inside these ranges.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bailiff::policy {

inline constexpr std::uint64_t kKiB = 1024;
inline constexpr std::uint64_t kMiB = 1024 * kKiB;
inline constexpr std::uint64_t kGiB = 1024 * kMiB;

struct Range {
  std::uint64_t smallest;
  std::uint64_t largest;
  std::uint64_t usual;  // default of the command line
  constexpr bool Holds(std::uint64_t value) const { return value >= smallest && value <= largest; }
};

inline constexpr Range kTimeoutMs{1, 300'000, 30'000};
inline constexpr Range kOutputBytes{256, kMiB, kMiB};                  // stdout and stderr together
inline constexpr Range kMemoryBytes{16 * kMiB, 4 * kGiB, 512 * kMiB};  // memory and memory+swap
inline constexpr Range kScratchBytes{kMiB, kGiB, 64 * kMiB};
inline constexpr Range kPids{1, 256, 64};
inline constexpr Range kCpuMillis{100, 4000, 1000};  // thousandths of a core

inline constexpr std::size_t kMaxArguments = 64;
inline constexpr std::size_t kMaxArgumentBytes = 16 * kKiB;  // sum
inline constexpr std::size_t kMaxEnvironment = 32;
inline constexpr std::size_t kMaxEnvironmentBytes = 16 * kKiB;  // sum of names and values
inline constexpr std::size_t kMaxExecutableBytes = 4095;

// Fixed by the profile, not asked for by a recipe (R6.11).
inline constexpr std::uint64_t kOpenFiles = 128;
inline constexpr std::uint64_t kCoreBytes = 0;

// source_paths/v1
inline constexpr Range kPathCount{1, 256, 32};
inline constexpr Range kObservedBytes{1, 64 * kMiB, 16 * kMiB};
inline constexpr Range kObservationBytes{256, 64 * kKiB, 4 * kKiB};

// What a recipe asks for. Members of CommandRecipe.limits.
struct Limits {
  std::uint64_t timeout_ms = kTimeoutMs.usual;
  std::uint64_t max_output_bytes = kOutputBytes.usual;
  std::uint64_t memory_bytes = kMemoryBytes.usual;
  std::uint64_t scratch_bytes = kScratchBytes.usual;
  std::uint64_t pids = kPids.usual;
  std::uint64_t cpu_millis = kCpuMillis.usual;
  bool operator==(const Limits&) const = default;
};

}  // namespace bailiff::policy
