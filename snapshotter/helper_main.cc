// SPDX-License-Identifier: Apache-2.0
#include "snapshotter/helper_main.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <new>
#include <vector>

#include "ipc/bounds.h"
#include "policy/lockdown.h"
#include "policy/view.h"

namespace bailiff::snapshotter {
namespace {

constexpr int kFirst = ipc::kFirstJobFd;
constexpr int kSecond = ipc::kFirstJobFd + 1;

int Die(const Error& error) {
  dprintf(ipc::kDiagnosisFd, "%s: %s\n", error.subject.c_str(), error.why.c_str());
  return 1;
}

bool Open(int fd) { return fcntl(fd, F_GETFD) >= 0; }

// 0, 1, 2, the channel, one or two descriptors of the job, and nothing after them.
Result<void> CheckDescriptors() {
  for (int fd = 0; fd <= kFirst; ++fd) {
    if (!Open(fd))
      return Error{ErrorCode::kSystem, "descriptors", std::to_string(fd) + " is not open", 0, {}};
  }
  for (int fd = kSecond + 1; fd < kSecond + 64; ++fd) {
    if (Open(fd))
      return Error{ErrorCode::kSystem, "descriptors", std::to_string(fd) + " is open", 0, {}};
  }
  return {};
}

Result<int> OpenView(const char* path, int flags) {
  const int fd = open(path, flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 && errno == EACCES)
    return policy::MakeFault(policy::SnapshotFault::kUnreadable, ".", "the directory itself",
                             EACCES);
  if (fd < 0) return SystemError("open", path);
  return fd;
}

Result<Inputs> Enter() {
  BAILIFF_TRY(CheckDescriptors());
  struct stat first;
  if (fstat(kFirst, &first) != 0) return SystemError("fstat", "job descriptor");
  Inputs inputs;
  std::vector<policy::ViewMount> mounts;
  const bool archive = S_ISREG(first.st_mode);
  if (archive) {
    inputs.archive = kFirst;
  } else {
    mounts.push_back({kFirst, "in"});
  }
  const bool out = Open(kSecond);
  if (out) mounts.push_back({kSecond, "out"});
  umask(0);  // files are born with their final mode
  BAILIFF_TRY(policy::EnterView(mounts));
  return inputs;
}

Result<void> OpenDirectories(Inputs& inputs) {
  if (inputs.archive < 0) {
    BAILIFF_TRY_ASSIGN(inputs.in, OpenView("/in", O_RDONLY));
  }
  const int out = open("/out", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (out < 0 && errno != ENOENT) return SystemError("open", "/out");
  inputs.out = out;
  return {};
}

Result<JobResult> Work(Session& session, const Order& order, Inputs& inputs, RunOrder run) {
  BAILIFF_TRY(OpenDirectories(inputs));
  try {
    return run(order, inputs, session);
  } catch (const std::bad_alloc&) {
    return policy::MakeFault(policy::SnapshotFault::kMemory, "", "out of memory");
  }
}

}  // namespace

int HelperMain(policy::Role role, RunOrder run) {
  auto inputs = Enter();
  if (!inputs.ok()) return Die(inputs.error());
  std::uint32_t landlock_abi = 0;
  if (const auto locked = policy::LockHelper(role, &landlock_abi); !locked.ok())
    return Die(locked.error());
  Session session(ipc::kChannelFd);
  if (const auto said = session.SayHello(role, landlock_abi); !said.ok()) return Die(said.error());
  const auto order = session.Receive();
  if (!order.ok()) return Die(order.error());
  const auto result = Work(session, *order, *inputs, run);
  if (const auto ended = session.End(result); !ended.ok()) return Die(ended.error());
  return 0;
}

}  // namespace bailiff::snapshotter
