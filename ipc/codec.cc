// SPDX-License-Identifier: Apache-2.0
#include "ipc/codec.h"

#include "ipc/frame.h"

namespace bailiff::ipc {
namespace {

// protobuf-lite has no reflection: the nesting is spelled out, and tests/unit/ipc feeds an unknown
// field to every level.
template <class Message>
bool Known(const Message& message) {
  return message.unknown_fields().empty();
}

template <class Range>
bool AllKnown(const Range& range) {
  for (const auto& item : range) {
    if (!Known(item)) return false;
  }
  return true;
}

bool KnownDeep(const wire::FromCollector& m) {
  return Known(m) && Known(m.hello()) && Known(m.output()) && Known(m.stream_end());
}
bool KnownDeep(const wire::ToCollector& m) { return Known(m) && Known(m.go()) && Known(m.quit()); }
bool KnownDeep(const wire::FromWarden& m) {
  return Known(m) && Known(m.built()) && AllKnown(m.built().facts()) && Known(m.started()) &&
         Known(m.exec_failed()) && Known(m.ended());
}
bool KnownDeep(const wire::ToWarden& m) {
  return Known(m) && Known(m.order()) && Known(m.release()) && Known(m.kill());
}
bool KnownDeep(const wire::FromSnapshotter& m) {
  return Known(m) && Known(m.hello()) && Known(m.progress()) && Known(m.objects()) &&
         AllKnown(m.objects().objects()) && Known(m.observation()) && Known(m.warning()) &&
         Known(m.failed()) && Known(m.done());
}
bool KnownDeep(const wire::ToSnapshotter& m) {
  return Known(m) && Known(m.go()) && Known(m.go().materialize()) && Known(m.go().verify_tree()) &&
         Known(m.go().import_directory()) && Known(m.go().import_image()) &&
         Known(m.go().export_()) && Known(m.cancel());
}

bool JobSet(const wire::ToSnapshotter& m) {
  return !m.has_go() || m.go().job_case() != wire::SnapshotterGo::JOB_NOT_SET;
}
template <class Message>
bool JobSet(const Message&) {
  return true;
}

template <class Message>
Result<Message> Decode(std::string_view bytes, const char* name) {
  const auto refuse = [name](const char* why) -> Error {
    return {ErrorCode::kDecode, name, why, 0, {}};
  };
  if (bytes.empty() || bytes.size() > kMaxMessage) return refuse("outside the size bound");
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return refuse("not a message");
  if (message.body_case() == Message::BODY_NOT_SET || !JobSet(message)) return refuse("no body");
  if (!KnownDeep(message)) return refuse("an unknown field");
  if (message.SerializeAsString() != bytes) return refuse("not the canonical encoding");
  return message;
}

}  // namespace

Result<wire::FromCollector> DecodeFromCollector(std::string_view bytes) {
  return Decode<wire::FromCollector>(bytes, "FromCollector");
}
Result<wire::ToCollector> DecodeToCollector(std::string_view bytes) {
  return Decode<wire::ToCollector>(bytes, "ToCollector");
}
Result<wire::FromWarden> DecodeFromWarden(std::string_view bytes) {
  return Decode<wire::FromWarden>(bytes, "FromWarden");
}
Result<wire::ToWarden> DecodeToWarden(std::string_view bytes) {
  return Decode<wire::ToWarden>(bytes, "ToWarden");
}
Result<wire::FromSnapshotter> DecodeFromSnapshotter(std::string_view bytes) {
  return Decode<wire::FromSnapshotter>(bytes, "FromSnapshotter");
}
Result<wire::ToSnapshotter> DecodeToSnapshotter(std::string_view bytes) {
  return Decode<wire::ToSnapshotter>(bytes, "ToSnapshotter");
}

template <class Message>
Result<void> SendMessage(int channel, const Message& message) {
  return SendFrame(channel, message.SerializeAsString());
}

template Result<void> SendMessage(int, const wire::FromCollector&);
template Result<void> SendMessage(int, const wire::ToCollector&);
template Result<void> SendMessage(int, const wire::FromWarden&);
template Result<void> SendMessage(int, const wire::ToWarden&);
template Result<void> SendMessage(int, const wire::FromSnapshotter&);
template Result<void> SendMessage(int, const wire::ToSnapshotter&);

}  // namespace bailiff::ipc
