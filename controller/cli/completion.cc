// SPDX-License-Identifier: Apache-2.0
// Completion scripts for three shells, from the command table. They name words only; ids are not
// looked up, so pressing Tab never opens the data directory.
#include <vector>

#include "controller/cli/help.h"

namespace bailiff::controller::cli {
namespace {

std::vector<std::string_view> Nouns() {
  std::vector<std::string_view> nouns;
  for (const VerbRow& row : Verbs()) {
    if (nouns.empty() || nouns.back() != row.noun) nouns.push_back(row.noun);
  }
  return nouns;
}

std::string Joined(const std::vector<std::string_view>& words) {
  std::string text;
  for (std::string_view word : words) text.append(text.empty() ? "" : " ").append(word);
  return text;
}

std::string Spaced(std::string_view bars) {
  std::string text(bars);
  for (char& c : text) {
    if (c == '|') c = ' ';
  }
  return text;
}

// Lower case and bars: a closed set of words.
bool IsSet(std::string_view value) {
  return !value.empty() && value.find_first_not_of("abcdefghijklmnopqrstuvwxyz|") == value.npos;
}

bool IsPath(std::string_view value) {
  return value == "DIR" || value == "REV|DIR" || value == "REPO";
}

std::string OptionWords(const VerbRow* row) {
  std::string text;
  if (row != nullptr) {
    for (const Option& option : row->options) text += "--" + std::string(option.name) + " ";
  }
  for (const Option& option : GlobalOptions()) text += "--" + std::string(option.name) + " ";
  text.pop_back();
  return text;
}

// All options once, whatever the verb.
std::vector<Option> AllOptions() {
  std::vector<Option> all(GlobalOptions().begin(), GlobalOptions().end());
  for (const VerbRow& row : Verbs()) {
    for (const Option& option : row.options) {
      bool known = false;
      for (const Option& seen : all) known = known || seen.name == option.name;
      if (!known) all.push_back(option);
    }
  }
  return all;
}

// What bash offers after an option: the previous word does not say which verb it belongs to, so it
// is what any verb takes there.
std::string BashValues(std::string_view name) {
  std::string words;
  bool path = false;
  const auto add = [&](const Option& option) {
    if (option.name != name) return;
    path = path || IsPath(option.value);
    if (!IsSet(option.value) || words.find(Spaced(option.value)) != std::string::npos) return;
    words.append(words.empty() ? "" : " ").append(Spaced(option.value));
  };
  for (const Option& option : GlobalOptions()) add(option);
  for (const VerbRow& row : Verbs()) {
    for (const Option& option : row.options) add(option);
  }
  std::string offer = "COMPREPLY=($(compgen -W '" + words + "' -- \"$current\"))";
  if (!path) return offer;
  return "compopt -o dirnames; " + (words.empty() ? "COMPREPLY=()" : offer);
}

std::string Bash() {
  std::string text =
      "# bash completion for bailiff, written by `bailiff completion bash`\n_bailiff() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  local noun= verb= word i\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    word=${COMP_WORDS[i]}\n"
      "    case $word in\n      --) compopt -o default; COMPREPLY=(); return ;;\n";
  std::string valued;
  for (const Option& option : AllOptions()) {
    if (!option.value.empty())
      valued.append(valued.empty() ? "" : "|").append("--").append(option.name);
  }
  text +=
      "      " + valued +
      ") ((i++)) ;;\n      -*) ;;\n"
      "      *) if [[ -z $noun ]]; then noun=$word; elif [[ -z $verb ]]; then verb=$word; fi ;;\n"
      "    esac\n  done\n  case $previous in\n";
  for (const Option& option : AllOptions()) {
    if (option.value.empty()) continue;
    text += "    --" + std::string(option.name) + ") ";
    text += BashValues(option.name);
    text += "; return ;;\n";
  }
  text += "  esac\n  local words options='" + OptionWords(nullptr) +
          "'\n  case $noun in\n    '') words='" + Joined(Nouns()) + "' ;;\n";
  for (std::string_view noun : Nouns()) {
    text += "    " + std::string(noun) + ")\n";
    std::vector<std::string_view> words;
    std::string cases;
    for (const VerbRow& row : Verbs()) {
      if (row.noun != noun) continue;
      std::string body = "options='" + OptionWords(&row) + "'";
      for (const Argument& argument : row.arguments) {
        if (!argument.words.empty()) body += "; words='" + Spaced(argument.words) + "'";
        if (argument.opens != Opens::kText) body += "; compopt -o default";
      }
      if (row.word.empty()) {
        text += "      " + body + " ;;\n";
      } else {
        words.push_back(row.word);
        cases += "        " + std::string(row.word) + ") " + body + " ;;\n";
      }
    }
    if (!words.empty()) {
      text += "      case $verb in\n        '') words='" + Joined(words) + "' ;;\n" + cases +
              "      esac ;;\n";
    }
  }
  text +=
      "  esac\n  [[ $current == -* ]] && words=$options\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n}\ncomplete -F _bailiff bailiff\n";
  return text;
}

// Text inside a single-quoted _arguments specification.
std::string ZshText(std::string_view help) {
  std::string text;
  for (const char c : help) {
    if (c == '\'') {
      text += "'\\''";
    } else if (c == '[' || c == ']' || c == ':' || c == '\\') {
      text += '\\';
      text += c;
    } else {
      text += c;
    }
  }
  return text;
}

std::string ZshOption(const Option& option) {
  std::string text = "'" + std::string(option.many ? "*" : "") + "--" + std::string(option.name);
  if (!option.value.empty()) text += "=";
  text += "[" + ZshText(option.help) + "]";
  if (!option.value.empty()) {
    text += ":" + ZshText(option.value) + ":";
    if (IsSet(option.value)) text += "(" + Spaced(option.value) + ")";
    if (IsPath(option.value)) text += "_files -/";
  }
  return text + "'";
}

std::string ZshArguments(const VerbRow& row) {
  std::string text = "_arguments $global";
  for (const Option& option : row.options) text += " \\\n        " + ZshOption(option);
  for (const Argument& argument : row.arguments) {
    text += " \\\n        ':" + ZshText(argument.name) + ":";
    if (!argument.words.empty()) text += "(" + Spaced(argument.words) + ")";
    if (argument.opens != Opens::kText) text += "_files";
    text += "'";
  }
  return text;
}

std::string Zsh() {
  std::string text =
      "#compdef bailiff\n# zsh completion, written by `bailiff completion zsh`\n_bailiff() {\n"
      "  local -a global\n  global=(\n";
  for (const Option& option : GlobalOptions()) text += "    " + ZshOption(option) + "\n";
  text +=
      "  )\n  local noun= verb= word\n  local -i i at=2\n"
      "  while (( at < CURRENT )) && [[ ${words[at]} == -* ]]; do (( at++ )); done\n"
      "  if (( at >= CURRENT )); then\n    local -a commands\n    commands=(\n";
  std::vector<std::string_view> nouns = Nouns();
  for (std::string_view noun : nouns) {
    std::string help;
    for (const VerbRow& row : Verbs()) {
      if (row.noun == noun) help.append(help.empty() ? "" : "; ").append(row.summary);
    }
    text += "      '" + std::string(noun) + ":" + ZshText(help) + "'\n";
  }
  text +=
      "    )\n    _describe command commands\n    _arguments $global\n    return\n  fi\n"
      "  noun=${words[at]}\n  verb=${words[at+1]}\n  case $noun in\n";
  for (std::string_view noun : nouns) {
    std::string verbs;
    std::string cases;
    for (const VerbRow& row : Verbs()) {
      if (row.noun != noun) continue;
      if (row.word.empty()) {
        text += "    " + std::string(noun) +
                ")\n      (( CURRENT -= at - 1 )); shift $((at - 1)) words\n      " +
                ZshArguments(row) + " ;;\n";
      } else {
        verbs += "          '" + std::string(row.word) + ":" + ZshText(row.summary) + "'\n";
        cases += "        " + std::string(row.word) + ") " + ZshArguments(row) + " ;;\n";
      }
    }
    if (!verbs.empty()) {
      text +=
          "    " + std::string(noun) +
          ")\n      if (( CURRENT == at + 1 )); then\n        local -a verbs\n        verbs=(\n" +
          verbs +
          "        )\n        _describe verb verbs\n        return\n      fi\n"
          "      (( CURRENT -= at )); shift $at words\n      case $verb in\n" +
          cases + "      esac ;;\n";
    }
  }
  return text + "  esac\n}\ncompdef _bailiff bailiff\n";
}

std::string FishText(std::string_view help) {
  std::string text;
  for (const char c : help) {
    if (c == '\'' || c == '\\') text += '\\';
    text += c;
  }
  return text;
}

std::string FishOption(const Option& option, const std::string& condition) {
  std::string text = "complete -c bailiff -f" + condition + " -l " + std::string(option.name) +
                     " -d '" + FishText(option.help) + "'";
  if (!option.value.empty()) text += " -r";
  if (IsSet(option.value)) text += " -a '" + Spaced(option.value) + "'";
  if (IsPath(option.value)) text += " -a '(__fish_complete_directories)'";
  return text + "\n";
}

std::string Fish() {
  std::string text = "# fish completion for bailiff, written by `bailiff completion fish`\n";
  for (const Option& option : GlobalOptions()) text += FishOption(option, "");
  const std::string nouns = Joined(Nouns());
  for (const VerbRow& row : Verbs()) {
    const std::string noun(row.noun);
    if (row.word.empty()) {
      text += "complete -c bailiff -f -n 'not __fish_seen_subcommand_from " + nouns + "' -a " +
              noun + " -d '" + FishText(row.summary) + "'\n";
    } else {
      text += "complete -c bailiff -f -n 'not __fish_seen_subcommand_from " + nouns + "' -a " +
              noun + "\n";
      text += "complete -c bailiff -f -n '__fish_seen_subcommand_from " + noun + "' -a " +
              std::string(row.word) + " -d '" + FishText(row.summary) + "'\n";
    }
    std::string condition = " -n '__fish_seen_subcommand_from " + noun;
    if (!row.word.empty())
      condition += "; and __fish_seen_subcommand_from " + std::string(row.word);
    condition += "'";
    for (const Option& option : row.options) text += FishOption(option, condition);
    for (const Argument& argument : row.arguments) {
      if (argument.opens != Opens::kText) text += "complete -c bailiff" + condition + " -F\n";
      if (!argument.words.empty()) {
        text += "complete -c bailiff -f" + condition + " -a '" + Spaced(argument.words) + "'\n";
      }
    }
  }
  return text;
}

}  // namespace

std::string CompletionScript(Shell shell) {
  switch (shell) {
    case Shell::kBash:
      return Bash();
    case Shell::kZsh:
      return Zsh();
    case Shell::kFish:
      return Fish();
  }
  return {};
}

}  // namespace bailiff::controller::cli
