// SPDX-License-Identifier: Apache-2.0
#include "controller/cli/record_text.h"

#include <cstring>

#include "controller/cli/escape.h"
#include "policy/units.h"

namespace bailiff::controller::cli {
namespace {

std::string SignalName(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : "SIG" + std::string(name);
}

std::string Peak(const std::optional<std::uint64_t>& value) {
  return value.has_value() ? " (peak " + std::to_string(*value) + ")" : std::string();
}

std::string LimitsText(const policy::CommandRecord& record, const policy::Limits& limits) {
  std::string text = "memory " + policy::FormatBytes(limits.memory_bytes);
  if (record.usage.memory_peak_bytes.has_value()) {
    text += " (peak " + policy::FormatBytes(*record.usage.memory_peak_bytes) + ")";
  }
  text += "   pids " + std::to_string(limits.pids) + Peak(record.usage.pids_peak);
  text += "   cpu " + policy::FormatCpu(limits.cpu_millis);
  text += "   scratch " + policy::FormatBytes(limits.scratch_bytes);
  text += "   output " + policy::FormatBytes(limits.max_output_bytes);
  if (record.streams.has_value()) {
    text += " (" + policy::FormatBytes(record.streams->out.seen + record.streams->err.seen) + ")";
  }
  return text;
}

std::string StreamText(const policy::StreamRecord& stream) {
  std::string text = policy::FormatBytes(stream.retained);
  if (stream.seen > stream.retained) text += " of " + policy::FormatBytes(stream.seen);
  return text + "  sha256 " + stream.sha256.hex() + (stream.eof ? "" : "  no end seen");
}

std::string CleanupText(const policy::CleanupRecord& cleanup) {
  std::string text = cleanup.confirmed ? "confirmed" : "NOT confirmed";
  for (std::size_t i = 0; i < cleanup.proof.size(); ++i) {
    text += (i == 0 ? ": " : ", ") + EscapeName(cleanup.proof[i]);
  }
  return text;
}

std::string IsolationText(const policy::CommandRecord& record) {
  if (!record.isolation.observed)
    return "not observed: nothing of the command ran, or it was refused";
  return record.backend + " cell, filter " + ShortId(record.isolation.candidate_filter.hex()) +
         ", " + std::to_string(record.isolation.readback.size()) + " values read back and matched";
}

}  // namespace

std::string ProcessText(const policy::ProcessEnd& process) {
  switch (process.state) {
    case policy::ProcessEnd::State::kExited:
      return "exit " + std::to_string(process.code.value_or(-1));
    case policy::ProcessEnd::State::kSignalled:
      return SignalName(process.signal.value_or(0)) + (process.core ? " (core)" : "");
    case policy::ProcessEnd::State::kAmbiguous:
      return "end ambiguous";
    case policy::ProcessEnd::State::kNotStarted: {
      const char* name = process.error.has_value() ? strerrorname_np(*process.error) : nullptr;
      return name == nullptr ? "not started" : "not started: " + std::string(name);
    }
    case policy::ProcessEnd::State::kUnknown:
      break;
  }
  return "end unknown";
}

std::string ReasonsText(const policy::CommandRecord& record,
                        const std::optional<policy::Limits>& limits) {
  std::string text;
  for (const policy::Reason reason : record.reasons) {
    text.append(text.empty() ? "" : ", ").append(policy::ReasonName(reason));
    if (!limits.has_value()) continue;
    if (reason == policy::Reason::kPidsLimitHit) text += " (" + std::to_string(limits->pids) + ")";
    if (reason == policy::Reason::kOomLocal) {
      text += " (" + policy::FormatBytes(limits->memory_bytes) + ")";
    }
  }
  return text;
}

Style StyleOf(policy::Outcome outcome) {
  switch (policy::OutcomeExit(outcome)) {
    case 0:
      return Style::kGood;
    case 1:
      return Style::kBad;
    default:
      return Style::kDoubtful;
  }
}

std::string SummaryLine(const policy::CommandRecord& record, const std::string& evidence_id,
                        const std::optional<policy::Limits>& limits, const Output& output) {
  std::string text =
      output.PaintNote(StyleOf(record.outcome), policy::OutcomeName(record.outcome)) + "  " +
      ProcessText(record.process);
  if (record.usage.wall_us.has_value()) text += " in " + ShowMicroseconds(*record.usage.wall_us);
  const std::string reasons = ReasonsText(record, limits);
  if (!reasons.empty()) text += "  " + reasons;
  text += record.cleanup.confirmed ? "  cleanup confirmed" : "  cleanup NOT confirmed";
  return text + "  evidence " + ShortId(evidence_id);
}

std::string RecordBlock(const policy::CommandRecord& record, const std::string& evidence_id,
                        const std::optional<policy::Limits>& limits, const Output& output) {
  std::string outcome = output.Paint(StyleOf(record.outcome), policy::OutcomeName(record.outcome)) +
                        "   " + ProcessText(record.process);
  if (record.usage.wall_us.has_value()) outcome += " in " + ShowMicroseconds(*record.usage.wall_us);
  Table table;
  table.Row({"outcome", outcome});
  const std::string reasons = ReasonsText(record, limits);
  if (!reasons.empty()) table.Row({"reasons", reasons});
  table.Row({"attempt", record.attempt.id + "  generation " +
                            std::to_string(record.attempt.generation) + "  change " +
                            record.subject.change + " v" +
                            std::to_string(record.subject.change_version)});
  table.Row(
      {"source", "revision " + ShortId(record.subject.revision.hex()) +
                     (record.tree.has_value() ? "  tree " + ShortId(record.tree->hex()) : "")});
  table.Row({"image", ShortId(record.image)});
  table.Row({"recipe", record.recipe_digest.hex()});
  table.Row({"isolation", IsolationText(record)});
  if (limits.has_value()) table.Row({"limits", LimitsText(record, *limits)});
  if (record.streams.has_value()) {
    table.Row({"stdout", StreamText(record.streams->out)});
    table.Row({"stderr", StreamText(record.streams->err)});
  }
  table.Row({"cleanup", CleanupText(record.cleanup)});
  table.Row({"runtime",
             ShortId(record.runtime.identity_digest.hex()) +
                 (record.runtime.unchanged ? "  unchanged" : "  NOT the same before and after")});
  table.Row({"finished", ShowTime(static_cast<std::int64_t>(record.times.finished_unix_ms))});
  table.Row({"evidence", evidence_id});
  return table.Text();
}

}  // namespace bailiff::controller::cli
