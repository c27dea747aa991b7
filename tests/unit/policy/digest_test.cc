// SPDX-License-Identifier: Apache-2.0
#include "policy/digest.h"

#include <gtest/gtest.h>

#include <string>

namespace bailiff::policy {
namespace {

TEST(Digests, plain_and_under_a_domain) {
  // sha256sum of "abc", and of "d", one zero byte and "abc".
  EXPECT_EQ(Hash("abc").hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(HashDomain("d", "abc"), Hash(std::string("d\0abc", 5)));
  EXPECT_NE(HashDomain("d", "abc"), HashDomain("da", "bc"));
}

TEST(Digests, sixty_four_lower_case_digits_and_nothing_else) {
  const std::string hex = "0123456789abcdef" + std::string(47, '0') + "f";
  const auto digest = ParseDigest(hex);
  ASSERT_TRUE(digest);
  EXPECT_EQ(digest->hex(), hex);
  for (const char other : {'/', ':', '`', 'g', 'A', 'F', ' ', '\0', '-'}) {
    for (const unsigned at : {0U, 31U, 63U}) {
      std::string wrong = hex;
      wrong[at] = other;
      EXPECT_FALSE(ParseDigest(wrong)) << other << " at " << at;
    }
  }
  for (const unsigned size : {0U, 1U, 63U, 65U, 128U})
    EXPECT_FALSE(ParseDigest(std::string(size, '0'))) << size;
}

TEST(Digests, thirty_two_raw_bytes_and_nothing_else) {
  std::string raw(32, '\xff');
  raw[0] = '\0';
  const auto digest = RawDigest(raw);
  ASSERT_TRUE(digest);
  EXPECT_EQ(digest->hex(), "00" + std::string(62, 'f'));
  for (const unsigned size : {0U, 31U, 33U, 64U})
    EXPECT_FALSE(RawDigest(std::string(size, 'x'))) << size;
}

}  // namespace
}  // namespace bailiff::policy
