// SPDX-License-Identifier: Apache-2.0
// What the store's own files share. Not for other folders.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "controller/store/database.h"
#include "controller/store/rows.h"

namespace bailiff::controller::statements {

std::int64_t UnixMilliseconds();

Error MakeError(ErrorCode code, std::string_view subject, std::string why);

// A JSON string with its quotes, escaped the way RFC 8785 wants.
std::string JsonString(std::string_view utf8);
bool IsUtf8(std::string_view bytes);
bool IsHex(std::string_view text);
// [A-Za-z0-9][A-Za-z0-9._-]{0,63} (contracts, section 1).
bool IsId(std::string_view text);

// {"generation":G,"state":"S"} and what else is given, for audit rows: members in JCS order.
std::string StateJson(const AttemptRow& row, std::string_view reason = {});

// Completes a prefix of at least 12 hex digits to the one id that begins with it. `sql` selects the
// id with ?1 <= id AND id < ?2, LIMIT 2. `strip` ("sha256:") stands before the digits in the table.
Result<std::string> Complete(Database& database, std::string_view sql, std::string_view text,
                             std::string_view strip, ErrorCode unknown);

Result<AttemptRow> AttemptById(Database& database, std::string_view id);
// The row after the columns of kAttemptColumns; checks recipe against recipe_digest (R13.26).
Result<AttemptRow> AttemptFrom(const Statement& statement);
inline constexpr std::string_view kAttemptColumns =
    "a.seq, a.id, a.kind, a.state, a.generation, a.change, a.change_version, a.context_digest, "
    "c.generation, a.revision, a.recipe_digest, a.recipe, a.toolchain, a.environment_digest, "
    "a.policy_epoch, a.backend, a.request_json, a.custody_json, a.outcome, a.evidence_id, "
    "a.owner_json, a.created_unix_ms, a.changed_unix_ms FROM attempts AS a "
    "JOIN contexts AS c ON c.context_digest = a.context_digest ";

Result<Authority> AuthorityOf(Database& database);
Result<ChangeRow> ChangeById(Database& database, std::string_view id);
Result<ContextRow> ContextByDigest(Database& database, std::string_view digest);

// kContextStale unless version, context, revision and policy epoch are the present ones.
Result<void> RequireCurrent(Database& database, std::string_view attempt, std::string_view change,
                            std::int64_t change_version, std::string_view context_digest,
                            std::string_view revision);

}  // namespace bailiff::controller::statements
