// SPDX-License-Identifier: Apache-2.0
#include "controller/cli/help.h"

#include <vector>

namespace bailiff::controller::cli {
namespace {

constexpr std::size_t kColumns = 90;

// Breaks `text` at blanks; every line starts with `indent` blanks but the first, which goes on
// where the caller is.
std::string Wrapped(std::string_view text, std::size_t indent) {
  std::string result;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::size_t blank = text.find(' ');
    const std::string_view word = text.substr(0, blank);
    if (column > indent && column + word.size() + 1 > kColumns) {
      result += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
    text.remove_prefix(blank == std::string_view::npos ? text.size() : blank + 1);
  }
  return result;
}

std::string Item(std::string_view name, std::string_view help) {
  constexpr std::size_t kIndent = 26;
  std::string line = "  " + std::string(name);
  if (line.size() + 2 > kIndent) {
    line += "\n" + std::string(kIndent, ' ');
  } else {
    line.append(kIndent - line.size(), ' ');
  }
  return line + Wrapped(help, kIndent) + "\n";
}

std::string OptionItem(const Option& option) {
  std::string name = "--" + std::string(option.name);
  if (!option.value.empty()) name += " " + std::string(option.value);
  std::string help(option.help);
  if (option.many) help += "; may be given more than once";
  if (option.required) help += " (required)";
  if (!option.fallback.empty()) help += " [" + std::string(option.fallback) + "]";
  return Item(name, help);
}

std::string GlobalItems() {
  std::string text = "\nOptions of every command:\n";
  for (const Option& option : GlobalOptions()) text += OptionItem(option);
  return text;
}

std::string ExitItems() {
  std::string text = "\nExit status:\n";
  for (const ExitRow& row : ExitStatuses()) text += Item(row.codes, row.meaning);
  return text;
}

}  // namespace

std::string Synopsis(const VerbRow& row) {
  std::string text(row.noun);
  if (!row.word.empty()) text.append(" ").append(row.word);
  for (const Option& option : row.options) {
    if (!option.required) continue;
    text.append(" --").append(option.name).append(" ").append(option.value);
  }
  for (const Argument& argument : row.arguments) text.append(" ").append(argument.name);
  for (const Option& option : row.options) {
    if (option.required) continue;
    text.append(" [--").append(option.name);
    if (!option.value.empty()) text.append(" ").append(option.value);
    text.append(option.many ? "]…" : "]");
  }
  if (row.takes_command) text += " -- EXE [ARG…]";
  return text;
}

std::string GeneralHelp() {
  std::string text =
      "Bailiff runs a command that is not trusted against an exact source revision, in a confined "
      "cell, and\nkeeps evidence of what happened.\n\nUsage: bailiff [OPTION…] COMMAND …\n\n"
      "Commands:\n";
  for (const VerbRow& row : Verbs()) {
    std::string name(row.noun);
    if (!row.word.empty()) name.append(" ").append(row.word);
    for (const Argument& argument : row.arguments) name.append(" ").append(argument.name);
    text += Item(name, row.summary);
  }
  text += "\nbailiff COMMAND --help shows its options.\n";
  return text + GlobalItems() + ExitItems();
}

std::string NounHelp(std::string_view noun) {
  std::string text = "Usage:\n";
  for (const VerbRow& row : Verbs()) {
    if (row.noun == noun) text += "  bailiff " + Wrapped(Synopsis(row), 14) + "\n";
  }
  text += "\n";
  for (const VerbRow& row : Verbs()) {
    if (row.noun == noun) text += Item(row.word, row.summary);
  }
  return text;
}

std::string VerbHelp(const VerbRow& row) {
  std::string text = "Usage: bailiff " + Wrapped(Synopsis(row), 15) + "\n\n";
  std::string summary(row.summary);
  if (!summary.empty() && summary[0] >= 'a' && summary[0] <= 'z') {
    summary[0] = static_cast<char>(summary[0] - 'a' + 'A');
  }
  text += summary + ".\n";
  if (!row.text.empty()) text += "\n" + Wrapped(row.text, 0) + "\n";
  if (!row.arguments.empty()) text += "\nArguments:\n";
  for (const Argument& argument : row.arguments) text += Item(argument.name, argument.help);
  if (!row.options.empty()) text += "\nOptions:\n";
  for (const Option& option : row.options) text += OptionItem(option);
  std::string aliases;
  for (const Alias& alias : Aliases()) {
    if (alias.verb == row.verb) aliases.append(aliases.empty() ? "" : ", ").append(alias.name);
  }
  if (!aliases.empty()) text += "\nAlso known as: " + aliases + "\n";
  return text + GlobalItems();
}

}  // namespace bailiff::controller::cli
