// SPDX-License-Identifier: Apache-2.0
#include "policy/evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "fault_list.h"
#include "policy/jcs.h"

namespace bailiff::policy {
namespace {

CommandRecord Plain() {
  CommandRecord record;
  record.attempt = {"a1", 1, Digest{{1}}};
  record.subject = {"0123456789abcdef0123456789abcdef", "c1", 1, Digest{{2}}, 1, 0, Digest{{3}}};
  record.recipe_digest = Digest{{4}};
  record.toolchain = Digest{{5}};
  record.environment_digest = Digest{{6}};
  record.image = "sha256:" + Digest{{7}}.hex();
  record.tree = Digest{{8}};
  record.image_tree = Digest{{9}};
  record.backend = "native";
  record.profile_digest = Digest{{10}};
  record.runtime = {Digest{{11}}, true, {{"kernel", "6.18.44"}, {"cgroup", "v1"}}};
  record.isolation = {true,
                      Digest{{12}},
                      Digest{{13}},
                      Digest{{14}},
                      {{"memory.max", "67108864", "67108864", "67108864"},
                       {"status.NoNewPrivs", "1", "1", std::nullopt}}};
  record.outcome = Outcome::kSuccess;
  record.process.state = ProcessEnd::State::kExited;
  record.process.code = 0;
  record.streams = Streams{{5, 5, Digest{{15}}, true}, {0, 0, Digest{{16}}, true}};
  record.usage.wall_us = 1;
  record.usage.oom_kills = 0;
  record.cleanup = {true, {"warden_reaped", "cgroups_removed"}};
  record.times = {1, 2, 3, 0};
  record.writer = {"0.1.0",      Digest{{17}}, Digest{{18}},
                   Digest{{19}}, Digest{{20}}, "5f1c9a3e-0000-4000-8000-000000000000"};
  return record;
}

std::string Bytes(const CommandRecord& record) {
  const auto evidence = EncodeEvidence(record);
  EXPECT_TRUE(evidence.ok()) << evidence.error().why;
  return evidence.ok() ? evidence->bytes : std::string();
}

TEST(Evidence, R9_19_a_record_re_parses_canonically_and_has_its_digest) {
  const CommandRecord record = Plain();
  const auto evidence = EncodeEvidence(record);
  ASSERT_TRUE(evidence.ok()) << evidence.error().why;
  EXPECT_EQ(evidence->id, HashDomain("bailiff.evidence.v1", evidence->bytes));
  const auto again = ParseEvidence(evidence->bytes);
  ASSERT_TRUE(again.ok()) << again.error().why;
  EXPECT_EQ(*again, record);
  EXPECT_TRUE(ParseCanonical(evidence->bytes).ok());
}

TEST(Evidence, members_of_the_contract_are_there_and_no_others) {
  const auto value = ParseCanonical(Bytes(Plain()));
  ASSERT_TRUE(value.ok());
  std::vector<std::string> names;
  for (const auto& member : *value->object()) names.push_back(member.name);
  EXPECT_THAT(names, ::testing::ElementsAre("attempt", "backend", "cleanup", "environment_digest",
                                            "image", "image_tree", "isolation", "kind", "outcome",
                                            "process", "profile_digest", "reasons", "recipe_digest",
                                            "runtime", "schema", "streams", "subject", "times",
                                            "toolchain", "tree", "usage", "writer"));
  EXPECT_EQ(*value->Find("usage")->object(),
            (*Value::MakeObject().Set("oom_kills", 0).Set("wall_us", 1).object()));
}

TEST(Evidence, R7_04_capture_incomplete_is_written_only_when_true) {
  CommandRecord record = Plain();
  EXPECT_EQ(Bytes(record).find("capture_incomplete"), std::string::npos);
  record.capture_incomplete = true;
  record.outcome = Outcome::kIncomplete;
  record.reasons = {Reason::kOomLocal, Reason::kPidsLimitHit};
  const std::string bytes = Bytes(record);
  EXPECT_NE(bytes.find("\"capture_incomplete\":true"), std::string::npos);
  EXPECT_TRUE(ParseEvidence(bytes).ok());
  EXPECT_FALSE(
      ParseEvidence(Replaced(bytes, "\"capture_incomplete\":true", "\"capture_incomplete\":false"))
          .ok());
}

TEST(Evidence, every_shape_reads_back) {
  std::vector<CommandRecord> records(7, Plain());
  records[0].process = {ProcessEnd::State::kSignalled, {}, SIGSEGV, true, {}};
  records[1].process = {ProcessEnd::State::kNotStarted, {}, {}, false, 2};
  records[1].outcome = Outcome::kUnavailable;
  records[1].reasons = {Reason::kExecutableUnavailable};
  records[1].streams.reset();
  records[1].times.started_unix_ms.reset();
  records[2].process = {ProcessEnd::State::kUnknown, {}, {}, false, {}};
  records[2].stopped_by = StoppedBy::kWallClock;
  records[3].tree.reset();
  records[3].image_tree.reset();
  records[3].isolation.observed = false;
  records[3].isolation.readback.clear();
  records[4].cleanup = {false, {}};
  records[4].cleanup_handle = Value::MakeObject().Set("backend", "native").Set("version", 1);
  records[5].qualification = Digest{{33}};
  records[6].usage = {1, 2, 3, 4, 5, 6, 7};
  records[6].subject.change_version = 9007199254740991;
  for (const CommandRecord& record : records) {
    const auto again = ParseEvidence(Bytes(record));
    ASSERT_TRUE(again.ok()) << again.error().why;
    EXPECT_EQ(*again, record);
  }
}

TEST(Evidence, R13_26_any_other_bytes_are_refused_or_have_another_id) {
  const std::string bytes = Bytes(Plain());
  const Digest id = HashDomain(kEvidenceDomain, bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string other = bytes;
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_NE(HashDomain(kEvidenceDomain, other), id);
    const auto again = ParseEvidence(other);
    if (again.ok()) {
      EXPECT_EQ(Bytes(*again), other);
    }  // still exactly one meaning
  }
  for (std::size_t i = 0; i < bytes.size(); i += 7) {
    EXPECT_FALSE(ParseEvidence(bytes.substr(0, i)).ok());
  }
}

TEST(Evidence, what_does_not_belong_together_is_refused) {
  const std::string bytes = Bytes(Plain());
  const std::pair<const char*, const char*> edits[] = {
      {"\"kind\":\"command/v1\"", "\"kind\":\"source_paths/v1\""},
      {"bailiff/command-record/v1", "bailiff/command-record/v2"},
      {"\"outcome\":\"success\"", "\"outcome\":\"Success\""},
      {"\"outcome\":\"success\"", "\"outcome\":\"fail\""},
      {"\"reasons\":[]", "\"reasons\":[\"luck\"]"},
      {"\"reasons\":[]", "\"reasons\":[1]"},
      {"\"state\":\"exited\"", "\"state\":\"signalled\""},
      {"\"state\":\"exited\"", "\"state\":\"asleep\""},
      {"{\"code\":0,\"state\":\"exited\"}", "{\"state\":\"exited\"}"},
      {"{\"code\":0,\"state\"", "{\"code\":0,\"core\":true,\"state\""},
      {"{\"code\":0,\"state\"", "{\"code\":0,\"errno\":2,\"state\""},
      {"{\"code\":0,\"state\"", "{\"code\":4294967296,\"state\""},
      {"\"image\":\"sha256:", "\"image\":\"sha512:"},
      {"{\"code\":0,\"state\":\"exited\"}", "{\"core\":true,\"state\":\"signalled\"}"},
      {"{\"code\":0,\"state\":\"exited\"}", "{\"signal\":11,\"state\":\"signalled\"}"},
      {"\"facts\":{\"cgroup\":\"v1\"", "\"facts\":{\"cgroup\":1"},
      {"\"facts\":{", "\"fakts\":{"},
      {"\"environment_digest\"", "\"cleanup_handle\":1,\"environment_digest\""},
      {"\"confirmed\":true,\"proof\":[\"warden_reaped\"", "\"confirmed\":true,\"proof\":[1"},
      {"\"usage\":{\"oom_kills\":0", "\"usage\":{\"oom_kills\":null"},
      {"\"usage\":{", "\"usage\":{\"luck\":1,"},
      {"\"attempt\":{", "\"approved\":true,\"attempt\":{"},
      {"\"confirmed\":true", "\"confirmed\":1"},
      {"\"eof\":true", "\"eof\":\"true\""},
  };
  for (const auto& [what, with] : edits) {
    EXPECT_FALSE(ParseEvidence(Replaced(bytes, what, with)).ok()) << what << " -> " << with;
  }
  EXPECT_FALSE(ParseEvidence("{}").ok());
  EXPECT_FALSE(ParseEvidence("[]").ok());
}

TEST(Evidence, what_could_not_be_read_back_is_not_written) {
  CommandRecord record = Plain();
  record.runtime.facts["kernel"] = "\xff";
  EXPECT_FALSE(EncodeEvidence(record).ok());
  record = Plain();
  record.usage.wall_us = 9007199254740992;
  EXPECT_FALSE(EncodeEvidence(record).ok());
  record = Plain();
  record.process.code.reset();
  EXPECT_FALSE(EncodeEvidence(record).ok());
  record = Plain();
  record.image = "busybox";
  EXPECT_FALSE(EncodeEvidence(record).ok());
  record = Plain();
  record.writer.boot_id = std::string(2 << 20, 'x');
  EXPECT_FALSE(EncodeEvidence(record).ok());
}

TEST(Evidence, readback_rows_say_together_whether_the_cell_was_as_asked) {
  using Rows = std::vector<Readback>;
  EXPECT_EQ(CheckBefore({}), Check::kMissing);
  EXPECT_EQ(CheckAfter({}), Check::kMissing);
  const Rows good = {{"a", "1", "1", "1"}, {"b", "2", "2", std::nullopt}};
  EXPECT_EQ(CheckBefore(good), Check::kMatched);
  EXPECT_EQ(CheckAfter(good), Check::kMatched);
  EXPECT_EQ(CheckBefore(Rows{{"a", "1", "1", {}}, {"b", "2", {}, {}}}), Check::kMissing);
  EXPECT_EQ(CheckBefore(Rows{{"a", "1", {}, {}}, {"b", "2", "3", {}}}), Check::kMismatched);
  EXPECT_EQ(CheckAfter(Rows{{"a", "1", "1", {}}}), Check::kMissing);
  EXPECT_EQ(CheckAfter(Rows{{"a", "1", "1", "2"}}), Check::kMismatched);
  EXPECT_EQ(CheckAfter(Rows{{"a", "1", "2", "1"}}), Check::kMismatched);
  EXPECT_EQ(CheckAfter(Rows{{"a", "1", "2", "2"}}), Check::kMismatched);
}

}  // namespace
}  // namespace bailiff::policy
