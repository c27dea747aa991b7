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
  // A terminal that goes away, unless the caller (nohup) wants to outlive it.
  struct sigaction hangup {};
  if (sigaction(SIGHUP, nullptr, &hangup) != 0) return SystemError("sigaction", "bailiff");
  if (hangup.sa_handler != SIG_IGN) sigaddset(&set, SIGHUP);
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
  if (sigpending(&pending) != 0) return 128 + SIGINT;
  for (const int signal : {SIGTERM, SIGHUP}) {
    if (sigismember(&pending, signal) == 1) return 128 + signal;
  }
  return 128 + SIGINT;
}

}  // namespace bailiff::controller::cli
