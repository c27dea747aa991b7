// SPDX-License-Identifier: Apache-2.0
#include "ipc/frame.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <cstring>

#include "ipc/fault.h"

namespace bailiff::ipc {

Result<ChannelPair> MakeChannel() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return SystemError("socketpair", "channel");
  return ChannelPair{Fd(ends[0]), Fd(ends[1])};
}

Result<void> SendFrame(int channel, std::string_view message) {
  if (message.size() > kMaxMessage) {
    return Error{ErrorCode::kFrameSize,
                 "outgoing message",
                 std::to_string(message.size()) + " bytes",
                 0,
                 {}};
  }
  if (const int error = BAILIFF_FAULT(FrameSend)) return SystemError("sendmsg", "channel", error);
  std::uint32_t length = htonl(static_cast<std::uint32_t>(message.size()));
  iovec parts[2] = {{&length, sizeof length}, {const_cast<char*>(message.data()), message.size()}};
  msghdr header{};
  header.msg_iov = parts;
  header.msg_iovlen = 2;
  ssize_t sent = -1;
  do {
    sent = sendmsg(channel, &header, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return SystemError("sendmsg", "channel");
  return {};
}

Result<std::optional<std::string_view>> FrameReader::Receive(int channel, Wait wait) {
  if (const int error = BAILIFF_FAULT(FrameReceive))
    return SystemError("recvmsg", "channel", error);
  iovec part{buffer_.data(), buffer_.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  ssize_t got = -1;
  do {
    got = recvmsg(channel, &header, wait == Wait::kPoll ? MSG_DONTWAIT : 0);
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    if (errno == EAGAIN) return std::optional<std::string_view>();
    // A peer that died with unread data resets the channel: it is gone, which is all that matters.
    if (errno == ECONNRESET) {
      closed_ = true;
      return std::optional<std::string_view>();
    }
    return SystemError("recvmsg", "channel");
  }
  if ((header.msg_flags & MSG_CTRUNC) != 0)
    return Error{ErrorCode::kFrameControl, "incoming frame", "carries a descriptor", 0, {}};
  if (got == 0) {
    // An empty packet and a closed peer look alike on SEQPACKET: neither is a frame, and after
    // either nothing more is believed.
    closed_ = true;
    return std::optional<std::string_view>();
  }
  if ((header.msg_flags & MSG_TRUNC) != 0 || static_cast<std::size_t>(got) > kMaxFrame) {
    return Error{ErrorCode::kFrameSize, "incoming frame", "longer than the bound", 0, {}};
  }
  if (static_cast<std::size_t>(got) <= kLengthPrefix) {
    return Error{
        ErrorCode::kFrameSize, "incoming frame", "shorter than its prefix and a message", 0, {}};
  }
  std::uint32_t length = 0;
  std::memcpy(&length, buffer_.data(), sizeof length);
  if (ntohl(length) != static_cast<std::size_t>(got) - kLengthPrefix) {
    return Error{
        ErrorCode::kFrameSize, "incoming frame", "its length does not equal what arrived", 0, {}};
  }
  return std::optional<std::string_view>(
      std::string_view(buffer_.data() + kLengthPrefix, ntohl(length)));
}

}  // namespace bailiff::ipc
