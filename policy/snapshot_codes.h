// SPDX-License-Identifier: Apache-2.0
// The closed lists of faults and warnings that a snapshotter or importer can report
// (snapshot_codes.def), shared by both ends of the channel: what a helper says is a number of this
// list and nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ipc/result.h"

namespace bailiff::policy {

enum class SnapshotFault : std::uint32_t {
  kNone = 0,
#define SNAPSHOT_FAULT(name, number, error) k##name = number,
#include "policy/snapshot_codes.def"
};

enum class SnapshotWarning : std::uint32_t {
#define SNAPSHOT_WARNING(name, number, text) k##name = number,
#include "policy/snapshot_codes.def"
};

// The member of the list with this number, else nothing. 0 is not a fault.
std::optional<SnapshotFault> ParseSnapshotFault(std::uint32_t number);
std::optional<SnapshotWarning> ParseSnapshotWarning(std::uint32_t number);

// The row of errors.def that a fault is reported as.
ErrorCode FaultError(SnapshotFault fault);
// The other way round, for a helper that reports an Error: kIo for a code that is no fault.
SnapshotFault ErrorFault(ErrorCode code);
// An Error that carries a fault. `error`: errno, or 0.
Error MakeFault(SnapshotFault fault, std::string_view path, std::string_view why, int error = 0);
std::string_view WarningText(SnapshotWarning warning);

}  // namespace bailiff::policy
