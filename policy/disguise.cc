// SPDX-License-Identifier: Apache-2.0
#include "policy/disguise.h"

#include <algorithm>
#include <string>

namespace bailiff::policy {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool EqualsIgnoringCase(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char a, char b) { return Lower(a) == b; });
}

// U+200C..200F, U+202A..202E, U+206A..206F, U+FEFF, in UTF-8: what HFS+ ignores (Apple's TN1150).
bool IsIgnored(std::string_view three) {
  const auto last = static_cast<unsigned char>(three[2]);
  if (three.starts_with("\xe2\x80"))
    return (last >= 0x8c && last <= 0x8f) || (last >= 0xaa && last <= 0xae);
  if (three.starts_with("\xe2\x81")) return last >= 0xaa && last <= 0xaf;
  return three == "\xef\xbb\xbf";
}

std::string WithoutIgnored(std::string_view name) {
  std::string kept;
  while (!name.empty()) {
    if (name.size() >= 3 && IsIgnored(name.substr(0, 3))) {
      name.remove_prefix(3);
    } else {
      kept += name.front();
      name.remove_prefix(1);
    }
  }
  return kept;
}

std::string_view WithoutEnd(std::string_view name, std::string_view dropped) {
  const std::size_t last = name.find_last_not_of(dropped);
  return name.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

// Calls `matches` with each name that NTFS would see in it, without stream, until one does. What
// HFS+ leaves out is left out first: that finds all that either rule finds alone.
template <class Matches>
bool AnyName(std::string_view component, Matches matches) {
  std::string folded;
  if (component.find_first_of("\xe2\xef") != std::string_view::npos) {
    folded = WithoutIgnored(component);
    component = folded;
  }
  for (;;) {
    const std::size_t backslash = component.find('\\');
    const std::string_view piece = component.substr(0, backslash);
    if (matches(piece.substr(0, piece.find(':')))) return true;
    if (backslash == std::string_view::npos) return false;
    component.remove_prefix(backslash + 1);
  }
}

// The hashed short name that NTFS falls back to: eight bytes, at least a part of `prefix`, '~', and
// digits of which the first is not 0.
bool IsHashedShortName(std::string_view name, std::string_view prefix) {
  if (name.size() != 8) return false;
  const std::size_t tilde = name.find('~');
  if (tilde == std::string_view::npos || tilde > prefix.size() || tilde + 1 == name.size())
    return false;
  if (!EqualsIgnoringCase(name.substr(0, tilde), prefix.substr(0, tilde))) return false;
  const std::string_view digits = name.substr(tilde + 1);
  return digits.front() != '0' && digits.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

bool LooksLike(std::string_view component, std::string_view name) {
  return AnyName(component, [name](std::string_view seen) {
    return EqualsIgnoringCase(WithoutEnd(seen, " ."), name);
  });
}

bool LooksLikeDots(std::string_view component) {
  return AnyName(component, [](std::string_view seen) {
    const std::string_view name = WithoutEnd(seen, " ");
    return name == "." || name == "..";
  });
}

bool LooksLikeDotGit(std::string_view component) {
  return LooksLike(component, ".git") || LooksLike(component, "git~1");
}

bool LooksLikeDotGitModules(std::string_view component) {
  return LooksLike(component, ".gitmodules") || AnyName(component, [](std::string_view seen) {
           const std::string_view name = WithoutEnd(seen, " .");
           return (name.size() == 8 && EqualsIgnoringCase(name.substr(0, 7), "gitmod~") &&
                   name[7] >= '1' && name[7] <= '4') ||
                  IsHashedShortName(name, "gi7eba");
         });
}

}  // namespace bailiff::policy
