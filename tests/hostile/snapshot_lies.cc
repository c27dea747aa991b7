// SPDX-License-Identifier: Apache-2.0
#include "tests/hostile/snapshot_lies.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "ipc/bounds.h"
#include "ipc/codec.h"
#include "ipc/frame.h"
#include "ipc/interface.h"
#include "tests/hostile/mode.h"

namespace bailiff::hostile {
namespace {

void Send(const wire::FromSnapshotter& message) {
  static_cast<void>(ipc::SendMessage(ipc::kChannelFd, message).ok());
}

wire::FromSnapshotter Hello(policy::Role role) {
  wire::FromSnapshotter message;
  message.mutable_hello()->set_protocol(ipc::kProtocol);
  message.mutable_hello()->set_role(static_cast<std::uint32_t>(role));
  message.mutable_hello()->set_build(std::string(ipc::kInterface));
  message.mutable_hello()->set_landlock_abi(1);
  return message;
}

wire::FromSnapshotter Done() {
  wire::FromSnapshotter message;
  message.mutable_done()->set_digest(std::string(32, 'd'));
  message.mutable_done()->set_tree(std::string(32, 't'));
  return message;
}

void AwaitGo() {
  ipc::FrameReader reader;
  static_cast<void>(reader.Receive(ipc::kChannelFd, ipc::FrameReader::Wait::kBlock).ok());
}

void Work(const std::string& mode) {
  wire::FromSnapshotter message;
  if (mode == "work-hello") return Send(Hello(policy::Role::kSnapshotter));
  if (mode == "work-garbage") return SendRaw("garbage");
  if (mode == "work-oversize") return SendRaw(std::string(ipc::kMaxFrame + 1, 'x'));
  if (mode == "work-two-ends") return Send(Done()), Send(Done());
  if (mode == "work-bad-kind") {
    message.mutable_objects()->add_objects()->set_kind(77);
    return Send(message);
  }
  if (mode == "work-many-objects") {
    for (std::size_t i = 0; i <= ipc::kMaxObjectsPerFrame; ++i)
      message.mutable_objects()->add_objects()->set_kind(1);
    return Send(message);
  }
  if (mode == "work-entry") {
    message.mutable_observation()->set_index(0);
    message.mutable_observation()->set_state('d');
    return Send(message);
  }
  if (mode == "work-short-digest") {
    message.mutable_done()->set_digest("short");
    return Send(message);
  }
  if (mode == "work-die") _exit(1);
  if (mode == "work-vanish") _exit(0);
  if (mode == "work-forbidden") syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
}

}  // namespace

void BreakProtocol(policy::Role role, const std::string& mode) {
  const bool breaks =
      mode.starts_with("open-") || mode.starts_with("start-") || mode.starts_with("work-");
  if (!breaks) return;
  const bool has_out = fcntl(ipc::kFirstJobFd + 1, F_GETFD) >= 0;
  Lock(role, mode, has_out);
  if (mode == "start-done") Send(Done());
  if (mode == "start-garbage") SendRaw("garbage");
  if (mode == "start-exit") _exit(0);
  wire::FromSnapshotter hello = Hello(role);
  if (mode == "start-wrong-role")
    hello.mutable_hello()->set_role(static_cast<std::uint32_t>(policy::Role::kCollector));
  if (mode == "start-wrong-build") hello.mutable_hello()->set_build(std::string(32, 'x'));
  Send(hello);
  if (mode == "start-two-hellos") Send(hello);
  AwaitGo();
  Work(mode);
  // What the controller makes of it decides; a job that goes on waiting would only meet its
  // deadline.
  AwaitGo();
  _exit(0);
}

}  // namespace bailiff::hostile
