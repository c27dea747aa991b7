// SPDX-License-Identifier: Apache-2.0
// Who is alive (owners.lock), and locks that stay (e09).
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/unit/store/support.h"

namespace bailiff::controller {
namespace {

using namespace test;

class Locks : public testing::Test {
 protected:
  OwnersLock Open() {
    auto lock = OwnersLock::Open(data_.fd.get());
    EXPECT_TRUE(lock.ok());
    return std::move(lock).value();
  }
  TemporaryDirectory directory_;
  Data data_{directory_.path()};
};

TEST_F(Locks, a_row_has_one_owner) {
  OwnersLock one = Open();
  OwnersLock two = Open();
  EXPECT_TRUE(*one.TryRow(7));
  EXPECT_FALSE(*one.TryRow(7));  // its own attempt is alive, too
  EXPECT_FALSE(*two.TryRow(7));
  EXPECT_TRUE(*two.TryRow(8));
  EXPECT_TRUE(*two.RowHeld(7));
  EXPECT_TRUE(*one.RowHeld(7));
  EXPECT_FALSE(*one.RowHeld(9));
  one.ReleaseRow(7);
  EXPECT_TRUE(*two.TryRow(7));
  EXPECT_FALSE(one.TryRow(0).ok());
  EXPECT_FALSE(one.TryRow(OwnersLock::kFirstSlot).ok());
}

TEST_F(Locks, d03_a_remover_that_does_not_go_on_is_not_waited_for_without_end) {
  OwnersLock stopped = Open();
  ASSERT_OK(stopped.ShareCgroups());
  ASSERT_TRUE(*stopped.TryOwnCgroups());
  OwnersLock mine = Open();
  ASSERT_CODE(ErrorCode::kStoreBusy, mine.ShareCgroups(20));
  stopped.ReleaseCgroups();
  ASSERT_OK(mine.ShareCgroups(20));
  EXPECT_FALSE(*stopped.TryOwnCgroups());
}

TEST_F(Locks, e11_r11_08_death_is_told_by_the_kernel) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t owner = StartChild([&] {
    OwnersLock lock = Open();
    const bool locked = *lock.TryRow(3) && *lock.TryRow(4);
    if (write(ready[1], locked ? "y" : "n", 1) != 1) return 1;
    pause();
    return 0;
  });
  char answer = 0;
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  OwnersLock mine = Open();
  EXPECT_FALSE(*mine.TryRow(3));
  ASSERT_EQ(kill(owner, SIGKILL), 0);
  WaitChild(owner);
  EXPECT_TRUE(*mine.TryRow(3));
  EXPECT_TRUE(*mine.TryRow(4));
}

TEST_F(Locks, e09_neither_close_nor_fork_drops_an_owner_byte) {
  OwnersLock mine = Open();
  ASSERT_TRUE(*mine.TryRow(5));
  // Another description of the same file, opened and closed in this very process.
  { const ipc::Fd other(open((data_.path + "/execution/owners.lock").c_str(), O_RDWR)); }
  EXPECT_EQ(InChild([] { return 0; }), 0);  // a fork that exits closes its copies
  EXPECT_EQ(InChild([&] {
              OwnersLock lock = Open();
              return *lock.TryRow(5) ? 1 : 0;
            }),
            0);
}

TEST_F(Locks, id_slots_are_unique_and_come_back) {
  OwnersLock one = Open();
  OwnersLock two = Open();
  EXPECT_EQ(*one.AcquireIdSlot(3), 0U);
  EXPECT_EQ(*two.AcquireIdSlot(3), 1U);
  EXPECT_EQ(*one.AcquireIdSlot(3), 2U);
  ASSERT_CODE(ErrorCode::kIdSlots, two.AcquireIdSlot(3));
  one.ReleaseSlot(0);
  EXPECT_EQ(*two.AcquireIdSlot(3), 0U);
}

TEST_F(Locks, id_slots_of_many_processes_never_meet) {
  // Each child says which slot it holds while all of them hold theirs.
  int said[2];
  int held[2];
  ASSERT_EQ(pipe(said), 0);
  ASSERT_EQ(pipe(held), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < 16; ++i) {
    children.push_back(StartChild([&] {
      close(held[1]);
      OwnersLock lock = Open();
      const auto slot = lock.AcquireIdSlot(16);
      if (!slot.ok()) return 1;
      const char byte = static_cast<char>('a' + *slot);
      if (write(said[1], &byte, 1) != 1) return 2;
      char end = 0;
      return static_cast<int>(read(held[0], &end, 1));  // until the parent closes its end
    }));
  }
  std::string slots;
  for (int i = 0; i < 16; ++i) {
    char byte = 0;
    ASSERT_EQ(read(said[0], &byte, 1), 1);
    slots += byte;
  }
  close(held[1]);
  for (const pid_t child : children) EXPECT_EQ(WaitChild(child), 0);
  std::sort(slots.begin(), slots.end());
  EXPECT_EQ(slots, "abcdefghijklmnop");
}

// Locks on the database file as the kernel lists them. A read of the list can miss a line while
// others take and drop locks, and never makes one up: the most of several reads.
int DatabaseLocks(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return -1;
  int most = 0;
  for (int reads = 0; reads < 10; ++reads) {
    std::ifstream locks("/proc/locks");
    int count = 0;
    for (std::string line; std::getline(locks, line);) {
      if (line.find(":" + std::to_string(status.st_ino) + " ") != std::string::npos &&
          line.find(" " + std::to_string(getpid()) + " ") != std::string::npos)
        ++count;
    }
    most = std::max(most, count);
  }
  return most;
}

TEST_F(Locks, what_an_import_shares_nobody_owns_until_the_last_one_ends) {
  using Contents = OwnersLock::Contents;
  OwnersLock one = Open();
  OwnersLock two = Open();
  OwnersLock remover = Open();
  ASSERT_OK(one.ShareContents(Contents::kObjects));
  ASSERT_OK(two.ShareContents(Contents::kObjects));
  EXPECT_FALSE(*remover.TryOwnContents(Contents::kObjects));
  EXPECT_TRUE(*remover.TryOwnContents(Contents::kImages));  // another part
  EXPECT_FALSE(*one.TryOwnContents(Contents::kImages));
  one.ReleaseContents(Contents::kObjects);
  EXPECT_FALSE(*remover.TryOwnContents(Contents::kObjects));
  { const OwnersLock ended = std::move(two); }  // as by its death
  EXPECT_TRUE(*remover.TryOwnContents(Contents::kObjects));
  EXPECT_FALSE(*remover.TryOwnContents(Contents::kObjects));  // one removal at a time
  remover.ReleaseContents(Contents::kObjects);
  ASSERT_OK(one.ShareContents(Contents::kObjects));
}

TEST_F(Locks, who_owns_the_attempts_byte_gives_it_back) {
  OwnersLock remover = Open();
  OwnersLock attempt = Open();
  EXPECT_TRUE(*remover.TryOwnCgroups());
  EXPECT_FALSE(*attempt.TryOwnCgroups());
  remover.ReleaseCgroups();
  ASSERT_OK(attempt.ShareCgroups());
  EXPECT_FALSE(*remover.TryOwnCgroups());
}

TEST_F(Locks, e09_locks_of_the_database_outlive_a_reader_outside) {
  Store store = data_.Open();
  PendingRun(store);
  const std::string shared_memory = data_.database + "-shm";
  ASSERT_GT(DatabaseLocks(shared_memory), 0);
  const int before = DatabaseLocks(data_.database) + DatabaseLocks(shared_memory);
  // Another process opens and closes the database with SQLite, then with plain calls.
  EXPECT_EQ(InChild([&] {
              ForeignSql(data_.database, "SELECT count(*) FROM attempts");
              const int fd = open(data_.database.c_str(), O_RDONLY);
              char byte = 0;
              const bool read_one = read(fd, &byte, 1) == 1;
              close(fd);
              return read_one ? 0 : 1;
            }),
            0);
  EXPECT_EQ(DatabaseLocks(data_.database) + DatabaseLocks(shared_memory), before);
  EXPECT_EQ(access((data_.database + "-wal").c_str(), F_OK), 0);
  PendingRun(store);
  ASSERT_OK(store.CheckIntegrity(true));
}

TEST_F(Locks, e09_no_program_we_start_gets_a_descriptor_of_the_store) {
  Store store = data_.Open();
  OwnersLock lock = Open();
  ASSERT_TRUE(*lock.TryRow(1));
  PendingRun(store);
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    const auto target = std::filesystem::read_symlink(entry.path(), ignored).string();
    if (!target.starts_with(data_.path)) continue;
    ++found;
    const int fd = std::stoi(entry.path().filename());
    EXPECT_NE(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0) << target;
  }
  EXPECT_GE(found, 5);  // directory, database, log, log index, owners.lock
}

}  // namespace
}  // namespace bailiff::controller
