// SPDX-License-Identifier: Apache-2.0
#include "policy/image_facts.h"

#include <gtest/gtest.h>

#include "policy/environment.h"

namespace bailiff::policy {
namespace {

const std::map<std::string, std::string> kEffective = EffectiveEnvironment({{"LANG", "C"}});

TEST(ImageFacts, R2_11_an_entry_the_command_does_not_get_rejects_the_run) {
  EXPECT_EQ(ImageRefusal({}, kEffective), std::nullopt);
  EXPECT_EQ(ImageRefusal({{"LANG=C", "HOME=/scratch"}, false, false}, kEffective), std::nullopt);
  const auto other = ImageRefusal({{"LANG=C", "GOPATH=/go"}, false, false}, kEffective);
  ASSERT_TRUE(other.has_value());
  EXPECT_NE(other->find("run it with --env GOPATH=/go"), std::string::npos) << *other;
  // What no recipe may set has no such way out.
  for (const char* fixed : {"HOME=/root", "LD_PRELOAD=/x.so", "9=x", "no-equals"}) {
    const auto refused = ImageRefusal({{fixed}, false, false}, kEffective);
    ASSERT_TRUE(refused.has_value()) << fixed;
    EXPECT_NE(refused->find("use an image without it"), std::string::npos) << *refused;
  }
}

TEST(ImageFacts, R5_13_c11_a_declared_volume_rejects_the_run) {
  const auto refused = ImageRefusal({{}, true, false}, kEffective);
  ASSERT_TRUE(refused.has_value());
  EXPECT_NE(refused->find("volumes"), std::string::npos);
}

TEST(ImageFacts, R5_14_a_health_command_rejects_the_run) {
  const auto refused = ImageRefusal({{}, false, true}, kEffective);
  ASSERT_TRUE(refused.has_value());
  EXPECT_NE(refused->find("health command"), std::string::npos);
}

}  // namespace
}  // namespace bailiff::policy
