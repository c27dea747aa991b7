// SPDX-License-Identifier: Apache-2.0
// The collector's half of its channel: the only code of it that sees messages. Everything it can
// say is in ipc/collector.proto; no call here can say more.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ipc/frame.h"
#include "ipc/result.h"

namespace bailiff::collector {

enum class Stream : std::uint32_t { kOut = 1, kErr = 2 };

class Session {
 public:
  explicit Session(int channel) : channel_(channel) {}

  Result<void> SendHello(std::uint32_t landlock_abi);
  // Blocks for Go; the retained bound in bytes, both streams together. Empty: the controller went
  // away or said Quit.
  Result<std::optional<std::uint64_t>> WaitForGo();

  // `data`: 1..ipc::kMaxOutputData bytes that continue the stream at `offset`.
  Result<void> SendOutput(Stream stream, std::uint64_t offset, std::string_view data);
  Result<void> SendEnd(Stream stream, std::uint64_t seen, bool eof);

  // Whether the controller said Quit or is gone. kPoll returns at once.
  Result<bool> ToldToQuit(ipc::FrameReader::Wait wait);
  int channel() const { return channel_; }

 private:
  int channel_;
  ipc::FrameReader reader_;
};

}  // namespace bailiff::collector
