// SPDX-License-Identifier: Apache-2.0
// The real collector, fed by pipes whose write ends the test holds.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ipc/bounds.h"
#include "policy/role.h"
#include "tests/support/cell_host.h"

namespace bailiff::test {
namespace {

constexpr std::uint64_t kLargest = 1 << 20;  // R6: max_output_bytes

class CollectorUnderTest {
 public:
  CollectorUnderTest() {
    ipc::Pipe out = ipc::MakePipe().value();
    ipc::Pipe err = ipc::MakePipe().value();
    ipc::SpawnRequest request;
    request.name = "bailiff-collector";
    request.executable = CellHost::Get().collector();
    request.namespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
                         CLONE_NEWUTS | CLONE_NEWCGROUP;
    request.uid_map = {{0, 1, 1}};
    request.gid_map = request.uid_map;
    request.descriptors = {out.read.get(), err.read.get()};
    auto child = ipc::Spawn(request);
    EXPECT_TRUE(child.ok());
    child_ = std::move(child).value();
    out_ = std::move(out.write);
    err_ = std::move(err.write);
  }
  ~CollectorUnderTest() {
    child_.channel.reset();
    if (!waited_) Wait();
  }

  std::optional<wire::FromCollector> Next() {
    auto frame = reader_.Receive(child_.channel.get(), ipc::FrameReader::Wait::kBlock);
    if (!frame.ok() || !frame->has_value()) return std::nullopt;
    return ipc::DecodeFromCollector(**frame).value();
  }
  void Send(const wire::ToCollector& message) {
    EXPECT_TRUE(ipc::SendMessage(child_.channel.get(), message).ok());
  }
  // Takes Hello and sends Go.
  void Begin(std::uint64_t bound) {
    const auto hello = Next();
    ASSERT_TRUE(hello && hello->has_hello());
    wire::ToCollector message;
    message.mutable_go()->set_kind(1);
    message.mutable_go()->set_retained_bound(bound);
    Send(message);
  }
  void Quit() {
    wire::ToCollector message;
    message.mutable_quit();
    Send(message);
  }
  // Everything until both streams have ended or the channel closed; offsets are checked on the way.
  void Drain() {
    while (ends_ < 2) {
      const auto message = Next();
      if (!message) return;
      if (message->has_output()) {
        const wire::Output& output = message->output();
        std::string& text = text_[output.stream() - 1];
        EXPECT_EQ(output.offset(), text.size());
        EXPECT_GE(output.data().size(), 1U);
        EXPECT_LE(output.data().size(), ipc::kMaxOutputData);
        text += output.data();
        arrival_ += output.data();
      } else {
        ASSERT_TRUE(message->has_stream_end());
        ends_ += 1;
        seen_[message->stream_end().stream() - 1] = message->stream_end().seen();
        eof_[message->stream_end().stream() - 1] = message->stream_end().eof();
      }
    }
  }
  int Wait() {
    int status = 0;
    waitpid(child_.pid, &status, 0);
    waited_ = true;
    return status;
  }
  void Write(int stream, const std::string& bytes) {
    EXPECT_TRUE(ipc::WriteAll((stream == 1 ? out_ : err_).get(), bytes, "stream").ok());
  }
  void End(int stream) { (stream == 1 ? out_ : err_).reset(); }

  ipc::Child child_;
  ipc::Fd out_;
  ipc::Fd err_;
  ipc::FrameReader reader_;
  std::string text_[2];
  std::string arrival_;
  std::uint64_t seen_[2] = {};
  bool eof_[2] = {};
  int ends_ = 0;
  bool waited_ = false;
};

std::string Bytes(std::size_t size) {
  std::string bytes(size, '\0');
  std::uint32_t state = 1;
  for (char& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

TEST(Collector, says_hello_locked_and_first) {
  CollectorUnderTest collector;
  const auto hello = collector.Next();
  ASSERT_TRUE(hello && hello->has_hello());
  EXPECT_EQ(hello->hello().protocol(), ipc::kProtocol);
  EXPECT_EQ(hello->hello().role(), static_cast<std::uint32_t>(policy::Role::kCollector));
  EXPECT_EQ(hello->hello().build().size(), ipc::kDigest);
  const std::string proc = "/proc/" + std::to_string(collector.child_.pid);
  const auto status = ipc::ReadFileAt(AT_FDCWD, (proc + "/status").c_str(), 65536);
  ASSERT_TRUE(status.ok());
  for (const char* const line :
       {"CapInh:\t0000000000000000", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000",
        "CapBnd:\t0000000000000000", "CapAmb:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2",
        "Seccomp_filters:\t1", "Threads:\t1"})
    EXPECT_NE(status->find(line), std::string::npos) << line;
  const auto mounts = ipc::ReadFileAt(AT_FDCWD, (proc + "/mountinfo").c_str(), 65536);
  ASSERT_TRUE(mounts.ok());
  EXPECT_EQ(std::count(mounts->begin(), mounts->end(), '\n'), 1) << *mounts;
}

TEST(Collector, a09_a12_every_byte_and_its_end) {
  CollectorUnderTest collector;
  collector.Begin(kLargest);
  const std::string out = "no newline at the end \xf0\x9f" + std::string(1, '\0') + "\xff tail";
  collector.Write(1, out);
  collector.Write(2, "x");
  collector.End(1);
  collector.End(2);
  collector.Drain();
  EXPECT_EQ(collector.text_[0], out);
  EXPECT_EQ(collector.text_[1], "x");
  EXPECT_TRUE(collector.eof_[0] && collector.eof_[1]);
  EXPECT_EQ(collector.seen_[0], out.size());
  EXPECT_EQ(collector.seen_[1], 1U);
  EXPECT_EQ(collector.Wait(), 0);
}

TEST(Collector, nothing_written_is_two_ends) {
  CollectorUnderTest collector;
  collector.Begin(256);
  collector.End(2);
  collector.End(1);
  collector.Drain();
  EXPECT_TRUE(collector.eof_[0] && collector.eof_[1]);
  EXPECT_EQ(collector.seen_[0] + collector.seen_[1], 0U);
}

TEST(Collector, a11_exactly_the_bound_is_complete) {
  for (const std::uint64_t bound : {std::uint64_t{256}, std::uint64_t{65536}}) {
    CollectorUnderTest collector;
    collector.Begin(bound);
    const std::string bytes = Bytes(bound);
    collector.Write(1, bytes.substr(0, bound / 2));
    collector.Write(2, bytes.substr(bound / 2));
    collector.End(1);
    collector.End(2);
    collector.Drain();
    EXPECT_TRUE(collector.eof_[0] && collector.eof_[1]);
    EXPECT_EQ(collector.text_[0] + collector.text_[1], bytes);
  }
}

TEST(Collector, a11_one_more_is_crossed_and_the_first_n_are_kept) {
  CollectorUnderTest collector;
  collector.Begin(256);
  const std::string bytes = Bytes(257);
  collector.Write(1, bytes);
  collector.Drain();
  EXPECT_FALSE(collector.eof_[0] || collector.eof_[1]);
  EXPECT_EQ(collector.text_[0], bytes.substr(0, 256));
  EXPECT_EQ(collector.seen_[0] + collector.seen_[1], 257U);
  // The pipes stay open until the controller says so: no SIGPIPE takes the place of its signal.
  EXPECT_EQ(write(collector.out_.get(), "more", 4), 4);
  collector.Quit();
  EXPECT_EQ(collector.Wait(), 0);
}

TEST(Collector, a11_after_a_crossing_the_writers_end_is_enough) {
  CollectorUnderTest collector;
  collector.Begin(256);
  collector.Write(2, Bytes(300));
  collector.Drain();
  collector.Write(2, "more");
  collector.End(1);
  collector.End(2);
  EXPECT_EQ(collector.Wait(), 0);
}

TEST(Collector, a11_the_bound_is_joint) {
  CollectorUnderTest collector;
  collector.Begin(256);
  collector.Write(1, std::string(200, 'a'));
  // The first frame is waited for, so that the order of arrival is known.
  const auto first = collector.Next();
  ASSERT_TRUE(first && first->has_output());
  EXPECT_EQ(first->output().data(), std::string(200, 'a'));
  collector.text_[0] = first->output().data();
  collector.Write(2, std::string(100, 'b'));
  collector.Drain();
  EXPECT_EQ(collector.text_[1], std::string(56, 'b'));
  EXPECT_EQ(collector.seen_[0], 200U);
  EXPECT_EQ(collector.seen_[1], 100U);
  EXPECT_FALSE(collector.eof_[0] || collector.eof_[1]);
}

TEST(Collector, a_stream_that_ended_before_the_crossing_keeps_its_end) {
  CollectorUnderTest collector;
  collector.Begin(256);
  collector.Write(2, std::string(100, 'b'));
  collector.End(2);
  collector.ends_ = 1;  // until the end of one stream
  collector.Drain();
  EXPECT_TRUE(collector.eof_[1]);
  collector.ends_ = 1;
  collector.Write(1, std::string(157, 'a'));
  collector.Drain();
  EXPECT_FALSE(collector.eof_[0]);
  EXPECT_EQ(collector.text_[0].size(), 156U);
  EXPECT_EQ(collector.seen_[0] + collector.seen_[1], 257U);
}

TEST(Collector, the_largest_bound_goes_through_whole_in_little_memory) {
  CollectorUnderTest collector;
  collector.Begin(kLargest);
  const std::string bytes = Bytes(kLargest);
  const pid_t writer = fork();
  if (writer == 0) {
    const bool wrote = ipc::WriteAll(collector.out_.get(), bytes, "stream").ok();
    _exit(wrote ? 0 : 1);
  }
  collector.End(1);
  // err stays open meanwhile, so the collector is still there to be measured.
  collector.ends_ = 1;
  collector.Drain();
  EXPECT_EQ(collector.text_[0], bytes);
  EXPECT_TRUE(collector.eof_[0]);
  const auto status = ipc::ReadFileAt(
      AT_FDCWD, ("/proc/" + std::to_string(collector.child_.pid) + "/status").c_str(), 65536);
  ASSERT_TRUE(status.ok());
  const long peak = std::strtol(status->c_str() + status->find("VmHWM:") + 6, nullptr, 10);
  RecordProperty("collector_peak_kib", static_cast<int>(peak));
  EXPECT_GT(peak, 0);
#ifndef BAILIFF_SANITIZE
  EXPECT_LE(peak, 8192);
#endif
  collector.End(2);
  int ignored = 0;
  waitpid(writer, &ignored, 0);
  EXPECT_EQ(ignored, 0);
}

TEST(Collector, quit_cuts_short) {
  CollectorUnderTest collector;
  collector.Begin(256);
  collector.Write(1, "abc");
  const auto first = collector.Next();
  ASSERT_TRUE(first && first->has_output());
  collector.text_[0] = "abc";
  collector.Quit();
  collector.Drain();
  EXPECT_FALSE(collector.eof_[0] || collector.eof_[1]);
  EXPECT_EQ(collector.seen_[0], 3U);
  EXPECT_EQ(collector.Wait(), 0);
}

// What a candidate can do to its own end of a pipe: packets, of which a short read loses the rest
// (tried; design, section 4).
TEST(Collector, packets_lose_nothing) {
  CollectorUnderTest collector;
  collector.Begin(kLargest);
  ASSERT_EQ(fcntl(collector.out_.get(), F_SETFL, O_WRONLY | O_DIRECT), 0);
  const std::string bytes = Bytes(200000);
  const pid_t writer = fork();
  if (writer == 0) {
    std::size_t at = 0;
    for (std::size_t size = 1; at < bytes.size(); size = size % 4096 + 37) {
      const std::size_t part = std::min(size, bytes.size() - at);
      if (write(collector.out_.get(), bytes.data() + at, part) != static_cast<ssize_t>(part))
        _exit(1);
      at += part;
    }
    _exit(0);
  }
  collector.End(1);
  collector.End(2);
  collector.Drain();
  int status = 0;
  waitpid(writer, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(collector.text_[0], bytes);
}

TEST(Collector, a_message_out_of_turn_ends_it_without_a_word) {
  CollectorUnderTest collector;
  const auto hello = collector.Next();
  ASSERT_TRUE(hello && hello->has_hello());
  wire::ToCollector message;
  message.mutable_go()->set_kind(1);  // no bound
  collector.Send(message);
  EXPECT_FALSE(collector.Next().has_value());
  EXPECT_EQ(WEXITSTATUS(collector.Wait()), 1);
}

TEST(Collector, the_controllers_end_is_its_own) {
  CollectorUnderTest collector;
  collector.Begin(256);
  collector.child_.channel.reset();
  EXPECT_TRUE(WIFEXITED(collector.Wait()));
}

}  // namespace
}  // namespace bailiff::test
