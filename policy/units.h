// SPDX-License-Identifier: Apache-2.0
// Sizes, times and cores as people write them on the command line, and back for eyes. A recipe
// holds plain integers only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ipc/result.h"

namespace bailiff::policy {

// "4096", "64K", "512M", "4G" (powers of 1024; an optional B or iB after the letter; letters in any
// case). Whole numbers, no sign, no space; refuses what does not fit 2^53 - 1 bytes.
Result<std::uint64_t> ParseBytes(std::string_view text);

// "250ms", "30s", "2m", "1h", or "0.5s" with at most three decimals; a bare number is seconds, as
// for timeout(1). Gives milliseconds; a part of one is refused.
Result<std::uint64_t> ParseMilliseconds(std::string_view text);

// "1", "0.5", "1.25": cores, at most three decimals. Gives thousandths of a core.
Result<std::uint64_t> ParseCpu(std::string_view text);

// A plain whole number without sign.
Result<std::uint64_t> ParseCount(std::string_view text);

// "213 B", "16 MiB", "1.5 GiB": at most one decimal, rounded to nearest.
std::string FormatBytes(std::uint64_t bytes);
// Exact, in the largest unit that divides it: "16 MiB", "16777215 B". For messages about bounds.
std::string FormatBytesExact(std::uint64_t bytes);
// "0.041 s", "30 s", "18.2 s" (rounded to nearest), "1 m 52 s", "2 h 3 m" (cut).
std::string FormatMilliseconds(std::uint64_t milliseconds);
// "0.1", "1.0", "2.5", "1.25": exact.
std::string FormatCpu(std::uint64_t millis);

}  // namespace bailiff::policy
