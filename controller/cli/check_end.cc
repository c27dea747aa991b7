// SPDX-License-Identifier: Apache-2.0
// The ways an attempt ends that its owner does not choose (cancel, recover), and what it wrote
// (logs).
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "controller/cli/record_text.h"
#include "controller/cli/session.h"
#include "controller/cli/stream_forwarder.h"
#include "controller/cli/verbs.h"
#include "controller/store/owners_lock.h"
#include "controller/supervisor/recovery.h"
#include "policy/evidence.h"

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

// What a running attempt has written so far: its spool file (contracts, section 3).
Result<std::string> Spooled(const Context& context, const AttemptRow& row,
                            std::string_view stream) {
  const std::string name = "execution/output-" + row.id + "-" + std::to_string(row.generation) +
                           "." + std::string(stream);
  Result<std::string> bytes = ipc::ReadFileAt(context.host->data.get(), name.c_str(), kMaxOutput);
  if (!bytes.ok() && bytes.error().system_error == ENOENT) return std::string();  // nothing yet
  return bytes;
}

Result<std::string> StreamBytes(Context& context, Store& store, const AttemptRow& row,
                                std::string_view stream) {
  if (row.state == AttemptState::kRunning) return Spooled(context, row, stream);
  if (!row.evidence_id.has_value()) return std::string();
  BAILIFF_TRY_ASSIGN(const EvidenceRow evidence, store.GetEvidence(*row.evidence_id));
  BAILIFF_TRY_ASSIGN(const policy::CommandRecord record, policy::ParseEvidence(evidence.bytes));
  if (!record.streams.has_value()) return std::string();
  const policy::StreamRecord& wanted =
      stream == "stdout" ? record.streams->out : record.streams->err;
  if (wanted.retained == 0) return std::string();
  return store.GetOutput(wanted.sha256.hex());
}

}  // namespace

Result<int> CheckCancel(Context& context) { return End(context, true); }

Result<int> CheckRecover(Context& context) { return End(context, false); }

Result<int> CheckLogs(Context& context) {
  const std::string* only = context.command.Get("stream");
  BAILIFF_TRY_ASSIGN(Store store, OpenStore(context));
  BAILIFF_TRY_ASSIGN(const AttemptRow row, store.GetAttempt(context.command.arguments[0]));
  JsonWriter json("check.logs");
  json.Member("attempt", row.id).Member("state", ToString(row.state));
  const bool raw = !context.output.out_is_terminal() || context.command.Has("raw");
  for (const std::string_view stream : {"stdout", "stderr"}) {
    if (only != nullptr && *only != stream) continue;
    BAILIFF_TRY_ASSIGN(const std::string bytes, StreamBytes(context, store, row, stream));
    json.Member(std::string(stream) + "_base64", Base64(bytes));
    if (context.output.json()) continue;
    StreamEscaper escaper;
    context.output.Bytes(raw ? bytes : escaper.Next(bytes) + escaper.Finish());
  }
  context.output.Json(std::move(json));
  return 0;
}

}  // namespace bailiff::controller::cli
