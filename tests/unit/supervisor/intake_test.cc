// SPDX-License-Identifier: Apache-2.0
// What passes the gate must still be a value: each field at its bound and one beyond.
#include "controller/supervisor/intake.h"

#include <gtest/gtest.h>

#include "ipc/bounds.h"
#include "ipc/interface.h"

namespace bailiff::controller {
namespace {

wire::Hello GoodHello() {
  wire::Hello hello;
  hello.set_protocol(ipc::kProtocol);
  hello.set_role(static_cast<std::uint32_t>(policy::Role::kCollector));
  hello.set_build(std::string(ipc::kInterface));
  hello.set_landlock_abi(7);
  return hello;
}

TEST(Intake, HelloOfAnotherRoleProtocolOrBuildIsRefused) {
  EXPECT_TRUE(Accept(GoodHello(), policy::Role::kCollector).ok());
  EXPECT_FALSE(Accept(GoodHello(), policy::Role::kSnapshotter).ok());
  wire::Hello other = GoodHello();
  other.set_protocol(ipc::kProtocol + 1);
  EXPECT_FALSE(Accept(other, policy::Role::kCollector).ok());
  other = GoodHello();
  other.set_build(std::string(32, 'x'));
  EXPECT_FALSE(Accept(other, policy::Role::kCollector).ok());
  other = GoodHello();
  other.clear_landlock_abi();
  EXPECT_FALSE(Accept(other, policy::Role::kCollector).ok());
}

TEST(Intake, OutputBounds) {
  wire::Output output;
  output.set_stream(1);
  output.set_offset(0);
  output.set_data("x");
  EXPECT_TRUE(Accept(output).ok());
  output.set_data(std::string(ipc::kMaxOutputData, 'x'));
  EXPECT_TRUE(Accept(output).ok());
  output.set_data(std::string(ipc::kMaxOutputData + 1, 'x'));
  EXPECT_FALSE(Accept(output).ok());
  output.set_data("");
  EXPECT_FALSE(Accept(output).ok());
  output.set_data("x");
  for (const std::uint32_t stream : {0U, 3U, 0xffffffffU}) {
    output.set_stream(stream);
    EXPECT_FALSE(Accept(output).ok()) << stream;
  }
}

TEST(Intake, StreamEndNeedsEveryField) {
  wire::StreamEnd end;
  end.set_stream(2);
  end.set_seen(5);
  EXPECT_FALSE(Accept(end).ok());
  end.set_eof(true);
  EXPECT_TRUE(Accept(end).ok());
  end.set_seen((std::uint64_t{1} << 53) + 1);
  EXPECT_FALSE(Accept(end).ok());
}

TEST(Intake, BuiltFactsAreBounded) {
  wire::Built built;
  for (std::size_t i = 0; i < ipc::kMaxFacts; ++i) {
    wire::Fact* fact = built.add_facts();
    fact->set_name("n");
    fact->set_value("v");
  }
  EXPECT_TRUE(Accept(built).ok());
  built.mutable_facts(0)->set_name(std::string(ipc::kMaxFactName + 1, 'n'));
  EXPECT_FALSE(Accept(built).ok());
  built.mutable_facts(0)->set_name("n");
  built.add_facts()->set_name("n");
  EXPECT_FALSE(Accept(built).ok());
}

TEST(Intake, ExecFailedNamesAStepOfTheTable) {
  wire::ExecFailed failed;
  failed.set_step(static_cast<std::uint32_t>(policy::CellStep::kExecute));
  failed.set_error(ENOENT);
  ASSERT_TRUE(Accept(failed).ok());
  EXPECT_EQ(Accept(failed)->error, ENOENT);
  failed.set_step(0);
  EXPECT_FALSE(Accept(failed).ok());
  failed.set_step(static_cast<std::uint32_t>(policy::kLastCellStep) + 1);
  EXPECT_FALSE(Accept(failed).ok());
  failed.set_step(1);
  failed.set_error(-1);
  EXPECT_FALSE(Accept(failed).ok());
}

TEST(Intake, EndedIsSixteenBits) {
  wire::Ended ended;
  EXPECT_FALSE(Accept(ended).ok());
  ended.set_wait_status(0xff7f);
  EXPECT_TRUE(Accept(ended).ok());
  ended.set_wait_status(0x10000);
  EXPECT_FALSE(Accept(ended).ok());
  ended.set_wait_status(-1);
  EXPECT_FALSE(Accept(ended).ok());
}

TEST(Intake, ObjectsAndDone) {
  wire::Objects objects;
  EXPECT_FALSE(Accept(objects).ok());
  wire::Object* object = objects.add_objects();
  object->set_kind(1);
  object->set_digest(std::string(32, 'd'));
  object->set_size(0);
  EXPECT_TRUE(Accept(objects).ok());
  object->set_digest(std::string(31, 'd'));
  EXPECT_FALSE(Accept(objects).ok());
  object->set_digest(std::string(32, 'd'));
  object->set_kind(5);
  EXPECT_FALSE(Accept(objects).ok());

  wire::Done done;
  done.set_digest(std::string(32, 'd'));
  done.set_tree(std::string(32, 't'));
  EXPECT_TRUE(Accept(done).ok());
  done.set_entries(1000001);
  EXPECT_FALSE(Accept(done).ok());
}

TEST(Intake, AnEntryOfAListingNeedsEveryFieldAndAPathInItsBound) {
  const auto entry = [] {
    wire::Observation good;
    good.set_index(0);
    good.set_state('x');
    good.set_digest(std::string(32, 'd'));
    good.set_size(0);
    good.set_path("a\xff");
    return good;
  };
  wire::Observation message = entry();
  auto accepted = Accept(message);
  ASSERT_TRUE(accepted.ok());
  EXPECT_EQ(accepted->kind, policy::EntryKind::kExecutable);
  EXPECT_EQ(accepted->path, "a\xff");
  (message = entry()).set_path(std::string(4095, 'a'));
  EXPECT_TRUE(Accept(message).ok());
  (message = entry()).set_path(std::string(4096, 'a'));
  EXPECT_FALSE(Accept(message).ok());
  (message = entry()).clear_path();
  EXPECT_FALSE(Accept(message).ok());
  (message = entry()).clear_index();
  EXPECT_FALSE(Accept(message).ok());
  (message = entry()).set_state('d');
  EXPECT_FALSE(Accept(message).ok());
  (message = entry()).set_digest(std::string(33, 'd'));
  EXPECT_FALSE(Accept(message).ok());
  (message = entry()).clear_size();
  EXPECT_FALSE(Accept(message).ok());
  (message = entry()).set_size((std::uint64_t{1} << 40) + 1);
  EXPECT_FALSE(Accept(message).ok());
}

}  // namespace
}  // namespace bailiff::controller
