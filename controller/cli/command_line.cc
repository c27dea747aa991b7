// SPDX-License-Identifier: Apache-2.0
// The one file that includes the parser library. Which verb is meant is decided here, from the
// table; the library then parses the options of that one verb, so starting costs no tree of thirty
// subcommands.
#include "controller/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include "controller/cli/suggest.h"

namespace bailiff::controller::cli {
namespace {

using Words = std::vector<std::string>;

Error Usage(ErrorCode code, std::string subject, std::string why, std::string fix = {}) {
  return Error{code, std::move(subject), std::move(why), 0, std::move(fix)};
}

std::string Quoted(std::string_view word) { return "\"" + std::string(word) + "\""; }

std::string Full(const VerbRow& row) {
  std::string full(row.noun);
  if (!row.word.empty()) full.append(" ").append(row.word);
  return full;
}

const Option* FindOption(std::span<const Option> options, std::string_view name) {
  auto found = std::find_if(options.begin(), options.end(),
                            [name](const Option& option) { return option.name == name; });
  return found == options.end() ? nullptr : &*found;
}

// Global options before the verb, in the order given; `rest` starts at the verb.
struct Split {
  Words globals;
  Words rest;
  Words argv;
};

Result<Split> SplitWords(int argc, const char* const* argv) {
  Split split;
  int index = 1;
  while (index < argc && argv[index][0] == '-' && std::string_view(argv[index]) != "--") {
    const std::string word = argv[index++];
    split.globals.push_back(word);
    if (word == "-h" || !word.starts_with("--") || word.find('=') != std::string::npos) continue;
    const Option* option = FindOption(GlobalOptions(), word.substr(2));
    if (option != nullptr && !option->value.empty() && index < argc) {
      split.globals.emplace_back(argv[index++]);
    }
  }
  for (; index < argc; ++index) {
    if (std::string_view(argv[index]) == "--") {
      for (++index; index < argc; ++index) split.argv.emplace_back(argv[index]);
      break;
    }
    split.rest.emplace_back(argv[index]);
  }
  return split;
}

Error UnknownVerb(const std::string& noun, const std::string& word) {
  std::vector<std::string_view> candidates;
  const bool known_noun = std::any_of(Verbs().begin(), Verbs().end(), [&](const VerbRow& row) {
    return row.noun == noun && !row.word.empty();
  });
  if (known_noun) {
    std::string list;
    for (const VerbRow& row : Verbs()) {
      if (row.noun != noun) continue;
      candidates.push_back(row.word);
      list.append(list.empty() ? "" : ", ").append(row.word);
    }
    const std::string_view near = Nearest(word, candidates);
    if (word.empty()) {
      return Usage(ErrorCode::kVerbMissing, Quoted(noun), "what to do with it is missing: " + list,
                   "bailiff " + noun + " --help");
    }
    return Usage(ErrorCode::kVerbUnknown, Quoted(noun + " " + word), noun + " has " + list,
                 "bailiff " + noun + " " + std::string(near.empty() ? "--help" : near));
  }
  for (const VerbRow& row : Verbs()) candidates.push_back(row.noun);
  for (const Alias& alias : Aliases()) candidates.push_back(alias.name);
  const std::string_view near = Nearest(noun, candidates);
  return Usage(ErrorCode::kVerbUnknown, Quoted(noun), "there is no such command",
               "bailiff " + std::string(near.empty() ? "--help" : near));
}

// Takes the verb off the front of `rest`.
Result<void> TakeVerb(Words& rest, Command& command) {
  const std::string first = rest.front();
  for (const Alias& alias : Aliases()) {
    if (alias.name != first) continue;
    command.alias = first;
    command.row = &RowOf(alias.verb);
    rest.erase(rest.begin());
    return {};
  }
  if (const VerbRow* row = FindVerb(first, ""); row != nullptr) {
    command.row = row;
    rest.erase(rest.begin());
    return {};
  }
  const bool has_word = rest.size() > 1 && !rest[1].starts_with("-");
  if (has_word) {
    if (const VerbRow* row = FindVerb(first, rest[1]); row != nullptr) {
      command.row = row;
      rest.erase(rest.begin(), rest.begin() + 2);
      return {};
    }
  }
  const bool noun = std::any_of(Verbs().begin(), Verbs().end(),
                                [&](const VerbRow& row) { return row.noun == first; });
  const bool asks = std::any_of(rest.begin(), rest.end(), [](const std::string& word) {
    return word == "--help" || word == "-h";
  });
  if (noun && asks && !has_word) {
    command.help = true;
    for (const VerbRow& row : Verbs()) {
      if (row.noun == first) command.help_noun = row.noun;
    }
    return {};
  }
  return UnknownVerb(first, has_word ? rest[1] : "");
}

Error UnknownOption(const Command& command, const std::string& word,
                    const std::vector<const Option*>& options) {
  std::vector<std::string> names;
  for (const Option* option : options) names.push_back("--" + std::string(option->name));
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string name = word.substr(0, word.find('='));
  const std::string_view near = Nearest(name, candidates);
  const std::string verb = command.row == nullptr ? "" : " " + Full(*command.row);
  return Usage(ErrorCode::kOptionUnknown, name, "bailiff" + verb + " has no such option",
               near.empty() ? "bailiff" + verb + " --help" : std::string(near));
}

// What the library found, still as text.
struct Parsed {
  std::vector<std::pair<const Option*, std::vector<std::string>>> values;
  std::vector<std::string> arguments;
};

Result<Parsed> ParseOptions(const Command& command, Words words) {
  std::vector<const Option*> options;
  for (const Option& option : GlobalOptions()) options.push_back(&option);
  static constexpr Option kDocker{kAliasDocker, "EXE", "accepted for old scripts, not used"};
  if (!command.alias.empty()) options.push_back(&kDocker);
  if (command.row != nullptr) {
    for (const Option& option : command.row->options) options.push_back(&option);
  }
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  Parsed parsed;
  parsed.values.reserve(options.size());
  for (const Option* option : options) {
    auto& [row, values] = parsed.values.emplace_back(option, std::vector<std::string>{});
    const std::string name =
        option->name == "help" ? "-h,--help" : "--" + std::string(option->name);
    if (option->value.empty()) {
      app.add_flag_callback(name, [&values = values] { values.emplace_back(); })
          ->disable_flag_override();
    } else {
      app.add_option_function<std::vector<std::string>>(
             name, [&values = values](const std::vector<std::string>& given) { values = given; })
          ->allow_extra_args(false)
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    }
  }
  std::reverse(words.begin(), words.end());
  try {
    app.parse(words);
  } catch (const std::exception& error) {
    return Usage(ErrorCode::kOptionValue, {}, error.what());
  }
  for (const std::string& word : app.remaining()) {
    if (word.size() > 1 && word.front() == '-') return UnknownOption(command, word, options);
    parsed.arguments.push_back(word);
  }
  return parsed;
}

Result<void> ApplyGlobal(std::string_view name, const std::string& value, Command& command) {
  if (name == "data-dir" || name == "cgroup-parent") {
    if (value.empty()) {
      return Usage(ErrorCode::kOptionValue, "--" + std::string(name), "a directory is missing");
    }
    (name == "data-dir" ? command.globals.data_dir : command.globals.cgroup_parent) = value;
  } else if (name == "json") {
    command.globals.json = true;
  } else if (name == "quiet") {
    command.globals.quiet = true;
  } else if (name == "no-progress") {
    command.globals.no_progress = true;
  } else if (name == "help") {
    command.help = true;
  } else if (name == "version") {
    if (command.row == nullptr) command.row = &RowOf(Verb::kVersion);
  } else if (name == "color") {
    if (value == "auto") {
      command.globals.color = Color::kAuto;
    } else if (value == "always") {
      command.globals.color = Color::kAlways;
    } else if (value == "never") {
      command.globals.color = Color::kNever;
    } else {
      return Usage(ErrorCode::kOptionValue, "--color " + Quoted(value),
                   "not auto, always or never");
    }
  }
  return {};
}

bool OneOf(std::string_view words, std::string_view value) {
  while (!words.empty()) {
    const std::size_t bar = words.find('|');
    if (words.substr(0, bar) == value) return true;
    if (bar == std::string_view::npos) return false;
    words.remove_prefix(bar + 1);
  }
  return false;
}

// A placeholder in lower case is the closed set of words it may be.
bool IsClosedSet(std::string_view value) {
  return !value.empty() && std::all_of(value.begin(), value.end(),
                                       [](char c) { return (c >= 'a' && c <= 'z') || c == '|'; });
}

Result<void> ApplyOption(const Option& option, const std::vector<std::string>& values,
                         Command& command) {
  if (values.empty()) return {};
  const std::string shown = "--" + std::string(option.name);
  if (!option.value.empty() && !option.many && values.size() > 1) {
    return Usage(ErrorCode::kOptionTwice, shown,
                 "given " + std::to_string(values.size()) + " times", "give " + shown + " once");
  }
  if (FindOption(GlobalOptions(), option.name) != nullptr) {
    return ApplyGlobal(option.name, values.back(), command);
  }
  // No option has a meaning for it: a script's unset variable must not become a default.
  if (!option.value.empty() &&
      std::any_of(values.begin(), values.end(), [](const auto& value) { return value.empty(); })) {
    return Usage(ErrorCode::kOptionValue, shown + " " + std::string(option.value),
                 "the value is empty");
  }
  if (IsClosedSet(option.value) && !OneOf(option.value, values.back())) {
    return Usage(ErrorCode::kOptionValue, shown + " " + Quoted(values.back()),
                 "not " + std::string(option.value), shown + " " + std::string(option.value));
  }
  if (option.name == kAliasDocker && !values.back().starts_with("/")) {
    return Usage(ErrorCode::kOptionValue, shown + " " + Quoted(values.back()),
                 "not an absolute path");
  }
  for (const std::string& value : values) command.options.emplace_back(option.name, value);
  return {};
}

Result<void> CheckComplete(const Command& command) {
  const VerbRow& row = *command.row;
  const std::string usage = "bailiff " + Full(row) + " --help";
  for (const Option& option : row.options) {
    if (option.required && !command.Has(option.name)) {
      return Usage(ErrorCode::kOptionMissing, "--" + std::string(option.name),
                   "bailiff " + Full(row) + " needs it",
                   "--" + std::string(option.name) + " " + std::string(option.value));
    }
  }
  if (command.arguments.size() < row.arguments.size()) {
    const Argument& missing = row.arguments[command.arguments.size()];
    return Usage(ErrorCode::kArgumentMissing, std::string(missing.name),
                 "bailiff " + Full(row) + " needs it: " + std::string(missing.help), usage);
  }
  if (command.arguments.size() > row.arguments.size()) {
    return Usage(ErrorCode::kArgumentExtra, Quoted(command.arguments[row.arguments.size()]),
                 row.takes_command ? "the command to run follows --"
                                   : "bailiff " + Full(row) + " takes " +
                                         std::to_string(row.arguments.size()) + " of them",
                 row.takes_command ? "put -- before the command" : usage);
  }
  for (std::size_t i = 0; i < row.arguments.size(); ++i) {
    const Argument& argument = row.arguments[i];
    if (command.arguments[i].empty()) {
      return Usage(ErrorCode::kArgumentMissing, std::string(argument.name), "it is empty", usage);
    }
    if (!argument.words.empty() && !OneOf(argument.words, command.arguments[i])) {
      return Usage(ErrorCode::kArgumentValue, Quoted(command.arguments[i]),
                   "not " + std::string(argument.words), usage);
    }
  }
  if (row.takes_command && command.argv.empty()) {
    return Usage(ErrorCode::kCommandMissing, {}, "nothing follows --",
                 "bailiff run … -- /bin/true");
  }
  return {};
}

}  // namespace

bool Command::Has(std::string_view option) const { return Get(option) != nullptr; }

const std::string* Command::Get(std::string_view option) const {
  const std::string* value = nullptr;
  for (const auto& [name, given] : options) {
    if (name == option) value = &given;
  }
  return value;
}

std::vector<std::string_view> Command::All(std::string_view option) const {
  std::vector<std::string_view> all;
  for (const auto& [name, given] : options) {
    if (name == option) all.emplace_back(given);
  }
  return all;
}

bool WantsJson(int argc, const char* const* argv) {
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    if (std::string_view(argv[i]) == "--json") return true;
  }
  return false;
}

Result<Command> ParseCommandLine(int argc, const char* const* argv) {
  BAILIFF_TRY_ASSIGN(Split split, SplitWords(argc, argv));
  Command command;
  command.argv = std::move(split.argv);
  if (!split.rest.empty()) BAILIFF_TRY(TakeVerb(split.rest, command));
  if (command.help) return command;
  Words words = std::move(split.globals);
  words.insert(words.end(), split.rest.begin(), split.rest.end());
  BAILIFF_TRY_ASSIGN(Parsed parsed, ParseOptions(command, std::move(words)));
  for (const auto& [option, values] : parsed.values)
    BAILIFF_TRY(ApplyOption(*option, values, command));
  command.arguments = std::move(parsed.arguments);
  if (command.help) return command;
  if (command.row == nullptr) {
    return Usage(ErrorCode::kVerbMissing, {}, "nothing was asked for", "bailiff --help");
  }
  if (command.row->verb == Verb::kHelp) {
    command.help = true;
    command.row = nullptr;
    return command;
  }
  if (!command.row->takes_command) {  // "--" only ends the options
    for (std::string& word : command.argv) command.arguments.push_back(std::move(word));
    command.argv.clear();
  }
  BAILIFF_TRY(CheckComplete(command));
  return command;
}

}  // namespace bailiff::controller::cli
