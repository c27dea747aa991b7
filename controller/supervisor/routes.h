// SPDX-License-Identifier: Apache-2.0
// The attack surface of the controller: every message a helper can send, in which phase, how often,
// how long, and who could lie in it. A new arm of a .proto does not compile until it has a row
// (-Wswitch); a row is refused before any handler runs. `bailiff surface` prints these tables;
// ipc/PROTOCOL.md is their committed copy.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ipc/bounds.h"

namespace bailiff::controller {

enum class Peer : std::uint8_t { kCollector, kWarden, kSnapshotter };

// Phases a helper goes through, as a set of bits in a route.
enum class Phase : std::uint8_t {
  kStart = 1,    // locked itself, not yet believed or told anything
  kReady = 2,    // warden: cell complete, candidate stopped
  kWorking = 4,  // told what to do
  kDone = 8,     // said its last word
};
constexpr std::uint8_t operator|(Phase a, Phase b) {
  return static_cast<std::uint8_t>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}
constexpr std::uint8_t Only(Phase phase) { return static_cast<std::uint8_t>(phase); }

enum class Times : std::uint8_t { kOnce, kOncePerStream, kMany };

struct Route {
  std::string_view message;
  std::uint8_t phases;  // bits of Phase
  Times times;
  std::size_t max_bytes;    // of the encoded envelope
  std::string_view fields;  // what it carries, for people
  std::string_view liar;    // who could make it false, and what checks it
};

// Bytes an envelope adds around a message: tag and length.
inline constexpr std::size_t kEnvelope = 4;

inline constexpr std::array kFromCollector = {
    Route{"Hello", Only(Phase::kStart), Times::kOnce, ipc::kMaxHello,
          "protocol, role, build, landlock_abi",
          "a hijacked collector; the controller reads /proc instead"},
    Route{"Output", Only(Phase::kWorking), Times::kMany, ipc::kMaxMessage, "stream, offset, data",
          "a hijacked collector: it can alter the recorded output, nothing else"},
    Route{"StreamEnd", Only(Phase::kWorking), Times::kOncePerStream, ipc::kMaxSmall,
          "stream, seen, eof",
          "a hijacked collector: it can bring about output_limit or incomplete, never success from "
          "failed"},
};

inline constexpr std::array kFromWarden = {
    Route{"Built", Only(Phase::kStart), Times::kOnce,
          ipc::kMaxFacts*(ipc::kMaxFactName + ipc::kMaxFactValue + 8), "facts",
          "the warden is trusted; the controller reads /proc and cgroupfs itself"},
    Route{"Started", Only(Phase::kWorking), Times::kOnce, ipc::kMaxSmall, "",
          "the warden is trusted"},
    Route{"ExecFailed", Phase::kStart | Phase::kWorking, Times::kOnce, ipc::kMaxSmall,
          "step, error", "the warden is trusted"},
    Route{"Ended", Only(Phase::kWorking), Times::kOnce, ipc::kMaxSmall,
          "wait_status, user_us, system_us, max_rss_kib",
          "the warden is trusted; cross-checked by pidfd where the kernel offers it"},
};

inline constexpr std::array kFromSnapshotter = {
    Route{"Hello", Only(Phase::kStart), Times::kOnce, ipc::kMaxHello,
          "protocol, role, build, landlock_abi",
          "a hijacked helper; the controller reads /proc instead"},
    Route{"Progress", Only(Phase::kWorking), Times::kMany, ipc::kMaxSmall, "entries, bytes",
          "a hijacked helper: shown, never stored"},
    Route{"Objects", Only(Phase::kWorking), Times::kMany, ipc::kMaxObjectsPerFrame * 64,
          "kind, digest, size",
          "a hijacked helper; the controller hashes every staged object itself"},
    Route{"Observation", Only(Phase::kWorking), Times::kMany, ipc::kMaxPath + ipc::kMaxSmall + 64,
          "index, state, digest, size, path",
          "a hijacked helper; a listing must hash to the digest of the tree that was asked for"},
    Route{"Warning", Only(Phase::kWorking), Times::kMany, ipc::kMaxPath + ipc::kMaxSmall,
          "code, path", "a hijacked helper: shown, never decides"},
    Route{"Failed", Only(Phase::kWorking), Times::kOnce,
          ipc::kMaxPath + ipc::kMaxDetail + ipc::kMaxSmall, "code, error, path, detail",
          "a hijacked helper: it can only make its own job fail"},
    Route{"Done", Only(Phase::kWorking), Times::kOnce, ipc::kMaxSmall + 128,
          "digest, tree, entries, bytes, git_commit, git_tree",
          "a hijacked helper; checked by a second job in a fresh process"},
    Route{"ImageFacts", Only(Phase::kWorking), Times::kOnce, ipc::kMaxImageFacts,
          "environment, volumes, health_command",
          "a helper hijacked by the configuration alone: the process that says it has read nothing "
          "else"},
};

}  // namespace bailiff::controller
