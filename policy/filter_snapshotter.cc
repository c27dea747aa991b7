// SPDX-License-Identifier: Apache-2.0
// The snapshotter reads below /in and writes below /out. Its calls take paths because its view
// holds nothing else; attributes that matter outside (owners, extended attributes, devices) have no
// line.
#include <fcntl.h>

#include "policy/filter_assemble.h"
#include "policy/filter_base.h"
#include "policy/filter_files.h"

namespace bailiff::policy {
namespace {

constexpr auto kLines = Join(kReadFiles, kWriteFiles, kHelperBase, kDangerous);
constexpr FilterTable kTable{kLines, kTrap, FixedProgram<kLines, kTrap>::kCode};

}  // namespace

const FilterTable& SnapshotterFilter() { return kTable; }

}  // namespace bailiff::policy
