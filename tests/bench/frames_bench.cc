// SPDX-License-Identifier: Apache-2.0
// What the channel costs: encoding, strict decoding, the gate, and a frame through the kernel.
#include <benchmark/benchmark.h>

#include <string>

#include "controller/supervisor/gate.h"
#include "controller/supervisor/intake.h"
#include "ipc/codec.h"
#include "ipc/frame.h"
#include "policy/digest.h"

namespace {

using namespace bailiff;

std::string Output(std::size_t size) {
  wire::FromCollector message;
  message.mutable_output()->set_stream(1);
  message.mutable_output()->set_offset(0);
  message.mutable_output()->set_data(std::string(size, 'x'));
  return message.SerializeAsString();
}

void Decode(benchmark::State& state) {
  const std::string bytes = Output(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    auto message = ipc::DecodeFromCollector(bytes);
    if (!message.ok()) state.SkipWithError("refused");
    benchmark::DoNotOptimize(message);
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(Decode)->Arg(16)->Arg(4096)->Arg(65536);

void DecodeGateAccept(benchmark::State& state) {
  const std::string bytes = Output(static_cast<std::size_t>(state.range(0)));
  controller::Gate<controller::CollectorPeer> gate;
  for (auto _ : state) {
    auto message = gate.Admit(bytes, controller::Phase::kWorking);
    if (!message.ok()) {
      state.SkipWithError("refused");
      break;
    }
    auto value = controller::Accept(*message->mutable_output());
    benchmark::DoNotOptimize(value);
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(DecodeGateAccept)->Arg(16)->Arg(4096)->Arg(65536);

void FrameThroughTheKernel(benchmark::State& state) {
  const std::string bytes = Output(static_cast<std::size_t>(state.range(0)));
  auto channel = ipc::MakeChannel();
  ipc::FrameReader reader;
  if (!channel.ok()) {
    state.SkipWithError("no channel");
    return;
  }
  for (auto _ : state) {
    if (!ipc::SendFrame(channel->theirs.get(), bytes).ok()) state.SkipWithError("not sent");
    auto frame = reader.Receive(channel->ours.get(), ipc::FrameReader::Wait::kBlock);
    benchmark::DoNotOptimize(frame);
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(FrameThroughTheKernel)->Arg(16)->Arg(4096)->Arg(65536);

void HashOutput(benchmark::State& state) {
  const std::string bytes(static_cast<std::size_t>(state.range(0)), 'x');
  for (auto _ : state) benchmark::DoNotOptimize(policy::Hash(bytes));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(HashOutput)->Arg(4096)->Arg(65536);

}  // namespace
