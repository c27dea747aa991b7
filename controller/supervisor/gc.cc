// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/gc.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "controller/store/files.h"
#include "controller/supervisor/marks.h"
#include "controller/supervisor/measure.h"
#include "controller/supervisor/objects.h"
#include "controller/supervisor/spools.h"
#include "controller/supervisor/staging_directory.h"
#include "ipc/fault.h"

namespace bailiff::controller {
namespace {

using policy::Digest;
using policy::ObjectKind;
using Contents = OwnersLock::Contents;

bool Has(const std::vector<std::string>& sorted, const std::string& name) {
  return std::binary_search(sorted.begin(), sorted.end(), name);
}

Error Cancelled() { return {ErrorCode::kCancelled, "gc", "nothing was removed", 0, {}}; }

// What is moved: from a directory below the data directory, to a name of its own in the trash.
struct Garbage {
  std::string directory;
  std::string name;
  std::string moved;
};

class Collection {
 public:
  Collection(const JobHost& host, OwnersLock& locks, Store& store, const JobHooks& hooks)
      : host_(host), locks_(locks), store_(store), hooks_(hooks), marks_(host, hooks) {}
  Collection(const Collection&) = delete;
  Collection& operator=(const Collection&) = delete;
  ~Collection() { Release(); }

  Result<GarbageReport> Find(bool dry_run) {
    BAILIFF_TRY_ASSIGN(const auto abandoned, MeasureAbandoned(host_.data));
    report_.staging.count = abandoned.directories;
    report_.staging.bytes = abandoned.bytes;
    // One that cannot be removed is no reason to remove nothing else.
    if (!dry_run) static_cast<void>(SweepStaging(host_.data).ok());
    // Most of the reading is done before anybody can be kept waiting.
    BAILIFF_TRY_ASSIGN(References rows, store_.GetReferences());
    BAILIFF_TRY(marks_.Add(rows.trees));
    BAILIFF_TRY(Lock());
    // Only what is read now is true until the locks are given back.
    BAILIFF_TRY_ASSIGN(rows, store_.GetReferences());
    BAILIFF_TRY(marks_.Add(rows.trees));
    if (report_.objects.kept.empty()) BAILIFF_TRY(FindObjects(rows));
    if (report_.images.kept.empty())
      BAILIFF_TRY(FindDirectories("images", rows.images, report_.images));
    // Last, and given back first: an attempt that starts waits for it.
    BAILIFF_TRY_ASSIGN(owns_trees_, locks_.TryOwnCgroups());
    if (!owns_trees_) report_.trees.kept = "an attempt is at work";
    BAILIFF_TRY_ASSIGN(rows, store_.GetReferences());
    if (owns_trees_ && !rows.running.empty())
      report_.trees.kept = "attempt " + rows.running.front() + " is recorded as running";
    first_tree_ = found_.size();
    if (report_.trees.kept.empty())
      BAILIFF_TRY(FindDirectories("trees", rows.open_trees, report_.trees));
    return report_;
  }

  Result<void> Remove() {
    if (!found_.empty()) BAILIFF_TRY(store_.AuditRemoval(Removed()));
    BAILIFF_TRY_ASSIGN(const StagingDirectory trash, StagingDirectory::Make(host_));
    for (std::size_t at = found_.size(); at-- > 0;) {
      if (at + 1 == first_tree_) ReleaseTrees();
      BAILIFF_TRY(Move(found_[at], trash.job()));
    }
    Release();
    SweepSpools(host_.data, store_);
    if (const int error = BAILIFF_FAULT(GarbageRemove))
      return SystemError("unlinkat", "staging", error);
    for (const Garbage& garbage : found_)
      BAILIFF_TRY(RemoveTree(trash.job(), garbage.moved.c_str()));
    return {};
  }

 private:
  Result<void> Lock() {
    constexpr const char* kBusy = "an import or another removal is at work";
    BAILIFF_TRY_ASSIGN(owns_objects_, locks_.TryOwnContents(Contents::kObjects));
    if (!owns_objects_) report_.objects.kept = kBusy;
    BAILIFF_TRY_ASSIGN(owns_images_, locks_.TryOwnContents(Contents::kImages));
    if (!owns_images_) report_.images.kept = kBusy;
    return {};
  }

  Result<void> Move(const Garbage& garbage, int trash) {
    BAILIFF_TRY_ASSIGN(const ipc::Fd from, OpenData(host_.data, garbage.directory));
    if (const int error = BAILIFF_FAULT(GarbageMove))
      return SystemError("renameat2", garbage.name, error);
    if (renameat2(from.get(), garbage.name.c_str(), trash, garbage.moved.c_str(),
                  RENAME_NOREPLACE) != 0)
      return SystemError("renameat2", garbage.name);
    return {};
  }

  void ReleaseTrees() {
    if (std::exchange(owns_trees_, false)) locks_.ReleaseCgroups();
  }

  void Release() {
    if (std::exchange(owns_objects_, false)) locks_.ReleaseContents(Contents::kObjects);
    if (std::exchange(owns_images_, false)) locks_.ReleaseContents(Contents::kImages);
    ReleaseTrees();
  }

  bool Wanted(ObjectKind kind, const std::string& hex, const References& rows) const {
    switch (kind) {
      case ObjectKind::kRevision:
        return Has(rows.revisions, hex);
      case ObjectKind::kTree:
        return Has(rows.trees, hex);
      case ObjectKind::kBlob: {
        const auto digest = policy::ParseDigest(hex);
        return !digest || marks_.HasBlob(*digest);
      }
      case ObjectKind::kLayer:
        break;
    }
    return true;
  }

  // Names that are not those of objects are nobody's garbage: they stay.
  Result<void> FindObjects(const References& rows) {
    for (const ObjectKind kind : {ObjectKind::kBlob, ObjectKind::kTree, ObjectKind::kRevision}) {
      const std::string shelves = "objects/" + std::string(policy::ObjectKindName(kind));
      BAILIFF_TRY_ASSIGN(const ipc::Fd top, OpenData(host_.data, shelves));
      BAILIFF_TRY_ASSIGN(const auto prefixes, ListDirectory(top.get(), "objects"));
      for (const std::string& prefix : prefixes) {
        if (prefix.size() != 2) continue;
        if (hooks_.cancelled && hooks_.cancelled()) return Cancelled();
        const std::string shelf = shelves + "/" + prefix;
        BAILIFF_TRY_ASSIGN(const ipc::Fd directory, OpenData(host_.data, shelf));
        BAILIFF_TRY_ASSIGN(const auto names, ListDirectory(directory.get(), "objects"));
        for (const std::string& name : names) {
          const std::string hex = prefix + name;
          const auto digest = policy::ParseDigest(hex);
          if (!digest || Wanted(kind, hex, rows)) continue;
          BAILIFF_TRY(Found(directory.get(), shelf, name, policy::StagedName(kind, *digest),
                            report_.objects));
        }
      }
    }
    return {};
  }

  Result<void> FindDirectories(const std::string& directory, const std::vector<std::string>& wanted,
                               GarbagePart& part) {
    BAILIFF_TRY_ASSIGN(const ipc::Fd opened, OpenData(host_.data, directory));
    BAILIFF_TRY_ASSIGN(const auto names, ListDirectory(opened.get(), directory));
    for (const std::string& name : names) {
      if (!policy::ParseDigest(name) || Has(wanted, name)) continue;
      if (hooks_.cancelled && hooks_.cancelled()) return Cancelled();
      BAILIFF_TRY(Found(opened.get(), directory, name, directory + "-" + name, part));
    }
    return {};
  }

  Result<void> Found(int opened, const std::string& directory, const std::string& name,
                     std::string moved, GarbagePart& part) {
    BAILIFF_TRY_ASSIGN(const std::uint64_t bytes, MeasureTree(opened, name.c_str()));
    ++part.count;
    part.bytes += bytes;
    found_.push_back({directory, name, std::move(moved)});
    return {};
  }

  std::string Removed() const {
    std::string json;
    for (const auto& [name, part] : {std::pair{"images", &report_.images},
                                     {"objects", &report_.objects},
                                     {"trees", &report_.trees}}) {
      json += (json.empty() ? "{\"" : ",\"") + std::string(name) +
              "\":{\"bytes\":" + std::to_string(part->bytes) +
              ",\"count\":" + std::to_string(part->count) + "}";
    }
    return json + "}";
  }

  const JobHost& host_;
  OwnersLock& locks_;
  Store& store_;
  const JobHooks& hooks_;
  Marks marks_;
  GarbageReport report_;
  std::vector<Garbage> found_;
  std::size_t first_tree_ = 0;  // of found_; trees are its end
  bool owns_objects_ = false;
  bool owns_images_ = false;
  bool owns_trees_ = false;
};

}  // namespace

Result<GarbageReport> CollectGarbage(const JobHost& host, OwnersLock& locks, Store& store,
                                     bool dry_run, const JobHooks& hooks) {
  Collection collection(host, locks, store, hooks);
  BAILIFF_TRY_ASSIGN(GarbageReport report, collection.Find(dry_run));
  if (!dry_run) BAILIFF_TRY(collection.Remove());
  return report;
}

Result<void> DiscardImage(const JobHost& host, const std::string& name) {
  BAILIFF_TRY_ASSIGN(const ipc::Fd images, OpenData(host.data, "images"));
  BAILIFF_TRY_ASSIGN(const StagingDirectory trash, StagingDirectory::Make(host));
  if (const int error = BAILIFF_FAULT(GarbageMove)) return SystemError("renameat2", name, error);
  if (renameat2(images.get(), name.c_str(), trash.job(), name.c_str(), RENAME_NOREPLACE) != 0) {
    if (errno == ENOENT) return {};
    return SystemError("renameat2", name);
  }
  return RemoveTree(trash.job(), name.c_str());
}

}  // namespace bailiff::controller
