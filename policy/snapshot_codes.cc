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

SnapshotFault ErrorFault(ErrorCode code) {
  switch (code) {
#define SNAPSHOT_FAULT(name, number, error) \
  case ErrorCode::error:                    \
    return SnapshotFault::k##name;
#include "policy/snapshot_codes.def"
    default:
      return SnapshotFault::kIo;
  }
}

Error MakeFault(SnapshotFault fault, std::string_view path, std::string_view why, int error) {
  return Error{FaultError(fault), std::string(path), std::string(why), error, {}};
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
