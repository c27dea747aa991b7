// SPDX-License-Identifier: Apache-2.0
#include "controller/store/owners_lock.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "ipc/fault.h"

namespace bailiff::controller {
namespace {

constexpr const char* kName = "execution/owners.lock";

struct flock ByteLock(short type, std::int64_t offset) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = offset;
  lock.l_len = 1;
  return lock;
}

}  // namespace

Result<OwnersLock> OwnersLock::Open(int data) {
  BAILIFF_TRY_ASSIGN(ipc::Fd fd,
                     ipc::OpenBeneath(data, kName, O_RDWR | O_CREAT | O_NOCTTY, 0600, true));
  return OwnersLock(std::move(fd));
}

Result<bool> OwnersLock::TryByte(std::int64_t offset) {
  if (held_.contains(offset)) return false;
  if (const int error = BAILIFF_FAULT(OwnersLockTake)) return SystemError("fcntl", kName, error);
  struct flock lock = ByteLock(F_WRLCK, offset);
  if (fcntl(fd_.get(), F_OFD_SETLK, &lock) != 0) {
    if (errno == EAGAIN || errno == EACCES) return false;
    return SystemError("fcntl(F_OFD_SETLK)", kName);
  }
  held_.insert(offset);
  return true;
}

void OwnersLock::ReleaseByte(std::int64_t offset) {
  if (held_.erase(offset) == 0) return;
  struct flock lock = ByteLock(F_UNLCK, offset);
  // Unlocking a byte that is held can fail for want of memory only; the lock then goes with us.
  static_cast<void>(fcntl(fd_.get(), F_OFD_SETLK, &lock));
}

Result<bool> OwnersLock::TryRow(std::int64_t row) {
  if (row < 1 || row >= kFirstSlot) return SystemError("fcntl", kName, EINVAL);
  return TryByte(row);
}

void OwnersLock::ReleaseRow(std::int64_t row) { ReleaseByte(row); }

Result<bool> OwnersLock::RowHeld(std::int64_t row) {
  if (held_.contains(row)) return true;
  struct flock lock = ByteLock(F_WRLCK, row);
  if (fcntl(fd_.get(), F_OFD_GETLK, &lock) != 0) return SystemError("fcntl(F_OFD_GETLK)", kName);
  return lock.l_type != F_UNLCK;
}

Result<void> OwnersLock::ShareByte(std::int64_t offset, std::string_view what, int patience_ms) {
  struct flock lock = ByteLock(F_RDLCK, offset);
  // A wait that the kernel ends by itself has no bound, so this asks again and again.
  for (int waited = 0; fcntl(fd_.get(), F_OFD_SETLK, &lock) != 0; ++waited) {
    if (errno != EAGAIN && errno != EACCES && errno != EINTR)
      return SystemError("fcntl(F_OFD_SETLK)", kName);
    if (waited >= patience_ms) {
      return Error{.code = ErrorCode::kStoreBusy,
                   .subject = std::string(what),
                   .why = "another bailiff is removing them and does not go on",
                   .fix = "look for a stopped one: ps -C bailiff -o pid,stat,args"};
    }
    const timespec pause{.tv_sec = 0, .tv_nsec = 1'000'000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
  }
  held_.insert(offset);
  return {};
}

Result<void> OwnersLock::ShareCgroups(int patience_ms) {
  return ShareByte(kCgroups, "the cgroups or trees", patience_ms);
}

std::int64_t OwnersLock::ByteOf(Contents contents) {
  return kCgroups + 1 + static_cast<std::int64_t>(contents);
}

Result<void> OwnersLock::ShareContents(Contents contents, int patience_ms) {
  return ShareByte(ByteOf(contents), contents == Contents::kObjects ? "the objects" : "the images",
                   patience_ms);
}
Result<bool> OwnersLock::TryOwnContents(Contents contents) { return TryByte(ByteOf(contents)); }
void OwnersLock::ReleaseContents(Contents contents) { ReleaseByte(ByteOf(contents)); }

Result<bool> OwnersLock::TryOwnCgroups() {
  struct flock lock = ByteLock(F_WRLCK, kCgroups);
  if (fcntl(fd_.get(), F_OFD_SETLK, &lock) == 0) {
    held_.insert(kCgroups);
    return true;
  }
  if (errno == EAGAIN || errno == EACCES) return false;
  return SystemError("fcntl(F_OFD_SETLK)", kName);
}

void OwnersLock::ReleaseCgroups() { ReleaseByte(kCgroups); }

Result<std::uint32_t> OwnersLock::AcquireIdSlot(std::uint32_t slots) {
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    BAILIFF_TRY_ASSIGN(const bool ours, TryByte(kFirstSlot + slot));
    if (ours) return slot;
  }
  return Error{.code = ErrorCode::kIdSlots,
               .subject = std::to_string(slots) + " slots",
               .why = "every one is in use by a running attempt or job",
               .fix = {}};
}

void OwnersLock::ReleaseSlot(std::uint32_t slot) { ReleaseByte(kFirstSlot + slot); }

}  // namespace bailiff::controller
