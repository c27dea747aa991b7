// SPDX-License-Identifier: Apache-2.0
#include "policy/units.h"

#include <algorithm>
#include <array>
#include <utility>

#include "policy/value.h"

namespace bailiff::policy {
namespace {

constexpr auto kLargest = static_cast<std::uint64_t>(kMaxInteger);

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr std::array kByteUnits = {
    Unit{"", 1},
    Unit{"B", 1},
    Unit{"K", 1ULL << 10},
    Unit{"KB", 1ULL << 10},
    Unit{"KIB", 1ULL << 10},
    Unit{"M", 1ULL << 20},
    Unit{"MB", 1ULL << 20},
    Unit{"MIB", 1ULL << 20},
    Unit{"G", 1ULL << 30},
    Unit{"GB", 1ULL << 30},
    Unit{"GIB", 1ULL << 30},
};

// Factors in milliseconds.
constexpr std::array kTimeUnits = {
    Unit{"", 1000}, Unit{"MS", 1}, Unit{"S", 1000}, Unit{"M", 60'000}, Unit{"H", 3'600'000},
};

constexpr std::array kShownBytes = {
    Unit{"GiB", 1ULL << 30},
    Unit{"MiB", 1ULL << 20},
    Unit{"KiB", 1ULL << 10},
    Unit{"B", 1},
};

Error Form(std::string_view text, std::string why) {
  return Error{ErrorCode::kUnitsForm, "\"" + std::string(text) + "\"", std::move(why), 0, {}};
}

Error TooLarge(std::string_view text) {
  return Error{ErrorCode::kUnitsRange, "\"" + std::string(text) + "\"", "too large", 0, {}};
}

constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// A decimal number of at most three places, in thousandths, and what follows it.
struct Decimal {
  std::uint64_t thousandths = 0;
  bool whole = true;
  std::string unit;  // upper case
};

Result<Decimal> ReadDecimal(std::string_view text) {
  Decimal decimal;
  std::size_t i = 0;
  std::uint64_t whole = 0;
  for (; i < text.size() && IsDigit(text[i]); ++i) {
    if (whole > kLargest / 10) return TooLarge(text);
    whole = whole * 10 + static_cast<std::uint64_t>(text[i] - '0');
  }
  if (i == 0) return Form(text, "does not begin with a digit");
  std::uint64_t part = 0;
  if (i < text.size() && text[i] == '.') {
    decimal.whole = false;
    const std::size_t point = i++;
    std::uint64_t place = 100;
    for (; i < text.size() && IsDigit(text[i]); ++i) {
      if (place == 0) return Form(text, "has more than three decimals");
      part += place * static_cast<std::uint64_t>(text[i] - '0');
      place /= 10;
    }
    if (i == point + 1) return Form(text, "has no digit after the point");
  }
  if (whole > kLargest) return TooLarge(text);
  decimal.thousandths = whole * 1000 + part;  // below 2^53 * 1000 < 2^63
  for (; i < text.size(); ++i) {
    const char c = text[i];
    decimal.unit += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return decimal;
}

template <class Units>
const Unit* FindUnit(const Units& units, std::string_view name) {
  const auto found =
      std::find_if(units.begin(), units.end(), [&](const Unit& unit) { return unit.name == name; });
  return found == units.end() ? nullptr : &*found;
}

std::string OneDecimal(std::uint64_t tenths) {
  std::string text = std::to_string(tenths / 10);
  if (tenths % 10 != 0) text += "." + std::to_string(tenths % 10);
  return text;
}

}  // namespace

Result<std::uint64_t> ParseBytes(std::string_view text) {
  BAILIFF_TRY_ASSIGN(const Decimal decimal, ReadDecimal(text));
  if (!decimal.whole) return Form(text, "must be a whole number");
  const Unit* unit = FindUnit(kByteUnits, decimal.unit);
  if (unit == nullptr) return Form(text, "the units are K, M and G");
  const std::uint64_t value = decimal.thousandths / 1000;
  if (value > kLargest / unit->factor) return TooLarge(text);
  return value * unit->factor;
}

Result<std::uint64_t> ParseMilliseconds(std::string_view text) {
  BAILIFF_TRY_ASSIGN(const Decimal decimal, ReadDecimal(text));
  const Unit* unit = FindUnit(kTimeUnits, decimal.unit);
  if (unit == nullptr) return Form(text, "the units are ms, s, m and h");
  if (decimal.thousandths / 1000 >= kLargest / unit->factor) return TooLarge(text);
  // Whole and part are multiplied apart: thousandths * factor could wrap.
  const std::uint64_t part = decimal.thousandths % 1000 * unit->factor;
  if (part % 1000 != 0) return Form(text, "has a part of a millisecond");
  return decimal.thousandths / 1000 * unit->factor + part / 1000;
}

Result<std::uint64_t> ParseCpu(std::string_view text) {
  BAILIFF_TRY_ASSIGN(const Decimal decimal, ReadDecimal(text));
  if (!decimal.unit.empty()) return Form(text, "must be a plain number of cores");
  return decimal.thousandths;
}

Result<std::uint64_t> ParseCount(std::string_view text) {
  BAILIFF_TRY_ASSIGN(const Decimal decimal, ReadDecimal(text));
  if (!decimal.whole || !decimal.unit.empty()) return Form(text, "must be a whole number");
  return decimal.thousandths / 1000;
}

std::string FormatBytes(std::uint64_t bytes) {
  for (std::size_t i = 0; i < kShownBytes.size(); ++i) {
    const Unit& unit = kShownBytes[i];
    if (bytes < unit.factor) continue;
    if (unit.factor == 1) break;
    const std::uint64_t part = bytes % unit.factor;
    const std::uint64_t tenths =
        bytes / unit.factor * 10 + (part * 10 + unit.factor / 2) / unit.factor;
    // 1023.96 KiB rounds to 1024.0: that is 1 MiB.
    if (tenths == 10240 && i > 0) return "1 " + std::string(kShownBytes[i - 1].name);
    return OneDecimal(tenths) + " " + std::string(unit.name);
  }
  return std::to_string(bytes) + " B";
}

std::string FormatBytesExact(std::uint64_t bytes) {
  for (const Unit& unit : kShownBytes) {
    if (bytes >= unit.factor && bytes % unit.factor == 0) {
      return std::to_string(bytes / unit.factor) + " " + std::string(unit.name);
    }
  }
  return std::to_string(bytes) + " B";
}

std::string FormatMilliseconds(std::uint64_t milliseconds) {
  if (milliseconds < 1000) {
    std::string part = std::to_string(1000 + milliseconds).substr(1);
    while (part.size() > 1 && part.back() == '0') part.pop_back();
    return milliseconds == 0 ? "0 s" : "0." + part + " s";
  }
  if (milliseconds < 60'000) {
    const std::uint64_t tenths = (milliseconds + 50) / 100;
    if (tenths < 600) return OneDecimal(tenths) + " s";
    return "1 m 0 s";
  }
  const std::uint64_t seconds = milliseconds / 1000;
  if (seconds < 3600) {
    return std::to_string(seconds / 60) + " m " + std::to_string(seconds % 60) + " s";
  }
  return std::to_string(seconds / 3600) + " h " + std::to_string(seconds % 3600 / 60) + " m";
}

std::string FormatCpu(std::uint64_t millis) {
  std::string part = std::to_string(1000 + millis % 1000).substr(1);
  while (part.size() > 1 && part.back() == '0') part.pop_back();
  return std::to_string(millis / 1000) + "." + part;
}

}  // namespace bailiff::policy
