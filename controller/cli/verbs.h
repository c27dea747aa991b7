// SPDX-License-Identifier: Apache-2.0
// What each verb does, one file a noun. A verb gives the exit status; an error is reported by the
// caller, once.
#pragma once

#include <string>

#include "controller/cli/command_line.h"
#include "controller/cli/output.h"
#include "controller/supervisor/host_mode.h"
#include "ipc/result.h"

namespace bailiff::controller::cli {

// Everything a verb has. `host` is there exactly for verbs whose row asks for the data directory or
// for helpers.
struct Context {
  Command& command;
  Output& output;
  HostMode* host = nullptr;
  std::string operator_json;  // who acts (OperatorJson); only with `host`
};

Result<int> Init(Context& context);
Result<int> ImageImport(Context& context);
Result<int> ImageList(Context& context);
Result<int> ImageShow(Context& context);
Result<int> ImageRemove(Context& context);
Result<int> ImageExport(Context& context);
Result<int> SourceImport(Context& context);
Result<int> SourceList(Context& context);
Result<int> SourceShow(Context& context);
Result<int> SourceExport(Context& context);
Result<int> RecipeCheck(Context& context);
Result<int> RecipeDigest(Context& context);
Result<int> RecipeExample(Context& context);
Result<int> Run(Context& context);
Result<int> CheckCreate(Context& context);
Result<int> CheckRun(Context& context);
Result<int> CheckShow(Context& context);
Result<int> CheckList(Context& context);
Result<int> CheckLogs(Context& context);
Result<int> CheckCancel(Context& context);
Result<int> CheckRecover(Context& context);
Result<int> EvidenceShow(Context& context);
Result<int> Backup(Context& context);
Result<int> Gc(Context& context);
Result<int> Surface(Context& context);
Result<int> Doctor(Context& context);
Result<int> Version(Context& context);
Result<int> Completion(Context& context);

}  // namespace bailiff::controller::cli
