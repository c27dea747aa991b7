// SPDX-License-Identifier: Apache-2.0
// bailiff-warden: pid 1 of the outer pid namespace of one attempt. Takes one order, builds one
// cell, is the candidate's parent, reports the raw wait status. It reads nothing a candidate could
// choose: its inputs are the controller's frames, one pipe that only its own code writes before
// exec, and wait4. When it ends, for whatever reason, the kernel kills everything in the cell.
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>

#include "collector/warden/candidate.h"
#include "collector/warden/outer.h"
#include "ipc/codec.h"
#include "ipc/frame.h"
#include "policy/cell.h"
#include "policy/lockdown.h"

namespace bailiff::warden {
namespace {

using policy::CellStep;

// What an order may hold: the profile's bounds (contracts, section 2) plus the profile's own
// environment.
constexpr std::size_t kMaxArgv = 65;
constexpr std::size_t kMaxEnvironment = 36;
constexpr std::size_t kMaxText = std::size_t{24} << 10;

// One write: after the lock nothing else of stdio is allowed. A reader who is gone is no reason to
// do anything else.
void Diagnose(const Error& error) {
  const std::string line = "warden: " + error.subject + ": " + error.why + '\n';
  static_cast<void>(ipc::WriteAll(ipc::kDiagnosisFd, line, "diagnosis"));
}

[[noreturn]] void Die(const Error& error) {
  Diagnose(error);
  _exit(1);
}

void Send(const wire::FromWarden& message) {
  if (const Result<void> sent = ipc::SendMessage(ipc::kChannelFd, message); !sent.ok())
    Die(sent.error());
}

[[noreturn]] void EndWithout(CellStep step, int error) {
  wire::FromWarden message;
  message.mutable_exec_failed()->set_step(static_cast<std::uint32_t>(step));
  message.mutable_exec_failed()->set_error(error);
  Send(message);
  _exit(0);
}

[[noreturn]] void Fail(CellStep step, const Error& error) {
  Diagnose(error);
  EndWithout(step, error.system_error);
}

bool TakeStrings(const google::protobuf::RepeatedPtrField<std::string>& from, std::size_t most,
                 std::vector<std::string>& to) {
  if (static_cast<std::size_t>(from.size()) > most) return false;
  std::size_t sum = 0;
  for (const std::string& text : from) {
    sum += text.size();
    if (sum > kMaxText || text.find('\0') != std::string::npos) return false;
    to.push_back(text);
  }
  return true;
}

// The controller is trusted and has checked all this; a warden that is told nonsense all the same
// must not build anything.
bool TakeOrder(const wire::CellOrder& wire, Order& order) {
  order.candidate_id = wire.candidate_id();
  order.shown_id = wire.shown_id();
  order.cgroup_version = wire.cgroup_version();
  order.scratch_bytes = wire.scratch_bytes();
  order.scratch_inodes = wire.scratch_inodes();
  order.executable = wire.executable();
  return (order.candidate_id == 0 || order.candidate_id == policy::kCellId) &&
         order.shown_id == policy::kCellId &&
         (order.cgroup_version == 1 || order.cgroup_version == 2) && order.scratch_bytes > 0 &&
         order.scratch_inodes > 0 && wire.nofile() == policy::kCellLimits[0].value &&
         order.executable.starts_with('/') && order.executable.size() <= ipc::kMaxPath &&
         order.executable.find('\0') == std::string::npos && wire.argv_size() > 0 &&
         TakeStrings(wire.argv(), kMaxArgv, order.argv) &&
         TakeStrings(wire.environment(), kMaxEnvironment, order.environment);
}

Order ReceiveOrder(ipc::FrameReader& reader) {
  Result<std::optional<std::string_view>> frame =
      reader.Receive(ipc::kChannelFd, ipc::FrameReader::Wait::kBlock);
  if (!frame.ok()) Die(frame.error());
  if (!frame->has_value()) _exit(0);  // the controller is gone: nothing was built
  const Result<wire::ToWarden> message = ipc::DecodeToWarden(**frame);
  if (!message.ok()) Die(message.error());
  Order order;
  if (!message->has_order() || !TakeOrder(message->order(), order))
    EndWithout(CellStep::kOrder, EINVAL);
  return order;
}

// From the clone on: waits for whichever comes first, the controller, the candidate's word, or its
// end. One object, because what a word means depends on what was said before.
class Watch {
 public:
  Watch(Candidate candidate, ipc::FrameReader& reader)
      : candidate_(std::move(candidate)), reader_(reader) {}

  [[noreturn]] void Run() {
    for (;;) {
      std::array<pollfd, 3> waits = {pollfd{ipc::kChannelFd, POLLIN, 0},
                                     pollfd{candidate_.errors.get(), POLLIN, 0},
                                     pollfd{candidate_.pidfd.get(), POLLIN, 0}};
      if (poll(waits.data(), waits.size(), -1) < 0) {
        if (errno == EINTR) continue;
        Die(SystemError("poll", "candidate"));
      }
      if (waits[0].revents != 0) OnController();
      // The word before the end: a candidate that reports and dies has done both.
      if (waits[1].revents != 0) OnReport();
      if (waits[2].revents != 0) OnEnd();
    }
  }

 private:
  enum class Phase { kBuilding, kReady, kReleased, kRunning };

  void OnController() {
    const Result<std::optional<std::string_view>> frame =
        reader_.Receive(ipc::kChannelFd, ipc::FrameReader::Wait::kPoll);
    if (!frame.ok()) Die(frame.error());
    if (reader_.closed()) _exit(0);
    if (!frame->has_value()) return;
    const Result<wire::ToWarden> message = ipc::DecodeToWarden(**frame);
    if (!message.ok()) Die(message.error());
    switch (message->body_case()) {
      case wire::ToWarden::kRelease:
        if (phase_ != Phase::kReady) break;
        phase_ = Phase::kReleased;
        if (write(candidate_.release.get(), "g", 1) != 1) Die(SystemError("write", "release"));
        candidate_.release.reset();
        return;
      case wire::ToWarden::kKill:
        if (phase_ == Phase::kBuilding || phase_ == Phase::kReady)
          EndWithout(CellStep::kDied, ECANCELED);
        // Its raw status still goes to the controller.
        if (syscall(SYS_pidfd_send_signal, candidate_.pidfd.get(), SIGKILL, nullptr, 0) != 0 &&
            errno != ESRCH)
          Die(SystemError("pidfd_send_signal", "candidate"));
        return;
      case wire::ToWarden::kOrder:
      case wire::ToWarden::BODY_NOT_SET:
        break;
    }
    Die(Error{ErrorCode::kRoute, "message to the warden", "out of turn", 0, {}});
  }

  void OnReport() {
    Report report;
    const ssize_t got = read(candidate_.errors.get(), &report, sizeof report);
    if (got < 0) {
      if (errno == EINTR) return;
      Die(SystemError("read", "error pipe"));
    }
    if (got == 0) {
      if (phase_ != Phase::kReleased) EndWithout(CellStep::kDied, 0);
      phase_ = Phase::kRunning;
      candidate_.errors.reset();
      wire::FromWarden started;
      started.mutable_started();
      Send(started);
      return;
    }
    if (got != sizeof report) Die(SystemError("read", "error pipe", EPROTO));
    if (report.step != 0) EndWithout(static_cast<CellStep>(report.step), report.error);
    phase_ = Phase::kReady;
    wire::FromWarden built;
    const auto fact = [&built](std::string_view name, std::string_view value) {
      wire::Fact& added = *built.mutable_built()->add_facts();
      added.set_name(name.data(), name.size());
      added.set_value(value.data(), value.size());
    };
    // True because each step failing would have ended the warden above.
    fact("hostname", policy::kCellHostname);
    fact("loopback", "up");
    fact("namespace_bounds", "0");
    Send(built);
  }

  void OnEnd() {
    int status = 0;
    rusage used{};
    pid_t got = -1;
    do {
      got = wait4(candidate_.pid, &status, 0, &used);
    } while (got < 0 && errno == EINTR);
    if (got != candidate_.pid) Die(SystemError("wait4", "candidate"));
    // A stop is not an end, whoever asked to be told of it (c02).
    if (!WIFEXITED(status) && !WIFSIGNALED(status)) return;
    if (phase_ != Phase::kRunning) {
      // Its end of the pipe closed with it: whatever it said is still there.
      OnReport();
      if (phase_ != Phase::kRunning) EndWithout(CellStep::kDied, 0);
    }
    const auto microseconds = [](const timeval& time) {
      return static_cast<std::uint64_t>(time.tv_sec) * 1000000 +
             static_cast<std::uint64_t>(time.tv_usec);
    };
    wire::FromWarden message;
    wire::Ended& ended = *message.mutable_ended();
    ended.set_wait_status(status);
    ended.set_user_us(microseconds(used.ru_utime));
    ended.set_system_us(microseconds(used.ru_stime));
    ended.set_max_rss_kib(static_cast<std::uint64_t>(used.ru_maxrss));
    Send(message);
    _exit(0);
  }

  Candidate candidate_;
  ipc::FrameReader& reader_;
  Phase phase_ = Phase::kBuilding;
};

[[noreturn]] void Main() {
  static ipc::FrameReader reader;
  const Order order = ReceiveOrder(reader);
  if (const Result<void> done = CheckDescriptors(order); !done.ok())
    Fail(CellStep::kOrder, done.error());
  if (const Result<void> done = RaiseLoopback(); !done.ok())
    Fail(CellStep::kLoopback, done.error());
  if (const Result<void> done = SetHostname(); !done.ok()) Fail(CellStep::kHostname, done.error());
  Result<Candidate> candidate = CloneCandidate(order);
  if (!candidate.ok()) Fail(CellStep::kClone, candidate.error());
  if (const Result<void> done = policy::LockWarden(); !done.ok())
    Fail(CellStep::kLockdown, done.error());
  Watch(std::move(candidate).value(), reader).Run();
}

}  // namespace
}  // namespace bailiff::warden

int main() { bailiff::warden::Main(); }
