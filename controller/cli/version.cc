// SPDX-License-Identifier: Apache-2.0
#include "controller/cli/help.h"
#include "controller/cli/verbs.h"
#include "ipc/bounds.h"

namespace bailiff::controller::cli {

Result<int> Version(Context& context) {
  context.output.Line("bailiff " + std::string(kVersion));
  JsonWriter json("version");
  json.Member("version", kVersion).Member("protocol", ipc::kProtocol);
  context.output.Json(std::move(json));
  return 0;
}

Result<int> Completion(Context& context) {
  const std::string& name = context.command.arguments[0];
  const Shell shell = name == "bash" ? Shell::kBash : name == "zsh" ? Shell::kZsh : Shell::kFish;
  const std::string script = CompletionScript(shell);
  context.output.Line(script);
  JsonWriter json("completion");
  json.Member("shell", name).Member("script", script);
  context.output.Json(std::move(json));
  return 0;
}

}  // namespace bailiff::controller::cli
