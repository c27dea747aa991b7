// SPDX-License-Identifier: Apache-2.0
#include "controller/cli/jobs.h"

#include <map>

#include "controller/cli/escape.h"
#include "controller/supervisor/attempt.h"
#include "policy/snapshot_codes.h"
#include "policy/units.h"

namespace bailiff::controller::cli {

Result<JobSlot> JobSlot::Acquire(HostMode& host) {
  BAILIFF_TRY_ASSIGN(OwnersLock locks, OwnersLock::Open(host.data.get()));
  BAILIFF_TRY_ASSIGN(const std::uint32_t slot, locks.AcquireIdSlot(host.slots()));
  return JobSlot(std::move(locks), MakeJobHost(host, slot));
}

Result<JobSlot> JobSlot::Acquire(HostMode& host, OwnersLock::Contents adds) {
  BAILIFF_TRY_ASSIGN(JobSlot slot, Acquire(host));
  BAILIFF_TRY(slot.locks_.ShareContents(adds));
  return slot;
}

JobHooks HooksFor(ProgressLine& line, const Interrupts& interrupts, std::string what) {
  JobHooks hooks;
  hooks.cancelled = [&interrupts] { return interrupts.Pending(); };
  hooks.progress = [&line, what = std::move(what)](std::uint64_t entries, std::uint64_t bytes) {
    line.Show(what + "  " + ShowCount(entries) + " entries  " + policy::FormatBytes(bytes));
  };
  return hooks;
}

void NoteWarnings(Output& output, const std::vector<JobWarning>& warnings) {
  constexpr std::size_t kShown = 3;  // of one kind
  std::map<policy::SnapshotWarning, std::size_t> counts;
  for (const JobWarning& warning : warnings) {
    if (++counts[warning.code] > kShown) continue;
    output.Note("bailiff: " + std::string(policy::WarningText(warning.code)) + ": " +
                EscapeName(warning.path));
  }
  for (const auto& [code, count] : counts) {
    if (count <= kShown) continue;
    output.Note("bailiff: " + std::string(policy::WarningText(code)) + ": " + ShowCount(count) +
                " in all");
  }
}

void AddWarnings(JsonWriter& json, const std::vector<JobWarning>& warnings) {
  json.BeginArray("warnings");
  for (const JobWarning& warning : warnings) {
    json.BeginObject()
        .Member("code", policy::WarningText(warning.code))
        .Bytes("path", warning.path)
        .End();
  }
  json.End();
}

namespace {

// The directory as it was typed: of `run --source DIR`, `source import --git REPO COMMIT` or
// `source import DIR`.
const std::string& SourceOperand(const Command& command) {
  if (!command.source.name.empty()) return command.source.name;
  return command.arguments[0];
}

}  // namespace

Result<RevisionInfo> ImportSource(Context& context, Store& store, OwnersLock& locks,
                                  const JobHost& jobs, int directory, const GitSource* git,
                                  const Interrupts& interrupts) {
  BAILIFF_TRY(locks.ShareContents(OwnersLock::Contents::kObjects));
  ProgressLine line(context.output.shows_progress());
  const JobHooks hooks = HooksFor(line, interrupts, "importing");
  Result<RevisionInfo> imported = git != nullptr ? ImportGit(jobs, directory, *git, hooks)
                                                 : ImportDirectory(jobs, directory, hooks);
  if (!imported.ok()) {
    // The importer knows the directory by no other name.
    Error error = std::move(imported).error();
    if (error.subject == ".") error.subject = SourceOperand(context.command);
    return error;
  }
  RevisionInfo info = *std::move(imported);
  line.Clear();
  RevisionRow row;
  row.revision = info.revision.hex();
  row.tree = info.tree.hex();
  row.origin_json = info.origin_json;
  row.entries = static_cast<std::int64_t>(info.entries);
  row.bytes = static_cast<std::int64_t>(info.bytes);
  BAILIFF_TRY(store.InsertRevision(row));
  locks.ReleaseContents(OwnersLock::Contents::kObjects);
  return info;
}

}  // namespace bailiff::controller::cli
