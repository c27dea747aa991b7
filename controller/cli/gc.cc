// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/gc.h"

#include <array>
#include <utility>

#include "controller/cli/escape.h"
#include "controller/cli/jobs.h"
#include "controller/cli/session.h"
#include "controller/cli/verbs.h"

namespace bailiff::controller::cli {

Result<int> Gc(Context& context) {
  const bool dry_run = context.command.Has("dry-run");
  BAILIFF_TRY_ASSIGN(Store store, OpenStore(context));
  BAILIFF_TRY_ASSIGN(const Interrupts interrupts, Interrupts::Block());
  BAILIFF_TRY_ASSIGN(JobSlot slot, JobSlot::Acquire(*context.host));
  ProgressLine line(context.output.shows_progress());
  BAILIFF_TRY_ASSIGN(const GarbageReport report,
                     CollectGarbage(slot.jobs(), slot.locks(), store, dry_run,
                                    HooksFor(line, interrupts, "reading trees")));
  line.Clear();
  JsonWriter json("gc");
  json.Member("dry_run", dry_run);
  Table table;
  const std::string done = dry_run ? "to remove" : "removed";
  for (const auto& [name, part] : {std::pair{"objects", &report.objects},
                                   {"trees", &report.trees},
                                   {"images", &report.images},
                                   {"staging", &report.staging}}) {
    table.Row({name, part->kept.empty()
                         ? done + " " + ShowCount(part->count) + ", " + ShowBytes(part->bytes)
                         : "kept: " + EscapeName(part->kept)});
    json.BeginObject(name).Member("count", part->count).Member("bytes", part->bytes);
    if (!part->kept.empty()) json.Member("kept", part->kept);
    json.End();
  }
  context.output.Line(table.Text());
  context.output.Json(std::move(json));
  return 0;
}

}  // namespace bailiff::controller::cli
