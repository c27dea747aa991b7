// SPDX-License-Identifier: Apache-2.0
// What a git repository may say, from whoever made it: refs, packed-refs, commits, tags, trees, and
// a walk over objects that name each other as they like. The first byte chooses. A repository of
// objects is a list: a byte of type, two of length, the bytes; object N is named by its number + 1
// in every byte of an id.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "policy/tree_path.h"
#include "snapshotter/importer/git_walk.h"

namespace {

using namespace bailiff;  // NOLINT(google-build-using-namespace)
using policy::GitId;
using snapshotter::GitEntry;
using snapshotter::GitHeader;
using snapshotter::GitMode;
using snapshotter::GitObject;
using snapshotter::GitType;

constexpr policy::TreeBounds kBounds{40, 1 << 20, 1 << 20};

void Demand(bool holds) {
  if (!holds) std::abort();
}

GitId IdOf(unsigned char number) {
  GitId id;
  id.bytes.fill(number);
  return id;
}

class Memory final : public snapshotter::GitObjects {
 public:
  explicit Memory(std::string_view list) {
    while (list.size() >= 3 && objects_.size() < 250) {
      const auto type = static_cast<GitType>(static_cast<unsigned char>(list[0]) % 4);
      const std::size_t size =
          static_cast<unsigned char>(list[1]) * 256U + static_cast<unsigned char>(list[2]);
      list.remove_prefix(3);
      objects_.push_back({type, std::string(list.substr(0, size))});
      list.remove_prefix(std::min(size, list.size()));
    }
  }

  Result<GitHeader> Header(const GitId& id) override {
    const Stored* stored = Find(id);
    if (stored == nullptr) return Missing(id);
    return GitHeader{stored->type, stored->bytes.size()};
  }
  Result<GitObject> Read(const GitId& id) override {
    const Stored* stored = Find(id);
    if (stored == nullptr) return Missing(id);
    auto* copy = new std::string(stored->bytes);
    return GitObject(
        copy, [](void* owner) { delete static_cast<std::string*>(owner); },
        {stored->type, copy->size()}, *copy);
  }

 private:
  struct Stored {
    GitType type;
    std::string bytes;
  };
  const Stored* Find(const GitId& id) const {
    const std::size_t number = id.bytes[0];
    if (number == 0 || number > objects_.size() || id != IdOf(id.bytes[0])) return nullptr;
    return &objects_[number - 1];
  }
  static Error Missing(const GitId& id) {
    return policy::MakeFault(policy::SnapshotFault::kGitObjectMissing, id.hex(), "");
  }
  std::vector<Stored> objects_;
};

// Whatever is visited could be written: every path is one of a source, none comes twice, and there
// are no more of them than asked for.
class Checker final : public snapshotter::GitVisitor {
 public:
  Result<void> Blob(GitMode mode, const GitId&, std::string_view path) override {
    Demand(mode != GitMode::kTree && mode != GitMode::kSubmodule);
    return See(path);
  }
  Result<void> Submodule(const GitId&, std::string_view path) override { return See(path); }
  Result<void> EmptyTree(const GitId&, std::string_view path) override {
    Demand(policy::CheckTreePath(path, policy::TreeNames::kSource) == policy::SnapshotFault::kNone);
    return {};
  }

 private:
  Result<void> See(std::string_view path) {
    Demand(policy::CheckTreePath(path, policy::TreeNames::kSource) == policy::SnapshotFault::kNone);
    Demand(std::find(seen_.begin(), seen_.end(), path) == seen_.end());
    seen_.emplace_back(path);
    Demand(seen_.size() <= kBounds.entries);
    return {};
  }
  std::vector<std::string> seen_;
};

void Ref(std::string_view bytes) {
  const auto value = snapshotter::DecodeRef(bytes, "HEAD");
  if (!value.ok()) return;
  if (const auto* name = std::get_if<std::string>(&*value)) {
    Demand(policy::IsFullRef(*name) && policy::IsCommitName(*name));
    // As a path it stays below the repository, and each part of it can be a file's name. How deep
    // it is, its length alone bounds: nothing is built along it.
    const auto fault = policy::CheckTreePath(*name, policy::TreeNames::kImage);
    Demand(fault == policy::SnapshotFault::kNone || fault == policy::SnapshotFault::kDepth);
  }
}

void Ids(std::string_view bytes) {
  const auto id = policy::RawGitId(bytes.substr(0, 20));
  if (!id) return;
  Demand(policy::ParseGitId(id->hex()) == id);
  Demand(policy::GitRevision({}, {*id, *id}).find(policy::GitOrigin({*id, *id})) !=
         std::string::npos);
}

void LeftOut(std::string_view bytes) {
  const auto all = snapshotter::DecodeLeftOut(bytes);
  if (!all.ok()) return;
  std::string again;
  for (const snapshotter::GitLeft& left : *all) {
    Demand(policy::CheckTreePath(left.path, policy::TreeNames::kSource) ==
           policy::SnapshotFault::kNone);
    again.append(snapshotter::GitModeText(left.mode)).append(" ").append(left.path);
    again.append(1, '\0').append(left.id.raw());
  }
  Demand(again == bytes);
}

void Tree(std::string_view bytes) {
  const auto entries = snapshotter::DecodeTree(bytes, IdOf(1), "", kBounds.entries);
  if (!entries.ok()) return;
  Demand(entries->size() <= kBounds.entries);
  // Every bit is accounted for: written again, they are the same bytes.
  std::string again;
  for (const GitEntry& entry : *entries) {
    again.append(snapshotter::GitModeText(entry.mode)).append(" ").append(entry.name);
    again.append(1, '\0').append(entry.id.raw());
  }
  Demand(again == bytes);
  for (std::size_t i = 1; i < entries->size(); ++i) {
    const GitEntry& a = (*entries)[i - 1];
    const GitEntry& b = (*entries)[i];
    Demand(snapshotter::GitOrderLess(a.name, a.mode == GitMode::kTree, b.name,
                                     b.mode == GitMode::kTree));
  }
}

void Repository(std::string_view list) {
  Memory objects(list);
  const auto commit = snapshotter::PeelToCommit(objects, IdOf(1));
  if (!commit.ok()) return;
  const auto bytes = snapshotter::ReadGitObject(objects, *commit, GitType::kCommit, 4096);
  if (!bytes.ok()) return;
  const auto tree = snapshotter::DecodeCommit(bytes->bytes(), *commit);
  if (!tree.ok()) return;
  Checker checker;
  static_cast<void>(snapshotter::WalkGitTree(objects, *tree, kBounds, checker).ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 6) {
    case 0:
      Ref(bytes);
      break;
    case 1:
      static_cast<void>(snapshotter::FindPackedRef(bytes, "refs/heads/main").ok());
      break;
    case 2:
      static_cast<void>(snapshotter::DecodeTag(bytes, IdOf(1)).ok());
      break;
    case 3:
      Tree(bytes);
      break;
    case 4:
      static_cast<void>(policy::IsCommitName(bytes));
      Ids(bytes);
      LeftOut(bytes);
      break;
    default:
      Repository(bytes);
  }
  return 0;
}
