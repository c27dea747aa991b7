// SPDX-License-Identifier: Apache-2.0
#include "controller/cli/execute.h"

#include <unistd.h>

#include "controller/cli/escape.h"
#include "controller/cli/progress_line.h"
#include "controller/cli/record_text.h"
#include "controller/cli/stream_forwarder.h"

namespace bailiff::controller::cli {
namespace {

// Both streams of the candidate and the progress line, which must not tear each other's lines.
class Face {
 public:
  Face(Context& context, const policy::Limits& limits)
      : output_(context.output),
        limits_(limits),
        keep_(context.output.json()),
        line_(context.output.shows_progress()),
        out_(STDOUT_FILENO, output_.out_is_terminal() && !context.command.Has("raw")),
        err_(STDERR_FILENO, output_.err_is_terminal() && !context.command.Has("raw")) {}

  void Take(Stream stream, std::string_view bytes) {
    if (keep_) {
      (stream == Stream::kOut ? kept_out_ : kept_err_).append(bytes);
      return;
    }
    line_.Clear();
    (stream == Stream::kOut ? out_ : err_).Take(bytes);
  }

  void Progress(const AttemptProgress& progress) {
    out_.Write();
    err_.Write();
    // A terminal that stands in the middle of the candidate's line keeps it.
    const bool torn = (output_.out_is_terminal() && !out_.at_line_start()) || !err_.at_line_start();
    if (torn) return;
    ProgressFigures figures;
    figures.elapsed_ms = progress.elapsed_ms;
    if (progress.usage.user_us.has_value() && progress.usage.system_us.has_value()) {
      figures.cpu_us = *progress.usage.user_us + *progress.usage.system_us;
    }
    figures.memory_bytes = progress.usage.memory_now;
    figures.pids = progress.usage.pids_now;
    figures.output_bytes = progress.output_bytes;
    figures.memory_limit = limits_.memory_bytes;
    figures.pids_limit = limits_.pids;
    figures.output_limit = limits_.max_output_bytes;
    line_.Show(figures);
  }

  void Say(std::string_view text) {
    if (keep_) {
      notes_.emplace_back(text);
      return;
    }
    line_.Clear();
    output_.Note("bailiff: " + EscapeName(text));
  }

  void Finish(int stop) {
    line_.Clear();
    if (keep_) return;
    out_.Drain(stop);
    err_.Drain(stop);
    if (out_.error() != 0) {
      output_.Note(
          "bailiff: standard output took no more; the record has all of it (bailiff check logs)");
    }
    if (output_.err_is_terminal() && !err_.at_line_start()) output_.Note("");
  }

  const std::vector<std::string>& notes() const { return notes_; }
  const std::string& kept_out() const { return kept_out_; }
  const std::string& kept_err() const { return kept_err_; }

 private:
  Output& output_;
  const policy::Limits& limits_;
  bool keep_;
  ProgressLine line_;
  StreamForwarder out_;
  StreamForwarder err_;
  std::vector<std::string>
      notes_;  // of the attempt: which limit could not be set, a helper's last words
  std::string kept_out_;
  std::string kept_err_;
};

}  // namespace

void AddRecord(JsonWriter& json, const AttemptRow& row, const policy::CommandRecord& record,
               const std::string& evidence_bytes) {
  json.Member("attempt", row.id)
      .Member("generation", row.generation)
      .Member("state", ToString(row.state))
      .Member("outcome", policy::OutcomeName(record.outcome))
      .Member("evidence_id", row.evidence_id.value_or(""))
      .Raw("record", evidence_bytes);
}

int RunExit(const policy::CommandRecord& record) {
  constexpr int kNoVerdict = 125;
  if (record.outcome == policy::Outcome::kSuccess) return 0;
  if (record.process.state == policy::ProcessEnd::State::kExited) {
    const int code = record.process.code.value_or(0);
    return code == 0 ? kNoVerdict : code;
  }
  if (record.process.state == policy::ProcessEnd::State::kSignalled) {
    return 128 + record.process.signal.value_or(0);
  }
  return kNoVerdict;
}

Result<AttemptReport> Execute(Context& context, Store& store, AttemptOwner& owner,
                              const AttemptRow& row, const Interrupts& interrupts,
                              std::string_view schema) {
  BAILIFF_TRY_ASSIGN(const policy::CommandRecipe recipe, policy::ParseStoredRecipe(row.recipe));
  Face face(context, recipe.limits);
  AttemptHooks hooks;
  hooks.output = [&face](Stream stream, std::string_view bytes) { face.Take(stream, bytes); };
  hooks.progress = [&face](const AttemptProgress& progress) { face.Progress(progress); };
  hooks.note = [&face](std::string_view text) { face.Say(text); };
  hooks.still_cleaning = [&face, &row] {
    face.Say(
        "what ran is being stopped and removed; leaving now would leave it unconfirmed. kill -9 " +
        std::to_string(getpid()) +
        " ends Bailiff too: nothing of the command lives on, and bailiff check recover " + row.id +
        " settles the record");
  };
  Result<AttemptReport> report = owner.Run(store, row, interrupts.fd(), hooks);
  face.Finish(interrupts.fd());
  if (!report.ok()) return report;
  const std::string evidence = report->evidence.id.hex();
  context.output.Note(SummaryLine(report->record, evidence, recipe.limits, context.output));
  JsonWriter json(schema);
  AddRecord(json, report->row, report->record, report->evidence.bytes);
  if (context.command.row->verb == Verb::kRun) {
    // What this process ends with.
    json.Member("exit", context.command.Has("exit") ? policy::OutcomeExit(report->record.outcome)
                                                    : RunExit(report->record));
  }
  json.Member("stdout_base64", Base64(face.kept_out()))
      .Member("stderr_base64", Base64(face.kept_err()));
  json.BeginArray("notes");
  for (const std::string& note : face.notes()) json.Element(note);
  json.End();
  context.output.Json(std::move(json));
  return report;
}

}  // namespace bailiff::controller::cli
