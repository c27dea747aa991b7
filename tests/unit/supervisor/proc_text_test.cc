// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/proc_text.h"

#include <gtest/gtest.h>

namespace bailiff::controller {
namespace {

TEST(ProcText, StatusCollapsesBlanks) {
  const auto status = ParseStatus("Name:\tsh\nUid:\t1\t2\t3\t4\nGroups:\t \nSeccomp_filters:\t2\n");
  EXPECT_EQ(status.at("Uid"), "1 2 3 4");
  EXPECT_EQ(status.at("Groups"), "");
  EXPECT_EQ(status.at("Seccomp_filters"), "2");
  EXPECT_FALSE(status.contains("Nothing"));
}

TEST(ProcText, StartTicksCountFromTheLastParenthesis) {
  // A process may call itself ") R 1 1 1": only the last parenthesis ends the name.
  EXPECT_EQ(ParseStartTicks("12 (a) R 9) S 1 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 987654 0 0"),
            987654U);
  EXPECT_EQ(ParseStartTicks("12 (sh) S 1 1"), std::nullopt);
  EXPECT_EQ(ParseStartTicks(""), std::nullopt);
}

TEST(ProcText, WrittenIsWhatWasGivenToWrite) {
  EXPECT_EQ(ParseWritten("rchar: 7\nwchar: 4294967296\nsyscr: 1\nwrite_bytes: 9\n"), 4294967296U);
  EXPECT_EQ(ParseWritten("rchar: 7\nwrite_bytes: 9\n"), std::nullopt);
  EXPECT_EQ(ParseWritten("wchar: \n"), std::nullopt);
  EXPECT_EQ(ParseWritten(""), std::nullopt);
}

TEST(ProcText, LimitsKeepSoftAndHardApart) {
  const char* text =
      "Limit                     Soft Limit           Hard Limit           Units     \n"
      "Max core file size        0                    unlimited            bytes     \n"
      "Max open files            128                  128                  files     \n";
  EXPECT_EQ(FindLimit(text, "Max open files"), std::make_pair(rlim_t{128}, rlim_t{128}));
  EXPECT_EQ(FindLimit(text, "Max core file size"), std::make_pair(rlim_t{0}, RLIM_INFINITY));
  EXPECT_EQ(FindLimit(text, "Max open"), std::nullopt);
  EXPECT_EQ(FindLimit(text, "Max stack size"), std::nullopt);
}

TEST(ProcText, EveryLimitOfOursHasItsName) {
  for (const int resource : {RLIMIT_AS, RLIMIT_CORE, RLIMIT_NOFILE, RLIMIT_MEMLOCK, RLIMIT_MSGQUEUE,
                             RLIMIT_RTPRIO, RLIMIT_SIGPENDING}) {
    EXPECT_STRNE(LimitName(resource), "");
  }
}

TEST(ProcText, MountInfoFindsTypeAfterOptionalFields) {
  const auto mounts = ParseMountInfo(
      "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:4 - ext3 /dev/root rw,errors=continue\n"
      "37 35 0:5 / /proc rw,nosuid - proc proc rw\n"
      "broken line\n");
  ASSERT_EQ(mounts.size(), 2U);
  EXPECT_EQ(mounts[0].root, "/mnt1");
  EXPECT_EQ(mounts[0].point, "/mnt2");
  EXPECT_EQ(mounts[0].type, "ext3");
  EXPECT_EQ(mounts[0].super_options, "rw,errors=continue");
  EXPECT_EQ(mounts[1].options, "rw,nosuid");
}

}  // namespace
}  // namespace bailiff::controller
