// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/cgroup_layout.h"

#include <gtest/gtest.h>

namespace bailiff::controller {
namespace {

const char* kHybrid =
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
    "33 31 0:30 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "39 31 0:36 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
const char* kHybridOwn = "8:pids:/\n4:memory:/a/b\n2:cpuacct:/\n1:cpu:/\n0::/\n";
const char* kUnified = "30 20 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";

TEST(CgroupLayout, HybridHostUsesTheThreeHierarchies) {
  const auto layout = ParseCgroups(kHybrid, kHybridOwn, "");
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->version, 1);
  ASSERT_EQ(layout->hierarchies.size(), 3U);
  EXPECT_EQ(layout->hierarchies[0].parent, "/sys/fs/cgroup/memory/a/b");
  EXPECT_EQ(layout->hierarchies[1].parent, "/sys/fs/cgroup/pids");
  EXPECT_EQ(layout->hierarchies[2].controller, "cpu");
  EXPECT_EQ(layout->hierarchies[2].mount_point, "/sys/fs/cgroup/cpu");
}

TEST(CgroupLayout, h02_missing_controller_is_named) {
  const std::string without =
      std::string(kHybrid).replace(std::string(kHybrid).find(",pids"), 5, ",devices");
  const auto layout = ParseCgroups(without, kHybridOwn, "");
  ASSERT_FALSE(layout.ok());
  EXPECT_EQ(layout.error().code, ErrorCode::kCgroupUnavailable);
  EXPECT_NE(layout.error().why.find("pids"), std::string::npos);
}

TEST(CgroupLayout, UnifiedHost) {
  const auto layout = ParseCgroups(kUnified, "0::/user.slice/session-1.scope\n", "");
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->version, 2);
  EXPECT_EQ(layout->hierarchies[0].parent, "/sys/fs/cgroup/user.slice/session-1.scope");
}

TEST(CgroupLayout, AMountThatShowsPartOfTheHierarchy) {
  const auto layout = ParseCgroups("30 20 0:26 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
                                   "0::/docker/x/leaf\n", "");
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->hierarchies[0].parent, "/sys/fs/cgroup/leaf");
}

TEST(CgroupLayout, ParentIsTheSameInEveryHierarchy) {
  for (const char* parent : {"/ci/bailiff", "/sys/fs/cgroup/memory/ci/bailiff"}) {
    const auto layout = ParseCgroups(kHybrid, kHybridOwn, parent);
    ASSERT_TRUE(layout.ok());
    EXPECT_EQ(layout->hierarchies[0].parent, "/sys/fs/cgroup/memory/ci/bailiff");
    EXPECT_EQ(layout->hierarchies[1].parent, "/sys/fs/cgroup/pids/ci/bailiff");
  }
  const auto unified = ParseCgroups(kUnified, "0::/\n", "/sys/fs/cgroup/ci");
  ASSERT_TRUE(unified.ok());
  EXPECT_EQ(unified->hierarchies[0].parent, "/sys/fs/cgroup/ci");
}

TEST(CgroupLayout, ParentThatClimbsIsRefused) {
  for (const char* parent : {"/a/../b", "/./a", "relative"}) {
    const auto layout = ParseCgroups(kUnified, "0::/\n", parent);
    ASSERT_FALSE(layout.ok()) << parent;
    EXPECT_EQ(layout.error().code, ErrorCode::kCgroupParent);
  }
}

TEST(CgroupLayout, NoCgroupsAtAll) {
  const auto layout = ParseCgroups("22 27 0:21 / /proc rw - proc proc rw\n", "", "");
  ASSERT_FALSE(layout.ok());
  EXPECT_EQ(layout.error().code, ErrorCode::kCgroupUnavailable);
}

}  // namespace
}  // namespace bailiff::controller
