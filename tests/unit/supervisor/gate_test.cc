// SPDX-License-Identifier: Apache-2.0
// Every row of every route table is admitted where it says and refused everywhere else.
#include "controller/supervisor/gate.h"

#include <gtest/gtest.h>

#include <functional>

#include "ipc/interface.h"

namespace bailiff::controller {
namespace {

constexpr Phase kPhases[] = {Phase::kStart, Phase::kReady, Phase::kWorking, Phase::kDone};

// One valid message per row, in the order of the table.
std::vector<wire::FromCollector> CollectorMessages() {
  std::vector<wire::FromCollector> all(3);
  all[0].mutable_hello()->set_protocol(1);
  all[1].mutable_output()->set_data("x");
  all[2].mutable_stream_end()->set_stream(1);
  return all;
}
std::vector<wire::FromWarden> WardenMessages() {
  std::vector<wire::FromWarden> all(4);
  all[0].mutable_built();
  all[1].mutable_started();
  all[2].mutable_exec_failed()->set_error(2);
  all[3].mutable_ended()->set_wait_status(0);
  return all;
}
std::vector<wire::FromSnapshotter> SnapshotterMessages() {
  std::vector<wire::FromSnapshotter> all(8);
  all[0].mutable_hello()->set_protocol(1);
  all[1].mutable_progress()->set_entries(1);
  all[2].mutable_objects()->add_objects()->set_kind(1);
  all[3].mutable_observation()->set_index(1);
  all[4].mutable_warning()->set_code(1);
  all[5].mutable_failed()->set_code(1);
  all[6].mutable_done()->set_entries(1);
  all[7].mutable_image_facts()->set_volumes(false);
  return all;
}

template <class PeerType, class Message>
void CheckTable(const std::vector<Message>& messages) {
  ASSERT_EQ(messages.size(), PeerType::kRoutes.size());
  for (std::size_t row = 0; row < messages.size(); ++row) {
    const Route& route = PeerType::kRoutes[row];
    const std::string bytes = messages[row].SerializeAsString();
    ASSERT_EQ(PeerType::RouteIndex(messages[row]), row);
    for (const Phase phase : kPhases) {
      Gate<PeerType> gate;
      EXPECT_EQ(gate.Admit(bytes, phase).ok(), (route.phases & Only(phase)) != 0)
          << route.message << " in phase " << static_cast<int>(phase);
    }
    Gate<PeerType> gate;
    const auto phase = static_cast<Phase>(route.phases & -route.phases);
    const unsigned limit = route.times == Times::kOnce            ? 1
                           : route.times == Times::kOncePerStream ? 2
                                                                  : 1000;
    for (unsigned i = 0; i < limit; ++i)
      EXPECT_TRUE(gate.Admit(bytes, phase).ok()) << route.message << " #" << i;
    if (route.times != Times::kMany) {
      EXPECT_FALSE(gate.Admit(bytes, phase).ok()) << route.message << " once more";
    }
  }
}

TEST(Gate, CollectorTable) { CheckTable<CollectorPeer>(CollectorMessages()); }
TEST(Gate, WardenTable) { CheckTable<WardenPeer>(WardenMessages()); }
TEST(Gate, SnapshotterTable) { CheckTable<SnapshotterPeer>(SnapshotterMessages()); }

TEST(Gate, LongerThanItsRow) {
  wire::FromCollector message;
  message.mutable_hello()->set_build(std::string(ipc::kMaxHello + 1, 'x'));
  Gate<CollectorPeer> gate;
  const auto admitted = gate.Admit(message.SerializeAsString(), Phase::kStart);
  ASSERT_FALSE(admitted.ok());
  EXPECT_EQ(admitted.error().code, ErrorCode::kRoute);
}

TEST(Gate, ARefusedMessageIsNotCounted) {
  Gate<CollectorPeer> gate;
  const std::string hello = CollectorMessages()[0].SerializeAsString();
  EXPECT_FALSE(gate.Admit(hello, Phase::kWorking).ok());
  EXPECT_TRUE(gate.Admit(hello, Phase::kStart).ok());
}

TEST(Gate, GarbageIsMalformed) {
  Gate<WardenPeer> gate;
  for (const std::string& bytes :
       {std::string(), std::string("\xff\xff\xff"), std::string(70000, 'x')}) {
    const auto admitted = gate.Admit(bytes, Phase::kStart);
    ASSERT_FALSE(admitted.ok());
    EXPECT_EQ(admitted.error().code, ErrorCode::kDecode);
  }
}

}  // namespace
}  // namespace bailiff::controller
