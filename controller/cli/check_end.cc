// SPDX-License-Identifier: Apache-2.0
// The ways an attempt ends that its owner does not choose: cancel, recover.
#include "controller/cli/record_text.h"
#include "controller/cli/session.h"
#include "controller/cli/verbs.h"
#include "controller/store/owners_lock.h"
#include "controller/supervisor/recovery.h"

namespace bailiff::controller::cli {
namespace {

Result<int> End(Context& context, bool cancel) {
  const Command& command = context.command;
  RecoveryRequest request;
  request.id = command.arguments[0];
  BAILIFF_TRY_ASSIGN(request.generation, ParseWhole(command.arguments[1], "GEN"));
  request.reason = command.arguments[2];
  request.cancel = cancel;
  request.abandon_unconfirmed = command.Has("abandon-unconfirmed");
  BAILIFF_TRY_ASSIGN(Store store, OpenStore(context));
  BAILIFF_TRY_ASSIGN(const Authority authority, store.GetAuthority());
  BAILIFF_TRY_ASSIGN(OwnersLock locks, OwnersLock::Open(context.host->data.get()));
  BAILIFF_TRY_ASSIGN(const RecoveryReport report,
                     Recover(*context.host, store, locks, authority.repository, request));
  std::string line = std::string(cancel ? "cancelled   " : "recovered   ") + report.after.id +
                     " generation " + std::to_string(report.before.generation) + " → " +
                     std::to_string(report.after.generation) + "   " +
                     report.after.outcome.value_or(std::string(ToString(report.after.state)));
  if (report.other_boot) line += ": its owner died with another boot, and the cell with it";
  context.output.Line(line);
  for (const std::string& proof : report.proof) context.output.Line("  " + proof);
  JsonWriter json(cancel ? "check.cancel" : "check.recover");
  json.Member("attempt", report.after.id)
      .Member("generation_before", report.before.generation)
      .Member("generation", report.after.generation)
      .Member("state", ToString(report.after.state));
  if (report.after.outcome.has_value()) json.Member("outcome", *report.after.outcome);
  if (report.after.evidence_id.has_value()) json.Member("evidence_id", *report.after.evidence_id);
  json.Member("other_boot", report.other_boot).BeginArray("proof");
  for (const std::string& proof : report.proof) json.Element(proof);
  json.End();
  context.output.Json(std::move(json));
  return 0;
}

}  // namespace

Result<int> CheckCancel(Context& context) { return End(context, true); }

Result<int> CheckRecover(Context& context) { return End(context, false); }

}  // namespace bailiff::controller::cli
