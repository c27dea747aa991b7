// SPDX-License-Identifier: Apache-2.0
// The snapshotter reads below /in and writes below /out. Its calls take paths because its view
// holds nothing else; what would change attributes that matter outside (owners, extended
// attributes, devices) has no line.
#include "policy/filter_assemble.h"
#include "policy/filter_base.h"
#include "policy/filter_files.h"

namespace bailiff::policy {
namespace {

// clang-format off
constexpr std::array kOwn = std::to_array<FilterLine>({
  {BAILIFF_CALL(flistxattr), {}, kAllow, "a verified tree has no extended attributes; names only"},
});
// clang-format on

constexpr auto kLines = Join(kOwn, kReadFiles, kWriteFiles, kHelperBase, kDangerous);
constexpr FilterTable kTable{kLines, kTrap, FixedProgram<kLines, kTrap>::kCode};

}  // namespace

const FilterTable& SnapshotterFilter() { return kTable; }

}  // namespace bailiff::policy
