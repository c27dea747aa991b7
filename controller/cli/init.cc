// SPDX-License-Identifier: Apache-2.0
#include "controller/cli/escape.h"
#include "controller/cli/verbs.h"
#include "controller/store/layout.h"

namespace bailiff::controller::cli {

Result<int> Init(Context& context) {
  const std::string& path = context.command.globals.data_dir;
  BAILIFF_TRY_ASSIGN(
      const InitReport report,
      InitDataDirectory(context.host->data.get(), std::string(kDataMount) + "/" + kDatabaseName,
                        context.operator_json));
  const bool one_id = context.host->one_id();
  context.output.Line((report.created ? "made        " : "exists      ") + EscapeName(path));
  context.output.Line("repository  " + report.repository);
  if (one_id) {
    context.output.Line(
        "ids         one for everything: no range in /etc/subuid (policy/THREATS.md says what it "
        "costs)");
  } else {
    context.output.Line("ids         " + std::to_string(context.host->ids.first) + " to " +
                        std::to_string(context.host->ids.first + context.host->ids.count - 1));
  }
  JsonWriter json("init");
  json.Bytes("path", path)
      .Member("created", report.created)
      .Member("repository", report.repository);
  json.Member("ids_first", context.host->ids.first).Member("ids_count", context.host->ids.count);
  context.output.Json(std::move(json));
  return 0;
}

}  // namespace bailiff::controller::cli
