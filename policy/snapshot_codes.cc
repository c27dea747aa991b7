// SPDX-License-Identifier: Apache-2.0
#include "policy/snapshot_codes.h"

namespace bailiff::policy {

std::optional<SnapshotFault> ParseSnapshotFault(std::uint32_t number) {
  switch (number) {
#define SNAPSHOT_FAULT(name, value, error) case value:
#include "policy/snapshot_codes.def"
    return static_cast<SnapshotFault>(number);
    default:
      return std::nullopt;
  }
}

std::optional<SnapshotWarning> ParseSnapshotWarning(std::uint32_t number) {
  switch (number) {
#define SNAPSHOT_WARNING(name, value, text) case value:
#include "policy/snapshot_codes.def"
    return static_cast<SnapshotWarning>(number);
    default:
      return std::nullopt;
  }
}

ErrorCode FaultError(SnapshotFault fault) {
  switch (fault) {
    case SnapshotFault::kNone:
      break;
#define SNAPSHOT_FAULT(name, number, error) \
  case SnapshotFault::k##name:              \
    return ErrorCode::error;
#include "policy/snapshot_codes.def"
  }
  return ErrorCode::kSnapshotIo;
}

std::string_view WarningText(SnapshotWarning warning) {
  switch (warning) {
#define SNAPSHOT_WARNING(name, number, text) \
  case SnapshotWarning::k##name:             \
    return text;
#include "policy/snapshot_codes.def"
  }
  return "?";
}

}  // namespace bailiff::policy
