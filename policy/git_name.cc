// SPDX-License-Identifier: Apache-2.0
#include "policy/git_name.h"

#include <algorithm>

#include "policy/tree_path.h"

namespace bailiff::policy {
namespace {

int Nibble(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

bool IsRefComponent(std::string_view component) {
  return !component.empty() && component.size() <= kMaxTreeComponent && component.front() != '.' &&
         component.back() != '.' && !component.ends_with(".lock");
}

}  // namespace

std::string GitId::hex() const { return Hex(raw()); }

std::optional<GitId> ParseGitId(std::string_view hex) {
  GitId id;
  if (hex.size() != 2 * id.bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < id.bytes.size(); ++i) {
    const int high = Nibble(hex[2 * i]);
    const int low = Nibble(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    id.bytes[i] = static_cast<unsigned char>(high << 4 | low);
  }
  return id;
}

std::optional<GitId> RawGitId(std::string_view bytes) {
  GitId id;
  if (bytes.size() != id.bytes.size()) return std::nullopt;
  std::copy(bytes.begin(), bytes.end(), id.bytes.begin());
  return id;
}

bool IsFullRef(std::string_view name) {
  if (!name.starts_with("refs/") || name.size() > kMaxRefName) return false;
  const auto forbidden = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= ' ' || byte == 0x7f ||
           std::string_view("~^:?*[\\").find(c) != std::string_view::npos;
  };
  if (std::any_of(name.begin(), name.end(), forbidden)) return false;
  if (name.find("..") != std::string_view::npos || name.find("@{") != std::string_view::npos)
    return false;
  for (std::size_t begin = 0;;) {
    const std::size_t slash = name.find('/', begin);
    if (!IsRefComponent(name.substr(begin, slash - begin))) return false;
    if (slash == std::string_view::npos) return true;
    begin = slash + 1;
  }
}

bool IsCommitName(std::string_view name) {
  return name == "HEAD" || ParseGitId(name).has_value() || IsFullRef(name);
}

std::string GitOrigin(const GitCommit& commit) {
  return R"({"commit":")" + commit.commit.hex() + R"(","git_tree":")" + commit.tree.hex() +
         R"(","kind":"git","object_format":"sha1"})";
}

std::string GitRevision(const Digest& tree, const GitCommit& commit) {
  return R"({"origin":)" + GitOrigin(commit) +
         R"(,"parents":[],"schema":"bailiff/revision/v1","tree":")" + tree.hex() + "\"}";
}

}  // namespace bailiff::policy
