// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "controller/cli/escape.h"
#include "controller/cli/jobs.h"
#include "controller/cli/session.h"
#include "controller/cli/verbs.h"
#include "controller/supervisor/attempt.h"

namespace bailiff::controller::cli {
namespace {

struct Exported {
  ImageRow row;
  ExportedImage made;
};

// Files of an image that only their owner may read are the controller's: the helper runs under the
// controller's own id, behind the same view, filter and Landlock rules.
Result<Exported> Export(Context& context, int file) {
  Exported exported;
  BAILIFF_TRY_ASSIGN(Store store, OpenStore(context));
  BAILIFF_TRY_ASSIGN(exported.row, FindImage(store, context.command.arguments[0]));
  BAILIFF_TRY_ASSIGN(const Interrupts interrupts, Interrupts::Block());
  BAILIFF_TRY_ASSIGN(const JobSlot slot, JobSlot::Acquire(*context.host));
  const JobHost host = AsController(slot.jobs(), *context.host);
  ProgressLine line(context.output.shows_progress());
  const std::string name = exported.row.image.substr(exported.row.image.find(':') + 1);
  BAILIFF_TRY_ASSIGN(exported.made,
                     ExportImage(host, name, file, HooksFor(line, interrupts, "exporting")));
  line.Clear();
  return exported;
}

}  // namespace

Result<int> ImageExport(Context& context) {
  Opened& target = context.command.opened[1];
  const bool to_stdout = target.name == "-" && !target.fd.valid();
  Result<Exported> exported = Export(context, target.made.get());
  // What a full disk says last, it says here.
  if (exported.ok() && close(target.made.release()) != 0)
    exported = SystemError("close", context.command.arguments[1]);
  if (!exported.ok()) {
    if (to_stdout) return exported.error();
    // Nothing half written stays. As root the service account may not take the name away: then the
    // file stays, empty.
    unlinkat(target.fd.get(), target.name.c_str(), 0);
    // no fault point: it is being thrown away
    if (target.made.valid() && ftruncate(target.made.get(), 0) != 0)
      return SystemError("ftruncate", target.name);
    return exported.error();
  }
  const auto& [row, made] = *exported;
  const std::string image = "sha256:" + made.image.hex();
  const std::string text = "exported  " + ShortId(row.image) + " to " +
                           EscapeName(context.command.arguments[1]) + "  " + ShowBytes(made.bytes) +
                           "\nimage     " + image +
                           "  (of what was written: one layer, a configuration of its own)";
  if (to_stdout) {
    context.output.Note(text);
  } else {
    context.output.Line(text);
  }
  JsonWriter json("image.export");
  json.Member("image", row.image)
      .Bytes("file", context.command.arguments[1])
      .Member("exported_image", image)
      .Member("diff_id", "sha256:" + made.layer.hex())
      .Member("sha256", made.file.hex())
      .Member("entries", made.entries)
      .Member("bytes", made.bytes);
  context.output.Json(std::move(json));
  return 0;
}

}  // namespace bailiff::controller::cli
