// SPDX-License-Identifier: Apache-2.0
// One packet of a SOCK_SEQPACKET pair is one frame: a 4-byte big-endian length and one message of
// exactly that length. There is no reassembly and there are no half frames, so a receiver never
// holds state about bytes a peer has yet to send (contracts, section 2).
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "ipc/bounds.h"
#include "ipc/fd.h"

namespace bailiff::ipc {

struct ChannelPair {
  Fd ours;
  Fd theirs;
};
// Both ends close-on-exec; the spawned side gets its end at kChannelFd.
Result<ChannelPair> MakeChannel();

// Sends one message. Fails with kFrameSize when it is longer than kMaxMessage, EPIPE when the peer
// is gone.
Result<void> SendFrame(int channel, std::string_view message);

// Receives frames into one buffer of its own. Received without a control buffer: a descriptor that
// a peer tries to pass is never installed, and its attempt (MSG_CTRUNC) is an error.
class FrameReader {
 public:
  enum class Wait { kBlock, kPoll };
  // The next message, valid until the next call; empty when the peer has closed (`closed()`) or,
  // with kPoll, nothing is there.
  Result<std::optional<std::string_view>> Receive(int channel, Wait wait);
  bool closed() const { return closed_; }

 private:
  std::array<char, kMaxFrame + 1> buffer_;
  bool closed_ = false;
};

}  // namespace bailiff::ipc
