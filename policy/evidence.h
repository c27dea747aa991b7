// SPDX-License-Identifier: Apache-2.0
// The canonical record of one command/v1 attempt (contracts, section 2, Evidence). A record is
// plain data: that it parses and its digest fits does not say who wrote it (R1.05). Output bytes
// are not inside, only their digests.
//
// A member that does not apply is absent: an empty optional, an empty list where noted.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/result.h"
#include "policy/digest.h"
#include "policy/outcome.h"
#include "policy/value.h"

namespace bailiff::policy {

inline constexpr std::string_view kCommandKind = "command/v1";
inline constexpr std::string_view kCommandRecordSchema = "bailiff/command-record/v1";
inline constexpr std::string_view kEvidenceDomain = "bailiff.evidence.v1";

struct AttemptRef {
  std::string id;
  std::uint64_t generation = 0;  // the running generation, i.e. as claimed (R9.21)
  Digest request_digest;
  bool operator==(const AttemptRef&) const = default;
};

// What the attempt is about; every field is checked again at admission (R9.18).
struct Subject {
  std::string repository;  // 32 hex digits
  std::string change;
  std::uint64_t change_version = 0;
  Digest context_digest;
  std::uint64_t context_generation = 0;
  std::uint64_t policy_epoch = 0;
  Digest revision;
  bool operator==(const Subject&) const = default;
};

struct RuntimeRecord {
  Digest identity_digest;
  bool unchanged = false;  // identity after the end equals the one before release
  std::map<std::string, std::string> facts;
  bool operator==(const RuntimeRecord&) const = default;
};

// One value of the effective configuration, as text. `before`: the controller's own read just
// before release. `after`: after exit, before removal; absent where the file is gone with the
// process.
struct Readback {
  std::string name;
  std::string required;
  std::optional<std::string> before;
  std::optional<std::string> after;
  bool operator==(const Readback&) const = default;
};

// What the rows say together: kMatched when every row holds; kMissing for an empty list or a row
// without `before`.
Check CheckBefore(const std::vector<Readback>& rows);
// Only rows that have `after` are compared, and there must be at least one.
Check CheckAfter(const std::vector<Readback>& rows);

struct IsolationRecord {
  bool observed = false;  // the read-back before release was made and matched
  Digest candidate_filter;
  Digest collector_filter;
  Digest snapshotter_filter;
  std::vector<Readback> readback;
  bool operator==(const IsolationRecord&) const = default;
};

struct StreamRecord {
  std::uint64_t seen = 0;
  std::uint64_t retained = 0;
  Digest sha256;  // of the retained bytes
  bool eof = false;
  bool operator==(const StreamRecord&) const = default;
};

struct Streams {
  StreamRecord out;
  StreamRecord err;
  bool operator==(const Streams&) const = default;
};

// A figure the kernel does not offer is absent, never 0.
struct Usage {
  std::optional<std::uint64_t> wall_us;  // CLOCK_MONOTONIC, release to end
  std::optional<std::uint64_t> user_us;
  std::optional<std::uint64_t> system_us;
  std::optional<std::uint64_t> memory_peak_bytes;
  std::optional<std::uint64_t> pids_peak;
  std::optional<std::uint64_t> oom_kills;
  std::optional<std::uint64_t> pids_refused;
  bool operator==(const Usage&) const = default;
};

struct CleanupRecord {
  bool confirmed = false;
  std::vector<std::string> proof;  // e.g. warden_reaped, cgroups_removed
  bool operator==(const CleanupRecord&) const = default;
};

// CLOCK_REALTIME, for people only; no decision uses them.
struct Times {
  std::uint64_t claimed_unix_ms = 0;
  std::optional<std::uint64_t> started_unix_ms;  // absent when nothing was released
  std::uint64_t finished_unix_ms = 0;
  std::uint64_t suspended_ms = 0;
  bool operator==(const Times&) const = default;
};

// SHA-256 of the very programs that ran.
struct Writer {
  std::string version;
  Digest controller;
  Digest warden;
  Digest collector;
  Digest snapshotter;
  std::string boot_id;
  bool operator==(const Writer&) const = default;
};

struct CommandRecord {
  AttemptRef attempt;
  Subject subject;
  Digest recipe_digest;
  Digest toolchain;
  Digest environment_digest;
  std::string image;                 // "sha256:<64 hex>"
  std::optional<Digest> tree;        // recomputed by the verifying job
  std::optional<Digest> image_tree;  // of the image's root, as verified at import
  std::string backend;               // "native"
  Digest profile_digest;
  RuntimeRecord runtime;
  IsolationRecord isolation;
  Outcome outcome = Outcome::kIncomplete;
  std::vector<Reason> reasons;
  bool capture_incomplete = false;  // written only when true (R7.04)
  StoppedBy stopped_by = StoppedBy::kNothing;
  ProcessEnd process;
  std::optional<Streams> streams;  // absent when nothing was released
  Usage usage;
  CleanupRecord cleanup;
  std::optional<Value> cleanup_handle;  // the custody object, when cleanup is not confirmed
  std::optional<Digest> qualification;  // receipt id
  Times times;
  Writer writer;
  bool operator==(const CommandRecord&) const = default;
};

struct Evidence {
  Digest id;  // D("bailiff.evidence.v1", bytes)
  std::string bytes;
};

// Refuses what could not be read back: text that is not UTF-8, numbers above 2^53 - 1, a document
// above 1 MiB.
Result<Evidence> EncodeEvidence(const CommandRecord& record);

// Strict: accepts exactly the bytes EncodeEvidence makes (R9.19). One decisive error.
Result<CommandRecord> ParseEvidence(std::string_view bytes);

}  // namespace bailiff::policy
