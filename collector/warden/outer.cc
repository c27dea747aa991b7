// SPDX-License-Identifier: Apache-2.0
#include "collector/warden/outer.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "collector/warden/candidate.h"
#include "ipc/bounds.h"
#include "ipc/fault.h"
#include "policy/cell.h"

namespace bailiff::warden {
namespace {

Result<void> Expect(int fd, mode_t type) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return SystemError("fstat", "descriptor " + std::to_string(fd));
  if ((status.st_mode & S_IFMT) != type)
    return SystemError("fstat", "descriptor " + std::to_string(fd), EBADF);
  return {};
}

int LastDescriptor(const Order& order) {
  return policy::kWardenCgroupFd + (order.cgroup_version == 1 ? policy::kWardenCgroupFdsV1 - 1 : 0);
}

}  // namespace

Result<void> CheckDescriptors(const Order& order) {
  BAILIFF_TRY(Expect(0, S_IFCHR));
  BAILIFF_TRY(Expect(1, S_IFCHR));
  BAILIFF_TRY(Expect(ipc::kDiagnosisFd, S_IFIFO));
  BAILIFF_TRY(Expect(ipc::kChannelFd, S_IFSOCK));
  BAILIFF_TRY(Expect(policy::kWardenImageFd, S_IFDIR));
  BAILIFF_TRY(Expect(policy::kWardenSourceFd, S_IFDIR));
  BAILIFF_TRY(Expect(policy::kWardenStdoutFd, S_IFIFO));
  BAILIFF_TRY(Expect(policy::kWardenStderrFd, S_IFIFO));
  const int last = LastDescriptor(order);
  for (int fd = policy::kWardenCgroupFd; fd <= last; ++fd)
    BAILIFF_TRY(Expect(fd, order.cgroup_version == 1 ? S_IFREG : S_IFDIR));
  // The lowest free number is the next one only when none below is missing; none above is left
  // open whatever there was.
  const ipc::Fd next(fcntl(0, F_DUPFD_CLOEXEC, 0));
  if (next.get() != last + 1) return SystemError("fcntl", "descriptor table", EMFILE);
  if (close_range(static_cast<unsigned>(last) + 2, ~0U, 0) != 0)
    return SystemError("close_range", "descriptor table");
  // What came without it would live on in the command.
  if (close_range(ipc::kChannelFd, ~0U, CLOSE_RANGE_CLOEXEC) != 0)
    return SystemError("close_range", "CLOSE_RANGE_CLOEXEC");
  return {};
}

Result<void> RaiseLoopback() {
  const ipc::Fd any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!any.valid()) return SystemError("socket", "AF_INET");
  ifreq request{};
  std::memcpy(request.ifr_name, "lo", sizeof "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (ioctl(any.get(), SIOCSIFFLAGS, &request) != 0) return SystemError("SIOCSIFFLAGS", "lo");
  if (ioctl(any.get(), SIOCGIFFLAGS, &request) != 0) return SystemError("SIOCGIFFLAGS", "lo");
  if ((request.ifr_flags & IFF_UP) == 0) return SystemError("SIOCGIFFLAGS", "lo", ENETDOWN);
  return {};
}

Result<void> SetHostname() {
  if (sethostname(policy::kCellHostname.data(), policy::kCellHostname.size()) != 0)
    return SystemError("sethostname", policy::kCellHostname);
  return {};
}

Result<Candidate> CloneCandidate(const Order& order) {
  BAILIFF_TRY_ASSIGN(ipc::Pipe release, ipc::MakePipe());
  BAILIFF_TRY_ASSIGN(ipc::Pipe errors, ipc::MakePipe());
  if (const int error = BAILIFF_FAULT(WardenClone)) return SystemError("clone3", "cell", error);
  int pidfd = -1;
  clone_args arguments{};
  arguments.flags = CLONE_NEWPID | CLONE_PIDFD;
  arguments.pidfd = reinterpret_cast<std::uintptr_t>(&pidfd);
  arguments.exit_signal = SIGCHLD;
  if (order.cgroup_version == 2) {
    arguments.flags |= CLONE_INTO_CGROUP | CLONE_NEWCGROUP;
    arguments.cgroup = static_cast<std::uint64_t>(policy::kWardenCgroupFd);
  }
  const long pid = syscall(SYS_clone3, &arguments, sizeof arguments);
  if (pid < 0) return SystemError("clone3", "cell");
  if (pid == 0) {
    close(release.write.get());
    close(errors.read.get());
    RunCandidate(order, release.read.get(), errors.write.get());
  }
  // The pipes' ends must be the candidate's alone, or their readers would wait for the warden.
  const auto first = static_cast<unsigned>(policy::kWardenImageFd);
  if (close_range(first, static_cast<unsigned>(LastDescriptor(order)), 0) != 0)
    return SystemError("close_range", "job descriptors");
  return Candidate{static_cast<pid_t>(pid), ipc::Fd(pidfd), std::move(release.write),
                   std::move(errors.read)};
}

}  // namespace bailiff::warden
