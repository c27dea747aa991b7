// SPDX-License-Identifier: Apache-2.0
#include "ipc/frame.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>

#include "tests/support/send_descriptor.h"

namespace bailiff::ipc {
namespace {

class Frames : public testing::Test {
 protected:
  Frames() : pair_(std::move(MakeChannel()).value()) {}
  void SendRaw(const std::string& packet) {
    ASSERT_EQ(send(pair_.theirs.get(), packet.data(), packet.size(), 0),
              static_cast<ssize_t>(packet.size()));
  }
  auto Receive() { return reader_.Receive(pair_.ours.get(), FrameReader::Wait::kPoll); }
  ChannelPair pair_;
  FrameReader reader_;
};

TEST_F(Frames, RoundTripAtTheBound) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{100}, kMaxMessage}) {
    const std::string message(size, 'm');
    ASSERT_TRUE(SendFrame(pair_.theirs.get(), message).ok());
    const auto frame = Receive();
    ASSERT_TRUE(frame.ok());
    EXPECT_EQ(**frame, message);
  }
  EXPECT_FALSE(SendFrame(pair_.theirs.get(), std::string(kMaxMessage + 1, 'm')).ok());
}

TEST_F(Frames, NothingThereIsNotClosed) {
  const auto frame = Receive();
  ASSERT_TRUE(frame.ok());
  EXPECT_FALSE(frame->has_value());
  EXPECT_FALSE(reader_.closed());
}

TEST_F(Frames, PeerGone) {
  pair_.theirs.reset();
  ASSERT_TRUE(Receive().ok());
  EXPECT_TRUE(reader_.closed());
  const auto sent = SendFrame(pair_.ours.get(), "x");
  ASSERT_FALSE(sent.ok());
  EXPECT_EQ(sent.error().system_error, EPIPE);  // and no SIGPIPE
}

TEST_F(Frames, LengthMustEqualWhatArrived) {
  for (const std::string& packet :
       {std::string("\0\0\0\2x", 5), std::string("\0\0\0\0x", 5),
        std::string("\xff\xff\xff\xffx", 5), std::string("\0\0\0\1", 4), std::string("abc")}) {
    SendRaw(packet);
    const auto frame = Receive();
    ASSERT_FALSE(frame.ok()) << testing::PrintToString(packet);
    EXPECT_EQ(frame.error().code, ErrorCode::kFrameSize);
  }
}

TEST_F(Frames, LongerThanTheBoundIsRefusedUnread) {
  std::string packet(kMaxFrame + 1, 'x');
  SendRaw(packet);
  const auto frame = Receive();
  ASSERT_FALSE(frame.ok());
  EXPECT_EQ(frame.error().code, ErrorCode::kFrameSize);
  SendRaw(std::string(kMaxFrame + 5000, 'x'));
  EXPECT_FALSE(Receive().ok());
}

TEST_F(Frames, b01_a_passed_descriptor_is_refused_and_never_installed) {
  const int passed = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const std::string packet("\0\0\0\1x", 5);
  ASSERT_EQ(test::SendDescriptor(pair_.theirs.get(), packet, passed), 5);
  const int next = dup(0);
  close(next);
  const auto frame = Receive();
  ASSERT_FALSE(frame.ok());
  EXPECT_EQ(frame.error().code, ErrorCode::kFrameControl);
  const int after = dup(0);
  EXPECT_EQ(after, next) << "a descriptor was installed";
  close(after);
  close(passed);
}

}  // namespace
}  // namespace bailiff::ipc
