// SPDX-License-Identifier: Apache-2.0
#include "policy/units.h"

#include <gtest/gtest.h>

#include <string>

namespace bailiff::policy {
namespace {

std::string Shown(const Result<std::uint64_t>& value) {
  return value.ok() ? std::to_string(*value) : std::string(Info(value.error().code).name);
}

TEST(Units, bytes_are_powers_of_1024) {
  const std::pair<const char*, const char*> cases[] = {
      {"0", "0"},
      {"256", "256"},
      {"256B", "256"},
      {"1K", "1024"},
      {"1k", "1024"},
      {"1KiB", "1024"},
      {"512M", "536870912"},
      {"512MB", "536870912"},
      {"4G", "4294967296"},
      {"8388607G", "9007198180999168"},
      {"8388608G", "units.text.range"},
      {"9007199254740991", "9007199254740991"},
      {"9007199254740992", "units.text.range"},
      {"99999999999999999999999999", "units.text.range"},
      {"", "units.text.form"},
      {"M", "units.text.form"},
      {"-1", "units.text.form"},
      {"+1", "units.text.form"},
      {" 1", "units.text.form"},
      {"1 M", "units.text.form"},
      {"1.5G", "units.text.form"},
      {"1T", "units.text.form"},
      {"0x10", "units.text.form"},
      {"1MM", "units.text.form"},
      {"1e3", "units.text.form"},
      {"\xd9\xa1", "units.text.form"},
  };
  for (const auto& [text, wanted] : cases) EXPECT_EQ(Shown(ParseBytes(text)), wanted) << text;
}

TEST(Units, times_become_milliseconds) {
  const std::pair<const char*, const char*> cases[] = {
      {"30", "30000"},
      {"30s", "30000"},
      {"250ms", "250"},
      {"2m", "120000"},
      {"1h", "3600000"},
      {"0.5s", "500"},
      {"0.001", "1"},
      {"1.5m", "90000"},
      {"0.0001s", "units.text.form"},
      {"0.5ms", "units.text.form"},
      {"1d", "units.text.form"},
      {"s", "units.text.form"},
      {"-1s", "units.text.form"},
      {"1.s", "units.text.form"},
      {".5s", "units.text.form"},
      {"30 s", "units.text.form"},
      {"9007199254740991h", "units.text.range"},
      {"9007199254740s", "units.text.range"},
      {"9007199254739s", "9007199254739000"},
  };
  for (const auto& [text, wanted] : cases) {
    EXPECT_EQ(Shown(ParseMilliseconds(text)), wanted) << text;
  }
}

TEST(Units, cores_become_thousandths) {
  const std::pair<const char*, const char*> cases[] = {
      {"1", "1000"},
      {"1.0", "1000"},
      {"0.1", "100"},
      {"4", "4000"},
      {"1.25", "1250"},
      {"0.099", "99"},
      {"0", "0"},
      {"1.2345", "units.text.form"},
      {"1c", "units.text.form"},
      {"-1", "units.text.form"},
      {"nan", "units.text.form"},
      {"99999999999999999999", "units.text.range"},
  };
  for (const auto& [text, wanted] : cases) EXPECT_EQ(Shown(ParseCpu(text)), wanted) << text;
}

TEST(Units, counts_are_plain_numbers) {
  EXPECT_EQ(Shown(ParseCount("64")), "64");
  EXPECT_EQ(Shown(ParseCount("64.0")), "units.text.form");
  EXPECT_EQ(Shown(ParseCount("64K")), "units.text.form");
  EXPECT_EQ(Shown(ParseCount("")), "units.text.form");
}

TEST(Units, for_eyes) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(213), "213 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1024), "1 KiB");
  EXPECT_EQ(FormatBytes(1536), "1.5 KiB");
  EXPECT_EQ(FormatBytes(16 << 20), "16 MiB");
  EXPECT_EQ(FormatBytes((1 << 20) - 1), "1 MiB");
  EXPECT_EQ(FormatBytes(4ULL << 30), "4 GiB");
  EXPECT_EQ(FormatBytes(18446744073709551615U), "17179869184 GiB");
  EXPECT_EQ(FormatBytesExact(16 << 20), "16 MiB");
  EXPECT_EQ(FormatBytesExact((16 << 20) - 1), "16777215 B");
  EXPECT_EQ(FormatBytesExact(0), "0 B");
  EXPECT_EQ(FormatMilliseconds(0), "0 s");
  EXPECT_EQ(FormatMilliseconds(41), "0.041 s");
  EXPECT_EQ(FormatMilliseconds(500), "0.5 s");
  EXPECT_EQ(FormatMilliseconds(18'249), "18.2 s");
  EXPECT_EQ(FormatMilliseconds(30'000), "30 s");
  EXPECT_EQ(FormatMilliseconds(59'999), "1 m 0 s");
  EXPECT_EQ(FormatMilliseconds(112'000), "1 m 52 s");
  EXPECT_EQ(FormatMilliseconds(7'380'000), "2 h 3 m");
  EXPECT_EQ(FormatCpu(100), "0.1");
  EXPECT_EQ(FormatCpu(1000), "1.0");
  EXPECT_EQ(FormatCpu(1250), "1.25");
  EXPECT_EQ(FormatCpu(4), "0.004");
}

}  // namespace
}  // namespace bailiff::policy
