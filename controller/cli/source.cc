// SPDX-License-Identifier: Apache-2.0
// Revisions in the store: list and show. Importing and exporting are in source_jobs.cc.
#include "controller/cli/escape.h"
#include "controller/cli/jobs.h"
#include "controller/cli/session.h"
#include "controller/cli/verbs.h"

namespace bailiff::controller::cli {
namespace {

void AddRevision(JsonWriter& json, const RevisionRow& row) {
  json.Member("revision", row.revision)
      .Member("tree", row.tree)
      .Raw("origin", row.origin_json)
      .Member("entries", row.entries)
      .Member("bytes", row.bytes);
}

// `source show --tree`: the manifest is read by a helper; what it says hashes to the tree's digest.
Result<std::vector<ListedEntry>> EntriesOf(Context& context, const RevisionRow& row) {
  const auto tree = policy::ParseDigest(row.tree);
  if (!tree.has_value())
    return Error{ErrorCode::kStoreCorrupt, row.revision, "its tree is not a digest", 0, {}};
  BAILIFF_TRY_ASSIGN(const Interrupts interrupts, Interrupts::Block());
  BAILIFF_TRY_ASSIGN(const JobSlot slot, JobSlot::Acquire(*context.host));
  ProgressLine line(context.output.shows_progress());
  return ListTree(slot.jobs(), *tree, HooksFor(line, interrupts, "listing"));
}

void AddEntries(JsonWriter& json, const std::vector<ListedEntry>& entries) {
  json.BeginArray("paths");
  for (const ListedEntry& entry : entries) {
    json.BeginObject()
        .Bytes("path", entry.path)
        .Member("kind", policy::EntryKindName(entry.kind))
        .Member("size", entry.size)
        .Member("blob", entry.blob.hex())
        .End();
  }
  json.End();
}

std::string EntriesText(const std::vector<ListedEntry>& entries) {
  Table table;
  for (const ListedEntry& entry : entries) {
    table.Row({std::string(policy::EntryKindName(entry.kind)), entry.blob.hex(),
               std::to_string(entry.size), EscapeName(entry.path)});
  }
  return table.Text();
}

}  // namespace

Result<int> SourceList(Context& context) {
  BAILIFF_TRY_ASSIGN(Store store, OpenStore(context));
  BAILIFF_TRY_ASSIGN(const std::vector<RevisionRow> rows, store.ListRevisions());
  Table table;
  table.Row({"REVISION", "TREE", "FILES", "SIZE", "ORIGIN"});
  JsonWriter json("source.list");
  json.BeginArray("revisions");
  for (const RevisionRow& row : rows) {
    table.Row({ShortId(row.revision), ShortId(row.tree),
               ShowCount(static_cast<std::uint64_t>(row.entries)),
               ShowBytes(static_cast<std::uint64_t>(row.bytes)), EscapeName(row.origin_json)});
    json.BeginObject();
    AddRevision(json, row);
    json.End();
  }
  context.output.Line(rows.empty() ? "no revision: bailiff source import DIR" : table.Text());
  context.output.Json(std::move(json));
  return 0;
}

Result<int> SourceShow(Context& context) {
  BAILIFF_TRY_ASSIGN(Store store, OpenStore(context));
  BAILIFF_TRY_ASSIGN(const RevisionRow row, store.FindRevision(context.command.arguments[0]));
  const bool with_tree = context.command.Has("tree");
  std::vector<ListedEntry> entries;
  if (with_tree) {
    BAILIFF_TRY_ASSIGN(entries, EntriesOf(context, row));
  }
  Table table;
  table.Row({"revision", row.revision});
  table.Row({"tree", row.tree});
  table.Row({"origin", EscapeName(row.origin_json)});
  table.Row({"files", ShowCount(static_cast<std::uint64_t>(row.entries))});
  table.Row({"size", ShowBytes(static_cast<std::uint64_t>(row.bytes))});
  context.output.Line(table.Text());
  if (!entries.empty()) context.output.Line("\n" + EntriesText(entries));
  JsonWriter json("source.show");
  AddRevision(json, row);
  if (with_tree) AddEntries(json, entries);
  context.output.Json(std::move(json));
  return 0;
}

}  // namespace bailiff::controller::cli
