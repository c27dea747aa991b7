// SPDX-License-Identifier: Apache-2.0
// Properties over facts of every shape, also such as no honest controller would hand over.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <random>
#include <set>

#include "outcome_facts.h"
#include "policy/outcome.h"

namespace bailiff::policy {
namespace {

#ifdef BAILIFF_SANITIZE
constexpr int kRounds = 50'000;
#else
constexpr int kRounds = 400'000;
#endif

class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  bool Flip(unsigned one_in) { return random_() % one_in == 0; }
  template <class T, std::size_t N>
  T Pick(const T (&values)[N]) {
    return values[random_() % N];
  }
  unsigned Below(unsigned bound) { return static_cast<unsigned>(random_() % bound); }

 private:
  std::mt19937 random_;
};

constexpr int kStatuses[] = {Exited(0),           Exited(0),   Exited(1), Exited(127),
                             Exited(137),         Exited(255), SIGKILL,   SIGSEGV,
                             SIGABRT | kCoreFlag, SIGTERM,     0x137f,    0xffff};
constexpr Check kChecks[] = {Check::kMatched, Check::kMatched, Check::kMatched, Check::kMissing,
                             Check::kMismatched};
constexpr HelperEnd kEnds[] = {HelperEnd::kClean,     HelperEnd::kClean, HelperEnd::kClean,
                               HelperEnd::kKilled,    HelperEnd::kDied,  HelperEnd::kViolation,
                               HelperEnd::kNotStarted};
constexpr StoppedBy kLatches[] = {
    StoppedBy::kNothing,   StoppedBy::kNothing,     StoppedBy::kNothing, StoppedBy::kNothing,
    StoppedBy::kWallClock, StoppedBy::kOutputLimit, StoppedBy::kCancel};

constexpr Reason kRefusals[] = {
    Reason::kRuntimeUnavailable,  Reason::kImageUnavailable, Reason::kConfigurationRejected,
    Reason::kLimitNotEnforceable, Reason::kProcMasked,       Reason::kExecutableUnavailable,
    Reason::kStorageFailed,       Reason::kSnapshotFailed};

StreamFacts RandomStream(Dice& dice) {
  constexpr std::uint64_t kSizes[] = {0, 0, 1, 255, 256, 257, 65536, 18446744073709551615U};
  StreamFacts stream;
  stream.seen = dice.Pick(kSizes);
  stream.retained = dice.Flip(8) ? dice.Pick(kSizes) : stream.seen;
  stream.eof = !dice.Flip(6);
  return stream;
}

Facts RandomFacts(Dice& dice) {
  Facts facts;
  if (dice.Flip(8)) facts.refused = dice.Pick(kRefusals);
  facts.source = dice.Pick(kChecks);
  facts.snapshot_failed = dice.Flip(16);
  facts.readback_before = dice.Pick(kChecks);
  facts.released = !dice.Flip(6);
  facts.started = !dice.Flip(6);
  if (dice.Flip(10)) facts.exec_errno = 1 + static_cast<int>(dice.Below(40));
  if (!dice.Flip(8)) facts.wait_status = dice.Pick(kStatuses);
  if (!dice.Flip(3)) facts.pidfd_status = dice.Flip(8) ? dice.Pick(kStatuses) : facts.wait_status;
  facts.warden = dice.Pick(kEnds);
  facts.collector = dice.Pick(kEnds);
  facts.stopped_by = dice.Pick(kLatches);
  facts.backstop = dice.Flip(12);
  if (!dice.Flip(10)) facts.oom_kills = dice.Flip(8) ? 1U : 0U;
  facts.oom_ancestor = dice.Flip(2);
  if (!dice.Flip(4)) facts.pids_refused = dice.Flip(4) ? 9U : 0U;
  facts.out = RandomStream(dice);
  facts.err = RandomStream(dice);
  facts.output_bound = dice.Flip(10) ? 0 : 256;
  facts.storage_failed = dice.Flip(16);
  facts.readback_after = dice.Pick(kChecks);
  facts.identity = dice.Pick(kChecks);
  facts.cleanup_confirmed = !dice.Flip(8);
  facts.abandoned = dice.Flip(4);
  facts.recovered = dice.Flip(12);
  return facts;
}

// Mostly good facts with a few spoiled, so that success and failed are met often.
Facts NearlyGoodFacts(Dice& dice) {
  Facts facts = GoodFacts();
  facts.output_bound = 256;
  const int status = dice.Pick(kStatuses);
  facts.wait_status = facts.pidfd_status = status;
  const Facts other = RandomFacts(dice);
  for (unsigned n = dice.Below(3); n > 0; --n) {
    switch (dice.Below(14)) {
      case 0:
        facts.source = other.source;
        break;
      case 1:
        facts.readback_before = other.readback_before;
        break;
      case 2:
        facts.readback_after = other.readback_after;
        break;
      case 3:
        facts.identity = other.identity;
        break;
      case 4:
        facts.warden = other.warden;
        break;
      case 5:
        facts.collector = other.collector;
        break;
      case 6:
        facts.oom_kills = other.oom_kills;
        break;
      case 7:
        facts.out = other.out;
        break;
      case 8:
        facts.pidfd_status = other.pidfd_status;
        break;
      case 9:
        facts.stopped_by = other.stopped_by;
        break;
      case 10:
        facts.started = other.started;
        break;
      case 11:
        facts.released = other.released;
        break;
      case 12:
        facts.wait_status = other.wait_status;
        break;
      default:
        facts.cleanup_confirmed = other.cleanup_confirmed;
        break;
    }
  }
  return facts;
}

template <class Function>
void ForMany(Function check) {
  Dice dice(58);
  for (int i = 0; i < kRounds; ++i) {
    const Facts facts = i % 2 == 0 ? RandomFacts(dice) : NearlyGoodFacts(dice);
    check(facts, dice);
    if (::testing::Test::HasFailure()) FAIL() << "round " << i;
  }
}

bool Has(const Verdict& verdict, Reason reason) {
  return std::find(verdict.reasons.begin(), verdict.reasons.end(), reason) != verdict.reasons.end();
}

TEST(OutcomeProperty, R8_02_R8_08_success_means_every_fact_present_and_matching) {
  int successes = 0;
  ForMany([&](const Facts& facts, Dice&) {
    const auto verdict = Judge(facts);
    if (!verdict.has_value() || verdict->outcome != Outcome::kSuccess) return;
    ++successes;
    EXPECT_TRUE(facts.cleanup_confirmed);
    EXPECT_FALSE(facts.recovered || facts.backstop || facts.storage_failed ||
                 facts.snapshot_failed);
    EXPECT_FALSE(facts.refused.has_value() || facts.exec_errno.has_value());
    EXPECT_TRUE(facts.released && facts.started);
    EXPECT_EQ(facts.source, Check::kMatched);
    EXPECT_EQ(facts.readback_before, Check::kMatched);
    EXPECT_EQ(facts.readback_after, Check::kMatched);
    EXPECT_EQ(facts.identity, Check::kMatched);
    EXPECT_EQ(facts.wait_status, Exited(0));
    EXPECT_TRUE(!facts.pidfd_status.has_value() || facts.pidfd_status == Exited(0));
    EXPECT_EQ(facts.warden, HelperEnd::kClean);
    EXPECT_EQ(facts.collector, HelperEnd::kClean);
    EXPECT_EQ(facts.stopped_by, StoppedBy::kNothing);
    EXPECT_EQ(facts.oom_kills, 0U);
    EXPECT_TRUE(facts.out.eof && facts.err.eof);
    EXPECT_EQ(facts.out.seen, facts.out.retained);
    EXPECT_EQ(facts.err.seen, facts.err.retained);
    EXPECT_LE(facts.out.seen, facts.output_bound);
    EXPECT_LE(facts.err.seen, facts.output_bound - facts.out.seen);
    EXPECT_FALSE(verdict->capture_incomplete);
    EXPECT_TRUE(verdict->reasons.empty() ||
                verdict->reasons == std::vector<Reason>{Reason::kPidsLimitHit});
  });
  EXPECT_GT(successes, kRounds / 80);
}

// All that a hijacked collector decides: the figures and ends of its streams, whether it dies or
// breaks the protocol, and, by claiming a crossed bound, the output latch where none was set.
TEST(OutcomeProperty, a_hijacked_collector_never_turns_another_outcome_into_success) {
  int failures = 0;
  ForMany([&](const Facts& facts, Dice& dice) {
    const auto honest = Judge(facts);
    if (!honest.has_value() || honest->outcome == Outcome::kSuccess) return;
    Facts lied = facts;
    lied.out = RandomStream(dice);
    lied.err = RandomStream(dice);
    lied.collector = dice.Pick(kEnds);
    if (lied.stopped_by == StoppedBy::kNothing && dice.Flip(4)) {
      lied.stopped_by = StoppedBy::kOutputLimit;
    }
    const auto verdict = Judge(lied);
    if (!verdict.has_value()) {
      ADD_FAILURE() << "a collector decides whether anything may be stored";
      return;
    }
    if (honest->outcome == Outcome::kFailed) {
      ++failures;
      EXPECT_NE(verdict->outcome, Outcome::kSuccess);
      EXPECT_NE(verdict->outcome, Outcome::kUnavailable);
    }
    // What the command did stands in the record whatever the collector says.
    EXPECT_EQ(verdict->process, honest->process);
    if (facts.wait_status != Exited(0)) {
      EXPECT_NE(verdict->outcome, Outcome::kSuccess);
    }
    // Only its own part of the story can have made the difference.
    if (verdict->outcome == Outcome::kSuccess) {
      EXPECT_TRUE(honest->outcome == Outcome::kIncomplete);
      for (const Reason reason : honest->reasons) {
        EXPECT_TRUE(reason == Reason::kCaptureIncomplete || reason == Reason::kCollectorDied ||
                    reason == Reason::kProtocolViolation || reason == Reason::kPidsLimitHit);
      }
      EXPECT_EQ(facts.wait_status, Exited(0));
    }
  });
  EXPECT_GT(failures, kRounds / 200);
}

TEST(OutcomeProperty, the_table_ranks_its_rows) {
  std::set<Outcome> met;
  ForMany([&](const Facts& facts, Dice&) {
    const auto verdict = Judge(facts);
    EXPECT_EQ(verdict.has_value(), facts.cleanup_confirmed || facts.abandoned);
    if (!verdict.has_value()) return;
    met.insert(verdict->outcome);
    const bool oom = facts.oom_kills.value_or(0) > 0;
    switch (verdict->outcome) {
      case Outcome::kIndeterminate:
        EXPECT_TRUE(facts.abandoned && !facts.cleanup_confirmed);
        EXPECT_EQ(verdict->reasons.front(), Reason::kCleanupUnconfirmed);
        break;
      case Outcome::kUnavailable:
        EXPECT_TRUE(IsUnavailable(verdict->reasons.front()));
        EXPECT_FALSE(facts.started);
        EXPECT_FALSE(oom);
        EXPECT_EQ(verdict->process.state, ProcessEnd::State::kNotStarted);
        break;
      case Outcome::kTimedOut:
        EXPECT_EQ(facts.stopped_by, StoppedBy::kWallClock);
        break;
      case Outcome::kOutputLimit:
        EXPECT_EQ(facts.stopped_by, StoppedBy::kOutputLimit);
        break;
      case Outcome::kCancelled:
        EXPECT_EQ(facts.stopped_by, StoppedBy::kCancel);
        break;
      case Outcome::kIncomplete:
        EXPECT_FALSE(verdict->reasons.empty());
        EXPECT_NE(verdict->reasons.front(), Reason::kPidsLimitHit);
        EXPECT_EQ(facts.stopped_by, StoppedBy::kNothing);
        break;
      case Outcome::kFailed:
      case Outcome::kSuccess:
        EXPECT_FALSE(oom);
        EXPECT_EQ(facts.stopped_by, StoppedBy::kNothing);
        EXPECT_FALSE(Has(*verdict, Reason::kCleanupUnconfirmed));
        break;
    }
    // R8.04, R8.05: whoever sent it.
    const bool killed =
        verdict->process.signal == SIGKILL || verdict->process.code == 128 + SIGKILL;
    if (killed || oom) {
      EXPECT_NE(verdict->outcome, Outcome::kFailed);
      EXPECT_NE(verdict->outcome, Outcome::kSuccess);
    }
    if (oom) {
      EXPECT_TRUE(Has(*verdict, Reason::kOomLocal) || Has(*verdict, Reason::kOomAncestor));
    }
    if (!oom) {
      EXPECT_FALSE(Has(*verdict, Reason::kOomLocal) || Has(*verdict, Reason::kOomAncestor));
    }
    if (facts.stopped_by != StoppedBy::kNothing) {
      EXPECT_FALSE(Has(*verdict, Reason::kExternalKill));
    }
    std::set<Reason> unique(verdict->reasons.begin(), verdict->reasons.end());
    EXPECT_EQ(unique.size(), verdict->reasons.size());
  });
  EXPECT_EQ(met.size(), 8U);
}

TEST(OutcomeProperty, it_is_a_function_of_the_facts_alone) {
  ForMany([](const Facts& facts, Dice&) {
    const auto one = Judge(facts);
    const auto two = Judge(facts);
    ASSERT_EQ(one.has_value(), two.has_value());
    if (one.has_value()) {
      EXPECT_EQ(one->outcome, two->outcome);
      EXPECT_EQ(one->reasons, two->reasons);
    }
  });
}

}  // namespace
}  // namespace bailiff::policy
