// SPDX-License-Identifier: Apache-2.0
// Strict protobuf-lite. A message is accepted only when it parses, holds no unknown field at any
// level, has its body set, and encodes to the very bytes received: so two arms of a oneof, a
// non-minimal varint, a repeated scalar or a trailing byte are all refused.
#pragma once

#include <string>
#include <string_view>

#include "ipc/collector.pb.h"
#include "ipc/result.h"
#include "ipc/snapshotter.pb.h"
#include "ipc/warden.pb.h"

namespace bailiff::ipc {

// One overload per envelope; kDecode when the bytes are not exactly one canonical message.
Result<wire::FromCollector> DecodeFromCollector(std::string_view bytes);
Result<wire::ToCollector> DecodeToCollector(std::string_view bytes);
Result<wire::FromWarden> DecodeFromWarden(std::string_view bytes);
Result<wire::ToWarden> DecodeToWarden(std::string_view bytes);
Result<wire::FromSnapshotter> DecodeFromSnapshotter(std::string_view bytes);
Result<wire::ToSnapshotter> DecodeToSnapshotter(std::string_view bytes);

// Encodes and sends one message.
template <class Message>
Result<void> SendMessage(int channel, const Message& message);

extern template Result<void> SendMessage(int, const wire::FromCollector&);
extern template Result<void> SendMessage(int, const wire::ToCollector&);
extern template Result<void> SendMessage(int, const wire::FromWarden&);
extern template Result<void> SendMessage(int, const wire::ToWarden&);
extern template Result<void> SendMessage(int, const wire::FromSnapshotter&);
extern template Result<void> SendMessage(int, const wire::ToSnapshotter&);

}  // namespace bailiff::ipc
