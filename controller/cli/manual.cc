// SPDX-License-Identifier: Apache-2.0
// bailiff(1) and bailiff-errors(7) as man(7) source.
#include "controller/cli/help.h"
#include "ipc/result.h"

namespace bailiff::controller::cli {
namespace {

// Text as groff must read it: no line may start with a control character, a backslash and a minus
// are spelt out, everything that is not ASCII by its name or code point.
std::string Roff(std::string_view text) {
  std::string roff;
  if (text.starts_with(".") || text.starts_with("'")) roff += "\\&";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char byte = text[i];
    if (byte == '\\') {
      roff += "\\e";
    } else if (byte == '-') {
      roff += "\\-";
    } else if (text.substr(i).starts_with("…")) {
      roff += "\\&...";
      i += 2;
    } else {
      roff += byte;
    }
  }
  return roff;
}

std::string Tagged(std::string_view tag, std::string_view body) {
  return ".TP\n.B " + Roff(tag) + "\n" + Roff(body) + "\n";
}

std::string OptionEntry(const Option& option) {
  std::string tag = "--" + std::string(option.name);
  if (!option.value.empty()) tag += " " + std::string(option.value);
  std::string body(option.help);
  if (option.many) body += "; may be given more than once";
  if (option.required) body += " (required)";
  if (!option.fallback.empty()) body += ". Default: " + std::string(option.fallback);
  return Tagged(tag, body + ".");
}

std::string Title(std::string_view name, int section, std::string_view summary) {
  std::string upper(name);
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return ".\\\" Written from the command table and ipc/errors.def; do not edit.\n.TH \"" + upper +
         "\" " + std::to_string(section) + " \"\" \"bailiff " + std::string(kVersion) +
         "\"\n.SH NAME\n" + Roff(name) + " \\- " + Roff(summary) + "\n";
}

}  // namespace

std::string ManualPage() {
  std::string page =
      Title("bailiff", 1, "run untrusted commands in a confined cell and keep evidence");
  page += ".SH SYNOPSIS\n.B bailiff\n[\\fIOPTION\\fR\\&...]\n.I COMMAND\n\\&...\n";
  page +=
      ".SH DESCRIPTION\nBailiff runs a command that is not trusted against an exact source "
      "revision, on "
      "this host, in a cell with its own namespaces, a system call filter and limits that are set "
      "and "
      "read back. What happened is recorded by the program itself, not by the command, its output "
      "or a "
      "helper that read a byte the command could choose.\n";
  page += ".SH COMMANDS\n";
  for (const VerbRow& row : Verbs()) {
    page += ".SS \"" + Roff("bailiff " + Synopsis(row)) + "\"\n";
    std::string summary(row.summary);
    if (!summary.empty()) {
      if (summary[0] >= 'a' && summary[0] <= 'z') {
        summary[0] = static_cast<char>(summary[0] - 'a' + 'A');
      }
      page += Roff(summary) + ".\n";
    }
    if (!row.text.empty()) page += Roff(row.text) + "\n";
    for (const Argument& argument : row.arguments) {
      page += Tagged(argument.name, std::string(argument.help) + ".");
    }
    for (const Option& option : row.options) page += OptionEntry(option);
  }
  page += ".SH OPTIONS\nOf every command, before or after its name.\n";
  for (const Option& option : GlobalOptions()) page += OptionEntry(option);
  page += ".SH NAMES\nFor scripts written for the seed, these names are accepted too.\n";
  for (const Alias& alias : Aliases()) {
    const VerbRow& row = RowOf(alias.verb);
    page +=
        Tagged(alias.name, "bailiff " + std::string(row.noun) + " " + std::string(row.word) + ".");
  }
  page += ".SH EXIT STATUS\n";
  for (const ExitRow& row : ExitStatuses())
    page += Tagged(row.codes, std::string(row.meaning) + ".");
  page += ".SH ENVIRONMENT\n";
  page +=
      Tagged("XDG_STATE_HOME, HOME", "Where the data directory is by default, unless root asks.");
  page +=
      Tagged("NO_COLOR, TERM", "No colour when NO_COLOR is set and not empty, or TERM is dumb.");
  page += ".SH SEE ALSO\n.BR bailiff\\-errors (7)\n";
  return page;
}

std::string ErrorsManualPage() {
  std::string page = Title("bailiff-errors", 7, "every error of bailiff, by its code");
  page +=
      ".SH DESCRIPTION\nEvery failure is printed as one line that says what, on what and why, with "
      "a code in "
      "brackets that is never renamed, and one line with one fix. With \\-\\-json it is one JSON "
      "value on "
      "standard error. The exit statuses are explained in\n.BR bailiff (1).\n.SH ERRORS\n";
  const auto [rows, count] = AllErrors();
  for (std::size_t i = 0; i < count; ++i) {
    const ErrorInfo& row = rows[i];
    page +=
        Tagged(row.name, std::string(row.what) + ". Exit status " + std::to_string(row.exit) + ".");
    if (!row.fix.empty()) page += ".br\n" + Roff("Fix: " + std::string(row.fix)) + "\n";
    if (!row.requirement.empty()) {
      page += ".br\n" + Roff("Source of the rule: " + std::string(row.requirement)) + "\n";
    }
  }
  page += ".SH SEE ALSO\n.BR bailiff (1)\n";
  return page;
}

}  // namespace bailiff::controller::cli
