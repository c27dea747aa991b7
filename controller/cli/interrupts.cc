// SPDX-License-Identifier: Apache-2.0
#include "controller/cli/interrupts.h"

#include <poll.h>
#include <sys/signalfd.h>

#include <csignal>

namespace bailiff::controller::cli {

Result<Interrupts> Interrupts::Block() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  if (sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return SystemError("sigprocmask", "bailiff");
  ipc::Fd fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) return SystemError("signalfd", "bailiff");
  return Interrupts(std::move(fd));
}

bool Interrupts::Pending() const {
  pollfd poller{fd_.get(), POLLIN, 0};
  return poll(&poller, 1, 0) == 1;
}

int Interrupts::ExitStatus() {
  sigset_t pending;
  sigemptyset(&pending);
  if (sigpending(&pending) == 0 && sigismember(&pending, SIGTERM) == 1) return 128 + SIGTERM;
  return 128 + SIGINT;
}

}  // namespace bailiff::controller::cli
