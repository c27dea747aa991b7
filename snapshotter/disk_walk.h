// SPDX-License-Identifier: Apache-2.0
// Walks a directory that somebody else made or still writes to: iterative, below descriptors only,
// no link followed, names as bytes, in byte order of each directory's names, every bound checked
// before anything is opened.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "ipc/fd.h"
#include "policy/tree_path.h"

namespace bailiff::snapshotter {

struct WalkEntry {
  int directory;     // the open directory that holds it
  const char* name;  // below that directory
  std::string_view path;
  unsigned char type;  // DT_*, never DT_UNKNOWN
};

class WalkVisitor {
 public:
  WalkVisitor() = default;
  WalkVisitor(const WalkVisitor&) = delete;
  WalkVisitor& operator=(const WalkVisitor&) = delete;
  virtual ~WalkVisitor() = default;

  // Asked first, before the name is checked; true leaves the entry out.
  virtual Result<bool> Skip(const WalkEntry&) { return false; }
  // Everything but directories.
  virtual Result<void> Entry(const WalkEntry& entry) = 0;
  // After a directory was opened, before its names are read; "" is the root.
  virtual Result<void> Enter(std::string_view, int, const struct stat&) { return {}; }
  // After everything in it was visited. `now`: its state now, `before`: when it was entered.
  virtual Result<void> Leave(std::string_view path, const struct stat& before,
                             const struct stat& now, bool empty) = 0;
};

// A directory of another file system fails with kMount, an unreadable one with kUnreadable.
Result<void> WalkTree(int root, const policy::TreeBounds& bounds, policy::TreeNames names,
                      WalkVisitor& visitor);

// Opens a file for reading that may turn out to be anything: never blocks, never follows, never
// becomes a terminal. Fails as ForeignFault does; kChanged also for a socket or a device, as only
// what was listed as a file is opened.
Result<ipc::Fd> OpenForeign(int directory, const char* name, std::string_view path);

}  // namespace bailiff::snapshotter
