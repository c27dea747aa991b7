// SPDX-License-Identifier: Apache-2.0
// The importer parses archives and directories of strangers. Its libraries are initialised before
// the lock; afterwards it needs what the snapshotter needs, and must not be killed by a library
// that asks the machine for optional facts: those calls give ENOSYS.
#include "policy/filter_assemble.h"
#include "policy/filter_base.h"
#include "policy/filter_files.h"

namespace bailiff::policy {
namespace {

// clang-format off
constexpr std::array kOwn = std::to_array<FilterLine>({
  {BAILIFF_CALL(openat2), {}, kAllow, "parents of an archive's entries, below the root and through no link"},
  {BAILIFF_CALL(pread64), {}, kAllow, "files of an image, in the order its documents name them; libgit2 reads the checksum at a pack's end"},
  {BAILIFF_CALL(linkat), {}, kAllow, "hard links of an archive"},
  {BAILIFF_CALL(renameat), {}, kAllow, "a finished object takes its name"},
  {BAILIFF_CALL(unlinkat), {}, kAllow, "an object that was staged before under another name; what a higher layer takes away"},
  {BAILIFF_CALL(access), {}, kAllow, "libgit2 asks whether a loose object is there; the view is the wall"},
  {BAILIFF_CALL(sysinfo), {}, Errno(ENOSYS), "qsort and decoders ask for the memory size, and have a default"},
  {BAILIFF_CALL(sched_getaffinity), {}, Errno(ENOSYS), "decoders count processors, and have a default"},
  {BAILIFF_CALL(readlink), {}, Errno(ENOSYS), "libraries look for their own program"},
});
// clang-format on

constexpr auto kLines = Join(kReadFiles, kWriteFiles, kOwn, kHelperBase, kDangerous);
constexpr FilterTable kTable{kLines, kTrap, FixedProgram<kLines, kTrap>::kCode};

}  // namespace

const FilterTable& ImporterFilter() { return kTable; }

}  // namespace bailiff::policy
