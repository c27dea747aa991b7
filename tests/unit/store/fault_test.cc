// SPDX-License-Identifier: Apache-2.0
// e03: a kill, or a failing write or sync, at every fault point of the store. Afterwards the
// database is whole and the attempt is in one of two states: before the move, or after it.
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "controller/store/data_directory.h"
#include "tests/unit/store/support.h"

namespace bailiff::controller {
namespace {

using namespace test;

constexpr int kKilled = SIGKILL;  // raw wait status of a process that died of it

struct Move {
  const char* name;
  AttemptState before;
  std::function<Result<void>(Store&, const AttemptRow&)> make;
  AttemptState after;
  std::int64_t after_generation;
};

template <class T>
Result<void> Drop(const Result<T>& result) {
  if (result.ok()) return {};
  return result.error();
}

const std::vector<Move>& Moves() {
  static const std::vector<Move> moves = {
      {"claim", AttemptState::kPending,
       [](Store& store, const AttemptRow& row) { return Drop(store.Claim(SampleClaim(row))); },
       AttemptState::kRunning, 1},
      {"cancel", AttemptState::kPending,
       [](Store& store, const AttemptRow& row) { return Drop(store.Cancel(row.id, 0, "r")); },
       AttemptState::kCancelled, 1},
      {"fence", AttemptState::kRunning,
       [](Store& store, const AttemptRow& row) {
         return Drop(store.Fence(row.id, 1, Owner(2), "r"));
       },
       AttemptState::kRunning, 2},
      {"finish", AttemptState::kRunning,
       [](Store& store, const AttemptRow& row) { return Drop(store.Finish(SampleFinish(row))); },
       AttemptState::kFinished, 2},
  };
  return moves;
}

bool IsBefore(const Move& move, const AttemptRow& row) {
  return row.state == move.before && row.generation == move.after_generation - 1;
}
bool IsAfter(const Move& move, const AttemptRow& row) {
  return row.state == move.after && row.generation == move.after_generation;
}

// Evidence and audit agree with the attempt's state, whichever of the two it is.
void CheckWhole(const Data& data, Store& store, const AttemptRow& row) {
  ASSERT_OK(store.CheckIntegrity(true));
  const std::string evidence = ForeignSql(data.database, "SELECT count(*) FROM evidence");
  EXPECT_EQ(evidence, row.state == AttemptState::kFinished ? "1" : "0");
  EXPECT_EQ(ForeignSql(data.database, "SELECT count(*) FROM outputs"),
            row.state == AttemptState::kFinished ? "2" : "0");
  EXPECT_EQ(ForeignSql(data.database,
                       "SELECT count(*) FROM audit WHERE action IN ('attempt.claim', "
                       "'attempt.cancel', 'attempt.fence', 'attempt.finish')"),
            std::to_string(row.generation));
}

class Faults : public testing::Test {
 protected:
  void SetUp() override { unsetenv("BAILIFF_FAULT"); }
  static void Arm(const std::string& fault) { setenv("BAILIFF_FAULT", fault.c_str(), 1); }
};

// Runs `move` in a child with the fault armed, on a fresh data directory; gives its wait status.
int RunMove(const Data& data, const Move& move, const AttemptRow& row, const std::string& fault) {
  return InChild([&] {
    setenv("BAILIFF_FAULT", fault.c_str(), 1);
    Store store = data.Open();
    const Result<void> made = move.make(store, row);
    return made.ok() ? 0 : 1;
  });
}

AttemptRow Prepare(const Data& data, const Move& move) {
  Store store = data.Open();
  return move.before == AttemptState::kPending ? PendingRun(store) : RunningRun(store);
}

TEST_F(Faults, e03_kill_at_every_point_of_every_move) {
  int kills = 0;
  int before = 0;
  int after = 0;
  for (const Move& move : Moves()) {
    for (const char* point : {"StoreBegin", "StoreStatement", "StoreCommit", "StoreCommitted",
                              "StoreFileWrite", "StoreFileSync"}) {
      for (int nth = 1;; ++nth) {
        SCOPED_TRACE(std::string(move.name) + " " + point + "#" + std::to_string(nth));
        const TemporaryDirectory directory;
        const Data data(directory.path());
        const AttemptRow row = Prepare(data, move);
        const int status =
            RunMove(data, move, row, std::string(point) + "#" + std::to_string(nth) + "=kill");
        if (status == 0) break;  // the move has fewer arrivals than that
        ASSERT_EQ(status, kKilled);
        ++kills;
        Store store = data.Open();
        const auto now = store.GetAttempt(row.id);
        ASSERT_OK(now);
        ASSERT_TRUE(IsBefore(move, *now) || IsAfter(move, *now)) << ToString(now->state);
        if (std::string_view(point) == "StoreCommitted") {
          ASSERT_TRUE(IsAfter(move, *now));
        }
        if (std::string_view(point) == "StoreStatement") {
          ASSERT_TRUE(IsBefore(move, *now));
        }
        CheckWhole(data, store, *now);
        // Whoever comes next completes it, or is told it is done.
        if (IsBefore(move, *now)) {
          ++before;
          ASSERT_OK(move.make(store, row));
        } else {
          ++after;
        }
        const auto end = store.GetAttempt(row.id);
        ASSERT_TRUE(IsAfter(move, *end));
        CheckWhole(data, store, *end);
      }
    }
  }
  EXPECT_GT(before, 0);
  EXPECT_GT(after, 0);
  printf("  %d kills: %d before the move, %d after it\n", kills, before, after);
}

TEST_F(Faults, e10_failing_write_or_sync_is_named_and_reread_before_anything_is_decided) {
  for (const Move& move : Moves()) {
    for (const std::string fault : {"StoreFileWrite", "StoreFileSync"}) {
      for (const int error : {EIO, ENOSPC}) {
        for (int nth = 1;; ++nth) {
          SCOPED_TRACE(std::string(move.name) + " " + fault + "#" + std::to_string(nth) + " " +
                       std::to_string(error));
          const TemporaryDirectory directory;
          const Data data(directory.path());
          const AttemptRow row = Prepare(data, move);
          const int status = InChild([&] {
            Store store = data.Open();
            setenv("BAILIFF_FAULT",
                   (fault + "#" + std::to_string(nth) + "=errno:" + std::to_string(error)).c_str(),
                   1);
            const Result<void> made = move.make(store, row);
            unsetenv("BAILIFF_FAULT");
            if (made.ok()) return 0;
            const ErrorCode code = made.error().code;
            if (code != ErrorCode::kStoreIo && code != ErrorCode::kStoreFull) return 2;
            // The same store, asked again: the truth, and the move can be made.
            const auto now = store.GetAttempt(row.id);
            if (!now.ok() || !(IsBefore(move, *now) || IsAfter(move, *now))) return 3;
            if (IsBefore(move, *now) && !move.make(store, row).ok()) return 4;
            const auto end = store.GetAttempt(row.id);
            if (!end.ok() || !IsAfter(move, *end)) return 5;
            return store.CheckIntegrity(true).ok() ? 7 : 6;
          });
          if (status == 0) break;
          ASSERT_EQ(WEXITSTATUS(status), 7);
          Store store = data.Open();
          const auto end = store.GetAttempt(row.id);
          ASSERT_OK(end);
          ASSERT_TRUE(IsAfter(move, *end));
          CheckWhole(data, store, *end);
        }
      }
    }
  }
}

TEST_F(Faults, a_lost_answer_is_given_again) {
  // The commit is durable, its caller is not told: asking for the same thing gives the same row.
  for (const Move& move : Moves()) {
    if (std::string_view(move.name) == "cancel") continue;  // an operator reads the state instead
    SCOPED_TRACE(move.name);
    const TemporaryDirectory directory;
    const Data data(directory.path());
    const AttemptRow row = Prepare(data, move);
    EXPECT_EQ(InChild([&] {
                Store store = data.Open();
                setenv("BAILIFF_FAULT", "StoreCommitted=errno:5", 1);
                const Result<void> lost = move.make(store, row);
                if (lost.ok() || lost.error().code != ErrorCode::kStoreIo) return 1;
                return move.make(store, row).ok() ? 0 : 2;
              }),
              0);
    Store store = data.Open();
    EXPECT_TRUE(IsAfter(move, *store.GetAttempt(row.id)));
  }
}

TEST_F(Faults, e03_init_killed_at_every_point_is_completed_by_the_next) {
  int kills = 0;
  for (const char* point :
       {"DataMakeDirectory", "DataWrite", "DataSync", "DataRename", "DataRenamed", "StoreBegin",
        "StoreStatement", "StoreCommit", "StoreCommitted", "StoreFileWrite", "StoreFileSync"}) {
    for (int nth = 1;; ++nth) {
      SCOPED_TRACE(std::string(point) + "#" + std::to_string(nth));
      const TemporaryDirectory directory;
      const std::string path = directory.path() + "/d";
      const std::string database = path + "/state.sqlite";
      const auto fd = CreateDataDirectory(path, {geteuid(), getegid()});
      ASSERT_OK(fd);
      const int status = InChild([&] {
        setenv("BAILIFF_FAULT", (std::string(point) + "#" + std::to_string(nth) + "=kill").c_str(),
               1);
        return InitDataDirectory(fd->get(), database, kOperator).ok() ? 0 : 1;
      });
      if (status == 0) break;
      ASSERT_EQ(status, kKilled);
      ++kills;
      const bool complete = CheckFormat(fd->get()).ok();
      const auto authority = ReadAuthority(fd->get());
      const auto init = InitDataDirectory(fd->get(), database, kOperator);
      ASSERT_OK(init);
      EXPECT_EQ(init->created, !complete);
      if (authority.ok()) {
        EXPECT_EQ(init->repository, *authority);
      }
      ASSERT_OK(CheckFormat(fd->get()));
      auto store = Store::Open(
          {.path = database, .operator_json = kOperator, .repository = init->repository});
      ASSERT_OK(store);
      ASSERT_OK(store->CheckIntegrity(true));
      EXPECT_EQ(ForeignSql(database, "SELECT count(*) FROM authority"), "1");
      if (point == std::string_view("StoreFileWrite") && nth > 400) FAIL() << "no end";
    }
  }
  printf("  %d kills\n", kills);
  EXPECT_GT(kills, 20);
}

TEST_F(Faults, durable_write_is_whole_or_not_there) {
  for (const char* point : {"DataWrite", "DataSync", "DataRename", "DataRenamed"}) {
    for (int nth = 1;; ++nth) {
      SCOPED_TRACE(std::string(point) + "#" + std::to_string(nth));
      const TemporaryDirectory directory;
      const Data data(directory.path());
      ASSERT_OK(WriteFileDurably(data.fd.get(), "marker", "old"));
      const int status = InChild([&] {
        setenv("BAILIFF_FAULT", (std::string(point) + "#" + std::to_string(nth) + "=kill").c_str(),
               1);
        return WriteFileDurably(data.fd.get(), "marker", "new").ok() ? 0 : 1;
      });
      if (status == 0) break;
      ASSERT_EQ(status, kKilled);
      const std::string now = *ipc::ReadFileAt(data.fd.get(), "marker", 10);
      EXPECT_TRUE(now == "old" || now == "new") << now;
      ASSERT_OK(WriteFileDurably(data.fd.get(), "marker", "next"));
    }
  }
}

TEST_F(Faults, a_lock_that_cannot_be_asked_for_is_an_error_and_not_an_answer) {
  const TemporaryDirectory directory;
  const Data data(directory.path());
  auto lock = OwnersLock::Open(data.fd.get());
  ASSERT_OK(lock);
  EXPECT_EQ(InChild([&] {
              Arm("OwnersLockTake=errno:37");  // ENOLCK
              return lock->TryRow(1).ok() ? 1 : 0;
            }),
            0);
}

}  // namespace
}  // namespace bailiff::controller
