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
  ipc::Fd& standard_output = context.command.opened[1].made;
  const bool to_stdout = standard_output.valid();
  HostMode& host = *context.host;
  BAILIFF_TRY_ASSIGN(const Exported exported,
                     Export(context, to_stdout ? standard_output.get() : host.new_file.get()));
  // What a full disk says last, it says here. Whatever fails before the file has its name leaves
  // none.
  if (to_stdout) {
    if (close(standard_output.release()) != 0) return SystemError("close", "standard output");
  } else {
    // no fault point: it has no name yet, and without one it goes with this process
    if (fsync(host.new_file.get()) != 0) return SystemError("fsync", context.command.arguments[1]);
    BAILIFF_TRY(host.preparer->NameFile());
  }
  const auto& [row, made] = exported;
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
