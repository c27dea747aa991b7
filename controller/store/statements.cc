// SPDX-License-Identifier: Apache-2.0
#include "controller/store/statements.h"

#include <time.h>

#include <array>
#include <utility>

#include "policy/digest.h"

namespace bailiff::controller {

std::string_view ToString(AttemptState state) {
  switch (state) {
    case AttemptState::kPending:
      return "pending";
    case AttemptState::kRunning:
      return "running";
    case AttemptState::kFinished:
      return "finished";
    case AttemptState::kCancelled:
      return "cancelled";
  }
  return "";
}

std::optional<AttemptState> ParseAttemptState(std::string_view text) {
  for (const AttemptState state : {AttemptState::kPending, AttemptState::kRunning,
                                   AttemptState::kFinished, AttemptState::kCancelled}) {
    if (text == ToString(state)) return state;
  }
  return std::nullopt;
}

namespace statements {

std::int64_t UnixMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

Error MakeError(ErrorCode code, std::string_view subject, std::string why) {
  return Error{.code = code, .subject = std::string(subject), .why = std::move(why), .fix = {}};
}

std::string JsonString(std::string_view utf8) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string json = "\"";
  for (const char c : utf8) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (byte < 0x20) {
      constexpr std::string_view kShort = "\b\f\n\r\t";
      if (const std::size_t at = kShort.find(c); at != std::string_view::npos) {
        json += '\\';
        json += "bfnrt"[at];
      } else {
        json += "\\u00";
        json += kDigits[byte >> 4];
        json += kDigits[byte & 15];
      }
    } else {
      json += c;
    }
  }
  return json + '"';
}

// RFC 3629: no overlong form, no surrogate, nothing above U+10FFFF.
bool IsUtf8(std::string_view bytes) {
  std::size_t at = 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  while (at < bytes.size()) {
    const unsigned char first = byte(at);
    const std::size_t more = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    if ((first >= 0x80 && first < 0xc2) || first > 0xf4 || bytes.size() - at <= more) return false;
    if (more > 0) {
      const unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
      const unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
      if (byte(at + 1) < low || byte(at + 1) > high) return false;
    }
    for (std::size_t i = 2; i <= more; ++i) {
      if ((byte(at + i) & 0xc0) != 0x80) return false;
    }
    at += more + 1;
  }
  return true;
}

bool IsHex(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool IsId(std::string_view text) {
  constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  constexpr std::string_view kAll =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  return !text.empty() && text.size() <= 64 && kLetters.find(text[0]) != std::string_view::npos &&
         text.find_first_not_of(kAll) == std::string_view::npos;
}

std::string StateJson(const AttemptRow& row, std::string_view reason) {
  std::string json = "{";
  if (row.evidence_id) json += "\"evidence\":" + JsonString(*row.evidence_id) + ",";
  json += "\"generation\":" + std::to_string(row.generation);
  if (row.outcome) json += ",\"outcome\":" + JsonString(*row.outcome);
  if (!reason.empty()) json += ",\"reason\":" + JsonString(reason);
  return json + ",\"state\":" + JsonString(ToString(row.state)) + "}";
}

Result<std::string> Complete(Database& database, std::string_view sql, std::string_view text,
                             std::string_view strip, ErrorCode unknown) {
  std::string_view digits = text;
  if (digits.starts_with(strip)) digits.remove_prefix(strip.size());
  if (!IsHex(digits) || digits.size() > 64)
    return MakeError(unknown, text, "it is neither an id nor the beginning of one");
  if (digits.size() < 12)
    return MakeError(ErrorCode::kPrefixShort, text,
                     std::to_string(digits.size()) + " hex digits are too few to name one safely");
  const std::string low = std::string(strip) + std::string(digits);
  const std::string high = low + "g";  // after every hex digit
  BAILIFF_TRY_ASSIGN(Statement statement,
                     database.Prepare(sql, {std::string_view(low), std::string_view(high)}));
  BAILIFF_TRY_ASSIGN(const bool first, statement.Step());
  if (!first) return MakeError(unknown, text, "there is none");
  std::string id = statement.Bytes(0);
  BAILIFF_TRY_ASSIGN(const bool second, statement.Step());
  if (second)
    return MakeError(ErrorCode::kPrefixAmbiguous, text,
                     "it begins both " + id + " and " + statement.Bytes(0));
  return id;
}

Result<AttemptRow> AttemptFrom(const Statement& statement) {
  AttemptRow row;
  row.row = statement.Integer(0);
  row.id = statement.Bytes(1);
  row.kind = statement.Bytes(2);
  const std::optional<AttemptState> state = ParseAttemptState(statement.Bytes(3));
  if (!state) return MakeError(ErrorCode::kStoreCorrupt, row.id, "its state is not one of four");
  row.state = *state;
  row.generation = statement.Integer(4);
  row.change = statement.Bytes(5);
  row.change_version = statement.Integer(6);
  row.context_digest = statement.Bytes(7);
  row.context_generation = statement.Integer(8);
  row.revision = statement.Bytes(9);
  row.recipe_digest = statement.Bytes(10);
  row.recipe = statement.Bytes(11);
  row.toolchain = statement.Bytes(12);
  row.environment_digest = statement.Bytes(13);
  row.policy_epoch = statement.Integer(14);
  row.backend = statement.OptionalBytes(15);
  row.request_json = statement.Bytes(16);
  row.custody_json = statement.OptionalBytes(17);
  row.outcome = statement.OptionalBytes(18);
  row.evidence_id = statement.OptionalBytes(19);
  row.owner_json = statement.OptionalBytes(20);
  row.created_unix_ms = statement.Integer(21);
  row.changed_unix_ms = statement.Integer(22);
  if (policy::Hash(row.recipe).hex() != row.recipe_digest)
    return MakeError(ErrorCode::kStoreCorrupt, row.id, "its recipe does not hash to recipe_digest");
  return row;
}

Result<AttemptRow> AttemptById(Database& database, std::string_view id) {
  static const std::string sql = "SELECT " + std::string(kAttemptColumns) + "WHERE a.id = ?1";
  BAILIFF_TRY_ASSIGN(Statement statement, database.Prepare(sql, {id}));
  BAILIFF_TRY_ASSIGN(const bool row, statement.Step());
  if (!row) return MakeError(ErrorCode::kAttemptUnknown, id, "no attempt has this id");
  return AttemptFrom(statement);
}

Result<Authority> AuthorityOf(Database& database) {
  BAILIFF_TRY_ASSIGN(
      Statement statement,
      database.Prepare("SELECT repository, policy_epoch, created_unix_ms FROM authority"));
  BAILIFF_TRY_ASSIGN(const bool row, statement.Step());
  if (!row)
    return MakeError(ErrorCode::kStoreCorrupt, database.path(), "its authority row is missing");
  return Authority{.repository = statement.Bytes(0),
                   .policy_epoch = statement.Integer(1),
                   .created_unix_ms = statement.Integer(2)};
}

Result<ChangeRow> ChangeById(Database& database, std::string_view id) {
  BAILIFF_TRY_ASSIGN(
      Statement statement,
      database.Prepare("SELECT version, target, revision, context_digest, context_generation, "
                       "state FROM changes WHERE id = ?1",
                       {id}));
  BAILIFF_TRY_ASSIGN(const bool row, statement.Step());
  if (!row) return MakeError(ErrorCode::kChangeUnknown, id, "no change has this id");
  return ChangeRow{.id = std::string(id),
                   .version = statement.Integer(0),
                   .target = statement.OptionalBytes(1),
                   .revision = statement.Bytes(2),
                   .context_digest = statement.Bytes(3),
                   .context_generation = statement.Integer(4),
                   .state = statement.Bytes(5)};
}

Result<ContextRow> ContextByDigest(Database& database, std::string_view digest) {
  BAILIFF_TRY_ASSIGN(Statement statement,
                     database.Prepare("SELECT change, generation, policy_epoch, revision, "
                                      "bound_json FROM contexts WHERE context_digest = ?1",
                                      {digest}));
  BAILIFF_TRY_ASSIGN(const bool found, statement.Step());
  if (!found) return MakeError(ErrorCode::kContextUnknown, digest, "no context has this digest");
  ContextRow row{.context_digest = std::string(digest),
                 .change = statement.Bytes(0),
                 .generation = statement.Integer(1),
                 .policy_epoch = statement.Integer(2),
                 .revision = statement.Bytes(3),
                 .bound_json = statement.Bytes(4)};
  if (policy::HashDomain("agentscm.review-context/v1", row.bound_json).hex() != digest)
    return MakeError(ErrorCode::kStoreCorrupt, digest, "the stored context has another digest");
  return row;
}

Result<void> RequireCurrent(Database& database, std::string_view attempt, std::string_view change,
                            std::int64_t change_version, std::string_view context_digest,
                            std::string_view revision) {
  BAILIFF_TRY_ASSIGN(const ChangeRow present, ChangeById(database, change));
  const auto stale = [&](std::string why) {
    return MakeError(ErrorCode::kContextStale, attempt,
                     "change " + present.id + " " + std::move(why));
  };
  if (present.version != change_version)
    return stale("is now at version " + std::to_string(present.version) + ", not " +
                 std::to_string(change_version));
  if (present.context_digest != context_digest)
    return stale("has another context now: generation " +
                 std::to_string(present.context_generation) + ", digest " + present.context_digest);
  if (present.revision != revision) return stale("is now at revision " + present.revision);
  if (present.state != "open" && present.state != "approved") return stale("is " + present.state);
  BAILIFF_TRY_ASSIGN(const ContextRow context, ContextByDigest(database, context_digest));
  BAILIFF_TRY_ASSIGN(const Authority authority, AuthorityOf(database));
  if (context.policy_epoch != authority.policy_epoch)
    return stale("has a context of policy epoch " + std::to_string(context.policy_epoch) +
                 "; the authority is at " + std::to_string(authority.policy_epoch) +
                 ": bailiff change update-context " + present.id);
  return {};
}

}  // namespace statements
}  // namespace bailiff::controller
