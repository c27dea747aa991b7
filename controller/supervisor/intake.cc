// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/intake.h"

#include "ipc/bounds.h"
#include "ipc/interface.h"

namespace bailiff::controller {
namespace {

Error Refuse(const char* message, const char* why) {
  return {ErrorCode::kDecode, message, why, 0, {}};
}

Result<Stream> AcceptStream(std::uint32_t stream, const char* message) {
  if (stream == 1) return Stream::kOut;
  if (stream == 2) return Stream::kErr;
  return Refuse(message, "names no stream");
}

}  // namespace

Result<HelloValue> Accept(const wire::Hello& message, policy::Role role) {
  if (!message.has_protocol() || message.protocol() != ipc::kProtocol)
    return Refuse("Hello", "another protocol");
  if (!message.has_role() || message.role() != static_cast<std::uint32_t>(role))
    return Refuse("Hello", "another role");
  if (message.build() != ipc::kInterface) return Refuse("Hello", "another build");
  if (!message.has_landlock_abi() || message.landlock_abi() > 1000)
    return Refuse("Hello", "landlock_abi");
  return HelloValue{message.landlock_abi()};
}

Result<OutputValue> Accept(wire::Output& message) {
  BAILIFF_TRY_ASSIGN(const Stream stream, AcceptStream(message.stream(), "Output"));
  if (!message.has_offset()) return Refuse("Output", "no offset");
  if (message.data().empty() || message.data().size() > ipc::kMaxOutputData)
    return Refuse("Output", "data outside its bound");
  return OutputValue{stream, message.offset(), std::move(*message.mutable_data())};
}

Result<StreamEndValue> Accept(const wire::StreamEnd& message) {
  BAILIFF_TRY_ASSIGN(const Stream stream, AcceptStream(message.stream(), "StreamEnd"));
  if (!message.has_seen() || !message.has_eof()) return Refuse("StreamEnd", "a field is missing");
  if (message.seen() > std::uint64_t{1} << 53) return Refuse("StreamEnd", "seen outside its bound");
  return StreamEndValue{stream, message.seen(), message.eof()};
}

Result<std::vector<std::pair<std::string, std::string>>> Accept(const wire::Built& message) {
  if (static_cast<std::size_t>(message.facts_size()) > ipc::kMaxFacts)
    return Refuse("Built", "too many facts");
  std::vector<std::pair<std::string, std::string>> facts;
  for (const wire::Fact& fact : message.facts()) {
    if (fact.name().empty() || fact.name().size() > ipc::kMaxFactName ||
        fact.value().size() > ipc::kMaxFactValue) {
      return Refuse("Built", "a fact outside its bound");
    }
    facts.emplace_back(fact.name(), fact.value());
  }
  return facts;
}

Result<ExecFailedValue> Accept(const wire::ExecFailed& message) {
  const policy::CellStepInfo* step = policy::FindCellStep(message.step());
  if (step == nullptr) return Refuse("ExecFailed", "names no step");
  if (!message.has_error() || message.error() < 0 || message.error() > 4095)
    return Refuse("ExecFailed", "no errno");
  return ExecFailedValue{step->step, message.error()};
}

Result<EndedValue> Accept(const wire::Ended& message) {
  if (!message.has_wait_status() || message.wait_status() < 0 || message.wait_status() > 0xffff)
    return Refuse("Ended", "no wait status");
  if (message.user_us() > std::uint64_t{1} << 53 || message.system_us() > std::uint64_t{1} << 53 ||
      message.max_rss_kib() > std::uint64_t{1} << 53) {
    return Refuse("Ended", "usage outside its bound");
  }
  return EndedValue{message.wait_status(), message.user_us(), message.system_us(),
                    message.max_rss_kib()};
}

}  // namespace bailiff::controller
