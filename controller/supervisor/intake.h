// SPDX-License-Identifier: Apache-2.0
// The one place where a wire message becomes a value the controller uses. What does not fit is a
// violation, never mended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ipc/codec.h"
#include "policy/cell.h"
#include "policy/digest.h"
#include "policy/git_name.h"
#include "policy/image_facts.h"
#include "policy/object.h"
#include "policy/role.h"
#include "policy/snapshot_codes.h"
#include "policy/tree_entry.h"

namespace bailiff::controller {

enum class Stream : std::uint8_t { kOut = 0, kErr = 1 };

struct HelloValue {
  std::uint32_t landlock_abi = 0;
};
struct OutputValue {
  Stream stream = Stream::kOut;
  std::uint64_t offset = 0;
  std::string data;
};
struct StreamEndValue {
  Stream stream = Stream::kOut;
  std::uint64_t seen = 0;
  bool eof = false;
};
struct ExecFailedValue {
  policy::CellStep step = policy::CellStep::kDied;
  int error = 0;
};
struct EndedValue {
  int wait_status = 0;
  std::uint64_t user_us = 0;
  std::uint64_t system_us = 0;
  std::uint64_t max_rss_kib = 0;
};
struct ProgressValue {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
};
struct ObjectValue {
  policy::ObjectKind kind = policy::ObjectKind::kBlob;
  policy::Digest digest;
  std::uint64_t size = 0;
};
struct ObservationValue {
  std::uint32_t index = 0;
  policy::EntryKind kind = policy::EntryKind::kFile;
  policy::Digest blob;
  std::uint64_t size = 0;
  std::string path;
};
struct WarningValue {
  policy::SnapshotWarning code;
  std::string path;
};
struct FailedValue {
  policy::SnapshotFault fault = policy::SnapshotFault::kIo;
  int error = 0;
  std::string path;
  std::string detail;
};
struct DoneValue {
  policy::Digest digest;
  std::optional<policy::Digest> tree;
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  std::optional<policy::GitId> git_commit;
  std::optional<policy::GitId> git_tree;
};

// All fail with kDecode. Messages are taken by reference so that their bytes can be moved out.
Result<HelloValue> Accept(const wire::Hello& message, policy::Role role);
Result<OutputValue> Accept(wire::Output& message);
Result<StreamEndValue> Accept(const wire::StreamEnd& message);
Result<std::vector<std::pair<std::string, std::string>>> Accept(const wire::Built& message);
Result<ExecFailedValue> Accept(const wire::ExecFailed& message);
Result<EndedValue> Accept(const wire::Ended& message);
Result<ProgressValue> Accept(const wire::Progress& message);
Result<std::vector<ObjectValue>> Accept(const wire::Objects& message);
Result<ObservationValue> Accept(wire::Observation& message);
Result<WarningValue> Accept(wire::Warning& message);
Result<FailedValue> Accept(wire::Failed& message);
Result<DoneValue> Accept(const wire::Done& message);
Result<policy::ImageFacts> Accept(wire::ImageFacts& message);

}  // namespace bailiff::controller
