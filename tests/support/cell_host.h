// SPDX-License-Identifier: Apache-2.0
// A stand-in for the controller, for tests of the warden and the collector alone: as root it makes
// cgroups and a small image, goes into a user and mount namespace with a tiny root of its own, and
// spawns the real programs with host ids of the reserved range. Needs root and busybox-static; what
// is missing fails the test.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/codec.h"
#include "ipc/fd.h"
#include "ipc/frame.h"
#include "ipc/spawn.h"

namespace bailiff::test {

// Enters the stand-in once per process (a GoogleTest environment). Dies loudly when it cannot.
class CellHost {
 public:
  static CellHost& Get();
  void Enter();
  void Leave();  // removes cgroups and the working directory

  int warden() const { return warden_.get(); }
  int collector() const { return collector_.get(); }
  int cgroup_version() const { return static_cast<int>(version_); }

  // Fresh cgroups for one cell, with small limits; descriptors as the warden wants them. `name` is
  // removed again by RemoveCgroups.
  std::vector<ipc::Fd> MakeCgroups(const std::string& name);
  bool RemoveCgroups(const std::string& name);
  // "memory" or "pids": the cell's directory of that controller.
  std::string CgroupOf(const std::string& name, const std::string& controller) const;

  // Detached clones, as the controller passes them.
  ipc::Fd CloneImage(const char* image = "/data/image");
  ipc::Fd CloneSource();

 private:
  ipc::Fd warden_;
  ipc::Fd collector_;
  unsigned version_ = 0;
  std::vector<std::string> parents_;
  std::string work_;
  pid_t janitor_ = -1;
  ipc::Fd janitor_channel_;
};

struct CellOptions {
  std::vector<std::string> argv = {"/bin/true"};
  std::vector<std::string> environment = {"HOME=/scratch", "TMPDIR=/scratch", "HOSTNAME=bailiff",
                                          "PATH=/usr/bin:/bin"};
  std::string executable;  // argv[0] when empty
  std::string image = "/data/image";
  std::uint64_t scratch_bytes = 1 << 20;
  std::uint64_t scratch_inodes = 64;
  bool one_id = false;
};

// One warden and its cell, driven frame by frame.
class CellUnderTest {
 public:
  explicit CellUnderTest(CellOptions options);
  ~CellUnderTest();

  // The next frame; empty when the warden closed its channel.
  std::optional<wire::FromWarden> Next();
  void Send(const wire::ToWarden& message);
  void Release();
  void Kill();
  // Next, Release and Next: Built, then Started.
  bool Start();
  // Reads both streams to their end, then the next frame.
  std::optional<wire::FromWarden> Finish();
  // Everything at once: raw wait status, or nothing when it was not an Ended.
  std::optional<int> Run();

  void CloseChannel() { child_.channel.reset(); }
  pid_t warden_pid() const { return child_.pid; }
  pid_t candidate_pid() const;  // as this process sees it; 0: none
  // The status the warden itself ended with.
  int WaitWarden();
  std::string Diagnosis();
  const std::string& out() const { return out_; }
  const std::string& err() const { return err_; }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  ipc::Child child_;
  ipc::Fd out_read_;
  ipc::Fd err_read_;
  ipc::FrameReader reader_;
  std::string out_;
  std::string err_;
  bool waited_ = false;
};

}  // namespace bailiff::test
