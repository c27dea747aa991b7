// SPDX-License-Identifier: Apache-2.0
// `execution/owners.lock`: who is alive, told by locks that the kernel drops when their holder dies
// (R11.08, R13.22, e11: no pid is ever believed).
//
// Open-file-description locks: they belong to the description, which is close-on-exec and is never
// passed on, so neither a fork nor closing another descriptor of the file releases them (e09).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

#include "ipc/fd.h"
#include "ipc/result.h"

namespace bailiff::controller {

class OwnersLock {
 public:
  // Row numbers of attempts are below this; slots of host ids begin here.
  static constexpr int kPatienceMs = 10'000;
  static constexpr std::int64_t kFirstSlot = std::int64_t{1} << 40;

  // `data` is the data directory; a description of its own is opened.
  static Result<OwnersLock> Open(int data);

  // Locks the byte of an attempt's row for as long as this object lives or until ReleaseRow.
  // False: somebody (this object included) holds it, so its owner lives. True: it is ours now, and
  // whoever owned the attempt before is provably dead.
  Result<bool> TryRow(std::int64_t row);
  void ReleaseRow(std::int64_t row);

  // Every attempt shares one byte from before its cgroups and its tree are made until they are no
  // longer used; who can have it alone may remove them. Share waits for a remover, which holds it
  // for about a millisecond, or while it renames trees, at most `patience_ms`: one that was stopped
  // would hold it for ever, and a caller whose signals are blocked could not be interrupted (d03).
  // Then kStoreBusy.
  Result<void> ShareCgroups(int patience_ms = kPatienceMs);
  Result<bool> TryOwnCgroups();  // also of one who shares it: then it is alone
  void ReleaseCgroups();

  // What an import adds to and a removal takes from: shared from before the import looks what is
  // there until its row is stored, so that nothing it found can go; owned while something is taken
  // away. Share waits for a remover, which looks and renames while it owns, as ShareCgroups does.
  enum class Contents : std::uint8_t { kObjects, kImages };
  Result<void> ShareContents(Contents contents, int patience_ms = kPatienceMs);
  Result<bool> TryOwnContents(Contents contents);  // false: somebody else shares or owns it
  void ReleaseContents(Contents contents);

  // Whether another description holds the byte; takes nothing. For lists and doctor: the answer may
  // be old when it is read. A row held by this object counts as held.
  Result<bool> RowHeld(std::int64_t row);

  // The lowest free slot below `slots`: one slot is one pair (helper, candidate) of host ids and
  // one id for snapshotters, for one running attempt or job. Held until ReleaseSlot or death.
  // Error: kIdSlots when all are taken.
  Result<std::uint32_t> AcquireIdSlot(std::uint32_t slots);
  void ReleaseSlot(std::uint32_t slot);

 private:
  explicit OwnersLock(ipc::Fd fd) : fd_(std::move(fd)) {}
  static constexpr std::int64_t kCgroups = std::int64_t{1} << 41;
  static std::int64_t ByteOf(Contents contents);
  Result<void> ShareByte(std::int64_t offset, std::string_view what, int patience_ms);
  Result<bool> TryByte(std::int64_t offset);
  void ReleaseByte(std::int64_t offset);

  ipc::Fd fd_;
  std::set<std::int64_t> held_;
};

}  // namespace bailiff::controller
