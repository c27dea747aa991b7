// SPDX-License-Identifier: Apache-2.0
// Reading directories that are not what they should be, or do not stay what they were.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "snapshotter/importer/directory.h"
#include "snapshotter/materialize.h"
#include "snapshotter/verify.h"
#include "tests/unit/snapshotter/support.h"

namespace bailiff::test {
namespace {

using snapshotter::ImportDirectory;
using snapshotter::VerifyProfile;
using snapshotter::VerifyTree;

class Disk : public testing::Test {
 protected:
  Disk() : old_umask_(umask(0)) {}
  ~Disk() override { umask(old_umask_); }

  std::string Import() {
    TempDirectory out;
    return CodeOf(ImportDirectory(source_.fd(), out.fd(), recorder_));
  }

  TempDirectory source_;
  Recorder recorder_;
  mode_t old_umask_;
};

// A writer that hits while the file is read: the reader's own progress calls it.
TEST_F(Disk, f07_a_file_that_changes_while_it_is_read_is_refused) {
  struct Case {
    const char* name;
    std::function<void(const std::string&)> change;
  };
  for (const Case& item :
       {Case{"grows",
             [](const std::string& path) { std::ofstream(path, std::ios::app) << "more"; }},
        {"shrinks", [](const std::string& path) { std::filesystem::resize_file(path, 300'000); }},
        {"is rewritten in place",
         [](const std::string& path) {
           std::fstream file(path, std::ios::in | std::ios::out);
           file.seekp(700'000);
           file << "x";
         }},
        {"gets a second name",
         [](const std::string& path) { std::filesystem::create_hard_link(path, path + "2"); }}}) {
    TempDirectory source;
    source.Write("big", std::string(1'000'000, 'b'));
    // Time must have passed since the file was written, or a coarse clock could not show the
    // change.
    struct timespec old[2] = {{1, 0}, {1, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, (source / "big").c_str(), old, 0), 0);
    Recorder recorder;
    recorder.on_progress = [&](std::uint64_t call) {
      if (call == 1) item.change(source / "big");
    };
    TempDirectory out;
    const auto refused = ImportDirectory(source.fd(), out.fd(), recorder);
    EXPECT_EQ(CodeOf(refused), "snapshot.source.changed") << item.name << ": " << Why(refused);
  }
}

TEST_F(Disk, f07_names_that_come_while_the_directory_is_read_are_noticed) {
  source_.Write("a", "1");
  struct timespec old[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, source_.path().c_str(), old, 0), 0);
  recorder_.on_progress = [&](std::uint64_t) { std::ofstream(source_ / "late") << "x"; };
  EXPECT_EQ(Import(), "snapshot.source.changed");
}

// Every kind of entry, gone or turned into every other kind between being listed and being read.
TEST_F(Disk, f07_a_name_that_goes_or_changes_its_kind_is_noticed) {
  using Make = void (*)(TempDirectory&);
  const std::pair<const char*, Make> kinds[] = {
      {"nothing", [](TempDirectory&) {}},
      {"a file", [](TempDirectory& source) { source.Write("b", "2"); }},
      {"a link", [](TempDirectory& source) { source.Link("b", "/etc/passwd"); }},
      {"a directory", [](TempDirectory& source) { source.Write("b/c", "3"); }},
  };
  for (const auto& [was, before] : kinds) {
    for (const auto& [becomes, after] : kinds) {
      if (before == after || before == kinds[0].second) continue;
      TempDirectory source;
      source.Write("a", "1");
      before(source);
      Recorder recorder;
      recorder.on_progress = [&, make = after](std::uint64_t call) {
        if (call != 1) return;
        std::filesystem::remove_all(source / "b");
        make(source);
      };
      TempDirectory out;
      const auto refused = ImportDirectory(source.fd(), out.fd(), recorder);
      EXPECT_EQ(CodeOf(refused), "snapshot.source.changed")
          << was << " becomes " << becomes << ": " << Why(refused);
    }
  }
}

TEST_F(Disk, R3_09_ten_thousand_files_are_imported_and_one_more_is_refused) {
  for (int i = 0; i < 10'000; ++i) {
    const ipc::Fd file(
        openat(source_.fd(), std::to_string(i).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    ASSERT_TRUE(file.valid());
  }
  EXPECT_EQ(Import(), "");
  source_.Write("one-more", "");
  EXPECT_EQ(Import(), "snapshot.bounds.entries");
}

TEST_F(Disk, R3_10_the_sum_is_judged_before_a_file_is_read) {
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    source_.Write(name, "");
    ASSERT_EQ(truncate((source_ / name).c_str(), name[0] == 'e' ? 1 : 64LL << 20), 0);
  }
  EXPECT_EQ(Import(), "snapshot.bounds.bytes");
}

TEST_F(Disk, f01_300_levels_are_refused_by_depth) {
  ipc::Fd at(dup(source_.fd()));
  for (int i = 0; i < 300; ++i) {
    ASSERT_EQ(mkdirat(at.get(), "d", 0755), 0);
    at = ipc::Fd(openat(at.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  EXPECT_EQ(Import(), "snapshot.path.deep");
}

TEST_F(Disk, cancelling_is_seen_between_entries) {
  source_.Write("a", "1");
  source_.Write("b", "1");
  recorder_.cancel_at = 1;
  EXPECT_EQ(Import(), "run.signal.cancelled");
}

class Verify : public Disk {
 protected:
  void SetUp() override {
    tree_.Write("a", "1", 0444);
    tree_.Write("d/x", "2", 0555);
    Freeze();
  }
  void Freeze() {
    for (const char* name : {"d", ""}) ASSERT_EQ(chmod((tree_ / name).c_str(), 0555), 0);
  }
  std::string Source() { return CodeOf(VerifyTree(tree_.fd(), VerifyProfile::kSource, recorder_)); }
  std::string Image() { return CodeOf(VerifyTree(tree_.fd(), VerifyProfile::kImage, recorder_)); }
  TempDirectory tree_;
};

TEST_F(Verify, R3_04_a_frozen_tree_is_accepted_and_has_its_manifests_digest) {
  const auto found = VerifyTree(tree_.fd(), VerifyProfile::kSource, recorder_);
  ASSERT_TRUE(found.ok()) << Why(found);
  snapshotter::TreeBuilder builder(policy::kSourceBounds, policy::TreeNames::kSource);
  ASSERT_TRUE(builder.Add(snapshotter::EntryKind::kFile, 1, policy::Hash("1"), "a").ok());
  ASSERT_TRUE(builder.Add(snapshotter::EntryKind::kExecutable, 1, policy::Hash("2"), "d/x").ok());
  EXPECT_EQ(found->digest, policy::HashDomain("bailiff.tree.v1", builder.Finish()));
}

TEST_F(Verify, R3_04_f06_every_other_mode_is_unclean) {
  for (const mode_t mode : {0644U, 0400U, 0440U, 0755U, 0777U, 04444U, 02555U, 01444U}) {
    ASSERT_EQ(chmod((tree_ / "a").c_str(), mode), 0);
    EXPECT_EQ(Source(), "snapshot.tree.unclean") << mode;
  }
  ASSERT_EQ(chmod((tree_ / "a").c_str(), 0444), 0);
  for (const mode_t mode : {0755U, 0777U, 01555U, 02555U}) {
    ASSERT_EQ(chmod((tree_ / "d").c_str(), mode), 0);
    EXPECT_EQ(Source(), "snapshot.tree.unclean") << mode;
    EXPECT_EQ(Image(), (mode & 07000) != 0 ? "snapshot.tree.unclean" : "") << mode;
  }
}

TEST_F(Verify, links_owners_attributes_and_types_that_do_not_belong_are_unclean) {
  ASSERT_EQ(link((tree_ / "a").c_str(), (source_ / "outside").c_str()), 0);
  EXPECT_EQ(Source(), "snapshot.tree.unclean") << "a hard link from outside";
  EXPECT_EQ(Image(), "snapshot.tree.unclean");
  ASSERT_EQ(unlink((source_ / "outside").c_str()), 0);
  ASSERT_EQ(link((tree_ / "a").c_str(), (tree_ / "b").c_str()), 0);
  EXPECT_EQ(Source(), "snapshot.tree.unclean") << "a hard link inside";
  EXPECT_EQ(Image(), "") << "which an image may have";
  ASSERT_EQ(unlink((tree_ / "b").c_str()), 0);
  EXPECT_EQ(Source(), "");
  ASSERT_EQ(chown((tree_ / "a").c_str(), 12345, 12345), 0);
  EXPECT_EQ(Source(), "snapshot.tree.unclean") << "another owner";
  ASSERT_EQ(chown((tree_ / "a").c_str(), 0, 0), 0);
  ASSERT_EQ(chmod((tree_ / "a").c_str(), 0444), 0);
  ASSERT_EQ(setxattr((tree_ / "a").c_str(), "user.x", "y", 1, 0), 0);
  EXPECT_EQ(Source(), "snapshot.tree.unclean") << "an extended attribute";
  ASSERT_EQ(removexattr((tree_ / "a").c_str(), "user.x"), 0);
  ASSERT_EQ(mkfifo((tree_ / "fifo").c_str(), 0444), 0);
  EXPECT_EQ(Source(), "snapshot.entry.type");
  ASSERT_EQ(unlink((tree_ / "fifo").c_str()), 0);
  ASSERT_EQ(mkdir((tree_ / "empty").c_str(), 0555), 0);
  EXPECT_EQ(Source(), "snapshot.tree.unclean") << "an empty directory is in no manifest";
  ASSERT_EQ(rmdir((tree_ / "empty").c_str()), 0);
  EXPECT_EQ(Source(), "");
}

}  // namespace
}  // namespace bailiff::test
