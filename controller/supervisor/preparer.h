// SPDX-License-Identifier: Apache-2.0
// The one process of Bailiff that keeps the caller's privilege after the controller has given up
// its own: it answers five fixed requests of the controller and ends. It reads no file of the data
// directory and nothing from outside.
#pragma once

#include <sys/types.h>

#include <string>

#include "controller/supervisor/host_ids.h"
#include "controller/supervisor/preparer_process.h"
#include "ipc/fd.h"

namespace bailiff::controller {

class Preparer {
 public:
  // Forks it. `cgroup_parent`: see cgroup_layout.h. `made`: what is new for this command, which it
  // takes away when it ends without having been asked for one of the last two.
  static Result<Preparer> Start(const HostIdPlan& plan, std::string cgroup_parent, NewEntry made);
  Preparer(Preparer&&) noexcept = default;
  Preparer& operator=(Preparer&&) noexcept = default;
  Preparer(const Preparer&) = delete;
  Preparer& operator=(const Preparer&) = delete;
  ~Preparer();

  // Writes the caller's uid_map and gid_map from outside. The caller has just unshared its user
  // namespace.
  Result<void> WriteMaps();
  // Makes bailiff.<instance> below the cgroup parent, owned by the service account, and moves the
  // controller out of the way (v2). After it this process keeps no capability
  // but, as root, CAP_DAC_OVERRIDE: for the removal and nothing else. The caller does other work
  // between the two, and asks nothing else of this process.
  Result<void> BeginCgroups(const std::string& instance);
  Result<void> AwaitCgroups();
  // Removes what was made where it is empty (EBUSY otherwise).
  Result<void> RemoveCgroups();
  // The same as the process's last work, for which nobody waits but the end of this object.
  void BeginRemoval();
  // The new directory is whole: gives it and all in it to the operator, and it stays.
  Result<void> GiveBack();
  // The new file is whole: gives it its name, as the operator, and makes that durable; it stays.
  // Never in the place of another: kFileExists.
  Result<void> NameFile();

 private:
  Preparer(pid_t pid, ipc::Fd socket, ipc::Fd bell)
      : pid_(pid), socket_(std::move(socket)), bell_(std::move(bell)) {}
  Result<void> Send(char request, const std::string& argument);
  Result<void> Answer();
  void End();
  Result<void> Ask(char request, const std::string& argument);

  pid_t pid_ = -1;
  ipc::Fd socket_;
  ipc::Fd bell_;
};

}  // namespace bailiff::controller
