// SPDX-License-Identifier: Apache-2.0
#include "controller/cli/program.h"

#include <sys/resource.h>

#include <string>

#include "controller/cli/help.h"
#include "controller/cli/host_request.h"
#include "controller/cli/interrupts.h"
#include "controller/cli/output.h"
#include "controller/cli/run_flags.h"
#include "controller/cli/verbs.h"

namespace bailiff::controller::cli {
namespace {

Globals EarlyGlobals(int argc, const char* const* argv) {
  Globals globals;
  globals.json = WantsJson(argc, argv);
  return globals;
}

int Finish(Output& output, Result<int> status) {
  if (!status.ok()) return output.Fail(status.error());
  if (Result<void> written = output.Flush(); !written.ok()) return output.Fail(written.error());
  return *status;
}

int PrintHelp(const Command& command) {
  Globals plain = command.globals;
  plain.json = false;
  Output output(plain);
  if (command.row != nullptr) {
    output.Line(VerbHelp(*command.row));
  } else {
    output.Line(command.help_noun.empty() ? GeneralHelp() : NounHelp(command.help_noun));
  }
  return Finish(output, 0);
}

Result<int> Dispatch(Context& context) {
  switch (context.command.row->verb) {
    case Verb::kInit:
      return Init(context);
    case Verb::kImageImport:
      return ImageImport(context);
    case Verb::kImageList:
      return ImageList(context);
    case Verb::kImageShow:
      return ImageShow(context);
    case Verb::kImageRemove:
      return ImageRemove(context);
    case Verb::kImageExport:
      return ImageExport(context);
    case Verb::kSourceImport:
      return SourceImport(context);
    case Verb::kSourceList:
      return SourceList(context);
    case Verb::kSourceShow:
      return SourceShow(context);
    case Verb::kSourceExport:
      return SourceExport(context);
    case Verb::kRecipeCheck:
      return RecipeCheck(context);
    case Verb::kRecipeDigest:
      return RecipeDigest(context);
    case Verb::kRecipeExample:
      return RecipeExample(context);
    case Verb::kRun:
      return Run(context);
    case Verb::kCheckCreate:
      return CheckCreate(context);
    case Verb::kCheckRun:
      return CheckRun(context);
    case Verb::kCheckShow:
      return CheckShow(context);
    case Verb::kCheckList:
      return CheckList(context);
    case Verb::kCheckLogs:
      return CheckLogs(context);
    case Verb::kCheckCancel:
      return CheckCancel(context);
    case Verb::kCheckRecover:
      return CheckRecover(context);
    case Verb::kEvidenceShow:
      return EvidenceShow(context);
    case Verb::kBackup:
      return Backup(context);
    case Verb::kGc:
      return Gc(context);
    case Verb::kSurface:
      return Surface(context);
    case Verb::kDoctor:
      return Doctor(context);
    case Verb::kVersion:
      return Version(context);
    case Verb::kCompletion:
      return Completion(context);
    case Verb::kHelp:
      break;  // answered by Prepare
  }
  return 0;
}

// Descriptors of a helper are first put at high numbers (ipc/spawn.cc), and a job may have 1024.
// Told before anything is begun: a run that meets the limit half way has no verdict.
Result<void> EnsureDescriptors() {
  constexpr rlim_t kWanted = 1024;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return SystemError("getrlimit", "open files");
  if (limit.rlim_cur >= kWanted) return {};
  if (limit.rlim_max < kWanted)
    return Error{ErrorCode::kLimitNotEnforceable, "open files",
                 "this process may have " + std::to_string(limit.rlim_max) + " and needs " +
                     std::to_string(kWanted),
                 0, "ulimit -Hn 1024, before it is started"};
  limit.rlim_cur = kWanted;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return SystemError("setrlimit", "open files");
  return {};
}

// As the operator: everything the command line names, and the data directory, opened.
Result<void> GetReady(Start& start) {
  if (start.command.row->needs != Needs::kNothing) BAILIFF_TRY(EnsureDescriptors());
  BAILIFF_TRY(OpenNamed(start.command));
  switch (start.command.row->needs) {
    case Needs::kNothing:
    case Needs::kProbe:
      return {};
    case Needs::kCreate:
    case Needs::kStore:
    case Needs::kHelpers:
      break;
  }
  start.operator_json = OperatorJson();
  BAILIFF_TRY_ASSIGN(start.request, MakeHostRequest(start.command));
  return {};
}

}  // namespace

Start Prepare(int argc, const char* const* argv) {
  Start start;
  Result<Command> parsed = ParseCommandLine(argc, argv);
  if (!parsed.ok()) {
    Output output(EarlyGlobals(argc, argv));
    start.status = output.Fail(parsed.error());
    return start;
  }
  start.command = std::move(parsed).value();
  if (start.command.help) {
    start.status = PrintHelp(start.command);
    return start;
  }
  Output output(start.command.globals);
  if (start.command.Has(kAliasDocker)) {
    output.Note("bailiff: --docker is accepted and not used: no program of Docker is ever run");
  }
  if (start.command.row->verb == Verb::kRun) {  // wrong flags are told before anything is done
    policy::Faults faults;
    if (!ParseRunFlags(start.command, faults).has_value()) {
      start.status = output.Fail(faults, "");
      return start;
    }
  }
  if (Result<void> ready = GetReady(start); !ready.ok()) {
    start.status = output.Fail(ready.error());
  }
  return start;
}

int Perform(Start& start, std::optional<Result<HostMode>> host) {
  Output output(start.command.globals);
  if (host.has_value() && !host->ok()) return output.Fail(host->error());
  Context context{start.command, output, host.has_value() ? &host->value() : nullptr,
                  std::move(start.operator_json)};
  Result<int> status = Dispatch(context);
  if (!status.ok() && status.error().code == ErrorCode::kCancelled) {
    return output.Fail(status.error(), Interrupts::ExitStatus());
  }
  return Finish(output, std::move(status));
}

}  // namespace bailiff::controller::cli
