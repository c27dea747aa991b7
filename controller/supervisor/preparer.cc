// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/preparer.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "controller/supervisor/preparer_process.h"

namespace bailiff::controller {
namespace {

constexpr int kPatienceSeconds = 10;  // for any one answer, and for its end

}  // namespace

Result<Preparer> Preparer::Start(const HostIdPlan& plan, std::string cgroup_parent, NewEntry made) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    return SystemError("socketpair", "preparer");
  ipc::Fd ours(pair[0]);
  const ipc::Fd theirs(pair[1]);
  const timeval patience{kPatienceSeconds, 0};
  if (setsockopt(ours.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0)
    return SystemError("setsockopt", "preparer");
  ipc::Fd bell(eventfd(0, EFD_CLOEXEC));
  if (!bell.valid()) return SystemError("eventfd", "preparer");
  const pid_t controller = getpid();
  const pid_t pid = fork();
  if (pid < 0) return SystemError("fork", "preparer");
  if (pid == 0) {
    ours.reset();
    PreparerWork work{plan, std::move(cgroup_parent), std::move(made), controller};
    RunPreparer(work, theirs.get(), bell.get());
  }
  return Preparer(pid, std::move(ours), std::move(bell));
}

Preparer::~Preparer() { End(); }

void Preparer::End() {
  if (!socket_.valid()) return;
  // It does what it was asked and ends by itself; answers that nobody waits for any more still have
  // their place.
  shutdown(socket_.get(), SHUT_WR);
  // One that was stopped would be waited for without end, by a process whose signals are blocked
  // (d03).
  const ipc::Fd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  pollfd end{pidfd.get(), POLLIN, 0};
  int ready = -1;
  do {
    ready = poll(&end, 1, kPatienceSeconds * 1000);
  } while (ready < 0 && errno == EINTR);
  // We may not signal it (it keeps the caller's id); the kernel ends it when we end.
  int status = 0;
  if (ready == 1) {
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  socket_.reset();
}

Result<void> Preparer::Send(char request, const std::string& argument) {
  const std::string message = request + argument;
  if (send(socket_.get(), message.data(), message.size(), MSG_NOSIGNAL) < 0)
    return SystemError("send", "preparer");
  // What it waits for: the kernel takes the sender on a socket for about to sleep and would put the
  // preparer on this CPU, to run only when we do.
  if (eventfd_write(bell_.get(), 1) != 0) return SystemError("eventfd_write", "preparer");
  return {};
}

Result<void> Preparer::Ask(char request, const std::string& argument) {
  BAILIFF_TRY(Send(request, argument));
  return Answer();
}

Result<void> Preparer::Answer() {
  std::string answer(4096, '\0');
  ssize_t got = -1;
  do {
    got = recv(socket_.get(), answer.data(), answer.size(), 0);
  } while (got < 0 && errno == EINTR);
  if (got < 2) return SystemError("recv", "preparer", got < 0 ? errno : EPIPE);
  answer.resize(static_cast<std::size_t>(got));
  if (answer == "ok") return {};
  Error error;
  error.code = static_cast<ErrorCode>(std::strtoul(answer.c_str() + 2, nullptr, 10));
  if (static_cast<std::size_t>(error.code) >= AllErrors().second) error.code = ErrorCode::kSystem;
  if (const std::size_t space = answer.find(' '); space != std::string::npos) {
    error.system_error = std::atoi(answer.c_str() + space + 1);
  }
  std::string* parts[] = {&error.subject, &error.why, &error.fix};
  std::size_t at = answer.find('\0');
  for (std::string* part : parts) {
    if (at == std::string::npos) break;
    const std::size_t end = answer.find('\0', at + 1);
    *part = answer.substr(at + 1, end == std::string::npos ? end : end - at - 1);
    at = end;
  }
  return error;
}

Result<void> Preparer::WriteMaps() { return Ask('m', ""); }
Result<void> Preparer::BeginCgroups(const std::string& instance) {
  return Send('c', "bailiff." + instance.substr(0, 8));
}
Result<void> Preparer::AwaitCgroups() { return Answer(); }
Result<void> Preparer::RemoveCgroups() { return Ask('r', ""); }
void Preparer::BeginRemoval() {
  // A request that is not taken shows as a cgroup that stays, which the next run takes away.
  static_cast<void>(Send(kLastRequest, "").ok());
}
Result<void> Preparer::NameFile() { return Ask('n', ""); }
Result<void> Preparer::GiveBack() { return Ask('o', ""); }

}  // namespace bailiff::controller
