// SPDX-License-Identifier: Apache-2.0
#include "policy/environment.h"

#include <algorithm>
#include <array>

namespace bailiff::policy {
namespace {

using Family = EnvironmentFamily;

struct Rule {
  std::string_view name;  // with `family_of` true: every name that begins with it
  bool family_of;
  Family family;
};

// Closed list of contracts, section 2. Sources: ld.so(8), gconv(5), locale(7), nl_langinfo,
// mallopt(3), resolver(5), dash(1), bash(1), zsh(1), docker(1), containerd's ctr.
constexpr std::array kRules = {
    Rule{"HOME", false, Family::kProfile},
    Rule{"TMPDIR", false, Family::kProfile},
    Rule{"HOSTNAME", false, Family::kProfile},
    Rule{"LD_", true, Family::kLoader},
    Rule{"GLIBC_TUNABLES", false, Family::kLoader},
    Rule{"GCONV_PATH", false, Family::kLoader},
    Rule{"LOCPATH", false, Family::kLoader},
    Rule{"NLSPATH", false, Family::kLoader},
    Rule{"MALLOC_", true, Family::kLoader},
    Rule{"GETCONF_DIR", false, Family::kLoader},
    Rule{"HOSTALIASES", false, Family::kLoader},
    Rule{"RES_OPTIONS", false, Family::kLoader},
    Rule{"ENV", false, Family::kShell},
    Rule{"BASH_ENV", false, Family::kShell},
    Rule{"BASH_FUNC_", true, Family::kShell},
    Rule{"SHELLOPTS", false, Family::kShell},
    Rule{"BASHOPTS", false, Family::kShell},
    Rule{"PS4", false, Family::kShell},
    Rule{"IFS", false, Family::kShell},
    Rule{"CDPATH", false, Family::kShell},
    Rule{"PROMPT_COMMAND", false, Family::kShell},
    Rule{"ZDOTDIR", false, Family::kShell},
    Rule{"DOCKER_", true, Family::kControl},
    Rule{"BUILDKIT_", true, Family::kControl},
    Rule{"COMPOSE_", true, Family::kControl},
    Rule{"CONTAINERD_", true, Family::kControl},
};

constexpr bool IsLetter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

}  // namespace

std::string_view FamilyName(EnvironmentFamily family) {
  switch (family) {
    case Family::kProfile:
      return "profile";
    case Family::kLoader:
      return "loader";
    case Family::kShell:
      return "shell";
    case Family::kControl:
      return "control";
  }
  return "";
}

bool IsEnvironmentName(std::string_view name) {
  if (name.empty() || (!IsLetter(name.front()) && name.front() != '_')) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return IsLetter(c) || c == '_' || (c >= '0' && c <= '9'); });
}

std::optional<EnvironmentFamily> RefusedFamily(std::string_view name) {
  for (const Rule& rule : kRules) {
    if (rule.family_of ? name.starts_with(rule.name) : name == rule.name) return rule.family;
  }
  return std::nullopt;
}

std::map<std::string, std::string> EffectiveEnvironment(
    const std::map<std::string, std::string>& recipe) {
  std::map<std::string, std::string> effective = {
      {"HOME", "/scratch"},
      {"HOSTNAME", "bailiff"},
      {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
      {"TMPDIR", "/scratch"},
  };
  for (const auto& [name, value] : recipe) {
    // A recipe that was checked sets none of the fixed three; whatever comes here, the profile
    // wins.
    if (RefusedFamily(name) == Family::kProfile) continue;
    effective[name] = value;
  }
  return effective;
}

std::vector<std::string> EnvironmentStrings(const std::map<std::string, std::string>& environment) {
  std::vector<std::string> strings;
  strings.reserve(environment.size());
  for (const auto& [name, value] : environment) strings.push_back(name + "=" + value);
  return strings;
}

std::optional<std::string> ForeignImageEntry(const std::vector<std::string>& image_env,
                                             const std::map<std::string, std::string>& effective) {
  for (const std::string& entry : image_env) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos) return entry;
    const auto found = effective.find(entry.substr(0, equals));
    if (found == effective.end() || found->second != entry.substr(equals + 1)) return entry;
  }
  return std::nullopt;
}

}  // namespace bailiff::policy
