// SPDX-License-Identifier: Apache-2.0
// bailiff-collector: reads what one candidate writes. It has nothing but its channel and the read
// ends of two pipes, and it is fully locked before its first frame; what it can say of what it read
// is ipc/collector.proto, FromCollector.
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "collector/pump.h"
#include "collector/session.h"
#include "ipc/bounds.h"
#include "policy/lockdown.h"
#include "policy/view.h"

namespace bailiff::collector {
namespace {

constexpr int kOutFd = ipc::kFirstJobFd;
constexpr int kErrFd = ipc::kFirstJobFd + 1;

// Exactly the descriptors of the job's row; a higher one is closed, a missing one refused.
Result<void> CheckDescriptors() {
  const auto expect = [](int fd, mode_t type) -> Result<void> {
    struct stat status {};
    if (fstat(fd, &status) != 0) return SystemError("fstat", "descriptor " + std::to_string(fd));
    if ((status.st_mode & S_IFMT) == type) return {};
    return SystemError("fstat", "descriptor " + std::to_string(fd), EBADF);
  };
  BAILIFF_TRY(expect(ipc::kChannelFd, S_IFSOCK));
  BAILIFF_TRY(expect(kOutFd, S_IFIFO));
  BAILIFF_TRY(expect(kErrFd, S_IFIFO));
  if (close_range(kErrFd + 1, ~0U, 0) != 0) return SystemError("close_range", "descriptors");
  return {};
}

// The order is the design (section 1): nothing of the candidate is read, and no frame is sent,
// before the last right is gone.
Result<void> Run() {
  BAILIFF_TRY(CheckDescriptors());
  BAILIFF_TRY(policy::EnterView({}));
  std::uint32_t landlock_abi = 0;
  BAILIFF_TRY(policy::LockHelper(policy::Role::kCollector, &landlock_abi));
  static Session session(ipc::kChannelFd);
  BAILIFF_TRY(session.SendHello(landlock_abi));
  BAILIFF_TRY_ASSIGN(const auto bound, session.WaitForGo());
  if (!bound) return {};
  return Pump(session, kOutFd, kErrFd, *bound);
}

}  // namespace
}  // namespace bailiff::collector

int main() {
  const bailiff::Result<void> done = bailiff::collector::Run();
  if (done.ok()) _exit(0);
  // One write: after the lock nothing else of stdio is allowed.
  const std::string line = "collector: " + done.error().subject + ": " + done.error().why + '\n';
  static_cast<void>(bailiff::ipc::WriteAll(bailiff::ipc::kDiagnosisFd, line, "diagnosis"));
  _exit(1);
}
