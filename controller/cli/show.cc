// SPDX-License-Identifier: Apache-2.0
// Figures as eyes read them.
#include <array>
#include <cstdio>
#include <ctime>

#include "controller/cli/output.h"

namespace bailiff::controller::cli {
namespace {

std::string Format(const char* format, double value, std::string_view unit) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return std::string(text.data()) + std::string(unit);
}

std::string Scaled(std::uint64_t bytes, std::uint64_t step,
                   const std::array<const char*, 5>& units) {
  std::size_t unit = 0;
  double value = static_cast<double>(bytes);
  while (value >= static_cast<double>(step) && unit + 1 < units.size()) {
    value /= static_cast<double>(step);
    ++unit;
  }
  // Rounding must not hide what a number is: 0.6 MiB keeps a digit, 64 MiB has none.
  const bool whole =
      unit == 0 || value >= 100 || value == static_cast<double>(static_cast<std::uint64_t>(value));
  return Format(whole ? "%.0f " : "%.1f ", value, units[unit]);
}

}  // namespace

std::string ShowBytes(std::uint64_t bytes) {
  return Scaled(bytes, 1000, {"B", "kB", "MB", "GB", "TB"});
}

std::string ShowCount(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

std::string ShowMicroseconds(std::uint64_t us) {
  const double seconds = static_cast<double>(us) / 1e6;
  return Format(us < 10'000'000 ? "%.3f" : "%.1f", seconds, " s");
}

std::string ShowAge(std::int64_t ms) {
  const std::int64_t seconds = ms < 0 ? 0 : ms / 1000;
  if (seconds < 120) return std::to_string(seconds) + " s";
  if (seconds < 7200) return std::to_string(seconds / 60) + " min";
  if (seconds < 48 * 3600) return std::to_string(seconds / 3600) + " h";
  return std::to_string(seconds / 86400) + " d";
}

std::string ShortId(std::string_view digest) {
  constexpr std::string_view kPrefix = "sha256:";
  constexpr std::size_t kShown = 12;
  if (digest.starts_with(kPrefix)) return std::string(digest.substr(0, kPrefix.size() + kShown));
  return std::string(digest.substr(0, kShown));
}

std::string ShowTime(std::int64_t unix_ms) {
  const std::time_t seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm utc{};
  std::array<char, 32> text{};
  if (gmtime_r(&seconds, &utc) == nullptr ||
      std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%SZ", &utc) == 0) {
    return std::to_string(unix_ms);
  }
  return text.data();
}

std::string Base64(std::string_view bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t group = 0;
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    for (std::size_t i = 0; i < 3; ++i) {
      group = (group << 8U) | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text += i <= count ? kDigits[(group >> (18U - 6U * i)) & 63U] : '=';
    }
  }
  return text;
}

}  // namespace bailiff::controller::cli
