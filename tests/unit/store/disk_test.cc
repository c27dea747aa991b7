// SPDX-License-Identifier: Apache-2.0
// e10: a full disk is named, nothing is half recorded, and everything goes on once there is room.
// In a child with a mount namespace of its own, on a tmpfs of 1 MiB.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/unit/store/support.h"

namespace bailiff::controller {
namespace {

using namespace test;

// Private mounts: as root directly, otherwise as root of a user namespace.
bool EnterMountNamespace() {
  const uid_t uid = geteuid();
  const gid_t gid = getegid();
  if (unshare(uid == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0) return false;
  if (uid != 0) {
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << "0 " << uid << " 1";
    std::ofstream("/proc/self/gid_map") << "0 " << gid << " 1";
  }
  return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

// Writes zeros until there is no room; then gives `leave` bytes back.
void Fill(const std::string& path, off_t leave) {
  const ipc::Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const std::string block(4096, 'x');
  while (write(file.get(), block.data(), block.size()) > 0) {
  }
  struct stat status {};
  if (fstat(file.get(), &status) == 0 && leave < status.st_size &&
      ftruncate(file.get(), status.st_size - leave) != 0)
    abort();
}

// Runs in the child; every step has its number.
int FullDisk(const std::string& mount_point) {
  if (!EnterMountNamespace()) return 10;
  if (mount("tmpfs", mount_point.c_str(), "tmpfs", 0, "size=1m,mode=0700") != 0) return 11;
  const Data data(mount_point);
  const std::string filler = mount_point + "/filler";
  Store store = data.Open();
  const AttemptRow running = RunningRun(store);
  const std::string output(200 * 1024, 'o');
  FinishInput finish = SampleFinish(running);
  finish.outputs = {output};

  // A log that cannot grow: at several amounts of room left, down to none.
  for (const off_t leave : {64 * 1024, 16 * 1024, 4096, 0}) {
    unlink(filler.c_str());
    Fill(filler, leave);
    const auto refused = store.Finish(finish);
    if (refused.ok()) return 20;
    if (refused.error().code != ErrorCode::kStoreFull) {
      fprintf(stderr, "%s\n", Text(refused.error()).c_str());
      return 21;
    }
    const auto row = store.GetAttempt(running.id);
    if (!row.ok()) {
      fprintf(stderr, "%s\n", Text(row.error()).c_str());
      return 22;
    }
    if (row->state != AttemptState::kRunning || row->generation != 1) return 23;
    if (!store.CheckIntegrity(true).ok()) return 24;
  }
  // A process that starts now can still read, and is told the truth when it writes.
  const int status = InChild([&] {
    auto other = Store::Open(
        {.path = data.database, .operator_json = kOperator, .repository = data.repository});
    if (!other.ok()) return 1;
    if (other->GetAttempt(running.id)->state != AttemptState::kRunning) return 2;
    const auto fenced = other->Finish(finish);
    return !fenced.ok() && fenced.error().code == ErrorCode::kStoreFull ? 0 : 3;
  });
  if (status != 0) return 30;
  // There is room again: the same call succeeds, once.
  if (unlink(filler.c_str()) != 0) return 40;
  const auto finished = store.Finish(finish);
  if (!finished.ok()) {
    fprintf(stderr, "%s\n", Text(finished.error()).c_str());
    return 41;
  }
  if (finished->generation != 2 || !store.GetEvidence(*finished->evidence_id).ok()) return 42;
  return store.CheckIntegrity(true).ok() ? 0 : 43;
}

TEST(Disk, e10_full_disk_is_named_and_later_finish_works) {
  const TemporaryDirectory directory;
  EXPECT_EQ(InChild([&] { return FullDisk(directory.path()); }), 0);
}

int NoInodes(const std::string& mount_point) {
  if (!EnterMountNamespace()) return 10;
  if (mount("tmpfs", mount_point.c_str(), "tmpfs", 0, "size=8m,nr_inodes=60,mode=0700") != 0)
    return 11;
  const Data data(mount_point);
  for (int i = 0;; ++i) {
    const ipc::Fd file(open((mount_point + "/f" + std::to_string(i)).c_str(),
                            O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    if (!file.valid()) break;
  }
  const Result<void> written = WriteFileDurably(data.fd.get(), "marker", "x");
  if (written.ok() || written.error().system_error != ENOSPC) return 12;
  Store store = data.Open();  // its files exist already
  const AttemptRow running = RunningRun(store);
  return store.Finish(SampleFinish(running)).ok() ? 0 : 13;
}

TEST(Disk, e10_no_inodes_left_stops_new_files_and_not_the_record) {
  const TemporaryDirectory directory;
  EXPECT_EQ(InChild([&] { return NoInodes(directory.path()); }), 0);
}

}  // namespace
}  // namespace bailiff::controller
