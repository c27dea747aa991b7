// SPDX-License-Identifier: Apache-2.0
// All that a hijacked helper can do to the controller: packets, one after another, through the
// reader of frames, the gate and the intake. The input is a script: one byte says which helper it
// is, then packets of a length, a phase and their bytes.
#include <sys/socket.h>

#include <cstdlib>
#include <string>

#include "controller/supervisor/gate.h"
#include "controller/supervisor/intake.h"
#include "ipc/frame.h"

namespace {

using namespace bailiff;
using controller::Phase;

constexpr std::array kPhases{Phase::kStart, Phase::kReady, Phase::kWorking, Phase::kDone};

void Take(wire::FromCollector& message) {
  if (message.has_hello()) (void)controller::Accept(message.hello(), policy::Role::kCollector);
  if (message.has_output()) {
    auto value = controller::Accept(*message.mutable_output());
    if (value.ok() && (value->data.empty() || value->data.size() > 65536)) std::abort();
  }
  if (message.has_stream_end()) (void)controller::Accept(message.stream_end());
}

void Take(wire::FromWarden& message) {
  if (message.has_built()) (void)controller::Accept(message.built());
  if (message.has_exec_failed()) (void)controller::Accept(message.exec_failed());
  if (message.has_ended()) (void)controller::Accept(message.ended());
}

void Take(wire::FromSnapshotter& message) {
  if (message.has_hello()) (void)controller::Accept(message.hello(), policy::Role::kSnapshotter);
  if (message.has_progress()) (void)controller::Accept(message.progress());
  if (message.has_objects()) {
    auto value = controller::Accept(message.objects());
    if (value.ok() && (value->empty() || value->size() > 512)) std::abort();
  }
  if (message.has_observation()) {
    auto value = controller::Accept(*message.mutable_observation());
    if (value.ok() && (value->path.empty() || value->path.size() > 4095)) std::abort();
  }
  if (message.has_warning()) (void)controller::Accept(*message.mutable_warning());
  if (message.has_failed()) (void)controller::Accept(*message.mutable_failed());
  if (message.has_done()) (void)controller::Accept(message.done());
  if (message.has_image_facts()) {
    auto value = controller::Accept(*message.mutable_image_facts());
    if (value.ok() && value->environment.size() > policy::kMaxImageEnvironment) std::abort();
  }
}

template <class Peer>
void Play(std::string_view script) {
  auto channel = ipc::MakeChannel();
  if (!channel.ok()) return;
  controller::Gate<Peer> gate;
  ipc::FrameReader reader;
  while (script.size() >= 3) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(script[i]); };
    const unsigned flags = byte(0);
    const std::size_t length = std::min<std::size_t>(byte(1) * 256U + byte(2), script.size() - 3);
    std::string packet;
    if ((flags & 4) == 0) {  // mostly with its true length before it, else as the script has it
      for (int shift = 24; shift >= 0; shift -= 8)
        packet.push_back(static_cast<char>((length >> shift) & 0xff));
    }
    packet.append(script.substr(3, length));
    script.remove_prefix(3 + length);
    if (send(channel->theirs.get(), packet.data(), packet.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
      return;
    auto frame = reader.Receive(channel->ours.get(), ipc::FrameReader::Wait::kPoll);
    if (!frame.ok() || !frame->has_value()) return;  // a violation ends the helper
    auto message = gate.Admit(**frame, kPhases[flags & 3]);
    if (!message.ok()) return;
    // What was admitted is canonical: it encodes to the bytes that came.
    if (message->SerializeAsString() != **frame) std::abort();
    Take(*message);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view script(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      Play<controller::CollectorPeer>(script);
      break;
    case 1:
      Play<controller::WardenPeer>(script);
      break;
    default:
      Play<controller::SnapshotterPeer>(script);
      break;
  }
  // The other direction, read by the helpers.
  (void)ipc::DecodeToCollector(script);
  (void)ipc::DecodeToWarden(script);
  (void)ipc::DecodeToSnapshotter(script);
  return 0;
}
