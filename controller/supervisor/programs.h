// SPDX-License-Identifier: Apache-2.0
// Bailiff's own programs, opened once at the start from the compile-time directory: what is
// executed later is what was opened, whatever happens to the path in between.
#pragma once

#include <string>

#include "ipc/fd.h"
#include "policy/digest.h"
#include "policy/role.h"

namespace bailiff::controller {

struct Program {
  ipc::Fd file;           // readable; executed with execveat(2)
  policy::Digest digest;  // of its bytes, for `writer` in evidence
};

struct Programs {
  Program controller;
  Program warden;
  Program collector;
  Program snapshotter;
  Program importer;
};

// Opens the helpers beside each other in the libexec directory and this program itself; hashes
// nothing yet.
Result<Programs> OpenPrograms();
// Fills the digests. Hashing 20 MB costs more than a whole attempt, so digests are kept in
// the file `programs` of `data` under device, inode, size, mtime and ctime of the open file: a file
// whose bytes changed has another ctime, and who can set that, or write the data directory, can
// forge records anyway (R1.08).
Result<void> HashPrograms(Programs& programs, int data);

}  // namespace bailiff::controller
