// SPDX-License-Identifier: Apache-2.0
// The moves of an attempt. Each is a compare-and-swap on (id, state, generation): the row is read
// under the write lock to say what is wrong, the UPDATE repeats the condition, and the number of
// rows it changed decides.
#include "controller/store/database.h"
#include "controller/store/statements.h"
#include "controller/store/store.h"
#include "policy/digest.h"

namespace bailiff::controller {

using statements::MakeError;
using statements::StateJson;

namespace {

constexpr std::size_t kMaxReason = 1024;

Result<void> CheckReason(std::string_view id, std::string_view reason) {
  if (reason.size() <= kMaxReason && statements::IsUtf8(reason)) return {};
  return MakeError(ErrorCode::kStoreValue, id,
                   "the reason is not UTF-8 text of at most 1024 bytes");
}

Result<void> CheckDocument(std::string_view id, std::string_view what, std::string_view bytes) {
  if (!bytes.empty() && bytes.size() <= kMaxDocument) return {};
  return MakeError(ErrorCode::kStoreValue, id,
                   std::string(what) + " is empty or larger than 1 MiB");
}

std::string Present(const AttemptRow& row) {
  return std::string(ToString(row.state)) + " at generation " + std::to_string(row.generation);
}

Result<void> Require(const AttemptRow& row, AttemptState state, std::int64_t generation) {
  if (row.state == state && row.generation == generation) return {};
  if (row.state == AttemptState::kFinished || row.state == AttemptState::kCancelled) {
    std::string why = "it is already " + Present(row);
    if (row.outcome) why += " with outcome " + *row.outcome;
    return MakeError(ErrorCode::kAttemptFinished, row.id, std::move(why));
  }
  return MakeError(ErrorCode::kAttemptConflict, row.id,
                   "it is " + Present(row) + "; asked for " + std::string(ToString(state)) +
                       " at generation " + std::to_string(generation));
}

Result<void> ChangedOne(const AttemptRow& row, std::int64_t changed) {
  if (changed == 1) return {};
  return MakeError(
      ErrorCode::kAttemptConflict, row.id,
      std::to_string(changed) + " rows changed where one was meant; it was " + Present(row));
}

// Inserts an output under its digest; one deleted earlier is there again.
Result<void> InsertOutput(Database& database, std::string_view bytes) {
  const std::string digest = policy::Hash(bytes).hex();
  BAILIFF_TRY(
      database.Run("INSERT INTO outputs (sha256, bytes) VALUES (?1, ?2) ON CONFLICT (sha256) DO "
                   "UPDATE SET bytes = excluded.bytes, deleted_unix_ms = NULL "
                   "WHERE deleted_unix_ms IS NOT NULL",
                   {digest, Blob{bytes}}));
  return {};
}

}  // namespace

Result<AttemptRow> Store::ClaimIn(Database& database, const ClaimInput& input) {
  BAILIFF_TRY_ASSIGN(const AttemptRow before, statements::AttemptById(database, input.id));
  // Ours already: the answer to this very claim was lost.
  if (before.state == AttemptState::kRunning && before.generation == input.generation + 1 &&
      before.owner_json == input.owner_json)
    return before;
  BAILIFF_TRY(Require(before, AttemptState::kPending, input.generation));
  BAILIFF_TRY(statements::RequireCurrent(database, before.id, before.change, before.change_version,
                                         before.context_digest, before.revision));
  BAILIFF_TRY_ASSIGN(
      const std::int64_t changed,
      database.Run("UPDATE attempts SET state = 'running', generation = generation + 1, "
                   "backend = ?3, owner_json = ?4, custody_json = ?5, changed_unix_ms = ?6 "
                   "WHERE id = ?1 AND state = 'pending' AND generation = ?2",
                   {input.id, input.generation, input.backend, Blob{input.owner_json},
                    OptionalBlob(input.custody_json), statements::UnixMilliseconds()}));
  BAILIFF_TRY(ChangedOne(before, changed));
  BAILIFF_TRY_ASSIGN(AttemptRow after, statements::AttemptById(database, input.id));
  BAILIFF_TRY(Audit(database, "attempt.claim", after.id, StateJson(before), StateJson(after)));
  return after;
}

Result<AttemptRow> Store::Claim(const ClaimInput& input) {
  BAILIFF_TRY(CheckDocument(input.id, "owner", input.owner_json));
  if (input.custody_json) BAILIFF_TRY(CheckDocument(input.id, "custody", *input.custody_json));
  AttemptRow row;
  BAILIFF_TRY(Write([&](Database& database) -> Result<void> {
    BAILIFF_TRY_ASSIGN(row, ClaimIn(database, input));
    return {};
  }));
  return row;
}

Result<void> Store::PersistCustody(std::string_view id, std::int64_t generation,
                                   std::string_view custody_json) {
  BAILIFF_TRY(CheckDocument(id, "custody", custody_json));
  return Write([&](Database& database) -> Result<void> {
    BAILIFF_TRY_ASSIGN(const AttemptRow before, statements::AttemptById(database, id));
    BAILIFF_TRY(Require(before, AttemptState::kRunning, generation));
    BAILIFF_TRY_ASSIGN(const std::int64_t changed,
                       database.Run("UPDATE attempts SET custody_json = ?3 WHERE id = ?1 AND "
                                    "state = 'running' AND generation = ?2",
                                    {id, generation, Blob{custody_json}}));
    BAILIFF_TRY(ChangedOne(before, changed));
    return Audit(database, "attempt.custody", id, StateJson(before), StateJson(before));
  });
}

Result<AttemptRow> Store::Cancel(std::string_view id, std::int64_t generation,
                                 std::string_view reason) {
  BAILIFF_TRY(CheckReason(id, reason));
  AttemptRow row;
  BAILIFF_TRY(Write([&](Database& database) -> Result<void> {
    BAILIFF_TRY_ASSIGN(const AttemptRow before, statements::AttemptById(database, id));
    BAILIFF_TRY(Require(before, AttemptState::kPending, generation));
    BAILIFF_TRY_ASSIGN(
        const std::int64_t changed,
        database.Run("UPDATE attempts SET state = 'cancelled', generation = generation + 1, "
                     "changed_unix_ms = ?3 WHERE id = ?1 AND state = 'pending' AND generation = ?2",
                     {id, generation, statements::UnixMilliseconds()}));
    BAILIFF_TRY(ChangedOne(before, changed));
    BAILIFF_TRY_ASSIGN(row, statements::AttemptById(database, id));
    return Audit(database, "attempt.cancel", id, StateJson(before), StateJson(row, reason));
  }));
  return row;
}

Result<AttemptRow> Store::Fence(std::string_view id, std::int64_t generation,
                                std::string_view owner_json, std::string_view reason) {
  BAILIFF_TRY(CheckReason(id, reason));
  BAILIFF_TRY(CheckDocument(id, "owner", owner_json));
  AttemptRow row;
  BAILIFF_TRY(Write([&](Database& database) -> Result<void> {
    BAILIFF_TRY_ASSIGN(const AttemptRow before, statements::AttemptById(database, id));
    if (before.state == AttemptState::kRunning && before.generation == generation + 1 &&
        before.owner_json == owner_json) {
      row = before;
      return {};
    }
    BAILIFF_TRY(Require(before, AttemptState::kRunning, generation));
    BAILIFF_TRY_ASSIGN(
        const std::int64_t changed,
        database.Run("UPDATE attempts SET generation = generation + 1, owner_json = ?3, "
                     "changed_unix_ms = ?4 WHERE id = ?1 AND state = 'running' AND generation = ?2",
                     {id, generation, Blob{owner_json}, statements::UnixMilliseconds()}));
    BAILIFF_TRY(ChangedOne(before, changed));
    BAILIFF_TRY_ASSIGN(row, statements::AttemptById(database, id));
    return Audit(database, "attempt.fence", id, StateJson(before), StateJson(row, reason));
  }));
  return row;
}

Result<AttemptRow> Store::Finish(const FinishInput& input) {
  BAILIFF_TRY(CheckReason(input.id, input.reason));
  BAILIFF_TRY(CheckDocument(input.id, "evidence", input.evidence));
  for (const std::string_view output : input.outputs) {
    if (output.size() > kMaxOutput)
      return MakeError(ErrorCode::kStoreValue, input.id, "an output is larger than 1 MiB");
  }
  const std::string evidence_id = policy::HashDomain("bailiff.evidence.v1", input.evidence).hex();
  AttemptRow row;
  BAILIFF_TRY(Write([&](Database& database) -> Result<void> {
    BAILIFF_TRY_ASSIGN(const AttemptRow before, statements::AttemptById(database, input.id));
    if (before.state == AttemptState::kFinished && before.generation == input.generation + 1 &&
        before.evidence_id == evidence_id) {
      row = before;
      return {};
    }
    BAILIFF_TRY(Require(before, AttemptState::kRunning, input.generation));
    BAILIFF_TRY(database.Run(
        "INSERT INTO evidence (evidence_id, attempt, kind, bytes) VALUES (?1, ?2, ?3, ?4)",
        {evidence_id, input.id, before.kind, Blob{input.evidence}}));
    for (const std::string_view output : input.outputs) BAILIFF_TRY(InsertOutput(database, output));
    BAILIFF_TRY_ASSIGN(
        const std::int64_t changed,
        database.Run("UPDATE attempts SET state = 'finished', generation = generation + 1, "
                     "outcome = ?3, evidence_id = ?4, changed_unix_ms = ?5 "
                     "WHERE id = ?1 AND state = 'running' AND generation = ?2",
                     {input.id, input.generation, input.outcome, evidence_id,
                      statements::UnixMilliseconds()}));
    BAILIFF_TRY(ChangedOne(before, changed));
    BAILIFF_TRY_ASSIGN(row, statements::AttemptById(database, input.id));
    return Audit(database, "attempt.finish", input.id, StateJson(before),
                 StateJson(row, input.reason));
  }));
  return row;
}

}  // namespace bailiff::controller
