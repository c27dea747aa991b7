// SPDX-License-Identifier: Apache-2.0
// Sources in and out: the verbs that start a helper.
#include <fcntl.h>
#include <unistd.h>

#include <optional>

#include "controller/cli/escape.h"
#include "controller/cli/jobs.h"
#include "controller/cli/session.h"
#include "controller/cli/verbs.h"
#include "controller/supervisor/chown_tree.h"

namespace bailiff::controller::cli {

namespace {

// What `--git` asks for, or nothing; looked at before anything is started.
Result<std::optional<GitSource>> GitOf(const Command& command) {
  const bool skip = command.Has("skip-submodules");
  if (!command.Has("git")) {
    if (!skip) return std::optional<GitSource>();
    return Error{ErrorCode::kOptionValue, "--skip-submodules", "it goes with --git REPO", 0, {}};
  }
  if (!policy::IsCommitName(command.arguments[0]))
    return Error{ErrorCode::kGitCommitName,
                 command.arguments[0],
                 "nothing is abbreviated or searched for",
                 0,
                 {}};
  return std::optional<GitSource>({command.arguments[0], skip});
}

}  // namespace

Result<int> SourceImport(Context& context) {
  BAILIFF_TRY_ASSIGN(const std::optional<GitSource> git, GitOf(context.command));
  BAILIFF_TRY_ASSIGN(Store store, OpenStore(context));
  BAILIFF_TRY_ASSIGN(const Interrupts interrupts, Interrupts::Block());
  BAILIFF_TRY_ASSIGN(JobSlot slot, JobSlot::Acquire(*context.host));
  BAILIFF_TRY_ASSIGN(
      const RevisionInfo info,
      ImportSource(context, store, slot.locks(), slot.jobs(), context.host->operands[0].get(),
                   git.has_value() ? &*git : nullptr, interrupts));
  NoteWarnings(context.output, info.warnings);
  context.output.Line("revision  " + info.revision.hex());
  context.output.Line("tree      " + info.tree.hex());
  if (info.git.has_value()) {
    context.output.Line("commit    " + info.git->commit.hex());
    context.output.Line("git tree  " + info.git->tree.hex());
  }
  context.output.Line("files     " + ShowCount(info.entries) + ", " + ShowBytes(info.bytes));
  JsonWriter json("source.import");
  json.Member("revision", info.revision.hex())
      .Member("tree", info.tree.hex())
      .Raw("origin", info.origin_json)
      .Member("entries", info.entries)
      .Member("bytes", info.bytes);
  AddWarnings(json, info.warnings);
  context.output.Json(std::move(json));
  return 0;
}

namespace {

struct Exported {
  RevisionRow row;
  std::optional<GitExport> git;
};

Result<Exported> Export(Context& context) {
  BAILIFF_TRY_ASSIGN(Store store, OpenStore(context));
  BAILIFF_TRY_ASSIGN(RevisionRow row, store.FindRevision(context.command.arguments[0]));
  const auto tree = policy::ParseDigest(row.tree);
  if (!tree.has_value()) {
    return Error{ErrorCode::kRevisionUnknown, row.revision, "its tree is not a digest", 0, {}};
  }
  BAILIFF_TRY_ASSIGN(const Interrupts interrupts, Interrupts::Block());
  BAILIFF_TRY_ASSIGN(const JobSlot slot, JobSlot::Acquire(*context.host));
  const int target = context.host->export_directory.get();
  if (fchown(target, slot.id(), slot.id()) != 0) {
    return SystemError("fchown", context.command.arguments[1]);
  }
  ProgressLine line(context.output.shows_progress());
  const JobHooks hooks = HooksFor(line, interrupts, "exporting");
  Exported exported;
  if (const std::string* form = context.command.Get("git"); form != nullptr) {
    const auto revision = policy::ParseDigest(row.revision);
    if (!revision.has_value())
      return Error{ErrorCode::kRevisionUnknown, row.revision, "not a digest", 0, {}};
    BAILIFF_TRY_ASSIGN(exported.git,
                       ExportGit(slot.jobs(), *tree, *revision, *form == "commit", target, hooks));
  } else {
    BAILIFF_TRY(ExportTree(slot.jobs(), *tree, target, hooks));
  }
  exported.row = std::move(row);
  return exported;
}

// To the id that is the operator, or to the service account: so that the preparer may hand it on,
// or take it away.
Result<void> TakeOver(HostMode& host) {
  constexpr std::uint64_t kMaxEntries = 100'000;  // of a tree: 10,000 files, and their directories
  return ChownTree(host.export_directory.get(), ".", 0, 0, kMaxEntries);
}

}  // namespace

// The new directory belongs to the job for as long as it runs, then to the operator. What the
// preparer is not asked to give back it takes away: nothing stays of an export that failed.
Result<int> SourceExport(Context& context) {
  const Result<Exported> exported = Export(context);
  const Result<void> taken_over = TakeOver(*context.host);
  if (!exported.ok()) return exported.error();
  BAILIFF_TRY(taken_over);
  BAILIFF_TRY(context.host->preparer->GiveBack());
  const RevisionRow& row = exported->row;
  context.output.Line("exported  " + ShortId(row.revision) + " to " +
                      EscapeName(context.command.arguments[1]) + "  " +
                      ShowCount(static_cast<std::uint64_t>(row.entries)) + " files");
  const std::optional<GitExport>& git = exported->git;
  if (git.has_value()) context.output.Line("git tree  " + git->tree.hex());
  if (git.has_value() && row.origin_json.find(R"("kind":"git")") != std::string::npos &&
      row.origin_json.find(git->tree.hex()) == std::string::npos)
    context.output.Note(
        "bailiff: not the tree id of the commit it came from: a submodule, an empty tree or an old "
        "file mode was not kept");
  if (git.has_value() && git->commit.has_value())
    context.output.Line("commit    " + git->commit->hex() + "  refs/heads/main");
  JsonWriter json("source.export");
  json.Member("revision", row.revision)
      .Member("tree", row.tree)
      .Bytes("directory", context.command.arguments[1]);
  if (git.has_value()) json.Member("git_tree", git->tree.hex());
  if (git.has_value() && git->commit.has_value()) json.Member("git_commit", git->commit->hex());
  context.output.Json(std::move(json));
  return 0;
}

}  // namespace bailiff::controller::cli
