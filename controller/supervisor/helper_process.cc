// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/helper_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "ipc/bounds.h"

namespace bailiff::controller {

HelperProcess::~HelperProcess() {
  if (!reaped_) End(0);
}

void HelperProcess::DrainDiagnosis() {
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t got = read(child_.diagnosis.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    const std::size_t room = ipc::kMaxDiagnosis - diagnosis_.size();
    diagnosis_.append(buffer.data(), std::min(room, static_cast<std::size_t>(got)));
  }
}

void HelperProcess::Kill() {
  syscall(SYS_pidfd_send_signal, child_.pidfd.get(), SIGKILL, nullptr, 0);
}

bool HelperProcess::End(int milliseconds) {
  pollfd ended{child_.pidfd.get(), POLLIN, 0};
  int ready = 0;
  do {
    ready = poll(&ended, 1, milliseconds);
  } while (ready < 0 && errno == EINTR);
  if (ready != 1) Kill();
  siginfo_t info{};
  int waited = -1;
  do {
    waited = waitid(P_PIDFD, static_cast<id_t>(child_.pidfd.get()), &info, WEXITED | __WALL);
  } while (waited != 0 && errno == EINTR);
  reaped_ = true;
  DrainDiagnosis();
  return ready == 1 && waited == 0 && info.si_code == CLD_EXITED && info.si_status == 0;
}

}  // namespace bailiff::controller
