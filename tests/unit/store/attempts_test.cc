// SPDX-License-Identifier: Apache-2.0
// The moves of an attempt, one by one.
#include "policy/digest.h"
#include "tests/unit/store/support.h"

namespace bailiff::controller {
namespace {

using namespace test;

class Attempts : public testing::Test {
 protected:
  TemporaryDirectory directory_;
  Data data_{directory_.path()};
  Store store_ = data_.Open();
};

TEST_F(Attempts, r14_20_generation_0_1_2) {
  const AttemptRow pending = PendingRun(store_);
  EXPECT_EQ(pending.state, AttemptState::kPending);
  EXPECT_EQ(pending.generation, 0);
  const auto running = store_.Claim(SampleClaim(pending));
  ASSERT_OK(running);
  EXPECT_EQ(running->state, AttemptState::kRunning);
  EXPECT_EQ(running->generation, 1);
  EXPECT_EQ(running->owner_json, Owner(1));
  const auto finished = store_.Finish(SampleFinish(*running));
  ASSERT_OK(finished);
  EXPECT_EQ(finished->state, AttemptState::kFinished);
  EXPECT_EQ(finished->generation, 2);
  EXPECT_EQ(finished->outcome, "success");
  EXPECT_EQ(finished->evidence_id, policy::HashDomain("bailiff.evidence.v1", R"({"e":1})").hex());
  const auto evidence = store_.GetEvidence(*finished->evidence_id);
  ASSERT_OK(evidence);
  EXPECT_EQ(evidence->bytes, R"({"e":1})");
  EXPECT_EQ(evidence->attempt, pending.id);
  const auto output = store_.GetOutput(policy::Hash("hello\n").hex());
  ASSERT_OK(output);
  EXPECT_EQ(*output, "hello\n");
  ASSERT_OK(store_.GetOutput(policy::Hash("").hex()));
}

TEST_F(Attempts, r13_05_r13_10_bindings_of_a_run) {
  const AttemptRow row = PendingRun(store_);
  EXPECT_EQ(row.id, "run-1");
  EXPECT_EQ(row.change, "run-1");
  EXPECT_EQ(row.change_version, 1);
  EXPECT_EQ(row.context_generation, 1);
  EXPECT_EQ(row.policy_epoch, 0);
  EXPECT_EQ(row.revision, SampleRevision().revision);
  EXPECT_EQ(row.recipe_digest, policy::Hash(row.recipe).hex());
  EXPECT_EQ(row.kind, "command/v1");
  EXPECT_EQ(row.toolchain, SampleRun().toolchain);
  EXPECT_EQ(row.environment_digest, SampleRun().environment_digest);
  EXPECT_EQ(store_.GetAuthority()->repository, data_.repository);
  const auto change = store_.GetChange("run-1");
  ASSERT_OK(change);
  EXPECT_EQ(change->context_digest, row.context_digest);
  EXPECT_FALSE(change->target.has_value());
  ASSERT_OK(store_.GetContext(row.context_digest));
  EXPECT_EQ(PendingRun(store_).id, "run-2");
}

TEST_F(Attempts, run_name_steps_over_one_that_is_taken) {
  const AttemptRow first = PendingRun(store_);
  ASSERT_OK(store_.RegisterAttempt(SampleAttempt(store_, first, "run-2")));
  EXPECT_EQ(PendingRun(store_).id, "run-3");
}

TEST_F(Attempts, run_change_can_be_claimed_in_its_own_transaction) {
  ASSERT_OK(store_.InsertRevision(SampleRevision()));
  RunChangeInput input = SampleRun();
  input.claim = [](const AttemptRow& row) -> Result<ClaimInput> {
    ClaimInput claim = SampleClaim(row);
    claim.custody_json = "{\"version\":1}";
    return claim;
  };
  const auto row = store_.CreateRunChange(input);
  ASSERT_OK(row);
  EXPECT_EQ(row->state, AttemptState::kRunning);
  EXPECT_EQ(row->generation, 1);
  EXPECT_EQ(row->custody_json, "{\"version\":1}");
  // A claim that fails leaves nothing of the change.
  input.claim = [](const AttemptRow&) -> Result<ClaimInput> { return SystemError("x", "y", EIO); };
  ASSERT_FALSE(store_.CreateRunChange(input).ok());
  ASSERT_CODE(ErrorCode::kChangeUnknown, store_.GetChange("run-2"));
}

TEST_F(Attempts, r9_09_r13_25_same_request_same_row_other_request_refused) {
  const AttemptRow run = PendingRun(store_);
  const NewAttempt attempt = SampleAttempt(store_, run, "a1");
  const auto first = store_.RegisterAttempt(attempt);
  ASSERT_OK(first);
  ASSERT_OK(store_.Claim(SampleClaim(*first)));
  const auto again = store_.RegisterAttempt(attempt);
  ASSERT_OK(again);
  EXPECT_EQ(again->row, first->row);
  EXPECT_EQ(again->state, AttemptState::kRunning);  // the stored row as it is now

  const auto expect_difference = [&](NewAttempt other, const char* member) {
    const auto refused = store_.RegisterAttempt(other);
    ASSERT_CODE(ErrorCode::kAttemptDiffers, refused);
    EXPECT_TRUE(refused.error().why.ends_with(member)) << refused.error().why;
  };
  NewAttempt other = attempt;
  other.recipe = "{}";
  other.recipe_digest = policy::Hash("{}").hex();
  expect_difference(other, "/recipe");
  other.revision = SampleRevision(2).revision;
  expect_difference(other, "/revision");
  other.context_digest = std::string(64, '0');
  expect_difference(other, "/context_digest");
  other.change_version = 2;
  expect_difference(other, "/change_version");
  other.change = "c9";
  expect_difference(other, "/change/id");
  other.repository = std::string(32, '0');
  expect_difference(other, "/change/repository");
}

TEST_F(Attempts, registration_must_name_the_present_context) {
  const AttemptRow run = PendingRun(store_);
  NewAttempt attempt = SampleAttempt(store_, run, "a1");
  attempt.change_version = 2;
  ASSERT_CODE(ErrorCode::kContextStale, store_.RegisterAttempt(attempt));
  attempt = SampleAttempt(store_, run, "a1");
  attempt.context_digest = std::string(64, '0');
  ASSERT_CODE(ErrorCode::kContextStale, store_.RegisterAttempt(attempt));
  attempt = SampleAttempt(store_, run, "a1");
  attempt.change = "nothing";
  ASSERT_CODE(ErrorCode::kChangeUnknown, store_.RegisterAttempt(attempt));
  attempt = SampleAttempt(store_, run, "a1");
  attempt.repository = std::string(32, '1');
  ASSERT_CODE(ErrorCode::kStoreForeign, store_.RegisterAttempt(attempt));
  attempt = SampleAttempt(store_, run, "a/1");
  ASSERT_CODE(ErrorCode::kStoreValue, store_.RegisterAttempt(attempt));
  attempt = SampleAttempt(store_, run, "a1");
  attempt.recipe_digest = std::string(64, '2');
  ASSERT_CODE(ErrorCode::kStoreValue, store_.RegisterAttempt(attempt));
  ASSERT_CODE(ErrorCode::kAttemptUnknown, store_.GetAttempt("a1"));
}

TEST_F(Attempts, r9_12_claim_rereads_context_and_policy_epoch) {
  const AttemptRow stale_epoch = PendingRun(store_);
  ASSERT_EQ(ForeignSql(data_.database, "UPDATE authority SET policy_epoch = 1"), "");
  const auto refused = store_.Claim(SampleClaim(stale_epoch));
  ASSERT_CODE(ErrorCode::kContextStale, refused);
  EXPECT_NE(refused.error().why.find("the authority is at 1"), std::string::npos);

  const AttemptRow stale_version = PendingRun(store_);
  ASSERT_EQ(ForeignSql(data_.database, "UPDATE changes SET version = 2 WHERE id = 'run-2'"), "");
  ASSERT_CODE(ErrorCode::kContextStale, store_.Claim(SampleClaim(stale_version)));
  EXPECT_EQ(store_.GetAttempt("run-2")->state, AttemptState::kPending);
}

TEST_F(Attempts, r9_11_stale_generation_is_refused_naming_the_present_one) {
  const AttemptRow pending = PendingRun(store_);
  ClaimInput claim = SampleClaim(pending);
  claim.generation = 7;
  const auto refused = store_.Claim(claim);
  ASSERT_CODE(ErrorCode::kAttemptConflict, refused);
  EXPECT_NE(refused.error().why.find("pending at generation 0"), std::string::npos);
  ASSERT_CODE(ErrorCode::kAttemptConflict, store_.Cancel(pending.id, 1, "r"));
  ASSERT_CODE(ErrorCode::kAttemptConflict, store_.Fence(pending.id, 0, Owner(2), "r"));
  ASSERT_CODE(ErrorCode::kAttemptConflict, store_.PersistCustody(pending.id, 0, "{}"));
  ASSERT_CODE(ErrorCode::kAttemptConflict, store_.Finish(SampleFinish(pending)));
  ASSERT_CODE(ErrorCode::kAttemptUnknown, store_.Claim({.id = "none",
                                                        .generation = 0,
                                                        .backend = "native",
                                                        .owner_json = "{}",
                                                        .custody_json = {}}));
}

// Looked at first, so that the answer says what was asked for; and again by the UPDATE itself.
TEST_F(Attempts, r9_11_r11_09_the_generation_is_compared_by_each_verb_and_by_its_update) {
  const AttemptRow pending = PendingRun(store_);
  const auto said = [](const auto& refused) { return refused.ok() ? "done" : refused.error().why; };
  ClaimInput claim = SampleClaim(pending);
  claim.generation = 7;
  const std::string at_0 = "it is pending at generation 0; asked for ";
  EXPECT_EQ(said(store_.Claim(claim)), at_0 + "pending at generation 7");
  EXPECT_EQ(said(store_.Cancel(pending.id, 7, "r")), at_0 + "pending at generation 7");
  const AttemptRow running = *store_.Claim(SampleClaim(pending));
  const std::string at_1 = "it is running at generation 1; asked for running at generation ";
  EXPECT_EQ(said(store_.Fence(running.id, 0, Owner(2), "r")), at_1 + "0");
  EXPECT_EQ(said(store_.PersistCustody(running.id, 2, "{}")), at_1 + "2");
  FinishInput finish = SampleFinish(running);
  finish.generation = 2;
  EXPECT_EQ(said(store_.Finish(finish)), at_1 + "2");
  // A generation that moves between the two is not overwritten either.
  ForeignSql(data_.database,
             "CREATE TRIGGER moves AFTER INSERT ON evidence BEGIN UPDATE attempts SET "
             "generation = generation + 1 WHERE id = NEW.attempt; END");
  const auto moved = store_.Finish(SampleFinish(running));
  ASSERT_CODE(ErrorCode::kAttemptConflict, moved);
  EXPECT_NE(moved.error().why.find("0 rows changed where one was meant"), std::string::npos)
      << moved.error().why;
  EXPECT_EQ(store_.GetAttempt(running.id)->state, AttemptState::kRunning);
  EXPECT_EQ(ForeignSql(data_.database, "SELECT count(*) FROM evidence"), "0");
}

TEST_F(Attempts, claim_of_another_owner_is_a_conflict_and_ours_is_answered_again) {
  const AttemptRow pending = PendingRun(store_);
  ASSERT_OK(store_.Claim(SampleClaim(pending, 1)));
  ASSERT_CODE(ErrorCode::kAttemptConflict, store_.Claim(SampleClaim(pending, 2)));
  ASSERT_OK(store_.Claim(SampleClaim(pending, 1)));
  EXPECT_EQ(store_.GetAttempt(pending.id)->generation, 1);
}

TEST_F(Attempts, r11_07_pending_becomes_cancelled_at_the_next_generation) {
  const AttemptRow pending = PendingRun(store_);
  const auto cancelled = store_.Cancel(pending.id, 0, "not \"needed\"\n");
  ASSERT_OK(cancelled);
  EXPECT_EQ(cancelled->state, AttemptState::kCancelled);
  EXPECT_EQ(cancelled->generation, 1);
  const auto again = store_.Cancel(pending.id, 1, "again");
  ASSERT_CODE(ErrorCode::kAttemptFinished, again);
  ASSERT_CODE(ErrorCode::kAttemptFinished, store_.Claim(SampleClaim(pending)));
  EXPECT_EQ(
      ForeignSql(data_.database,
                 "SELECT CAST(after_json AS TEXT) FROM audit WHERE action = 'attempt.cancel'"),
      R"({"generation":1,"reason":"not \"needed\"\n","state":"cancelled"})");
  ASSERT_CODE(ErrorCode::kStoreValue, store_.Cancel(pending.id, 0, "\xff"));
  ASSERT_CODE(ErrorCode::kStoreValue, store_.Cancel(pending.id, 0, std::string(1025, 'x')));
}

TEST_F(Attempts, r11_01_r11_02_r11_09_custody_is_guarded_by_the_generation) {
  const AttemptRow running = RunningRun(store_);
  ASSERT_OK(store_.PersistCustody(running.id, 1, R"({"created":"unknown"})"));
  ASSERT_OK(store_.PersistCustody(running.id, 1, R"({"created":"confirmed"})"));
  EXPECT_EQ(store_.GetAttempt(running.id)->custody_json, R"({"created":"confirmed"})");
  ASSERT_OK(store_.Fence(running.id, 1, Owner(2), "dead"));
  ASSERT_CODE(ErrorCode::kAttemptConflict, store_.PersistCustody(running.id, 1, "{}"));
  EXPECT_EQ(store_.GetAttempt(running.id)->custody_json, R"({"created":"confirmed"})");
}

TEST_F(Attempts, r11_08_r13_24_fence_stops_a_late_finisher) {
  const AttemptRow running = RunningRun(store_);
  const auto fenced = store_.Fence(running.id, 1, Owner(2), "host rebooted");
  ASSERT_OK(fenced);
  EXPECT_EQ(fenced->state, AttemptState::kRunning);
  EXPECT_EQ(fenced->generation, 2);
  ASSERT_OK(store_.Fence(running.id, 1, Owner(2), "host rebooted"));  // its own answer again
  ASSERT_CODE(ErrorCode::kAttemptConflict, store_.Fence(running.id, 1, Owner(3), "me too"));
  ASSERT_CODE(ErrorCode::kAttemptConflict, store_.Finish(SampleFinish(running)));
  FinishInput recovered = SampleFinish(*fenced, R"({"recovered":true})");
  recovered.outcome = "incomplete";
  const auto finished = store_.Finish(recovered);
  ASSERT_OK(finished);
  EXPECT_EQ(finished->generation, 3);
  ASSERT_CODE(ErrorCode::kAttemptFinished, store_.Finish(SampleFinish(running)));
  EXPECT_EQ(store_.GetAttempt(running.id)->outcome, "incomplete");
}

TEST_F(Attempts, finish_is_answered_again_only_for_the_same_evidence) {
  const AttemptRow running = RunningRun(store_);
  ASSERT_OK(store_.Finish(SampleFinish(running)));
  ASSERT_OK(store_.Finish(SampleFinish(running)));
  ASSERT_CODE(ErrorCode::kAttemptFinished, store_.Finish(SampleFinish(running, R"({"e":2})")));
  EXPECT_EQ(ForeignSql(data_.database, "SELECT count(*) FROM evidence"), "1");
}

TEST_F(Attempts, outputs_are_bounded_and_shared) {
  const AttemptRow running = RunningRun(store_);
  const std::string largest(kMaxOutput, 'x');
  const std::string larger(kMaxOutput + 1, 'x');
  FinishInput finish = SampleFinish(running);
  finish.outputs = {larger};
  ASSERT_CODE(ErrorCode::kStoreValue, store_.Finish(finish));
  finish.outputs = {largest, largest};
  ASSERT_OK(store_.Finish(finish));
  EXPECT_EQ(ForeignSql(data_.database, "SELECT count(*) FROM outputs"), "1");
  FinishInput empty = SampleFinish(RunningRun(store_));
  empty.evidence = "";
  ASSERT_CODE(ErrorCode::kStoreValue, store_.Finish(empty));
  empty.evidence = std::string(kMaxDocument + 1, '1');
  ASSERT_CODE(ErrorCode::kStoreValue, store_.Finish(empty));
}

TEST_F(Attempts, r13_22_opening_again_does_not_change_running) {
  const AttemptRow running = RunningRun(store_);
  Store other = data_.Open();
  EXPECT_EQ(other.GetAttempt(running.id)->state, AttemptState::kRunning);
  EXPECT_EQ(other.GetAttempt(running.id)->generation, 1);
}

TEST_F(Attempts, r13_26_altered_bytes_are_an_error_and_never_an_answer) {
  const AttemptRow running = RunningRun(store_);
  const auto finished = store_.Finish(SampleFinish(running));
  ASSERT_OK(finished);
  // Somebody who owns the file drops the trigger and alters the record.
  ASSERT_EQ(ForeignSql(data_.database, "DROP TRIGGER evidence_no_update"), "");
  ASSERT_EQ(ForeignSql(data_.database, "UPDATE evidence SET bytes = x'7b7d'"), "");
  ASSERT_CODE(ErrorCode::kEvidenceCorrupt, store_.GetEvidence(*finished->evidence_id));
  ASSERT_EQ(ForeignSql(data_.database, "UPDATE outputs SET bytes = x'00'"), "");
  ASSERT_CODE(ErrorCode::kEvidenceCorrupt, store_.GetOutput(policy::Hash("hello\n").hex()));
  ASSERT_EQ(ForeignSql(data_.database, "DROP TRIGGER attempts_bound"), "");
  ASSERT_EQ(ForeignSql(data_.database, "DROP TRIGGER attempts_move"), "");
  ASSERT_EQ(ForeignSql(data_.database, "UPDATE attempts SET recipe = x'7b7d'"), "");
  ASSERT_CODE(ErrorCode::kStoreCorrupt, store_.GetAttempt(running.id));
  ASSERT_EQ(ForeignSql(data_.database, "DROP TRIGGER contexts_no_update"), "");
  ASSERT_EQ(ForeignSql(data_.database, "UPDATE contexts SET bound_json = x'7b7d'"), "");
  ASSERT_CODE(ErrorCode::kStoreCorrupt, store_.GetContext(running.context_digest));
}

TEST_F(Attempts, lists_are_filtered_and_paged_newest_first) {
  for (int i = 1; i <= 5; ++i) PendingRun(store_);
  ASSERT_OK(store_.Cancel("run-2", 0, "r"));
  const auto claimed = store_.Claim(SampleClaim(*store_.GetAttempt("run-3")));
  ASSERT_OK(claimed);
  ASSERT_OK(store_.Finish(SampleFinish(*claimed)));
  ASSERT_OK(store_.Claim(SampleClaim(*store_.GetAttempt("run-4"))));

  std::string seen;
  AttemptFilter filter{.state = {}, .outcome = {}, .change = {}, .limit = 2, .after = {}};
  for (int pages = 0; pages < 10; ++pages) {
    const auto page = store_.ListAttempts(filter);
    ASSERT_OK(page);
    for (const AttemptRow& row : page->attempts) seen += row.id + " ";
    if (!page->after) break;
    filter.after = page->after;
  }
  EXPECT_EQ(seen, "run-5 run-4 run-3 run-2 run-1 ");

  const auto ids = [&](AttemptFilter asked) {
    asked.limit = 50;
    std::string text;
    const auto page = store_.ListAttempts(asked);
    if (!page.ok()) return Text(page.error());
    for (const AttemptRow& row : page->attempts) text += row.id + " ";
    return text;
  };
  EXPECT_EQ(ids({.state = AttemptState::kPending, .outcome = {}, .change = {}, .after = {}}),
            "run-5 run-1 ");
  EXPECT_EQ(ids({.state = AttemptState::kRunning, .outcome = {}, .change = {}, .after = {}}),
            "run-4 ");
  EXPECT_EQ(ids({.state = {}, .outcome = "success", .change = {}, .after = {}}), "run-3 ");
  EXPECT_EQ(ids({.state = {}, .outcome = "cancelled", .change = {}, .after = {}}), "run-2 ");
  EXPECT_EQ(ids({.state = {}, .outcome = {}, .change = "run-1", .after = {}}), "run-1 ");

  const auto counts = store_.Counts();
  ASSERT_OK(counts);
  EXPECT_EQ(counts->schema, 6);
  EXPECT_EQ(counts->attempts, 5);
  EXPECT_EQ(counts->pending, 2);
  EXPECT_EQ(counts->running, 1);
  EXPECT_EQ(counts->running_with_custody, 0);
}

TEST_F(Attempts, every_change_leaves_an_audit_row_with_its_operator) {
  const AttemptRow running = RunningRun(store_);
  ASSERT_OK(store_.PersistCustody(running.id, 1, "{}"));
  const auto fenced = store_.Fence(running.id, 1, Owner(2), "r");
  ASSERT_OK(store_.Finish(SampleFinish(*fenced)));
  EXPECT_EQ(ForeignSql(data_.database, "SELECT group_concat(action, ' ') FROM audit"),
            "authority.create revision.insert change.create attempt.register attempt.claim "
            "attempt.custody attempt.fence attempt.finish");
  EXPECT_EQ(ForeignSql(data_.database,
                       "SELECT count(*) FROM audit WHERE CAST(operator_json AS TEXT) <> '" +
                           std::string(kOperator) + "'"),
            "0");
}

}  // namespace
}  // namespace bailiff::controller
