// SPDX-License-Identifier: Apache-2.0
// Images in the store: list, show, remove. Importing is in image_import.cc.
#include "controller/cli/escape.h"
#include "controller/cli/jobs.h"
#include "controller/cli/session.h"
#include "controller/cli/verbs.h"
#include "controller/supervisor/gc.h"

namespace bailiff::controller::cli {
namespace {

void AddImage(JsonWriter& json, const ImageRow& row) {
  json.Member("image", row.image).BeginArray("names");
  for (const std::string& name : row.names) json.Element(name);
  json.End()
      .Member("tree", row.tree)
      .Raw("diff_ids", row.diff_ids)
      .Member("entries", row.entries)
      .Member("bytes", row.bytes)
      .Member("source_sha256", row.source_sha256);
}

std::string Names(const ImageRow& row) {
  std::string text;
  for (const std::string& name : row.names)
    text.append(text.empty() ? "" : " ").append(EscapeName(name));
  return text.empty() ? "–" : text;
}

}  // namespace

Result<int> ImageList(Context& context) {
  BAILIFF_TRY_ASSIGN(Store store, OpenStore(context));
  BAILIFF_TRY_ASSIGN(const std::vector<ImageRow> rows, store.ListImages());
  Table table;
  table.Row({"NAME", "IMAGE", "ENTRIES", "SIZE"});
  JsonWriter json("image.list");
  json.BeginArray("images");
  for (const ImageRow& row : rows) {
    table.Row({Names(row), ShortId(row.image), ShowCount(static_cast<std::uint64_t>(row.entries)),
               ShowBytes(static_cast<std::uint64_t>(row.bytes))});
    json.BeginObject();
    AddImage(json, row);
    json.End();
  }
  context.output.Line(rows.empty() ? "no image: bailiff image import FILE --name NAME"
                                   : table.Text());
  context.output.Json(std::move(json));
  return 0;
}

Result<int> ImageShow(Context& context) {
  BAILIFF_TRY_ASSIGN(Store store, OpenStore(context));
  BAILIFF_TRY_ASSIGN(const ImageRow row, FindImage(store, context.command.arguments[0]));
  Table table;
  table.Row({"image", row.image});
  table.Row({"names", Names(row)});
  table.Row({"tree", row.tree});
  table.Row({"entries", ShowCount(static_cast<std::uint64_t>(row.entries))});
  table.Row({"size", ShowBytes(static_cast<std::uint64_t>(row.bytes))});
  table.Row({"archive", "sha256:" + row.source_sha256});
  table.Row({"config", EscapeName(row.config)});
  context.output.Line(table.Text());
  JsonWriter json("image.show");
  AddImage(json, row);
  json.Bytes("config", row.config);
  context.output.Json(std::move(json));
  return 0;
}

// The row goes first: from then on nothing new can use the image, and a directory left over by a
// death in between is whole, and one that no row names: the next gc has it, or the next import of
// the same archive. No import is at work meanwhile, which could have found the directory and be
// about to store a row for it.
Result<int> ImageRemove(Context& context) {
  BAILIFF_TRY_ASSIGN(Store store, OpenStore(context));
  BAILIFF_TRY_ASSIGN(const ImageRow row, FindImage(store, context.command.arguments[0]));
  BAILIFF_TRY_ASSIGN(JobSlot slot, JobSlot::Acquire(*context.host));
  BAILIFF_TRY_ASSIGN(const bool alone, slot.locks().TryOwnContents(OwnersLock::Contents::kImages));
  if (!alone)
    return Error{ErrorCode::kContentsBusy, {}, "an import or another removal is at work", 0, {}};
  BAILIFF_TRY(store.RemoveImage(row.image));
  BAILIFF_TRY(DiscardImage(slot.jobs(), row.image.substr(row.image.find(':') + 1)));
  context.output.Line("removed   " + Names(row) + "  " + ShortId(row.image));
  JsonWriter json("image.remove");
  json.Member("image", row.image);
  context.output.Json(std::move(json));
  return 0;
}

}  // namespace bailiff::controller::cli
