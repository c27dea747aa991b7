// SPDX-License-Identifier: Apache-2.0
// What the controller reads back from the kernel before anything runs: of a real cell, and of a
// real helper. Each place that may be wrong is wrong once. (Wardens and helpers that make it wrong
// themselves: tests/hostile.)
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "controller/supervisor/witness.h"
#include "ipc/bounds.h"
#include "tests/support/cell_host.h"

namespace bailiff::test {
namespace {

using controller::CellExpectation;
using controller::HelperExpectation;
using controller::ReadCell;
using controller::VerifyHelper;

constexpr std::uint32_t kHelper = 1;  // host ids of the stand-in
constexpr std::uint32_t kCandidate = 2;

using Rows = std::vector<std::pair<std::string, std::string>>;

TEST(Witness, R5_01_the_read_back_of_a_cell_is_every_row_and_no_other) {
  CellUnderTest cell(CellOptions{});
  const auto built = cell.Next();
  ASSERT_TRUE(built && built->has_built()) << cell.Diagnosis();
  CellExpectation expectation;
  expectation.id = kCandidate;
  expectation.cgroup_version = CellHost::Get().cgroup_version();
  expectation.scratch_bytes = CellOptions{}.scratch_bytes;
  const auto rows = ReadCell(cell.candidate_pid(), expectation);
  ASSERT_TRUE(rows.ok()) << rows.error().why;
  const auto own = controller::ReadStatus(getpid());
  ASSERT_TRUE(own.ok());
  const std::string none = "0000000000000000";
  const Rows wanted = {
      {"status.Uid", "2 2 2 2"},
      {"status.Gid", "2 2 2 2"},
      {"status.Groups", ""},
      {"status.CapInh", none},
      {"status.CapPrm", none},
      {"status.CapEff", none},
      {"status.CapBnd", none},
      {"status.CapAmb", none},
      {"status.NoNewPrivs", "1"},
      {"status.Seccomp", "2"},
      {"status.Seccomp_filters",
       std::to_string(std::atoi(own->Get("Seccomp_filters").c_str()) + 1)},
      {"status.Threads", "1"},
      {"status.TracerPid", "0"},
      {"limits.Max open files", "128"},
      {"limits.Max core file size", "0"},
      {"limits.Max stack size", "8388608"},
      {"limits.Max locked memory", "65536"},
      {"limits.Max msgqueue size", "0"},
      {"limits.Max pending signals", "1024"},
      {"limits.Max nice priority", "0"},
      {"limits.Max realtime priority", "0"},
      {"limits.Max cpu time", "unlimited"},
      {"limits.Max file size", "unlimited"},
      {"limits.Max data size", "unlimited"},
      {"limits.Max address space", "unlimited"},
      {"namespace.user", "own"},
      {"namespace.mnt", "own"},
      {"namespace.pid", "own"},
      {"namespace.net", "own"},
      {"namespace.ipc", "own"},
      {"namespace.uts", "own"},
      {"namespace.cgroup", "own"},
      {"mounts", "complete"},
      {"scratch.size", "1024k"},
      {"uid_map", "65532 2 1"},
      {"oom_score_adj", "1000"},
      {"descriptors", "0 1 2 3 4"},
  };
  Rows required;
  for (const policy::Readback& row : *rows) {
    required.emplace_back(row.name, row.required);
    EXPECT_EQ(row.before, row.required) << row.name;
  }
  EXPECT_EQ(required, wanted);
}

TEST(Witness, R5_01_a_cell_that_is_another_is_told_by_its_row) {
  CellUnderTest cell(CellOptions{});
  const auto built = cell.Next();
  ASSERT_TRUE(built && built->has_built()) << cell.Diagnosis();
  const int version = CellHost::Get().cgroup_version();
  const auto wrong = [&](std::uint32_t id, int cgroups, std::uint64_t scratch) {
    CellExpectation expectation;
    expectation.id = id;
    expectation.cgroup_version = cgroups;
    expectation.scratch_bytes = scratch;
    std::vector<std::string> names;
    const auto rows = ReadCell(cell.candidate_pid(), expectation);
    EXPECT_TRUE(rows.ok());
    for (const policy::Readback& row : *rows) {
      if (row.before != row.required) names.push_back(row.name);
    }
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(wrong(kCandidate, version, 1 << 20), Names{});
  EXPECT_EQ(wrong(kHelper, version, 1 << 20), (Names{"status.Uid", "status.Gid", "uid_map"}));
  EXPECT_EQ(wrong(kCandidate, 3 - version, 1 << 20), Names{"mounts"});
  EXPECT_EQ(wrong(kCandidate, version, (1 << 20) + 1), Names{"scratch.size"});
}

TEST(Witness, R5_01_a_cell_that_is_traced_is_told_by_its_row) {
  CellUnderTest cell(CellOptions{});
  const auto built = cell.Next();
  ASSERT_TRUE(built && built->has_built()) << cell.Diagnosis();
  const pid_t pid = cell.candidate_pid();
  ASSERT_EQ(ptrace(PTRACE_SEIZE, pid, nullptr, nullptr), 0);
  CellExpectation expectation;
  expectation.id = kCandidate;
  expectation.cgroup_version = CellHost::Get().cgroup_version();
  expectation.scratch_bytes = CellOptions{}.scratch_bytes;
  const auto rows = ReadCell(pid, expectation);
  ASSERT_TRUE(rows.ok()) << rows.error().why;
  for (const policy::Readback& row : *rows)
    EXPECT_EQ(row.before == row.required, row.name != "status.TracerPid") << row.name;
  ASSERT_EQ(ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr), 0);
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, __WALL), pid);
  ASSERT_EQ(ptrace(PTRACE_DETACH, pid, nullptr, nullptr), 0);
}

// A collector that has locked itself and waits.
class Locked {
 public:
  static constexpr int kNamespaces =
      CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;

  explicit Locked(int namespaces = kNamespaces, std::uint32_t gid = kHelper,
                  std::vector<ipc::ResourceLimit> limits = Limits())
      : out_(ipc::MakePipe().value()), err_(ipc::MakePipe().value()) {
    ipc::SpawnRequest request;
    request.name = "bailiff-collector";
    request.executable = CellHost::Get().collector();
    request.namespaces = static_cast<decltype(request.namespaces)>(namespaces);
    request.uid_map = {{0, kHelper, 1}};
    request.gid_map = {{0, gid, 1}};
    request.limits = std::move(limits);
    request.descriptors = {out_.read.get(), err_.read.get()};
    child_ = ipc::Spawn(request).value();
    ipc::FrameReader reader;
    const auto frame = reader.Receive(child_.channel.get(), ipc::FrameReader::Wait::kBlock);
    EXPECT_TRUE(frame.ok() && frame->has_value()) << "no Hello";
  }
  ~Locked() {
    child_.channel.reset();
    int status = 0;
    waitpid(child_.pid, &status, 0);
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

  static std::vector<ipc::ResourceLimit> Limits() {
    return controller::HelperLimits(std::uint64_t{64} << 20);
  }
  static HelperExpectation Expectation() {
    HelperExpectation expectation;
    expectation.name = "collector";
    expectation.id = kHelper;
    expectation.descriptors = controller::CommonDescriptors();
    expectation.descriptors.push_back({ipc::kFirstJobFd, "pipe:"});
    expectation.descriptors.push_back({ipc::kFirstJobFd + 1, "pipe:"});
    expectation.limits = Limits();
    return expectation;
  }
  // What is wrong with it; "" when nothing is.
  std::string Wrong(const HelperExpectation& expectation = Expectation()) const {
    const auto verified = VerifyHelper(child_.pid, expectation);
    if (verified.ok()) return "";
    EXPECT_EQ(verified.error().code, ErrorCode::kHelperNotLocked) << verified.error().why;
    return verified.error().why;
  }
  pid_t pid() const { return child_.pid; }

 private:
  ipc::Pipe out_;
  ipc::Pipe err_;
  ipc::Child child_;
};

TEST(Witness, a_helper_as_it_has_to_be_and_each_expectation_it_does_not_meet) {
  const Locked helper;
  ASSERT_EQ(helper.Wrong(), "");
  HelperExpectation other = Locked::Expectation();
  other.id = kCandidate;
  EXPECT_EQ(helper.Wrong(other), "Uid is 1 1 1 1 where 2 2 2 2 was asked for");
  other = Locked::Expectation();
  other.has_in = true;
  EXPECT_EQ(helper.Wrong(other).substr(0, 20), "mount /in is absent ");
  other = Locked::Expectation();
  other.descriptors.pop_back();
  EXPECT_EQ(helper.Wrong(other).substr(0, 21), "descriptor 5 is pipe:");
  other = Locked::Expectation();
  other.descriptors.push_back({6, "pipe:"});
  EXPECT_EQ(helper.Wrong(other), "descriptor 6 is closed where pipe: was asked for");
  other = Locked::Expectation();
  other.descriptors.back().target = "socket:";
  EXPECT_EQ(helper.Wrong(other).substr(0, 21), "descriptor 5 is pipe:");
  for (const ipc::ResourceLimit& limit : Locked::Limits()) {
    if (limit.value == 0 || limit.value == RLIM_INFINITY) continue;
    other = Locked::Expectation();
    other.limits = {{limit.resource, limit.value - 1}};
    EXPECT_NE(helper.Wrong(other).find(" is " + std::to_string(limit.value) + " where "),
              std::string::npos)
        << limit.resource;
    other.limits = {{limit.resource, limit.value + 1}};
    EXPECT_EQ(helper.Wrong(other), "") << "a lower one is as good";
  }
}

TEST(Witness, a_helper_of_another_group_is_refused) {
  EXPECT_EQ(Locked(Locked::kNamespaces, 3).Wrong(), "Gid is 3 3 3 3 where 1 1 1 1 was asked for");
}

TEST(Witness, a_helper_that_shares_a_namespace_with_us_is_refused) {
  for (const auto& [flag, name] :
       {std::pair{CLONE_NEWIPC, "ipc"}, {CLONE_NEWUTS, "uts"}, {CLONE_NEWCGROUP, "cgroup"}}) {
    const Locked helper(Locked::kNamespaces & ~flag);
    EXPECT_EQ(helper.Wrong(), "namespace " + std::string(name) +
                                  " is the controller's where one of its own was asked for");
  }
}

TEST(Witness, a_helper_that_is_traced_is_refused) {
  const Locked helper;
  ASSERT_EQ(ptrace(PTRACE_SEIZE, helper.pid(), nullptr, nullptr), 0);
  EXPECT_EQ(helper.Wrong(), "TracerPid is " + std::to_string(getpid()) + " where 0 was asked for");
  ASSERT_EQ(ptrace(PTRACE_INTERRUPT, helper.pid(), nullptr, nullptr), 0);
  int status = 0;
  ASSERT_EQ(waitpid(helper.pid(), &status, 0), helper.pid());
  ASSERT_EQ(ptrace(PTRACE_DETACH, helper.pid(), nullptr, nullptr), 0);
  EXPECT_EQ(helper.Wrong(), "");
}

TEST(Witness, the_limits_of_every_helper_are_these) {
  Rows found;
  for (const ipc::ResourceLimit& limit : controller::HelperLimits(4096))
    found.emplace_back(std::to_string(limit.resource), std::to_string(limit.value));
  const auto row = [](int resource, std::uint64_t value) {
    return std::pair{std::to_string(resource), std::to_string(value)};
  };
#ifdef BAILIFF_SANITIZE
  const std::uint64_t memory = RLIM_INFINITY;
#else
  const std::uint64_t memory = 4096;
#endif
  EXPECT_EQ(found, (Rows{row(RLIMIT_AS, memory), row(RLIMIT_CORE, 0), row(RLIMIT_NOFILE, 64),
                         row(RLIMIT_MEMLOCK, 0), row(RLIMIT_MSGQUEUE, 0), row(RLIMIT_RTPRIO, 0),
                         row(RLIMIT_SIGPENDING, 64)}));
}

}  // namespace
}  // namespace bailiff::test
