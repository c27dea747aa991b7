// SPDX-License-Identifier: Apache-2.0
#include "collector/session.h"

#include "ipc/bounds.h"
#include "ipc/codec.h"
#include "ipc/interface.h"
#include "policy/role.h"

namespace bailiff::collector {
namespace {

constexpr std::uint32_t kNativeStreams = 1;  // CollectorGo.kind

Error OutOfTurn() { return {ErrorCode::kRoute, "message to the collector", "out of turn", 0, {}}; }

}  // namespace

Result<void> Session::SendHello(std::uint32_t landlock_abi) {
  wire::FromCollector message;
  wire::Hello& hello = *message.mutable_hello();
  hello.set_protocol(ipc::kProtocol);
  hello.set_role(static_cast<std::uint32_t>(policy::Role::kCollector));
  hello.set_build(ipc::kInterface.data(), ipc::kInterface.size());
  hello.set_landlock_abi(landlock_abi);
  return ipc::SendMessage(channel_, message);
}

Result<std::optional<std::uint64_t>> Session::WaitForGo() {
  BAILIFF_TRY_ASSIGN(const auto frame, reader_.Receive(channel_, ipc::FrameReader::Wait::kBlock));
  if (!frame) return std::optional<std::uint64_t>();
  BAILIFF_TRY_ASSIGN(const wire::ToCollector message, ipc::DecodeToCollector(*frame));
  if (message.has_quit()) return std::optional<std::uint64_t>();
  if (message.go().kind() != kNativeStreams || !message.go().has_retained_bound())
    return OutOfTurn();
  return std::optional<std::uint64_t>(message.go().retained_bound());
}

Result<void> Session::SendOutput(Stream stream, std::uint64_t offset, std::string_view data) {
  wire::FromCollector message;
  wire::Output& output = *message.mutable_output();
  output.set_stream(static_cast<std::uint32_t>(stream));
  output.set_offset(offset);
  output.set_data(data.data(), data.size());
  return ipc::SendMessage(channel_, message);
}

Result<void> Session::SendEnd(Stream stream, std::uint64_t seen, bool eof) {
  wire::FromCollector message;
  wire::StreamEnd& end = *message.mutable_stream_end();
  end.set_stream(static_cast<std::uint32_t>(stream));
  end.set_seen(seen);
  end.set_eof(eof);
  return ipc::SendMessage(channel_, message);
}

Result<bool> Session::ToldToQuit(ipc::FrameReader::Wait wait) {
  BAILIFF_TRY_ASSIGN(const auto frame, reader_.Receive(channel_, wait));
  if (!frame) return reader_.closed();
  BAILIFF_TRY_ASSIGN(const wire::ToCollector message, ipc::DecodeToCollector(*frame));
  if (!message.has_quit()) return OutOfTurn();
  return true;
}

}  // namespace bailiff::collector
