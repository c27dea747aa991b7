// SPDX-License-Identifier: Apache-2.0
// Sources in and out: the verbs that start a helper.
#include <fcntl.h>
#include <unistd.h>

#include "controller/cli/escape.h"
#include "controller/cli/jobs.h"
#include "controller/cli/session.h"
#include "controller/cli/verbs.h"
#include "controller/supervisor/chown_tree.h"

namespace bailiff::controller::cli {

Result<int> SourceImport(Context& context) {
  BAILIFF_TRY_ASSIGN(Store store, OpenStore(context));
  BAILIFF_TRY_ASSIGN(const Interrupts interrupts, Interrupts::Block());
  BAILIFF_TRY_ASSIGN(const JobSlot slot, JobSlot::Acquire(*context.host));
  BAILIFF_TRY_ASSIGN(
      const RevisionInfo info,
      ImportSource(context, store, slot.jobs(), context.host->operands[0].get(), interrupts));
  NoteWarnings(context.output, info.warnings);
  context.output.Line("revision  " + info.revision.hex());
  context.output.Line("tree      " + info.tree.hex());
  context.output.Line("files     " + ShowCount(info.entries) + ", " + ShowBytes(info.bytes));
  JsonWriter json("source.import");
  json.Member("revision", info.revision.hex())
      .Member("tree", info.tree.hex())
      .Raw("origin", info.origin_json)
      .Member("entries", info.entries)
      .Member("bytes", info.bytes);
  AddWarnings(json, info.warnings);
  context.output.Json(std::move(json));
  return 0;
}

namespace {

Result<RevisionRow> Export(Context& context) {
  BAILIFF_TRY_ASSIGN(Store store, OpenStore(context));
  BAILIFF_TRY_ASSIGN(RevisionRow row, store.FindRevision(context.command.arguments[0]));
  const auto tree = policy::ParseDigest(row.tree);
  if (!tree.has_value()) {
    return Error{ErrorCode::kRevisionUnknown, row.revision, "its tree is not a digest", 0, {}};
  }
  BAILIFF_TRY_ASSIGN(const Interrupts interrupts, Interrupts::Block());
  BAILIFF_TRY_ASSIGN(const JobSlot slot, JobSlot::Acquire(*context.host));
  const int target = context.host->export_directory.get();
  if (fchown(target, slot.id(), slot.id()) != 0) {
    return SystemError("fchown", context.command.arguments[1]);
  }
  ProgressLine line(context.output.shows_progress());
  BAILIFF_TRY(ExportTree(slot.jobs(), *tree, target, HooksFor(line, interrupts, "exporting")));
  return row;
}

// To the id that is the operator, or to the service account, whose preparer hands it on.
Result<void> GiveBack(HostMode& host) {
  constexpr std::uint64_t kMaxEntries = 100'000;  // of a tree: 10,000 files, and their directories
  BAILIFF_TRY(ChownTree(host.export_directory.get(), ".", 0, 0, kMaxEntries));
  if (!host.ids.root_started || !host.preparer.has_value()) return {};
  return host.preparer->GiveBack();
}

}  // namespace

// The new directory belongs to the job for as long as it runs, then to the operator again, also
// when the job fails: what is left is then the operator's to look at and remove.
Result<int> SourceExport(Context& context) {
  const Result<RevisionRow> exported = Export(context);
  const Result<void> given_back = GiveBack(*context.host);
  if (!exported.ok()) {
    // Empty unless the job had begun; as root the service account may not, and it stays.
    const Opened& parent = context.command.opened[1];
    unlinkat(parent.fd.get(), parent.name.c_str(), AT_REMOVEDIR);
    return exported.error();
  }
  BAILIFF_TRY(given_back);
  const RevisionRow& row = *exported;
  context.output.Line("exported  " + ShortId(row.revision) + " to " +
                      EscapeName(context.command.arguments[1]) + "  " +
                      ShowCount(static_cast<std::uint64_t>(row.entries)) + " files");
  JsonWriter json("source.export");
  json.Member("revision", row.revision)
      .Member("tree", row.tree)
      .Bytes("directory", context.command.arguments[1]);
  context.output.Json(std::move(json));
  return 0;
}

}  // namespace bailiff::controller::cli
