// SPDX-License-Identifier: Apache-2.0
// Changes and contexts, and how an attempt comes into being.
#include "controller/store/database.h"
#include "controller/store/statements.h"
#include "controller/store/store.h"
#include "policy/digest.h"

namespace bailiff::controller {

using statements::MakeError;

namespace {

constexpr std::string_view kContextDomain = "agentscm.review-context/v1";

// The first member, in the order of the request document, in which `attempt` differs from what is
// stored; nothing when the two are the same request.
std::string_view FirstDifference(const AttemptRow& row, const NewAttempt& attempt,
                                 const Authority& authority) {
  if (attempt.repository != authority.repository) return "/change/repository";
  if (attempt.change != row.change) return "/change/id";
  if (attempt.change_version != row.change_version) return "/change_version";
  if (attempt.context_digest != row.context_digest) return "/context_digest";
  if (attempt.revision != row.revision) return "/revision";
  if (attempt.kind != row.kind || attempt.recipe != row.recipe) return "/recipe";
  if (attempt.request_json != row.request_json) return "(bytes of the request)";
  return {};
}

Result<void> CheckValues(const NewAttempt& attempt) {
  if (!statements::IsId(attempt.id))
    return MakeError(ErrorCode::kStoreValue, attempt.id, "not an attempt id");
  if (attempt.recipe.size() > kMaxDocument || attempt.request_json.size() > kMaxDocument)
    return MakeError(ErrorCode::kStoreValue, attempt.id, "its request is larger than 1 MiB");
  if (policy::Hash(attempt.recipe).hex() != attempt.recipe_digest)
    return MakeError(ErrorCode::kStoreValue, attempt.id, "its recipe has another digest");
  return {};
}

Result<bool> Exists(Database& database, std::string_view sql, std::string_view id) {
  BAILIFF_TRY_ASSIGN(Statement statement, database.Prepare(sql, {id}));
  return statement.Step();
}

// The name for the next change of a `run`: one after the newest row, past names already taken.
Result<std::string> NextRunName(Database& database) {
  BAILIFF_TRY_ASSIGN(Statement newest, database.Prepare("SELECT max(seq) FROM changes"));
  BAILIFF_TRY(newest.Step());
  for (std::int64_t number = newest.Integer(0) + 1;; ++number) {
    std::string name = "run-" + std::to_string(number);
    BAILIFF_TRY_ASSIGN(const bool change,
                       Exists(database, "SELECT 1 FROM changes WHERE id = ?1", name));
    BAILIFF_TRY_ASSIGN(const bool attempt,
                       Exists(database, "SELECT 1 FROM attempts WHERE id = ?1", name));
    if (!change && !attempt) return name;
  }
}

}  // namespace

Result<ChangeRow> Store::GetChange(std::string_view id) {
  ChangeRow row;
  BAILIFF_TRY(Read([&](Database& database) -> Result<void> {
    BAILIFF_TRY_ASSIGN(row, statements::ChangeById(database, id));
    return {};
  }));
  return row;
}

Result<ContextRow> Store::GetContext(std::string_view context_digest) {
  ContextRow row;
  BAILIFF_TRY(Read([&](Database& database) -> Result<void> {
    BAILIFF_TRY_ASSIGN(row, statements::ContextByDigest(database, context_digest));
    return {};
  }));
  return row;
}

Result<AttemptRow> Store::InsertAttempt(Database& database, const NewAttempt& attempt,
                                        const ContextRow& context) {
  const std::int64_t now = statements::UnixMilliseconds();
  BAILIFF_TRY(database.Run(
      "INSERT INTO attempts (id, kind, state, generation, change, change_version, context_digest, "
      "revision, recipe_digest, recipe, toolchain, environment_digest, policy_epoch, request_json, "
      "created_unix_ms, changed_unix_ms) "
      "VALUES (?1, ?2, 'pending', 0, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?13)",
      {attempt.id, attempt.kind, attempt.change, attempt.change_version, attempt.context_digest,
       attempt.revision, attempt.recipe_digest, Blob{attempt.recipe}, attempt.toolchain,
       attempt.environment_digest, context.policy_epoch, Blob{attempt.request_json}, now}));
  BAILIFF_TRY_ASSIGN(AttemptRow row, statements::AttemptById(database, attempt.id));
  BAILIFF_TRY(Audit(database, "attempt.register", row.id, "{}", statements::StateJson(row)));
  return row;
}

Result<AttemptRow> Store::RegisterAttempt(const NewAttempt& attempt) {
  BAILIFF_TRY(CheckValues(attempt));
  AttemptRow row;
  BAILIFF_TRY(Write([&](Database& database) -> Result<void> {
    BAILIFF_TRY_ASSIGN(const Authority authority, statements::AuthorityOf(database));
    Result<AttemptRow> present = statements::AttemptById(database, attempt.id);
    if (present.ok()) {
      const std::string_view member = FirstDifference(*present, attempt, authority);
      if (!member.empty())
        return MakeError(
            ErrorCode::kAttemptDiffers, attempt.id,
            "it is registered with another request; first difference: " + std::string(member));
      row = std::move(present).value();
      return {};
    }
    if (present.error().code != ErrorCode::kAttemptUnknown) return present.error();
    if (attempt.repository != authority.repository)
      return MakeError(ErrorCode::kStoreForeign, attempt.id,
                       "the request is for repository " + attempt.repository + ", this one is " +
                           authority.repository);
    BAILIFF_TRY(statements::RequireCurrent(database, attempt.id, attempt.change,
                                           attempt.change_version, attempt.context_digest,
                                           attempt.revision));
    BAILIFF_TRY_ASSIGN(const ContextRow context,
                       statements::ContextByDigest(database, attempt.context_digest));
    BAILIFF_TRY_ASSIGN(row, InsertAttempt(database, attempt, context));
    return {};
  }));
  return row;
}

Result<AttemptRow> Store::CreateRunChange(const RunChangeInput& input) {
  AttemptRow row;
  BAILIFF_TRY(Write([&](Database& database) -> Result<void> {
    BAILIFF_TRY_ASSIGN(const Authority authority, statements::AuthorityOf(database));
    BAILIFF_TRY_ASSIGN(
        const bool known,
        Exists(database, "SELECT 1 FROM revisions WHERE revision = ?1", input.revision));
    if (!known)
      return MakeError(ErrorCode::kRevisionUnknown, input.revision, "no revision has this id");
    BAILIFF_TRY_ASSIGN(const std::string name, NextRunName(database));
    BAILIFF_TRY_ASSIGN(const RunBinding bound,
                       input.bind(RunNames{.repository = authority.repository,
                                           .id = name,
                                           .policy_epoch = authority.policy_epoch,
                                           .revision = input.revision}));
    if (policy::HashDomain(kContextDomain, bound.bound_json).hex() != bound.context_digest)
      return MakeError(ErrorCode::kStoreValue, name, "its bound context has another digest");
    BAILIFF_TRY(
        database.Run("INSERT INTO changes (id, version, revision, context_digest, "
                     "context_generation, state) VALUES (?1, 1, ?2, ?3, 1, 'open')",
                     {name, input.revision, bound.context_digest}));
    BAILIFF_TRY(database.Run(
        "INSERT INTO contexts (context_digest, change, generation, policy_epoch, revision, "
        "bound_json) VALUES (?1, ?2, 1, ?3, ?4, ?5)",
        {bound.context_digest, name, authority.policy_epoch, input.revision,
         Blob{bound.bound_json}}));
    BAILIFF_TRY(Audit(database, "change.create", name, "{}",
                      "{\"context\":" + statements::JsonString(bound.context_digest) +
                          ",\"revision\":" + statements::JsonString(input.revision) +
                          ",\"version\":1}"));
    const NewAttempt attempt{.id = name,
                             .kind = input.kind,
                             .repository = authority.repository,
                             .change = name,
                             .change_version = 1,
                             .context_digest = bound.context_digest,
                             .revision = input.revision,
                             .recipe_digest = input.recipe_digest,
                             .recipe = input.recipe,
                             .toolchain = input.toolchain,
                             .environment_digest = input.environment_digest,
                             .request_json = bound.request_json};
    BAILIFF_TRY(CheckValues(attempt));
    BAILIFF_TRY_ASSIGN(const ContextRow context,
                       statements::ContextByDigest(database, bound.context_digest));
    BAILIFF_TRY_ASSIGN(row, InsertAttempt(database, attempt, context));
    if (!input.claim) return {};
    BAILIFF_TRY_ASSIGN(const ClaimInput claim, input.claim(row));
    BAILIFF_TRY_ASSIGN(row, ClaimIn(database, claim));
    return {};
  }));
  return row;
}

}  // namespace bailiff::controller
