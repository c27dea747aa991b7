// SPDX-License-Identifier: Apache-2.0
// Rows of the authority as values (contracts, section 4). Digests and ids are lower-case hex text;
// members ending in _json are canonical JSON bytes, which the store keeps and never reads into.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/result.h"

namespace bailiff::controller {

struct Authority {
  std::string repository;  // 32 hex
  std::int64_t policy_epoch = 0;
  std::int64_t created_unix_ms = 0;
};

struct RevisionRow {
  std::string revision;
  std::string tree;
  std::string origin_json;
  std::int64_t entries = 0;
  std::int64_t bytes = 0;
};

struct ImageRow {
  std::string image;     // "sha256:<64 hex>"
  std::string tree;      // digest recomputed by the verifying job (evidence: image_tree)
  std::string config;    // bytes whose SHA-256 is the image id
  std::string diff_ids;  // JSON array of "sha256:…"
  std::int64_t entries = 0;
  std::int64_t bytes = 0;
  std::string source_sha256;
  std::vector<std::string> names;  // local names, sorted; filled by reads, ignored by inserts
};

// What the rows name of the files of the data directory, as lower-case hex, sorted.
struct References {
  std::vector<std::string> revisions;
  std::vector<std::string> trees;       // of those revisions
  std::vector<std::string> images;      // without "sha256:"
  std::vector<std::string> open_trees;  // of the revisions of pending and running attempts
  std::vector<std::string> running;     // ids of attempts recorded as running, owner alive or not
};

struct ChangeRow {
  std::string id;
  std::int64_t version = 1;
  std::optional<std::string> target;  // none: the change of a `bailiff run`, never integrated
  std::string revision;
  std::string context_digest;
  std::int64_t context_generation = 1;
  std::string state;  // open approved integrated closed
};

struct ContextRow {
  std::string context_digest;
  std::string change;
  std::int64_t generation = 1;
  std::int64_t policy_epoch = 0;
  std::string revision;
  std::string bound_json;  // D("agentscm.review-context/v1", bound_json) = context_digest
};

enum class AttemptState { kPending, kRunning, kFinished, kCancelled };
std::string_view ToString(AttemptState state);
std::optional<AttemptState> ParseAttemptState(std::string_view text);

struct AttemptRow {
  std::int64_t row = 0;  // byte of execution/owners.lock
  std::string id;
  std::string kind;  // command/v1, source_paths/v1
  AttemptState state = AttemptState::kPending;
  std::int64_t generation = 0;  // 0 when registered, +1 at every change of state or owner
  std::string change;
  std::int64_t change_version = 1;
  std::string context_digest;
  std::int64_t context_generation = 1;
  std::string revision;
  std::string recipe_digest;
  std::string recipe;  // canonical bytes; SHA-256 = recipe_digest, checked at every read
  std::string toolchain;
  std::string environment_digest;
  std::int64_t policy_epoch = 0;
  std::optional<std::string> backend;  // set by claim
  std::string request_json;
  std::optional<std::string> custody_json;
  std::optional<std::string> outcome;
  std::optional<std::string> evidence_id;
  std::optional<std::string> owner_json;
  std::int64_t created_unix_ms = 0;
  std::int64_t changed_unix_ms = 0;  // of the last change of state or owner
};

// What a registration binds (R13.05–R13.10). `repository` must be the authority's.
struct NewAttempt {
  std::string id;
  std::string kind;
  std::string repository;
  std::string change;
  std::int64_t change_version = 1;
  std::string context_digest;
  std::string revision;
  std::string recipe_digest;
  std::string recipe;
  std::string toolchain;
  std::string environment_digest;
  std::string request_json;
};

// What a claim records. With `custody_json` the first custody is part of the claim's own commit.
struct ClaimInput {
  std::string id;
  std::int64_t generation = 0;  // the pending one
  std::string backend;
  std::string owner_json;
  std::optional<std::string> custody_json;
};

// Names chosen by CreateRunChange inside its transaction; change and attempt bear one name.
struct RunNames {
  std::string repository;
  std::string id;  // run-<n>
  std::int64_t policy_epoch = 0;
  std::string revision;  // as given; version, context generation are 1
};

// What depends on those names.
struct RunBinding {
  std::string context_digest;
  std::string bound_json;
  std::string request_json;
};

struct RunChangeInput {
  std::string revision;
  std::string kind;
  std::string recipe_digest;
  std::string recipe;
  std::string toolchain;
  std::string environment_digest;
  // Called once per try of the transaction, at most a few times; must be pure.
  std::function<Result<RunBinding>(const RunNames&)> bind;
  // When set, the attempt is claimed in the same transaction: called with the pending row, it locks
  // the owner's byte (OwnersLock::TryRow) and says what to record. A byte locked by an earlier try
  // must be accepted: the row number may be the same. Saves one durable commit of a run.
  std::function<Result<ClaimInput>(const AttemptRow&)> claim;
};

struct FinishInput {
  std::string id;
  std::int64_t generation = 0;  // the running one
  std::string outcome;
  std::string evidence;                   // canonical bytes; the id is computed here
  std::vector<std::string_view> outputs;  // each ≤ kMaxOutput, stored under its SHA-256
  std::string_view reason;                // operator's words at cancel or recover; may be empty
};
inline constexpr std::size_t kMaxOutput = std::size_t{1} << 20;
inline constexpr std::size_t kMaxDocument = std::size_t{1} << 20;

struct EvidenceRow {
  std::string evidence_id;
  std::string attempt;
  std::string kind;
  std::string bytes;  // D("bailiff.evidence.v1", bytes) = evidence_id, checked at every read
};

struct AttemptFilter {
  std::optional<AttemptState> state;
  std::optional<std::string> outcome;
  std::optional<std::string> change;
  std::int64_t limit = 50;            // 1..1000
  std::optional<std::int64_t> after;  // cursor of the page before
};

struct AttemptPage {
  std::vector<AttemptRow> attempts;   // newest first
  std::optional<std::int64_t> after;  // cursor of the next page; none at the end
};

struct StoreCounts {
  std::int64_t schema = 0;
  std::int64_t attempts = 0;
  std::int64_t pending = 0;
  std::int64_t running = 0;
  std::int64_t running_with_custody = 0;
};

}  // namespace bailiff::controller
