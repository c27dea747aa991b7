// SPDX-License-Identifier: Apache-2.0
#include "snapshotter/importer/git_decode.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <unordered_set>

#include "policy/disguise.h"
#include "policy/tree_path.h"

namespace bailiff::snapshotter {
namespace {

using policy::GitId;
using policy::MakeFault;
using policy::SnapshotFault;

constexpr std::size_t kHex = 40;
constexpr std::size_t kSha256Hex = 64;

// Takes "<word> <40 hex>\n" off the front of `bytes`.
std::optional<GitId> TakeIdLine(std::string_view& bytes, std::string_view word) {
  if (!bytes.starts_with(word) || bytes.size() < word.size() + kHex + 1) return std::nullopt;
  const auto id = policy::ParseGitId(bytes.substr(word.size(), kHex));
  if (!id || bytes[word.size() + kHex] != '\n') return std::nullopt;
  bytes.remove_prefix(word.size() + kHex + 1);
  return id;
}

std::string_view WithoutBlanks(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

bool IsHex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

constexpr std::size_t kIdBytes = std::tuple_size_v<decltype(GitId::bytes)>;

constexpr std::array<std::pair<std::string_view, GitMode>, 6> kModes = {
    {{"100644", GitMode::kFile},
     {"100664", GitMode::kOldFile},
     {"100755", GitMode::kExecutable},
     {"120000", GitMode::kLink},
     {"40000", GitMode::kTree},
     {"160000", GitMode::kSubmodule}}};

std::optional<GitMode> ModeOf(std::string_view octal) {
  for (const auto& [text, mode] : kModes) {
    if (text == octal) return mode;
  }
  return std::nullopt;
}

class TreeDecoder {
 public:
  TreeDecoder(std::string_view bytes, const GitId& id, std::string_view path)
      : rest_(bytes), id_(id), path_(path) {}

  Result<std::vector<GitEntry>> Decode(std::uint64_t most) {
    std::vector<GitEntry> entries;
    std::unordered_set<std::string_view> names;
    while (!rest_.empty()) {
      if (entries.size() >= most)
        return MakeFault(SnapshotFault::kEntries, path_, "git tree " + id_.hex());
      BAILIFF_TRY_ASSIGN(const GitEntry entry, Next());
      // A file and a directory of one name are not neighbours in git's order.
      if (!names.insert(entry.name).second) return Refuse(entry.name, "the name comes twice");
      if (!entries.empty() &&
          !GitOrderLess(entries.back().name, entries.back().mode == GitMode::kTree, entry.name,
                        entry.mode == GitMode::kTree))
        return Refuse(entry.name, "out of order");
      entries.push_back(entry);
    }
    return entries;
  }

 private:
  Result<GitEntry> Next() {
    GitEntry entry{};
    const std::size_t space = rest_.find(' ');
    const std::size_t end = rest_.find('\0');
    if (space == std::string_view::npos || end == std::string_view::npos || space > end ||
        rest_.size() - end - 1 < entry.id.bytes.size())
      return Refuse("", "cut short");
    const std::string_view octal = rest_.substr(0, space);
    entry.name = rest_.substr(space + 1, end - space - 1);
    std::memcpy(entry.id.bytes.data(), rest_.data() + end + 1, entry.id.bytes.size());
    rest_.remove_prefix(end + 1 + entry.id.bytes.size());
    const auto mode = ModeOf(octal);
    if (!mode)
      return Refuse(entry.name, octal.starts_with('0') ? "a mode with leading zeros"
                                                       : "a mode that git does not write");
    entry.mode = *mode;
    BAILIFF_TRY(CheckName(entry));
    if (entry.id == GitId{}) return Refuse(entry.name, "the null id");
    return entry;
  }

  Result<void> CheckName(const GitEntry& entry) const {
    switch (const SnapshotFault fault =
                policy::CheckComponent(entry.name, policy::TreeNames::kSource)) {
      case SnapshotFault::kNone:
        break;
      case SnapshotFault::kPathShape:
        return Refuse(entry.name, "its name is empty, \".\", \"..\", or a path");
      default:
        return MakeFault(fault, Full(entry.name), "git tree " + id_.hex());
    }
    if (entry.mode == GitMode::kLink && policy::LooksLikeDotGitModules(entry.name))
      return Refuse(entry.name, ".gitmodules is a symbolic link");
    return {};
  }

  std::string Full(std::string_view name) const {
    std::string full(path_);
    if (!full.empty()) full += '/';
    return full.append(name);
  }
  Error Refuse(std::string_view name, std::string_view why) const {
    return MakeFault(SnapshotFault::kGitTree, Full(name),
                     std::string(why) + ", in git tree " + id_.hex());
  }

  std::string_view rest_;
  const GitId& id_;
  std::string_view path_;
};

}  // namespace

std::string_view GitModeText(GitMode mode) {
  for (const auto& [text, known] : kModes) {
    if (known == mode) return text;
  }
  return "";
}

Result<GitId> DecodeCommit(std::string_view bytes, const GitId& id) {
  const auto tree = TakeIdLine(bytes, "tree ");
  if (!tree)
    return MakeFault(SnapshotFault::kGitObjectDamaged, id.hex(),
                     "a commit whose first line names no tree");
  return *tree;
}

Result<GitTag> DecodeTag(std::string_view bytes, const GitId& id) {
  const auto object = TakeIdLine(bytes, "object ");
  if (object && bytes.starts_with("type ")) {
    const std::string_view word = bytes.substr(5, bytes.find('\n') - 5);
    for (const GitType type : {GitType::kCommit, GitType::kTree, GitType::kBlob, GitType::kTag}) {
      if (word == GitTypeName(type)) return GitTag{*object, type};
    }
  }
  return MakeFault(SnapshotFault::kGitObjectDamaged, id.hex(), "a tag that names no object");
}

Result<std::vector<GitEntry>> DecodeTree(std::string_view bytes, const GitId& id,
                                         std::string_view path, std::uint64_t most) {
  return TreeDecoder(bytes, id, path).Decode(most);
}

Result<GitRefValue> DecodeRef(std::string_view bytes, std::string_view name) {
  std::string_view text = WithoutBlanks(bytes);
  if (text.starts_with("ref:")) {
    text.remove_prefix(4);
    while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
    if (policy::IsFullRef(text)) return GitRefValue(std::string(text));
    return MakeFault(SnapshotFault::kGitRef, name, "it names no ref");
  }
  if (const auto id = policy::ParseGitId(text)) return GitRefValue(*id);
  if (text.size() == kSha256Hex && IsHex(text))
    return MakeFault(SnapshotFault::kGitFormat, name, "an id of object format sha256");
  return MakeFault(SnapshotFault::kGitRef, name, "neither an id nor a ref");
}

Result<std::optional<GitId>> FindPackedRef(std::string_view bytes, std::string_view name) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    if (end == std::string_view::npos)
      return MakeFault(SnapshotFault::kGitRef, "packed-refs", "its last line is cut short");
    const std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    // Comments, and what an annotated tag above leads to: we read the tag itself.
    if (line.starts_with('#') || line.starts_with('^')) continue;
    const std::size_t space = line.find(' ');
    if (space == kSha256Hex && IsHex(line.substr(0, space)))
      return MakeFault(SnapshotFault::kGitFormat, "packed-refs", "ids of object format sha256");
    const auto id = policy::ParseGitId(line.substr(0, space));
    if (space != kHex || !id)
      return MakeFault(SnapshotFault::kGitRef, "packed-refs", "a line without an id");
    if (line.substr(space + 1) == name) return std::optional<GitId>(*id);
  }
  return std::optional<GitId>();
}

bool GitOrderLess(std::string_view a, bool a_is_tree, std::string_view b, bool b_is_tree) {
  const std::size_t shared = std::min(a.size(), b.size());
  if (const int order = a.substr(0, shared).compare(b.substr(0, shared)); order != 0)
    return order < 0;
  const auto next = [shared](std::string_view name, bool is_tree) {
    if (shared < name.size()) return static_cast<unsigned char>(name[shared]);
    return static_cast<unsigned char>(is_tree ? '/' : '\0');
  };
  return next(a, a_is_tree) < next(b, b_is_tree);
}

Result<std::vector<GitLeft>> DecodeLeftOut(std::string_view bytes) {
  const auto refuse = [](const char* why) {
    return MakeFault(SnapshotFault::kStaged, "git-left-out", why);
  };
  std::vector<GitLeft> all;
  while (!bytes.empty()) {
    const std::size_t space = bytes.find(' ');
    const std::size_t end = bytes.find('\0');
    if (end == std::string_view::npos || space > end || bytes.size() - end - 1 < kIdBytes)
      return refuse("is cut short");
    const auto mode = ModeOf(bytes.substr(0, space));
    if (mode != GitMode::kSubmodule && mode != GitMode::kTree && mode != GitMode::kOldFile)
      return refuse("holds what is never left out");
    const std::string_view path = bytes.substr(space + 1, end - space - 1);
    if (policy::CheckTreePath(path, policy::TreeNames::kSource) != SnapshotFault::kNone)
      return refuse("holds a path that no tree has");
    if (!all.empty() && all.back().path >= path) return refuse("is out of order");
    all.push_back({*mode, path, *policy::RawGitId(bytes.substr(end + 1, kIdBytes))});
    bytes.remove_prefix(end + 1 + kIdBytes);
  }
  return all;
}

}  // namespace bailiff::snapshotter
