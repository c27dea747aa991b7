// SPDX-License-Identifier: Apache-2.0
// Attempts as documents and rows: create, run, show, list.
#include "controller/cli/execute.h"
#include "controller/cli/read_document.h"
#include "controller/cli/record_text.h"
#include "controller/cli/session.h"
#include "controller/cli/verbs.h"
#include "controller/store/layout.h"
#include "policy/context.h"
#include "policy/request.h"

namespace bailiff::controller::cli {
namespace {

void AddAttempt(JsonWriter& json, const AttemptRow& row) {
  json.Member("attempt", row.id)
      .Member("kind", row.kind)
      .Member("state", ToString(row.state))
      .Member("generation", row.generation)
      .Member("change", row.change)
      .Member("change_version", row.change_version)
      .Member("context_digest", row.context_digest)
      .Member("context_generation", row.context_generation)
      .Member("revision", row.revision)
      .Member("recipe_digest", row.recipe_digest)
      .Member("toolchain", row.toolchain)
      .Member("environment_digest", row.environment_digest)
      .Member("policy_epoch", row.policy_epoch);
  if (row.backend.has_value()) json.Member("backend", *row.backend);
  if (row.outcome.has_value()) json.Member("outcome", *row.outcome);
  if (row.evidence_id.has_value()) json.Member("evidence_id", *row.evidence_id);
  if (row.owner_json.has_value()) json.Raw("owner", *row.owner_json);
  json.Member("holds_custody", row.custody_json.has_value());
  json.Member("created_unix_ms", row.created_unix_ms)
      .Member("changed_unix_ms", row.changed_unix_ms);
}

std::string Next(const AttemptRow& row) {
  const std::string at = row.id + " " + std::to_string(row.generation);
  switch (row.state) {
    case AttemptState::kPending:
      return "bailiff check run " + at;
    case AttemptState::kRunning:
      return "bailiff check cancel " + at + " REASON";
    case AttemptState::kFinished:
      return row.evidence_id.has_value() ? "bailiff evidence show " + ShortId(*row.evidence_id)
                                         : "";
    case AttemptState::kCancelled:
      break;
  }
  return "";
}

Result<NewAttempt> AttemptOf(const policy::CheckRequest& request) {
  NewAttempt attempt;
  attempt.id = request.attempt_id;
  attempt.kind = policy::KindOf(request.recipe);
  attempt.repository = request.repository;
  attempt.change = request.change;
  attempt.change_version = static_cast<std::int64_t>(request.change_version);
  attempt.context_digest = request.context_digest.hex();
  attempt.revision = request.revision.hex();
  attempt.recipe = policy::CanonicalOf(request.recipe);
  attempt.recipe_digest = policy::DigestOf(request.recipe).hex();
  BAILIFF_TRY_ASSIGN(attempt.request_json, policy::CanonicalRequest(request));
  return attempt;
}

}  // namespace

Result<int> CheckCreate(Context& context) {
  BAILIFF_TRY_ASSIGN(const std::string bytes, ReadDocument(context.command.opened[0]));
  policy::Faults faults;
  const std::optional<policy::CheckRequest> request = policy::ParseRequest(bytes, faults);
  if (!request.has_value()) return context.output.Fail(faults, context.command.opened[0].name);
  const auto* recipe = std::get_if<policy::CommandRecipe>(&request->recipe);
  if (recipe == nullptr) {
    return Error{ErrorCode::kCheckKind,
                 std::string(policy::KindOf(request->recipe)),
                 "this version runs command/v1",
                 0,
                 {}};
  }
  BAILIFF_TRY_ASSIGN(Store store, OpenStore(context));
  BAILIFF_TRY_ASSIGN(const ContextRow stored, store.GetContext(request->context_digest.hex()));
  BAILIFF_TRY_ASSIGN(const policy::StoredContext bound,
                     policy::ParseBoundContext(stored.bound_json));
  BAILIFF_TRY(policy::CheckContextRecipe(bound.review, *recipe));
  BAILIFF_TRY_ASSIGN(NewAttempt attempt, AttemptOf(*request));
  attempt.toolchain = recipe->toolchain.hex();
  attempt.environment_digest = policy::EnvironmentDigest(recipe->environment).hex();
  BAILIFF_TRY_ASSIGN(const AttemptRow row, store.RegisterAttempt(attempt));
  context.output.Line(row.id + "  " + std::string(ToString(row.state)) + "  generation " +
                      std::to_string(row.generation));
  if (const std::string next = Next(row); !next.empty()) context.output.Line("next  " + next);
  JsonWriter json("check.create");
  AddAttempt(json, row);
  context.output.Json(std::move(json));
  return 0;
}

Result<int> CheckRun(Context& context) {
  BAILIFF_TRY_ASSIGN(const std::int64_t generation,
                     ParseWhole(context.command.arguments[1], "GEN"));
  BAILIFF_TRY_ASSIGN(const Interrupts interrupts, Interrupts::Block());
  BAILIFF_TRY(CheckFormat(context.host->data.get()));
  BAILIFF_TRY_ASSIGN(OwnersLock locks, OwnersLock::Open(context.host->data.get()));
  BAILIFF_TRY_ASSIGN(AttemptOwner owner, PrepareOwner(context, locks));
  BAILIFF_TRY_ASSIGN(Store store, OpenStore(context));
  BAILIFF_TRY_ASSIGN(const AttemptRow pending, store.GetAttempt(context.command.arguments[0]));
  if (pending.state != AttemptState::kPending || pending.generation != generation) {
    return Error{ErrorCode::kAttemptConflict, pending.id,
                 "it is " + std::string(ToString(pending.state)) + " at generation " +
                     std::to_string(pending.generation),
                 0, Next(pending)};
  }
  BAILIFF_TRY(owner.Ready());
  if (interrupts.Pending()) return Error{ErrorCode::kCancelled, {}, "nothing was stored", 0, {}};
  BAILIFF_TRY_ASSIGN(const ClaimInput claim, owner.Claim(pending));
  BAILIFF_TRY_ASSIGN(const AttemptRow row, store.Claim(claim));
  BAILIFF_TRY_ASSIGN(const AttemptReport report,
                     Execute(context, store, owner, row, interrupts, "check.run"));
  return policy::OutcomeExit(report.record.outcome);
}

Result<int> CheckShow(Context& context) {
  BAILIFF_TRY_ASSIGN(Store store, OpenStore(context));
  BAILIFF_TRY_ASSIGN(const AttemptRow row, store.GetAttempt(context.command.arguments[0]));
  Table table;
  table.Row({"attempt", row.id + "  " + row.kind});
  table.Row({"state",
             std::string(ToString(row.state)) + "  generation " + std::to_string(row.generation)});
  if (row.outcome.has_value()) table.Row({"outcome", *row.outcome});
  table.Row({"change", row.change + " v" + std::to_string(row.change_version) +
                           "  context generation " + std::to_string(row.context_generation)});
  table.Row({"source", "revision " + row.revision});
  table.Row({"recipe", row.recipe_digest});
  table.Row({"created", ShowTime(row.created_unix_ms)});
  table.Row({"changed", ShowTime(row.changed_unix_ms)});
  if (row.custody_json.has_value() && row.state == AttemptState::kRunning) {
    table.Row({"custody", "held: what it made must be destroyed by its owner or by recovery"});
  }
  if (const std::string next = Next(row); !next.empty()) table.Row({"next", next});
  context.output.Line(table.Text());
  JsonWriter json("check.show");
  AddAttempt(json, row);
  json.Raw("recipe", row.recipe).Raw("request", row.request_json);
  if (row.custody_json.has_value()) json.Raw("custody", *row.custody_json);
  context.output.Json(std::move(json));
  return 0;
}

Result<int> CheckList(Context& context) {
  const Command& command = context.command;
  AttemptFilter filter;
  if (const std::string* state = command.Get("state")) filter.state = ParseAttemptState(*state);
  if (const std::string* outcome = command.Get("outcome")) {
    if (!policy::ParseOutcome(*outcome).has_value()) {
      return Error{ErrorCode::kOptionValue,
                   "--outcome \"" + *outcome + "\"",
                   "no outcome has that name",
                   0,
                   {}};
    }
    filter.outcome = *outcome;
  }
  if (const std::string* limit = command.Get("limit")) {
    BAILIFF_TRY_ASSIGN(filter.limit, ParseWhole(*limit, "--limit"));
    if (filter.limit < 1 || filter.limit > 1000) {
      return Error{ErrorCode::kOptionValue, "--limit " + *limit, "not 1 to 1000", 0, {}};
    }
  }
  if (const std::string* after = command.Get("after")) {
    BAILIFF_TRY_ASSIGN(filter.after, ParseWhole(*after, "--after"));
  }
  BAILIFF_TRY_ASSIGN(Store store, OpenStore(context));
  BAILIFF_TRY_ASSIGN(const AttemptPage page, store.ListAttempts(filter));
  Table table;
  table.Row({"ATTEMPT", "KIND", "STATE", "GEN", "OUTCOME", "CHANGED", "EVIDENCE", "CHANGE"});
  JsonWriter json("check.list");
  json.BeginArray("attempts");
  for (const AttemptRow& row : page.attempts) {
    table.Row({row.id, row.kind, std::string(ToString(row.state)), std::to_string(row.generation),
               row.outcome.value_or("–"), ShowTime(row.changed_unix_ms),
               row.evidence_id.has_value() ? ShortId(*row.evidence_id) : "–",
               row.change + " v" + std::to_string(row.change_version)});
    json.BeginObject();
    AddAttempt(json, row);
    json.End();
  }
  json.End();
  if (page.after.has_value()) json.Member("after", *page.after);
  context.output.Line(page.attempts.empty() ? "no attempt" : table.Text());
  if (page.after.has_value()) {
    context.output.Line("more: bailiff check list --after " + std::to_string(*page.after));
  }
  context.output.Json(std::move(json));
  return 0;
}

}  // namespace bailiff::controller::cli
