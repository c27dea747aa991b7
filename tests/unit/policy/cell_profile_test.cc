// SPDX-License-Identifier: Apache-2.0
// The profile of a cell, written down a second time: the warden builds by the table, the controller
// compares with it, and so a row that is lost or lets more through would be missed by both.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "policy/cell.h"

namespace bailiff::policy {
namespace {

std::string Line(const CellMount& row) {
  std::string line(row.point);
  line += (row.flags & kMountReadOnly) != 0 ? " ro" : " rw";
  if ((row.flags & kMountNoSuid) != 0) line += ",nosuid";
  if ((row.flags & kMountNoDev) != 0) line += ",nodev";
  if ((row.flags & kMountNoExec) != 0) line += ",noexec";
  if (!row.type.empty()) line += " type " + std::string(row.type);
  if (!row.root.empty()) line += " root " + std::string(row.root);
  constexpr std::array kWhen = {"", " on v1", " on v2", " if the host has it"};
  return line + kWhen.at(static_cast<std::size_t>(row.when));
}

TEST(CellProfile, R12_16_R12_27_R12_28_R12_32_b14_every_mount) {
  const std::vector<std::string> wanted = {
      "/ ro,nosuid,nodev",
      "/source ro,nosuid,nodev",
      "/proc rw,nosuid,nodev,noexec type proc root /",
      "/proc/sys ro,nosuid,nodev,noexec type proc root /sys",
      "/proc/bus ro,nosuid,nodev,noexec type proc root /bus if the host has it",
      "/proc/fs ro,nosuid,nodev,noexec type proc root /fs if the host has it",
      "/proc/irq ro,nosuid,nodev,noexec type proc root /irq if the host has it",
      "/proc/sysrq-trigger ro,nosuid,nodev,noexec type proc root /sysrq-trigger if the host has it",
      "/proc/acpi ro,nosuid,nodev,noexec type tmpfs root / if the host has it",
      "/proc/asound ro,nosuid,nodev,noexec type tmpfs root / if the host has it",
      "/proc/scsi ro,nosuid,nodev,noexec type tmpfs root / if the host has it",
      "/proc/interrupts ro,nosuid,noexec root /null if the host has it",
      "/proc/kcore ro,nosuid,noexec root /null if the host has it",
      "/proc/keys ro,nosuid,noexec root /null if the host has it",
      "/proc/latency_stats ro,nosuid,noexec root /null if the host has it",
      "/proc/sched_debug ro,nosuid,noexec root /null if the host has it",
      "/proc/timer_list ro,nosuid,noexec root /null if the host has it",
      "/proc/timer_stats ro,nosuid,noexec root /null if the host has it",
      "/sys ro,nosuid,nodev,noexec type tmpfs root /",
      "/sys/fs/cgroup ro,nosuid,nodev,noexec type cgroup2 on v2",
      "/sys/fs/cgroup/memory ro,nosuid,nodev,noexec type cgroup on v1",
      "/sys/fs/cgroup/pids ro,nosuid,nodev,noexec type cgroup on v1",
      "/sys/fs/cgroup/cpu ro,nosuid,nodev,noexec type cgroup on v1",
      "/dev ro,nosuid,nodev,noexec type tmpfs root /",
      "/dev/null ro,nosuid,noexec root /null",
      "/dev/zero ro,nosuid,noexec root /zero",
      "/dev/full ro,nosuid,noexec root /full",
      "/dev/random ro,nosuid,noexec root /random",
      "/dev/urandom ro,nosuid,noexec root /urandom",
      "/dev/tty ro,nosuid,noexec root /tty",
      "/scratch rw,nosuid,nodev type tmpfs root /",
  };
  std::vector<std::string> found;
  for (const CellMount& row : kCellMounts) found.push_back(Line(row));
  EXPECT_EQ(found, wanted);
}

TEST(CellProfile, R2_10_R5_02_R5_10_what_else_is_fixed) {
  EXPECT_EQ(kCellId, 65532U);
  EXPECT_EQ(kCellHostname, "bailiff");
  EXPECT_EQ(kCellUmask, 022U);
  EXPECT_EQ(kStreamMode, 0622U);
  EXPECT_EQ(kCellOomScore, 1000);
  const std::vector<std::string> bounds(kCellNamespaceBounds.begin(), kCellNamespaceBounds.end());
  EXPECT_EQ(bounds, (std::vector<std::string>{"max_cgroup_namespaces", "max_ipc_namespaces",
                                              "max_mnt_namespaces", "max_net_namespaces",
                                              "max_pid_namespaces", "max_time_namespaces",
                                              "max_user_namespaces", "max_uts_namespaces"}));
  std::vector<std::string> links;
  for (const CellLink& link : kCellLinks)
    links.push_back(link.path + std::string(" ") + link.target);
  EXPECT_EQ(links,
            (std::vector<std::string>{"dev/fd /proc/self/fd", "dev/stdin /proc/self/fd/0",
                                      "dev/stdout /proc/self/fd/1", "dev/stderr /proc/self/fd/2"}));
}

// A failure of the set-up is never the command's: no step may end as anything but unavailable.
TEST(CellProfile, every_step_has_a_reason_that_is_no_verdict_on_the_command) {
  for (auto step = static_cast<std::uint32_t>(kFirstCellStep);
       step <= static_cast<std::uint32_t>(kLastCellStep); ++step) {
    const CellStepInfo* const info = FindCellStep(step);
    ASSERT_NE(info, nullptr) << step;
    EXPECT_TRUE(info->reason == "configuration_rejected" || info->reason == "runtime_unavailable" ||
                info->reason == "limit_not_enforceable" || info->reason == "image_unavailable" ||
                info->reason == "proc_masked" || info->reason == "executable_unavailable")
        << info->name << ' ' << info->reason;
  }
  EXPECT_EQ(FindCellStep(0), nullptr);
  EXPECT_EQ(FindCellStep(static_cast<std::uint32_t>(kLastCellStep) + 1), nullptr);
}

}  // namespace
}  // namespace bailiff::policy
