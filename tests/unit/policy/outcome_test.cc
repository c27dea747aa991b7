// SPDX-License-Identifier: Apache-2.0
// One line of the outcome table a test (design, section 5).
#include "policy/outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <string>

#include "outcome_facts.h"

namespace bailiff::policy {
namespace {

// "outcome: reason reason …"
std::string Judged(const Facts& facts) {
  const auto verdict = Judge(facts);
  if (!verdict.has_value()) return "nothing";
  std::string text(OutcomeName(verdict->outcome));
  for (std::size_t i = 0; i < verdict->reasons.size(); ++i) {
    text += (i == 0 ? ": " : " ") + std::string(ReasonName(verdict->reasons[i]));
  }
  return text;
}

TEST(Outcome, R8_02_exit_0_with_every_fact_is_success) {
  EXPECT_EQ(Judged(GoodFacts()), "success");
  const auto verdict = Judge(GoodFacts());
  EXPECT_EQ(verdict->process.state, ProcessEnd::State::kExited);
  EXPECT_EQ(verdict->process.code, 0);
  EXPECT_FALSE(verdict->capture_incomplete);
}

TEST(Outcome, a05_R8_03_nonzero_exits_and_other_signals_are_failed) {
  for (const int code : {1, 2, 125, 126, 127, 139, 255}) {
    EXPECT_EQ(Judged(FactsWithStatus(Exited(code))), "failed") << code;
  }
  for (const int signal : {SIGSEGV, SIGABRT, SIGTERM, SIGPIPE, SIGRTMAX}) {
    EXPECT_EQ(Judged(FactsWithStatus(Signalled(signal))), "failed") << signal;
  }
  const auto verdict = Judge(FactsWithStatus(Signalled(SIGABRT) | kCoreFlag));
  EXPECT_EQ(verdict->process.state, ProcessEnd::State::kSignalled);
  EXPECT_EQ(verdict->process.signal, SIGABRT);
  EXPECT_EQ(verdict->process.code, std::nullopt);
  EXPECT_TRUE(verdict->process.core);
}

TEST(Outcome, a05_R8_05_137_and_sigkill_are_incomplete_and_never_confused) {
  EXPECT_EQ(Judged(FactsWithStatus(Exited(137))), "incomplete: self_exit_137");
  EXPECT_EQ(Judge(FactsWithStatus(Exited(137)))->process.code, 137);
  EXPECT_EQ(Judged(FactsWithStatus(Signalled(SIGKILL))), "incomplete: external_kill");
  Facts oom = FactsWithStatus(Signalled(SIGKILL));
  oom.oom_kills = 3;
  EXPECT_EQ(Judged(oom), "incomplete: oom_local");
  oom.oom_ancestor = true;
  EXPECT_EQ(Judged(oom), "incomplete: oom_ancestor");
  oom = FactsWithStatus(Exited(137));  // a shell whose child the kernel killed
  oom.oom_kills = 1;
  EXPECT_EQ(Judged(oom), "incomplete: oom_local");
}

TEST(Outcome, R8_04_an_oom_kill_beside_exit_0_is_incomplete) {
  Facts facts = GoodFacts();
  facts.oom_kills = 1;
  EXPECT_EQ(Judged(facts), "incomplete: oom_local");
}

TEST(Outcome, a03_an_oom_kill_during_exec_keeps_its_reason) {
  Facts facts = FactsWithStatus(Signalled(SIGKILL));
  facts.started = false;
  facts.oom_kills = 1;
  EXPECT_EQ(Judged(facts), "incomplete: oom_local");
  facts.refused = Reason::kRuntimeUnavailable;  // the warden saw its child die without a word
  EXPECT_EQ(Judged(facts), "incomplete: oom_local runtime_unavailable");
  facts.exec_errno = ENOMEM;
  EXPECT_EQ(Judged(facts), "incomplete: oom_local runtime_unavailable");
}

TEST(Outcome, R8_07_what_never_ran_is_unavailable) {
  for (const Reason reason :
       {Reason::kRuntimeUnavailable, Reason::kImageUnavailable, Reason::kConfigurationRejected,
        Reason::kLimitNotEnforceable, Reason::kProcMasked, Reason::kExecutableUnavailable}) {
    Facts facts;
    facts.cleanup_confirmed = true;
    facts.refused = reason;
    EXPECT_EQ(Judged(facts), "unavailable: " + std::string(ReasonName(reason)));
    EXPECT_EQ(Judge(facts)->process.state, ProcessEnd::State::kNotStarted);
    EXPECT_FALSE(Judge(facts)->capture_incomplete);
  }
}

TEST(Outcome, an_exec_errno_is_executable_unavailable_and_kept) {
  Facts facts = FactsWithStatus(Exited(127));  // how the warden's child ends after the errno
  facts.started = false;
  facts.exec_errno = ENOENT;
  EXPECT_EQ(Judged(facts), "unavailable: executable_unavailable");
  EXPECT_EQ(Judge(facts)->process.state, ProcessEnd::State::kNotStarted);
  EXPECT_EQ(Judge(facts)->process.error, ENOENT);
  EXPECT_EQ(Judge(facts)->process.code, std::nullopt);
}

TEST(Outcome, R8_07_the_latch_decides_between_cancelled_timed_out_and_output_limit) {
  const std::pair<StoppedBy, const char*> cases[] = {{StoppedBy::kWallClock, "timed_out"},
                                                     {StoppedBy::kCancel, "cancelled"},
                                                     {StoppedBy::kOutputLimit, "output_limit"}};
  for (const auto& [latch, outcome] : cases) {
    Facts facts = FactsWithStatus(Signalled(SIGKILL));
    facts.stopped_by = latch;
    facts.warden = HelperEnd::kKilled;
    facts.readback_after = Check::kMissing;
    EXPECT_EQ(Judged(facts), outcome);
    facts = GoodFacts();  // the command ended by itself at the same moment: the latch was set first
    facts.stopped_by = latch;
    EXPECT_EQ(Judged(facts), outcome);
    Facts early;  // before anything ran
    early.stopped_by = latch;
    early.cleanup_confirmed = true;
    EXPECT_EQ(Judged(early), outcome);
    early.refused = Reason::kImageUnavailable;
    EXPECT_EQ(Judged(early), "unavailable: image_unavailable");
  }
}

TEST(Outcome, a_kill_of_ours_is_never_labelled_oom_or_external) {
  Facts facts = FactsWithStatus(Signalled(SIGKILL));
  facts.stopped_by = StoppedBy::kWallClock;
  EXPECT_EQ(Judged(facts), "timed_out");
  facts.oom_kills = 1;  // unless the kernel counted one too
  EXPECT_EQ(Judged(facts), "timed_out: oom_local");
  facts = FactsWithStatus(Signalled(SIGKILL));
  facts.collector = HelperEnd::kViolation;
  EXPECT_EQ(Judged(facts), "incomplete: protocol_violation");
  facts.collector = HelperEnd::kDied;
  EXPECT_EQ(Judged(facts), "incomplete: collector_died");
  facts = FactsWithStatus(Signalled(SIGKILL));
  facts.backstop = true;
  EXPECT_EQ(Judged(facts), "incomplete: controller_backstop");
}

TEST(Outcome, R7_01_R7_02_R7_03_R8_06_a_stream_without_its_end_is_incomplete_and_flagged) {
  Facts facts = GoodFacts();
  facts.err.eof = false;
  EXPECT_EQ(Judged(facts), "incomplete: capture_incomplete");
  EXPECT_TRUE(Judge(facts)->capture_incomplete);
  facts.stopped_by = StoppedBy::kWallClock;
  EXPECT_EQ(Judged(facts), "timed_out: capture_incomplete");
  EXPECT_TRUE(Judge(facts)->capture_incomplete);
  facts.abandoned = true;
  facts.cleanup_confirmed = false;
  EXPECT_EQ(Judged(facts), "indeterminate: cleanup_unconfirmed capture_incomplete");
  EXPECT_TRUE(Judge(facts)->capture_incomplete);
}

TEST(Outcome, c03_output_at_the_bound_is_complete_and_one_more_is_not) {
  Facts facts = GoodFacts();
  facts.output_bound = 10;
  facts.out = {6, 6, true};
  facts.err = {4, 4, true};
  EXPECT_EQ(Judged(facts), "success");
  facts.out = {10, 10, true};
  facts.err = {0, 0, true};
  EXPECT_EQ(Judged(facts), "success") << "all of it in one stream";
  facts.out = {11, 10, false};
  EXPECT_EQ(Judged(facts), "incomplete: capture_incomplete");
  facts.out = {6, 6, true};
  facts.err = {5, 4, false};
  facts.out.eof = false;
  facts.stopped_by = StoppedBy::kOutputLimit;
  EXPECT_EQ(Judged(facts), "output_limit");
  EXPECT_FALSE(Judge(facts)->capture_incomplete);  // cut by the bound, which the outcome says
  facts.stopped_by = StoppedBy::kNothing;          // a controller that did not latch
  EXPECT_EQ(Judged(facts), "incomplete: capture_incomplete");
  facts.out.seen = 18446744073709551615U;  // a sum that would wrap to something small
  facts.err.seen = 2;
  facts.out.eof = facts.err.eof = true;
  EXPECT_EQ(Judged(facts), "incomplete: capture_incomplete");
}

TEST(Outcome, bytes_seen_but_not_held_are_an_incomplete_capture) {
  Facts facts = GoodFacts();
  facts.out = {5, 4, true};
  EXPECT_EQ(Judged(facts), "incomplete: capture_incomplete");
}

TEST(Outcome, R12_26_the_pids_limit_stands_beside_and_decides_nothing) {
  Facts facts = GoodFacts();
  facts.pids_refused = 1000;
  EXPECT_EQ(Judged(facts), "success: pids_limit_hit");
  facts = FactsWithStatus(Exited(2));
  facts.pids_refused = 1;
  EXPECT_EQ(Judged(facts), "failed: pids_limit_hit");
  facts.oom_kills = 1;
  EXPECT_EQ(Judged(facts), "incomplete: oom_local pids_limit_hit");
}

TEST(Outcome, witnesses_that_disagree_are_incomplete) {
  Facts facts = FactsWithStatus(Exited(0));
  facts.pidfd_status = Exited(1);
  EXPECT_EQ(Judged(facts), "incomplete: witness_mismatch");
  facts.pidfd_status.reset();  // a kernel without PIDFD_GET_INFO
  EXPECT_EQ(Judged(facts), "success");
}

TEST(Outcome, each_observed_trouble_is_incomplete_with_its_reason) {
  struct Case {
    const char* reason;
    void (*spoil)(Facts&);
  };
  const Case cases[] = {
      {"identity_changed", [](Facts& f) { f.identity = Check::kMismatched; }},
      {"readback_mismatch", [](Facts& f) { f.readback_after = Check::kMismatched; }},
      {"readback_mismatch", [](Facts& f) { f.readback_before = Check::kMismatched; }},
      {"protocol_violation", [](Facts& f) { f.collector = HelperEnd::kViolation; }},
      {"protocol_violation", [](Facts& f) { f.warden = HelperEnd::kViolation; }},
      {"collector_died", [](Facts& f) { f.collector = HelperEnd::kDied; }},
      {"warden_died", [](Facts& f) { f.warden = HelperEnd::kDied; }},
      {"snapshot_failed", [](Facts& f) { f.snapshot_failed = true; }},
      {"snapshot_failed", [](Facts& f) { f.source = Check::kMismatched; }},
      {"storage_failed", [](Facts& f) { f.storage_failed = true; }},
      {"recovered", [](Facts& f) { f.recovered = true; }},
      {"controller_backstop", [](Facts& f) { f.backstop = true; }},
  };
  for (const int status : {Exited(0), Exited(1)}) {
    for (const Case& item : cases) {
      Facts facts = FactsWithStatus(status);
      item.spoil(facts);
      EXPECT_EQ(Judged(facts), std::string("incomplete: ") + item.reason);
    }
  }
}

TEST(Outcome, R8_08_a_missing_fact_is_incomplete_with_its_reason) {
  struct Case {
    const char* reason;
    void (*forget)(Facts&);
  };
  const Case cases[] = {
      {"snapshot_failed", [](Facts& f) { f.source = Check::kMissing; }},
      {"readback_mismatch", [](Facts& f) { f.readback_before = Check::kMissing; }},
      {"readback_mismatch", [](Facts& f) { f.readback_after = Check::kMissing; }},
      {"readback_mismatch", [](Facts& f) { f.oom_kills.reset(); }},
      {"readback_mismatch", [](Facts& f) { f.released = false; }},
      {"identity_changed", [](Facts& f) { f.identity = Check::kMissing; }},
      {"warden_died", [](Facts& f) { f.wait_status.reset(); }},
      {"warden_died", [](Facts& f) { f.warden = HelperEnd::kNotStarted; }},
      {"warden_died", [](Facts& f) { f.warden = HelperEnd::kKilled; }},
      {"collector_died", [](Facts& f) { f.collector = HelperEnd::kNotStarted; }},
      {"collector_died", [](Facts& f) { f.collector = HelperEnd::kKilled; }},
      {"capture_incomplete", [](Facts& f) { f.out.eof = false; }},
      {"witness_mismatch", [](Facts& f) { f.started = false; }},
  };
  for (const Case& item : cases) {
    Facts facts = GoodFacts();
    item.forget(facts);
    EXPECT_EQ(Judged(facts), std::string("incomplete: ") + item.reason);
  }
  Facts silent = GoodFacts();
  silent.out = {0, 0, true};
  silent.output_bound = 0;
  EXPECT_EQ(Judged(silent), "incomplete: capture_incomplete");
  Facts nothing;
  nothing.cleanup_confirmed = true;
  EXPECT_EQ(Judged(nothing), "incomplete: controller_backstop");
  Facts unreadable = FactsWithStatus(Signalled(SIGKILL));  // nobody can say who killed it
  unreadable.oom_kills.reset();
  EXPECT_EQ(Judged(unreadable), "incomplete: readback_mismatch");
}

TEST(Outcome, R8_06_a_status_that_is_neither_exit_nor_signal_is_incomplete) {
  for (const int status : {0x137f, 0xffff}) {  // stopped, continued
    const Facts facts = FactsWithStatus(status);
    EXPECT_EQ(Judged(facts), "incomplete: protocol_violation");
    EXPECT_EQ(Judge(facts)->process.state, ProcessEnd::State::kUnknown);
  }
  Facts both = GoodFacts();  // the warden says started and exec failed
  both.exec_errno = ENOENT;
  EXPECT_EQ(Judged(both), "incomplete: protocol_violation");
  EXPECT_EQ(Judge(both)->process.state, ProcessEnd::State::kUnknown);
}

TEST(Outcome, R7_11_R11_13_unconfirmed_cleanup_stores_nothing_until_abandoned) {
  Facts facts = GoodFacts();
  facts.cleanup_confirmed = false;
  EXPECT_EQ(Judged(facts), "nothing");
  facts.abandoned = true;
  EXPECT_EQ(Judged(facts), "indeterminate: cleanup_unconfirmed");
  facts.refused = Reason::kProcMasked;
  facts.stopped_by = StoppedBy::kCancel;
  EXPECT_EQ(Judged(facts), "indeterminate: cleanup_unconfirmed proc_masked");
  // Abandoned, and then found gone after all: contracts 7.3.
  facts = GoodFacts();
  facts.abandoned = true;
  facts.recovered = true;
  EXPECT_EQ(Judged(facts), "incomplete: recovered");
}

TEST(Outcome, R11_05_a_dead_owner_is_recovered_and_an_operators_cancel_is_cancelled) {
  Facts facts;
  facts.released = true;
  facts.recovered = true;
  facts.cleanup_confirmed = true;
  EXPECT_EQ(Judged(facts), "incomplete: recovered capture_incomplete");
  EXPECT_EQ(Judge(facts)->process.state, ProcessEnd::State::kUnknown);
  facts.stopped_by = StoppedBy::kCancel;
  EXPECT_EQ(Judged(facts), "cancelled: recovered capture_incomplete");
}

TEST(Outcome, R9_16_a_snapshot_failure_is_incomplete_and_nothing_was_started) {
  Facts facts;
  facts.snapshot_failed = true;
  facts.cleanup_confirmed = true;
  EXPECT_EQ(Judged(facts), "incomplete: snapshot_failed");
  EXPECT_EQ(Judge(facts)->process.state, ProcessEnd::State::kNotStarted);
}

TEST(Outcome, a_refusal_after_something_ran_is_not_called_unavailable) {
  Facts facts = GoodFacts();
  facts.refused = Reason::kConfigurationRejected;
  EXPECT_EQ(Judged(facts), "incomplete: configuration_rejected");
}

TEST(Outcome, exit_codes_of_the_contract) {
  EXPECT_EQ(OutcomeExit(Outcome::kSuccess), 0);
  EXPECT_EQ(OutcomeExit(Outcome::kFailed), 1);
  for (const Outcome outcome :
       {Outcome::kIncomplete, Outcome::kTimedOut, Outcome::kOutputLimit, Outcome::kCancelled,
        Outcome::kUnavailable, Outcome::kIndeterminate}) {
    EXPECT_EQ(OutcomeExit(outcome), 2);
  }
}

TEST(Outcome, names_read_back_and_are_closed) {
  for (int i = 0; i <= static_cast<int>(Outcome::kIndeterminate); ++i) {
    EXPECT_EQ(ParseOutcome(OutcomeName(static_cast<Outcome>(i))), static_cast<Outcome>(i));
  }
  for (int i = 0; i <= static_cast<int>(Reason::kCleanupUnconfirmed); ++i) {
    EXPECT_EQ(ParseReason(ReasonName(static_cast<Reason>(i))), static_cast<Reason>(i));
  }
  for (const StoppedBy latch :
       {StoppedBy::kWallClock, StoppedBy::kOutputLimit, StoppedBy::kCancel}) {
    EXPECT_EQ(ParseStoppedBy(StoppedByName(latch)), latch);
  }
  for (int i = 0; i <= static_cast<int>(ProcessEnd::State::kUnknown); ++i) {
    const auto state = static_cast<ProcessEnd::State>(i);
    EXPECT_EQ(ParseProcessState(ProcessStateName(state)), state);
  }
  EXPECT_EQ(ParseOutcome("Success"), std::nullopt);
  EXPECT_EQ(ParseReason(""), std::nullopt);
  EXPECT_EQ(ParseStoppedBy(""), std::nullopt);
}

}  // namespace
}  // namespace bailiff::policy
