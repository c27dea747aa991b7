// SPDX-License-Identifier: Apache-2.0
#include "policy/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace bailiff::policy {
namespace {

using ::testing::ElementsAre;
using Family = EnvironmentFamily;

TEST(Environment, R2_10_the_profile_is_fixed) {
  for (const char* name : {"HOME", "TMPDIR", "HOSTNAME"}) {
    EXPECT_EQ(RefusedFamily(name), Family::kProfile) << name;
  }
  EXPECT_THAT(EnvironmentStrings(EffectiveEnvironment({})),
              ElementsAre("HOME=/scratch", "HOSTNAME=bailiff",
                          "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                          "TMPDIR=/scratch"));
  EXPECT_THAT(EnvironmentStrings(
                  EffectiveEnvironment({{"PATH", "/opt/bin"}, {"LANG", "C"}, {"HOME", "/root"}})),
              ElementsAre("HOME=/scratch", "HOSTNAME=bailiff", "LANG=C", "PATH=/opt/bin",
                          "TMPDIR=/scratch"));
}

TEST(Environment, R2_17_names_of_the_loader_are_refused) {
  for (const char* name : {"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "LD_", "LD_BIND_NOW",
                           "GLIBC_TUNABLES", "GCONV_PATH", "LOCPATH", "NLSPATH", "MALLOC_CHECK_",
                           "MALLOC_PERTURB_", "GETCONF_DIR", "HOSTALIASES", "RES_OPTIONS"}) {
    EXPECT_EQ(RefusedFamily(name), Family::kLoader) << name;
  }
}

TEST(Environment, R2_18_names_of_shell_start_are_refused) {
  for (const char* name : {"ENV", "BASH_ENV", "BASH_FUNC_x", "SHELLOPTS", "BASHOPTS", "PS4", "IFS",
                           "CDPATH", "PROMPT_COMMAND", "ZDOTDIR"}) {
    EXPECT_EQ(RefusedFamily(name), Family::kShell) << name;
  }
}

TEST(Environment, R2_19_names_of_container_control_are_refused) {
  for (const char* name : {"DOCKER_HOST", "DOCKER_CONFIG", "DOCKER_TLS_VERIFY", "BUILDKIT_HOST",
                           "COMPOSE_FILE", "CONTAINERD_ADDRESS"}) {
    EXPECT_EQ(RefusedFamily(name), Family::kControl) << name;
  }
}

TEST(Environment, ordinary_names_pass_and_case_matters) {
  for (const char* name : {"PATH", "LANG", "LC_ALL", "LDFLAGS", "ENVIRONMENT", "PS1", "CC", "ld_x",
                           "home", "env", "DOCKER", "MALLOC", "_", "BASH", "IFS2"}) {
    EXPECT_EQ(RefusedFamily(name), std::nullopt) << name;
  }
}

TEST(Environment, a_name_is_letters_digits_and_underscores) {
  for (const char* name : {"A", "_", "a9", "A_B", "__9"}) EXPECT_TRUE(IsEnvironmentName(name));
  for (const char* name : {"", "9A", "A-B", "A B", "A=B", "A.B", "\xc3\xa9", "BASH_FUNC_x%%"}) {
    EXPECT_FALSE(IsEnvironmentName(name)) << name;
  }
}

TEST(Environment, R2_11_an_image_entry_must_be_an_entry_of_the_effective_set) {
  const auto effective = EffectiveEnvironment({{"LANG", "C"}});
  EXPECT_EQ(ForeignImageEntry({}, effective), std::nullopt);
  EXPECT_EQ(ForeignImageEntry(
                {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C"},
                effective),
            std::nullopt);
  EXPECT_EQ(ForeignImageEntry({"LANG=C", "LANG=de"}, effective), "LANG=de");
  EXPECT_EQ(ForeignImageEntry({"SECRET=1"}, effective), "SECRET=1");
  EXPECT_EQ(ForeignImageEntry({"HOME=/root"}, effective), "HOME=/root");
  EXPECT_EQ(ForeignImageEntry({"LANG"}, effective), "LANG");
  EXPECT_EQ(ForeignImageEntry({"A"}, {{"A", "A"}}), "A");
  EXPECT_EQ(ForeignImageEntry({"LANG=C="}, effective), "LANG=C=");
}

}  // namespace
}  // namespace bailiff::policy
