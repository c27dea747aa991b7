// SPDX-License-Identifier: Apache-2.0
// SIGINT, SIGTERM and SIGHUP as something to look at, not something that happens (signalfd(2)).
// Children get their mask reset by ipc::Spawn.
#pragma once

#include "ipc/fd.h"
#include "ipc/result.h"

namespace bailiff::controller::cli {

class Interrupts {
 public:
  // Blocks them for the life of the process.
  static Result<Interrupts> Block();

  int fd() const { return fd_.get(); }
  // Whether one has come; it stays there for whoever reads the descriptor.
  bool Pending() const;
  // The exit status of a command interrupted before anything was stored: 143 when SIGTERM is
  // pending, 129 when SIGHUP is, else 130.
  static int ExitStatus();

 private:
  explicit Interrupts(ipc::Fd fd) : fd_(std::move(fd)) {}
  ipc::Fd fd_;
};

}  // namespace bailiff::controller::cli
