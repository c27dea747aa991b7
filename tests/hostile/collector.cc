// SPDX-License-Identifier: Apache-2.0
// A collector that breaks its protocol in every phase, or keeps it perfectly and lies (design,
// section 9).
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <string>

#include "collector/pump.h"
#include "collector/session.h"
#include "ipc/bounds.h"
#include "ipc/codec.h"
#include "ipc/interface.h"
#include "policy/filter.h"
#include "tests/hostile/mode.h"

namespace bailiff::hostile {
namespace {

using collector::Session;
using collector::Stream;

constexpr int kOut = ipc::kFirstJobFd;
constexpr int kErr = ipc::kFirstJobFd + 1;

void Send(const wire::FromCollector& message) {
  static_cast<void>(ipc::SendMessage(ipc::kChannelFd, message).ok());
}

wire::FromCollector Hello() {
  wire::FromCollector message;
  message.mutable_hello()->set_protocol(ipc::kProtocol);
  message.mutable_hello()->set_role(static_cast<std::uint32_t>(policy::Role::kCollector));
  message.mutable_hello()->set_build(std::string(ipc::kInterface));
  message.mutable_hello()->set_landlock_abi(1);
  return message;
}

wire::FromCollector Output(std::uint32_t stream, std::uint64_t offset, std::string data) {
  wire::FromCollector message;
  message.mutable_output()->set_stream(stream);
  message.mutable_output()->set_offset(offset);
  message.mutable_output()->set_data(std::move(data));
  return message;
}

wire::FromCollector End(std::uint32_t stream, std::uint64_t seen, bool eof) {
  wire::FromCollector message;
  message.mutable_stream_end()->set_stream(stream);
  message.mutable_stream_end()->set_seen(seen);
  message.mutable_stream_end()->set_eof(eof);
  return message;
}

// Reads both pipes to their end and forgets what was in them: the candidate must not be held up by
// us.
std::uint64_t Drain(int fd) {
  char buffer[65536];
  std::uint64_t seen = 0;
  for (ssize_t got = 0; (got = read(fd, buffer, sizeof buffer)) > 0;)
    seen += static_cast<std::uint64_t>(got);
  return seen;
}

// What is wrong before or in place of Hello.
bool BreakStart(const std::string& mode) {
  if (mode == "start-output") return Send(Output(1, 0, "x")), true;
  if (mode == "start-end") return Send(End(1, 0, true)), true;
  if (mode == "start-two-hellos") return Send(Hello()), Send(Hello()), false;
  if (mode == "start-exit") _exit(0);
  if (mode == "start-garbage") return SendRaw("\xff\xff\xff\xff\xff"), true;
  if (mode == "start-oversize") return SendRaw(std::string(ipc::kMaxFrame + 1, 'x')), true;
  if (mode == "start-short") return SendRaw(std::string("\0\0\0\5x", 5)), true;
  if (mode == "start-unknown-field")
    return SendRaw(std::string("\0\0\0\4\x0a\x02\x78\x01", 8)), true;
  wire::FromCollector hello = Hello();
  if (mode == "start-wrong-role") hello.mutable_hello()->set_role(2);
  if (mode == "start-wrong-build") hello.mutable_hello()->set_build(std::string(32, 'x'));
  if (mode == "start-wrong-protocol") hello.mutable_hello()->set_protocol(99);
  if (mode == "start-no-build") hello.mutable_hello()->clear_build();
  Send(hello);
  return false;
}

bool BreakWorking(const std::string& mode, std::uint64_t bound) {
  if (mode == "work-hello") return Send(Hello()), true;
  if (mode == "work-gap") return Send(Output(1, 1, "x")), true;
  if (mode == "work-back") return Send(Output(1, 0, "xy")), Send(Output(1, 1, "z")), true;
  if (mode == "work-no-stream") return Send(Output(3, 0, "x")), true;
  if (mode == "work-empty") return Send(Output(1, 0, "")), true;
  if (mode == "work-over-bound") {
    for (std::uint64_t at = 0; at <= bound; at += 32768)
      Send(Output(1, at, std::string(32768, 'x')));
    return true;
  }
  if (mode == "work-end-below") return Send(Output(1, 0, "xyz")), Send(End(1, 1, true)), true;
  if (mode == "work-end-above") return Send(End(1, 7, true)), true;
  if (mode == "work-end-twice") return Send(End(1, 0, true)), Send(End(1, 0, true)), true;
  if (mode == "work-output-after-end") return Send(End(1, 0, true)), Send(Output(1, 0, "x")), true;
  if (mode == "work-output-when-done")
    return Send(End(1, 0, true)), Send(End(2, 0, true)), Send(Output(2, 0, "x")), true;
  if (mode == "work-die") _exit(1);
  if (mode == "work-silent") return true;  // neither reads nor speaks until it is told to end
  if (mode == "work-garbage") return SendRaw("garbage"), true;
  if (mode == "work-flood") {
    for (int i = 0; i < 100000; ++i) SendRaw(std::string("\0\0\0\2\x0a\x00", 6));
    return true;
  }
  if (mode == "work-forbidden")
    return static_cast<void>(syscall(SYS_getdents64, kOut, nullptr, 0)), true;  // h05
  return false;
}

// Lies that keep every rule of the protocol.
bool Lie(const std::string& mode, std::uint64_t bound) {
  if (mode == "lie-early-eof")
    return Send(End(1, 0, true)), Send(End(2, 0, true)), Drain(kOut), Drain(kErr), true;
  if (mode == "lie-invent") {
    Send(Output(1, 0, "PASSED\n"));
    Drain(kOut);
    Drain(kErr);
    return Send(End(1, 7, true)), Send(End(2, 0, true)), true;
  }
  if (mode == "lie-hide-all")
    return Drain(kOut), Drain(kErr), Send(End(1, 0, true)), Send(End(2, 0, true)), true;
  if (mode == "lie-overflow")
    return Send(End(1, bound, false)), Send(End(2, bound, false)), Drain(kOut), Drain(kErr), true;
  if (mode == "lie-cut-short")
    return Drain(kOut), Drain(kErr), Send(End(1, 0, false)), Send(End(2, 0, false)), true;
  return false;
}

int Run() {
  const std::string mode = Mode();
  if (mode == "never-lock") return Send(Hello()), pause(), 0;
  Lock(policy::Role::kCollector, mode, false);
  if (BreakStart(mode)) return 0;
  Session session(ipc::kChannelFd);
  const auto bound = session.WaitForGo();
  if (!bound.ok() || !*bound) return 1;
  if (BreakWorking(mode, **bound) || Lie(mode, **bound)) {
    static_cast<void>(session.ToldToQuit(ipc::FrameReader::Wait::kBlock).ok());
    return 0;
  }
  return collector::Pump(session, kOut, kErr, **bound).ok() ? 0 : 1;
}

}  // namespace
}  // namespace bailiff::hostile

int main() { _exit(bailiff::hostile::Run()); }
