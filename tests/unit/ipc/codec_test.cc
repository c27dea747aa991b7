// SPDX-License-Identifier: Apache-2.0
#include "ipc/codec.h"

#include <gtest/gtest.h>

#include "ipc/bounds.h"

namespace bailiff::ipc {
namespace {

std::string Hello() {
  wire::FromCollector message;
  message.mutable_hello()->set_protocol(1);
  message.mutable_hello()->set_role(1);
  return message.SerializeAsString();
}

TEST(Codec, AcceptsExactlyTheCanonicalBytes) {
  EXPECT_TRUE(DecodeFromCollector(Hello()).ok());
  EXPECT_FALSE(DecodeFromCollector("").ok());
  EXPECT_FALSE(DecodeFromCollector(Hello() + std::string(1, '\0')).ok());
  EXPECT_FALSE(DecodeFromCollector(Hello().substr(0, Hello().size() - 1)).ok());
}

TEST(Codec, RefusesANonMinimalVarint) {
  // hello { protocol: 1 } with the 1 written in two bytes.
  EXPECT_TRUE(DecodeFromCollector(std::string("\x0a\x02\x08\x01", 4)).ok());
  EXPECT_FALSE(DecodeFromCollector(std::string("\x0a\x03\x08\x81\x00", 5)).ok());
}

TEST(Codec, RefusesTwoArmsOfTheBody) {
  wire::FromCollector other;
  other.mutable_stream_end()->set_stream(1);
  EXPECT_FALSE(DecodeFromCollector(Hello() + other.SerializeAsString()).ok());
  EXPECT_FALSE(DecodeFromCollector(Hello() + Hello()).ok());
}

TEST(Codec, RefusesFieldsOutOfOrder) {
  // hello { role: 1 protocol: 1 }: parses to the same value, is not the same bytes.
  EXPECT_FALSE(DecodeFromCollector(std::string("\x0a\x04\x10\x01\x08\x01", 6)).ok());
}

// Field 15, varint 1: unknown to every message.
const std::string kUnknown("\x78\x01", 2);

// `path` are the field numbers that lead into the nested message.
std::string Nest(std::initializer_list<int> path, const std::string& inner) {
  std::string bytes = inner;
  for (auto at = std::rbegin(path); at != std::rend(path); ++at) {
    bytes = std::string(1, static_cast<char>(*at << 3 | 2)) +
            std::string(1, static_cast<char>(bytes.size())) + bytes;
  }
  return bytes;
}

template <class Decode>
void RefusesUnknownAt(Decode decode, std::initializer_list<int> path) {
  // Without the unknown field the same nesting must be accepted, or the test would pass for another
  // reason.
  const std::string known = Nest(path, "");
  EXPECT_TRUE(decode(known).ok()) << testing::PrintToString(std::vector<int>(path));
  EXPECT_FALSE(decode(Nest(path, kUnknown)).ok()) << testing::PrintToString(std::vector<int>(path));
  EXPECT_FALSE(decode(known + kUnknown).ok());
}

TEST(Codec, RefusesAnUnknownFieldAtEveryLevel) {
  for (const int arm : {1, 2, 3}) RefusesUnknownAt(DecodeFromCollector, {arm});
  for (const int arm : {1, 2}) RefusesUnknownAt(DecodeToCollector, {arm});
  for (const int arm : {1, 2, 3, 4}) RefusesUnknownAt(DecodeFromWarden, {arm});
  RefusesUnknownAt(DecodeFromWarden, {1, 1});
  for (const int arm : {1, 2, 3}) RefusesUnknownAt(DecodeToWarden, {arm});
  for (const int arm : {1, 2, 3, 4, 5, 6, 7}) RefusesUnknownAt(DecodeFromSnapshotter, {arm});
  RefusesUnknownAt(DecodeFromSnapshotter, {3, 1});
  RefusesUnknownAt(DecodeToSnapshotter, {2});
  for (const int job : {1, 2, 3, 4, 5}) RefusesUnknownAt(DecodeToSnapshotter, {1, job});
  const std::string job = Nest({1}, "");
  EXPECT_TRUE(DecodeToSnapshotter(Nest({1}, job)).ok());
  EXPECT_FALSE(DecodeToSnapshotter(Nest({1}, job + kUnknown)).ok()) << "beside a job";
}

TEST(Codec, RefusesABodyOrJobThatIsNotSet) {
  EXPECT_FALSE(DecodeToSnapshotter(std::string("\x0a\x00", 2)).ok());
  EXPECT_FALSE(DecodeFromWarden(kUnknown).ok());
}

// An Output whose whole encoding has `size` bytes.
std::string OutputOf(std::size_t size) {
  wire::FromCollector message;
  message.mutable_output()->set_data("");
  const auto with = [&message](std::size_t data) {
    message.mutable_output()->set_data(std::string(data, 'x'));
    return message.SerializeAsString();
  };
  std::size_t data = size - 16;
  while (with(data).size() < size) ++data;
  return with(data);
}

TEST(Codec, RefusesMoreThanOneMessage) {
  const std::string largest = OutputOf(kMaxMessage);
  ASSERT_EQ(largest.size(), kMaxMessage);
  EXPECT_TRUE(DecodeFromCollector(largest).ok());
  const std::string larger = OutputOf(kMaxMessage + 1);
  ASSERT_EQ(larger.size(), kMaxMessage + 1);
  EXPECT_FALSE(DecodeFromCollector(larger).ok());
}

TEST(Codec, g06_deep_nesting_is_refused) {
  // Groups nested 10,000 deep inside an unknown field.
  std::string deep(10000, '\x7b');
  deep += std::string(10000, '\x7c');
  EXPECT_FALSE(DecodeFromCollector(deep).ok());
}

}  // namespace
}  // namespace bailiff::ipc
