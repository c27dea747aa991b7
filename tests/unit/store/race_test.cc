// SPDX-License-Identifier: Apache-2.0
// Many processes on one database: one of them wins, the others are told so, nothing is lost (e06,
// e07).
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "tests/unit/store/support.h"

namespace bailiff::controller {
namespace {

using namespace test;

#ifdef BAILIFF_SANITIZE
constexpr int kRounds = 15;  // a fork with AddressSanitizer costs a hundred times as much
#else
constexpr int kRounds = 60;
#endif

std::int64_t Milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

// Counters seen by all children.
struct Board {
  std::atomic<int> go;
  std::atomic<int> wins;
  std::atomic<int> conflicts;
  std::atomic<int> others;
  std::atomic<int> changes;
  std::atomic<int> cancelled;
  std::atomic<int> finished;
};

class Race : public testing::Test {
 protected:
  void SetUp() override {
    void* const memory =
        mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    board_ = new (memory) Board{};
  }
  void TearDown() override { munmap(board_, sizeof(Board)); }

  // True: ours. False: told that another was first. Anything else is counted as a fault.
  template <class T>
  bool Count(const Result<T>& result) {
    if (result.ok()) {
      ++board_->wins;
      return true;
    }
    const ErrorCode code = result.error().code;
    if (code == ErrorCode::kAttemptConflict || code == ErrorCode::kAttemptFinished) {
      ++board_->conflicts;
    } else {
      ++board_->others;
      fprintf(stderr, "%s\n", Text(result.error()).c_str());
    }
    return false;
  }
  void Go(int parties) {
    ++board_->go;
    while (board_->go < parties) sched_yield();
  }

  // Every party in a process and with a connection of its own, at once: exactly one wins.
  void OneWins(const std::function<int(Store&, int)>& party) {
    constexpr int kParties = 4;
    board_->go = 0;
    board_->wins = 0;
    board_->conflicts = 0;
    std::vector<pid_t> children;
    for (int number = 0; number < kParties; ++number) {
      children.push_back(StartChild([&, number] {
        Store store = data_.Open();
        Go(kParties);
        return party(store, number);
      }));
    }
    for (const pid_t child : children) ASSERT_EQ(WaitChild(child), 0);
    ASSERT_EQ(board_->wins, 1);
    ASSERT_EQ(board_->conflicts, kParties - 1);
    ASSERT_EQ(board_->others, 0);
  }

  TemporaryDirectory directory_;
  Data data_{directory_.path()};
  Board* board_ = nullptr;
};

TEST_F(Race, e06_one_claim_or_cancel_wins) {
  for (int round = 0; round < kRounds; ++round) {
    const AttemptRow pending = [&] {
      Store store = data_.Open();
      return PendingRun(store);
    }();
    ASSERT_NO_FATAL_FAILURE(OneWins([&](Store& store, int party) {
      if (party % 2 == 0)
        Count(store.Claim(SampleClaim(pending, party)));
      else
        Count(store.Cancel(pending.id, 0, "race"));
      return 0;
    }));
    Store store = data_.Open();
    ASSERT_EQ(store.GetAttempt(pending.id)->generation, 1);
  }
}

TEST_F(Race, e06_one_finish_or_fence_wins_and_nothing_overwrites_it) {
  for (int round = 0; round < kRounds; ++round) {
    const AttemptRow running = [&] {
      Store store = data_.Open();
      return RunningRun(store);
    }();
    ASSERT_NO_FATAL_FAILURE(OneWins([&](Store& store, int party) {
      const std::string evidence =
          "{\"id\":\"" + running.id + "\",\"party\":" + std::to_string(party) + "}";
      if (party % 2 == 0) {
        Count(store.Finish(SampleFinish(running, evidence)));
        return 0;
      }
      const auto fenced = store.Fence(running.id, 1, Owner(party), "race");
      if (!Count(fenced)) return 0;
      FinishInput finish = SampleFinish(*fenced, evidence);
      finish.outcome = "incomplete";
      return store.Finish(finish).ok() ? 0 : 1;
    }));
    Store store = data_.Open();
    const auto row = store.GetAttempt(running.id);
    ASSERT_OK(row);
    ASSERT_EQ(row->state, AttemptState::kFinished);
    ASSERT_EQ(row->generation, row->outcome == "incomplete" ? 3 : 2);
  }
}

// One process's share: its own attempts moved along every way, others' attempts disturbed.
int Worker(Store& store, Board& board, int number, std::int64_t until,
           const std::function<bool(bool, const Error*)>& check) {
  const auto fine = [&](const auto& result) {
    return check(result.ok(), result.ok() ? nullptr : &result.error());
  };
  for (int i = 0; Milliseconds() < until; ++i) {
    const auto pending = store.CreateRunChange(SampleRun());
    if (!fine(pending) || !pending.ok()) return 1;
    ++board.changes;
    const auto page = store.ListAttempts(
        {.state = AttemptState::kPending, .outcome = {}, .change = {}, .limit = 5, .after = {}});
    if (!fine(page)) return 2;
    if (page.ok() && !page->attempts.empty()) {
      // Somebody's, perhaps claimed meanwhile.
      const AttemptRow& any = page->attempts.back();
      const auto cancelled = store.Cancel(any.id, any.generation, "disturb");
      if (!fine(cancelled)) return 3;
      if (cancelled.ok()) ++board.cancelled;
    }
    const auto claimed = store.Claim(SampleClaim(*pending, number));
    if (!fine(claimed)) return 4;
    if (!claimed.ok()) continue;
    if (!fine(store.PersistCustody(claimed->id, 1, "{\"n\":1}"))) return 5;
    AttemptRow last = *claimed;
    if (i % 3 == 0) {
      const auto fenced = store.Fence(claimed->id, 1, Owner(1000 + number), "disturb");
      if (!fine(fenced) || !fenced.ok()) return 6;
      last = *fenced;
    }
    const auto finished = store.Finish(SampleFinish(last, "{\"id\":\"" + last.id + "\"}"));
    if (!fine(finished) || !finished.ok()) return 7;
    ++board.finished;
  }
  return 0;
}

TEST_F(Race, e07_forty_writers_never_see_a_locked_database) {
  {
    Store store = data_.Open();
    PendingRun(store);
  }
  const std::int64_t until = Milliseconds() + 4000;
  std::vector<pid_t> children;
  for (int number = 0; number < 40; ++number) {
    children.push_back(StartChild([&, number] {
      Store store = data_.Open();
      return Worker(store, *board_, number, until, [&](bool ok, const Error* error) {
        if (ok || error->code == ErrorCode::kAttemptConflict ||
            error->code == ErrorCode::kAttemptFinished)
          return true;
        ++board_->others;
        fprintf(stderr, "%s\n", Text(*error).c_str());
        return false;
      });
    }));
  }
  for (int reader = 0; reader < 4; ++reader) {
    children.push_back(StartChild([&] {
      while (Milliseconds() < until) {
        Store store = data_.Open();
        const auto page = store.ListAttempts({});
        if (!page.ok() || !store.Counts().ok()) {
          ++board_->others;
          return 8;
        }
        for (const AttemptRow& row : page->attempts) {
          if (row.evidence_id && !store.GetEvidence(*row.evidence_id).ok()) return 9;
        }
      }
      return 0;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(WaitChild(child), 0);
  EXPECT_EQ(board_->others, 0);
  EXPECT_GT(board_->changes, 40);

  // Every accepted change is there, and what the audit says of each attempt has neither gap nor
  // repeat.
  Store store = data_.Open();
  ASSERT_OK(store.CheckIntegrity(true));
  const auto number = [&](const std::string& sql) { return ForeignSql(data_.database, sql); };
  EXPECT_EQ(number("SELECT count(*) FROM changes"), std::to_string(board_->changes + 1));
  EXPECT_EQ(number("SELECT count(*) FROM evidence"), std::to_string(board_->finished));
  EXPECT_EQ(number("SELECT count(*) FROM attempts WHERE state = 'finished'"),
            std::to_string(board_->finished));
  EXPECT_EQ(number("SELECT count(*) FROM attempts WHERE state = 'cancelled'"),
            std::to_string(board_->cancelled));
  EXPECT_EQ(number("SELECT count(*) FROM (SELECT subject, after_json, count(*) AS n FROM audit "
                   "WHERE action IN ('attempt.claim', 'attempt.fence', 'attempt.finish', "
                   "'attempt.cancel') GROUP BY subject, json_extract(CAST(after_json AS TEXT), "
                   "'$.generation') HAVING n > 1)"),
            "0");
  EXPECT_EQ(number("SELECT count(*) FROM attempts AS a WHERE generation <> (SELECT count(*) FROM "
                   "audit WHERE subject = a.id AND action IN ('attempt.claim', 'attempt.fence', "
                   "'attempt.finish', 'attempt.cancel'))"),
            "0");
  printf("  %d changes, %d finished, %d cancelled in 4 s by 40 writers\n", board_->changes.load(),
         board_->finished.load(), board_->cancelled.load());
}

TEST_F(Race, e07_a_writer_that_never_ends_gives_a_named_error_in_bounded_time) {
  int ready[2];
  int done[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(done), 0);
  AttemptRow pending;
  {
    Store store = data_.Open();
    pending = PendingRun(store);
  }
  const pid_t hog = StartChild([&] {
    close(done[1]);
    Store store = data_.Open();
    RunChangeInput input = SampleRun();
    const auto bind = input.bind;
    input.bind = [&](const RunNames& names) {  // called inside the write transaction
      char byte = 'x';
      if (write(ready[1], &byte, 1) != 1 || read(done[0], &byte, 1) != 0) abort();
      return bind(names);
    };
    return store.CreateRunChange(input).ok() ? 0 : 1;
  });
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  const std::int64_t begin = Milliseconds();
  {
    Store store = data_.Open(100);
    ASSERT_CODE(ErrorCode::kStoreBusy, store.Cancel(pending.id, 0, "r"));
    EXPECT_LT(Milliseconds() - begin, 5000);
    EXPECT_EQ(store.GetAttempt(pending.id)->state, AttemptState::kPending);  // readers go on
    close(done[1]);
    EXPECT_EQ(WaitChild(hog), 0);
    ASSERT_OK(store.Cancel(pending.id, 0, "r"));
  }
}

}  // namespace
}  // namespace bailiff::controller
