// SPDX-License-Identifier: Apache-2.0
// Revisions in the store: list and show. Importing and exporting are in source_jobs.cc.
#include "controller/cli/escape.h"
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
  Table table;
  table.Row({"revision", row.revision});
  table.Row({"tree", row.tree});
  table.Row({"origin", EscapeName(row.origin_json)});
  table.Row({"files", ShowCount(static_cast<std::uint64_t>(row.entries))});
  table.Row({"size", ShowBytes(static_cast<std::uint64_t>(row.bytes))});
  context.output.Line(table.Text());
  JsonWriter json("source.show");
  AddRevision(json, row);
  context.output.Json(std::move(json));
  return 0;
}

}  // namespace bailiff::controller::cli
