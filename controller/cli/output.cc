// SPDX-License-Identifier: Apache-2.0
#include "controller/cli/output.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "controller/cli/escape.h"

namespace bailiff::controller::cli {
namespace {

bool Colored(Color color, bool terminal) {
  if (color != Color::kAuto) return color == Color::kAlways;
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return terminal && (no_color == nullptr || *no_color == '\0') && term != nullptr &&
         std::string_view(term) != "dumb";
}

void AddError(JsonWriter& json, const Error& error, int exit) {
  const ErrorInfo& info = Info(error.code);
  json.Member("code", info.name).Member("exit", exit).Member("what", info.what);
  if (!error.subject.empty()) json.Bytes("subject", error.subject);
  if (!error.why.empty()) json.Bytes("why", error.why);
  if (error.system_error != 0) json.Member("errno", error.system_error);
  json.Bytes("fix", error.fix.empty() ? info.fix : std::string_view(error.fix));
}

// Columns a cell takes: code points, colour sequences not counted.
std::size_t Width(const std::string& cell) {
  std::size_t shown = 0;
  bool escape = false;
  for (const char byte : cell) {
    if (byte == '\x1b') escape = true;
    if (!escape && (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U) ++shown;
    if (escape && byte == 'm') escape = false;
  }
  return shown;
}

std::string Padded(const std::string& cell, std::size_t width) {
  const std::size_t shown = Width(cell);
  return cell + std::string(width > shown ? width - shown : 0, ' ');
}

}  // namespace

Output::Output(const Globals& globals)
    : json_(globals.json),
      quiet_(globals.quiet),
      out_terminal_(isatty(STDOUT_FILENO) == 1),
      err_terminal_(isatty(STDERR_FILENO) == 1),
      out_color_(!json_ && Colored(globals.color, out_terminal_)),
      err_color_(!json_ && Colored(globals.color, err_terminal_)),
      progress_(err_terminal_ && !json_ && !quiet_ && !globals.no_progress) {}

void Output::Line(std::string_view text) {
  if (json_) return;
  held_.append(text);
  if (text.empty() || text.back() != '\n') held_ += '\n';
}

void Output::Json(JsonWriter&& writer) {
  if (!json_) return;
  held_ = std::move(writer).Finish();
  held_ += '\n';
}

void Output::Bytes(std::string_view bytes) { held_.append(bytes); }

void Output::Note(std::string_view text) {
  if (json_ || quiet_) return;
  std::string line(text);
  if (line.empty() || line.back() != '\n') line += '\n';
  // Nobody is left to tell when standard error itself cannot be written.
  static_cast<void>(ipc::WriteAll(STDERR_FILENO, line, "standard error"));
}

std::string Output::Painted(bool color, Style style, std::string_view text) {
  if (!color || style == Style::kPlain) return std::string(text);
  const char* code = "0";
  switch (style) {
    case Style::kPlain:
      break;
    case Style::kGood:
      code = "32";
      break;
    case Style::kBad:
      code = "31";
      break;
    case Style::kDoubtful:
      code = "33";
      break;
    case Style::kDim:
      code = "2";
      break;
    case Style::kBold:
      code = "1";
      break;
  }
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

Result<void> Output::Flush() {
  if (held_.empty()) return {};
  const Result<void> written = ipc::WriteAll(STDOUT_FILENO, held_, "standard output");
  held_.clear();
  if (written.ok()) return {};
  Error error = written.error();
  error.code = ErrorCode::kOutputWrite;
  error.subject.clear();
  return error;
}

int Output::Fail(const Error& error) { return Fail(error, Info(error.code).exit); }

int Output::Fail(const Error& error, int exit) {
  const std::string text = json_ ? ErrorJson(error, exit) + "\n" : ErrorText(error);
  static_cast<void>(ipc::WriteAll(STDERR_FILENO, text, "standard error"));
  return exit;
}

int Output::Fail(const policy::Faults& faults, std::string_view document) {
  const Error first = faults.ToError();
  std::string text;
  if (json_) {
    JsonWriter json("error");
    AddError(json, faults.list().front().error, Info(faults.list().front().error.code).exit);
    json.Bytes("document", document).BeginArray("faults");
    for (const policy::Fault& fault : faults.list()) {
      json.BeginObject().Bytes("pointer", fault.pointer);
      AddError(json, fault.error, Info(fault.error.code).exit);
      json.End();
    }
    json.End().Member("cut", faults.cut());
    text = json.Finish() + "\n";
  } else {
    for (const policy::Fault& fault : faults.list()) {
      Error shown = fault.error;
      if (!document.empty()) {
        shown.why += " (" + std::string(document) + (fault.pointer.empty() ? "" : " at ") +
                     fault.pointer + ")";
      }
      text += ErrorText(shown);
    }
    if (faults.cut()) text += "bailiff: there are more faults than are listed\n";
  }
  static_cast<void>(ipc::WriteAll(STDERR_FILENO, text, "standard error"));
  return Info(first.code).exit;
}

std::string ErrorText(const Error& error) {
  const ErrorInfo& info = Info(error.code);
  std::string text = "bailiff: " + std::string(info.what);
  if (!error.subject.empty()) text += " " + EscapeName(error.subject);
  if (!error.why.empty()) text += ": " + EscapeName(error.why);
  text += " [" + std::string(info.name) + "]\n";
  const std::string_view fix = error.fix.empty() ? info.fix : std::string_view(error.fix);
  if (!fix.empty()) text += "  fix: " + EscapeName(fix) + "\n";
  return text;
}

std::string ErrorJson(const Error& error) { return ErrorJson(error, Info(error.code).exit); }

std::string ErrorJson(const Error& error, int exit) {
  JsonWriter json("error");
  AddError(json, error, exit);
  return json.Finish();
}

std::string Table::Text() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    if (widths.size() < row.size()) widths.resize(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += i + 1 == row.size() ? row[i] : Padded(row[i], widths[i]) + "  ";
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    text += line + "\n";
  }
  return text;
}

}  // namespace bailiff::controller::cli
