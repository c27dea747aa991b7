// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/backup.h"

#include "controller/cli/escape.h"
#include "controller/cli/jobs.h"
#include "controller/cli/session.h"
#include "controller/cli/verbs.h"
#include "controller/supervisor/attempt.h"

namespace bailiff::controller::cli {

Result<int> Backup(Context& context) {
  HostMode& host = *context.host;
  const std::string& name = context.command.arguments[0];
  BAILIFF_TRY_ASSIGN(Store store, OpenStore(context));
  BAILIFF_TRY_ASSIGN(const Interrupts interrupts, Interrupts::Block());
  BAILIFF_TRY_ASSIGN(JobSlot slot, JobSlot::Acquire(host));
  ProgressLine line(context.output.shows_progress());
  BAILIFF_TRY_ASSIGN(
      const BackupReport report,
      WriteBackup(slot.jobs(), AsController(slot.jobs(), host), slot.locks(), store, host.ids,
                  host.new_file.get(), HooksFor(line, interrupts, "copying")));
  line.Clear();
  BAILIFF_TRY(store.AuditBackup("{\"bytes\":" + std::to_string(report.bytes) + ",\"sha256\":\"" +
                                report.digest.hex() + "\"}"));
  // Recorded before it can be taken away: no copy is without a row.
  BAILIFF_TRY(host.preparer->NameFile());
  context.output.Line("backup     " + EscapeName(name) + "  " + ShowBytes(report.bytes));
  context.output.Line("sha256     " + report.digest.hex());
  context.output.Line("holds      " + ShowCount(report.revisions) + " revisions, " +
                      ShowCount(report.objects) + " objects, " + ShowCount(report.images) +
                      " images");
  JsonWriter json("backup");
  json.Bytes("file", name)
      .Member("bytes", report.bytes)
      .Member("sha256", report.digest.hex())
      .Member("revisions", report.revisions)
      .Member("objects", report.objects)
      .Member("images", report.images);
  context.output.Json(std::move(json));
  return 0;
}

}  // namespace bailiff::controller::cli
