// SPDX-License-Identifier: Apache-2.0
// Everything a helper sends passes here, in this order: size, strict decoding, route, phase, times
// (design, section 2). Any refusal is a violation: the helper is killed and nothing it said is
// used. No reply, no retry.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "controller/supervisor/routes.h"
#include "ipc/codec.h"

namespace bailiff::controller {

struct CollectorPeer {
  using Message = wire::FromCollector;
  static Result<Message> Decode(std::string_view bytes) { return ipc::DecodeFromCollector(bytes); }
  static std::size_t RouteIndex(const Message& message);
  static constexpr std::span<const Route> kRoutes = kFromCollector;
};

struct WardenPeer {
  using Message = wire::FromWarden;
  static Result<Message> Decode(std::string_view bytes) { return ipc::DecodeFromWarden(bytes); }
  static std::size_t RouteIndex(const Message& message);
  static constexpr std::span<const Route> kRoutes = kFromWarden;
};

struct SnapshotterPeer {
  using Message = wire::FromSnapshotter;
  static Result<Message> Decode(std::string_view bytes) {
    return ipc::DecodeFromSnapshotter(bytes);
  }
  static std::size_t RouteIndex(const Message& message);
  static constexpr std::span<const Route> kRoutes = kFromSnapshotter;
};

template <class PeerType>
class Gate {
 public:
  // kRoute or kDecode when the message may not come now; the value otherwise. Counts what it
  // admits.
  Result<typename PeerType::Message> Admit(std::string_view bytes, Phase phase) {
    auto message = PeerType::Decode(bytes);
    if (!message.ok()) return message;
    const std::size_t index = PeerType::RouteIndex(*message);
    if (index >= PeerType::kRoutes.size()) return Refuse("body", "has no route");
    const Route& route = PeerType::kRoutes[index];
    if (bytes.size() > route.max_bytes) return Refuse(route.message, "longer than its bound");
    if ((route.phases & Only(phase)) == 0) return Refuse(route.message, "not in this phase");
    const unsigned limit = route.times == Times::kOnce            ? 1
                           : route.times == Times::kOncePerStream ? 2
                                                                  : ~0U;
    if (seen_[index] >= limit) return Refuse(route.message, "more often than it may come");
    ++seen_[index];
    return message;
  }

 private:
  static Error Refuse(std::string_view message, std::string_view why) {
    return {ErrorCode::kRoute, std::string(message), std::string(why), 0, {}};
  }
  std::array<unsigned, PeerType::kRoutes.size()> seen_{};
};

}  // namespace bailiff::controller
