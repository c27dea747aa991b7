// SPDX-License-Identifier: Apache-2.0
// What can be asked. Bytes that are evidence are hashed at every read: what no longer hashes to its
// id is an error, never an answer (R13.26).
#include <algorithm>

#include "controller/store/database.h"
#include "controller/store/statements.h"
#include "controller/store/store.h"
#include "policy/digest.h"

namespace bailiff::controller {

using statements::MakeError;

Result<AttemptRow> Store::GetAttempt(std::string_view id) {
  AttemptRow row;
  BAILIFF_TRY(Read([&](Database& database) -> Result<void> {
    BAILIFF_TRY_ASSIGN(row, statements::AttemptById(database, id));
    return {};
  }));
  return row;
}

Result<AttemptPage> Store::ListAttempts(const AttemptFilter& filter) {
  const std::int64_t limit = std::clamp<std::int64_t>(filter.limit, 1, 1000);
  // The condition of the partial index is spelt out so that SQLite sees it holds.
  const bool open =
      filter.state == AttemptState::kPending || filter.state == AttemptState::kRunning;
  const std::string sql =
      "SELECT " + std::string(statements::kAttemptColumns) +
      "WHERE (?1 IS NULL OR a.state = ?1) AND (?2 IS NULL OR a.outcome = ?2 "
      "OR (a.state = 'cancelled' AND ?2 = 'cancelled')) AND (?3 IS NULL OR a.change = ?3) "
      "AND (?4 IS NULL OR a.seq < ?4) " +
      (open ? "AND a.state IN ('pending', 'running') " : "") + "ORDER BY a.seq DESC LIMIT ?5";
  const Value state = filter.state ? Value(ToString(*filter.state)) : Value(nullptr);
  const Value after = filter.after ? Value(*filter.after) : Value(nullptr);
  AttemptPage page;
  BAILIFF_TRY(Read([&](Database& database) -> Result<void> {
    page = {};
    BAILIFF_TRY_ASSIGN(Statement statement,
                       database.Prepare(sql, {state, OptionalText(filter.outcome),
                                              OptionalText(filter.change), after, limit + 1}));
    for (;;) {
      BAILIFF_TRY_ASSIGN(const bool row, statement.Step());
      if (!row) return {};
      if (std::ssize(page.attempts) == limit) {
        page.after = page.attempts.back().row;
        return {};
      }
      BAILIFF_TRY_ASSIGN(AttemptRow attempt, statements::AttemptFrom(statement));
      page.attempts.push_back(std::move(attempt));
    }
  }));
  return page;
}

Result<EvidenceRow> Store::GetEvidence(std::string_view text) {
  EvidenceRow row;
  BAILIFF_TRY(Read([&](Database& database) -> Result<void> {
    BAILIFF_TRY_ASSIGN(
        row.evidence_id,
        statements::Complete(
            database,
            "SELECT evidence_id FROM evidence WHERE ?1 <= evidence_id AND evidence_id < ?2 LIMIT 2",
            text, "", ErrorCode::kEvidenceUnknown));
    BAILIFF_TRY_ASSIGN(
        Statement statement,
        database.Prepare("SELECT attempt, kind, bytes FROM evidence WHERE evidence_id = ?1",
                         {row.evidence_id}));
    BAILIFF_TRY_ASSIGN(const bool found, statement.Step());
    if (!found) return MakeError(ErrorCode::kEvidenceUnknown, text, "no evidence has this id");
    row.attempt = statement.Bytes(0);
    row.kind = statement.Bytes(1);
    row.bytes = statement.Bytes(2);
    if (policy::HashDomain("bailiff.evidence.v1", row.bytes).hex() != row.evidence_id)
      return MakeError(ErrorCode::kEvidenceCorrupt, row.evidence_id,
                       "the stored bytes have another digest: they were altered after recording");
    return {};
  }));
  return row;
}

Result<std::string> Store::GetOutput(std::string_view sha256) {
  std::string bytes;
  BAILIFF_TRY(Read([&](Database& database) -> Result<void> {
    BAILIFF_TRY_ASSIGN(
        Statement statement,
        database.Prepare("SELECT bytes FROM outputs WHERE sha256 = ?1 AND bytes IS NOT NULL",
                         {sha256}));
    BAILIFF_TRY_ASSIGN(const bool found, statement.Step());
    if (!found) return MakeError(ErrorCode::kOutputUnknown, sha256, "no output is stored for it");
    bytes = statement.Bytes(0);
    if (policy::Hash(bytes).hex() != sha256)
      return MakeError(ErrorCode::kEvidenceCorrupt, sha256, "the stored output has another digest");
    return {};
  }));
  return bytes;
}

}  // namespace bailiff::controller
