// SPDX-License-Identifier: Apache-2.0
// Sources end to end: directory → objects → tree on disk → digest again, by the programs as they
// are installed.
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "controller/supervisor/operand_mount.h"
#include "snapshotter/objects.h"
#include "tests/unit/snapshotter/data_fixture.h"

namespace bailiff::test {
namespace {

using controller::EnsureTree;
using controller::ImportDirectory;
using controller::ListTree;
using policy::SnapshotWarning;

using SourceJobs = DataFixture;

TEST_F(SourceJobs, R3_01_R3_04_f06_a_directory_becomes_a_frozen_verified_tree) {
  source_.Write("tool.sh", "#!/bin/sh\n", 0755);
  source_.Write("lib/a.c", "int a;\n", 0600);
  chmod((source_ / "lib/a.c").c_str(), 0644);
  source_.Write("lib/b.c", "int b;\n", 0664);
  source_.Link("link", "lib/a.c");
  source_.Link("dangling", "/nowhere");
  const auto imported = ImportDirectory(host_, source_.fd(), hooks_);
  ASSERT_TRUE(imported.ok()) << Why(imported);
  EXPECT_EQ(imported->entries, 5U);
  EXPECT_EQ(imported->origin_json, R"({"kind":"directory"})");

  const auto made = EnsureTree(host_, imported->tree, hooks_);
  ASSERT_TRUE(made.ok()) << Why(made);
  const std::string tree = data_ / ("trees/" + imported->tree.hex());
  EXPECT_EQ(Listing(tree), (std::map<std::string, std::string>{{"tool.sh", "f 0555 #!/bin/sh\n"},
                                                               {"lib", "d 0555"},
                                                               {"lib/a.c", "f 0444 int a;\n"},
                                                               {"lib/b.c", "f 0444 int b;\n"},
                                                               {"link", "l lib/a.c"},
                                                               {"dangling", "l /nowhere"}}));
  struct stat status;
  ASSERT_EQ(lstat(tree.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0555U);
  EXPECT_EQ(status.st_uid, 0U) << "R3.06: the controller's";
  ASSERT_EQ(lstat((tree + "/link").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 0U);
  EXPECT_EQ(Staged(), 0U);
}

TEST_F(SourceJobs, f01_a_tree_is_listed_as_it_was_imported) {
  source_.Write("run.sh", "#!/bin/sh\n", 0755);
  source_.Write("d/\xff\n", "odd");
  source_.Link("link", "d");
  source_.Write("empty", "");
  const auto imported = ImportDirectory(host_, source_.fd(), hooks_);
  ASSERT_TRUE(imported.ok()) << Why(imported);
  const auto listed = ListTree(host_, imported->tree, hooks_);
  ASSERT_TRUE(listed.ok()) << Why(listed);
  std::vector<std::string> said;
  for (const controller::ListedEntry& entry : *listed) {
    said.push_back(std::string(policy::EntryKindName(entry.kind)) + " " +
                   std::to_string(entry.size) + " " + entry.path);
    EXPECT_TRUE(Listing(data_ / "objects")
                    .contains(policy::ObjectPath(policy::ObjectKind::kBlob, entry.blob)))
        << entry.path;
  }
  EXPECT_EQ(said, (std::vector<std::string>{"file 3 d/\xff\n", "file 0 empty", "link 1 link",
                                            "executable 10 run.sh"}));
  EXPECT_EQ(Staged(), 0U);
}

TEST_F(SourceJobs, a_tree_that_is_not_there_or_damaged_is_not_listed) {
  source_.Write("a", "1");
  const auto imported = ImportDirectory(host_, source_.fd(), hooks_);
  ASSERT_TRUE(imported.ok()) << Why(imported);
  EXPECT_EQ(CodeOf(ListTree(host_, policy::Hash("none"), hooks_)), "snapshot.object.missing");
  const std::string object =
      data_ / ("objects/" + policy::ObjectPath(policy::ObjectKind::kTree, imported->tree));
  std::string bytes = ReadAll(object);
  bytes.back() = 'b';
  ASSERT_EQ(unlink(object.c_str()), 0);
  std::ofstream(object) << bytes;
  ASSERT_EQ(chmod(object.c_str(), 0444), 0);
  EXPECT_EQ(CodeOf(ListTree(host_, imported->tree, hooks_)), "snapshot.object.damaged");
}

TEST_F(SourceJobs, R3_02_an_existing_tree_is_kept_as_it_is) {
  source_.Write("a", "1");
  const auto imported = ImportDirectory(host_, source_.fd(), hooks_);
  ASSERT_TRUE(imported.ok()) << Why(imported);
  ASSERT_TRUE(EnsureTree(host_, imported->tree, hooks_).ok());
  struct stat before;
  struct stat after;
  const std::string tree = data_ / ("trees/" + imported->tree.hex());
  ASSERT_EQ(stat(tree.c_str(), &before), 0);
  ASSERT_TRUE(EnsureTree(host_, imported->tree, hooks_).ok());
  ASSERT_EQ(stat(tree.c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
}

TEST_F(SourceJobs, f06_the_execute_bit_and_the_kind_are_part_of_the_digest) {
  source_.Write("t", "x", 0644);
  const auto plain = ImportDirectory(host_, source_.fd(), hooks_);
  chmod((source_ / "t").c_str(), 0755);
  const auto executable = ImportDirectory(host_, source_.fd(), hooks_);
  std::filesystem::remove(source_ / "t");
  source_.Link("t", "x");
  const auto link = ImportDirectory(host_, source_.fd(), hooks_);
  ASSERT_TRUE(plain.ok() && executable.ok() && link.ok())
      << Why(plain) << Why(executable) << Why(link);
  EXPECT_NE(plain->tree, executable->tree);
  EXPECT_NE(plain->tree, link->tree);
  EXPECT_NE(executable->tree, link->tree);
}

TEST_F(SourceJobs, the_same_files_give_the_same_revision_and_no_second_object) {
  source_.Write("a", "same");
  source_.Write("b", "same");
  const auto first = ImportDirectory(host_, source_.fd(), hooks_);
  ASSERT_TRUE(first.ok()) << Why(first);
  const auto objects = Listing(data_ / "objects");
  const auto second = ImportDirectory(host_, source_.fd(), hooks_);
  ASSERT_TRUE(second.ok()) << Why(second);
  EXPECT_EQ(first->revision, second->revision);
  EXPECT_EQ(Listing(data_ / "objects"), objects);
  EXPECT_EQ(std::count_if(objects.begin(), objects.end(),
                          [](const auto& item) { return item.second.starts_with("f "); }),
            3)
      << "one blob, one tree, one revision";
}

TEST_F(SourceJobs, f01_names_are_bytes_from_import_to_snapshot) {
  const std::vector<std::string> names = {
      "new\nline",    "\xff\xfe",     "tab\t",     "\"q\"",    " lead",
      "trail ",       "-rf",          "*",         "$(id)",    "a\\b",
      "\xe2\x80\xa8", "\xef\xbb\xbf", "e\xcc\x81", "\xc3\xa9", std::string(255, 'a')};
  for (const std::string& name : names) source_.Write(name, "of " + name);
  source_.Link("self", "self");
  source_.Link("newline", "a\nb");
  source_.Link("long", std::string(4095, 't'));
  const auto imported = ImportDirectory(host_, source_.fd(), hooks_);
  ASSERT_TRUE(imported.ok()) << Why(imported);
  const auto made = EnsureTree(host_, imported->tree, hooks_);
  ASSERT_TRUE(made.ok()) << Why(made);
  const auto found = Listing(data_ / ("trees/" + imported->tree.hex()));
  EXPECT_EQ(found.size(), names.size() + 3);
  for (const std::string& name : names) EXPECT_EQ(found.at(name), "f 0444 of " + name);
  EXPECT_EQ(found.at("self"), "l self");
  EXPECT_EQ(found.at("newline"), "l a\nb");
  EXPECT_EQ(found.at("long"), "l " + std::string(4095, 't'));
}

TEST_F(SourceJobs, R10_12_one_git_at_the_top_is_left_out_and_reserved_names_are_refused) {
  source_.Write("a", "1");
  source_.Write(".git/config", "[core]\n");
  source_.MakeDirectory("empty");
  const auto imported = ImportDirectory(host_, source_.fd(), hooks_);
  ASSERT_TRUE(imported.ok()) << Why(imported);
  EXPECT_EQ(imported->entries, 1U);
  ASSERT_EQ(imported->warnings.size(), 2U);
  EXPECT_EQ(imported->warnings[0].code, SnapshotWarning::kGitLeftOut);
  EXPECT_EQ(imported->warnings[1].code, SnapshotWarning::kEmptyDirectory);
  EXPECT_EQ(imported->warnings[1].path, "empty");
  for (const char* name :
       {"sub/.git", ".GIT", "sub/.AgentSCM", ".agentscm-workspace", "x/agentscm-DATA"}) {
    TempDirectory other;
    other.Write(name, "1");
    const auto refused = ImportDirectory(host_, other.fd(), hooks_);
    EXPECT_EQ(CodeOf(refused), "snapshot.path.reserved") << name;
    EXPECT_EQ(refused.error().subject, name);
  }
  EXPECT_EQ(Staged(), 0U);
}

TEST_F(SourceJobs, special_files_are_refused_by_name_without_being_read) {
  struct Case {
    const char* name;
    mode_t type;
  };
  for (const Case& special :
       {Case{"fifo", S_IFIFO}, Case{"socket", S_IFSOCK}, Case{"device", S_IFCHR}}) {
    TempDirectory other;
    ASSERT_EQ(mknod((other / special.name).c_str(), special.type | 0666, makedev(1, 5)), 0);
    const auto refused = ImportDirectory(host_, other.fd(), hooks_);
    EXPECT_EQ(CodeOf(refused), "snapshot.entry.type") << Why(refused);
    EXPECT_EQ(refused.error().subject, special.name);
  }
}

TEST_F(SourceJobs, R3_11_a_sparse_giant_is_refused_before_it_is_read) {
  source_.Write("giant", "");
  ASSERT_EQ(truncate((source_ / "giant").c_str(), 1LL << 42), 0);
  EXPECT_EQ(CodeOf(ImportDirectory(host_, source_.fd(), hooks_)), "snapshot.bounds.file");
}

TEST_F(SourceJobs, an_unreadable_file_is_named_with_its_fix) {
  source_.Write("secret", "x", 0600);
  const auto refused = ImportDirectory(host_, source_.fd(), hooks_);
  EXPECT_EQ(CodeOf(refused), "snapshot.source.unreadable") << Why(refused);
  EXPECT_EQ(refused.error().subject, "secret");
  ASSERT_EQ(chmod(source_.path().c_str(), 0700), 0);
  EXPECT_EQ(CodeOf(ImportDirectory(host_, source_.fd(), hooks_)), "snapshot.source.unreadable");
}

TEST_F(SourceJobs, f06_a_private_source_is_read_by_one_id_and_by_no_other) {
  constexpr uid_t kReader = 1900000999;
  source_.Write("secret", "x", 0600);
  source_.Write("sub/deep", "y", 0400);
  ASSERT_EQ(chmod((source_ / "sub").c_str(), 0700), 0);
  ASSERT_EQ(chmod(source_.path().c_str(), 0700), 0);
  const auto mounted = controller::CloneForReading(source_.fd(), kReader, kReader);
  ASSERT_TRUE(mounted.ok()) << Why(mounted);
  TempDirectory place;
  ASSERT_EQ(syscall(SYS_move_mount, mounted->get(), "", AT_FDCWD, place.path().c_str(), 4), 0);
  const ipc::Fd shown(open(place.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto by_other = ImportDirectory(host_, shown.get(), hooks_);
  host_.source_reader = host_.identity;
  host_.source_reader->uid_map = host_.source_reader->gid_map = {{0, kReader, 1}};
  host_.source_reader->uid = host_.source_reader->gid = kReader;
  const auto by_reader = ImportDirectory(host_, shown.get(), hooks_);
  // Nobody writes through it, not even root, whose files these are.
  EXPECT_EQ(openat(shown.get(), "secret", O_WRONLY | O_CLOEXEC), -1);
  EXPECT_EQ(errno, EROFS);
  EXPECT_EQ(umount2(place.path().c_str(), MNT_DETACH), 0);
  EXPECT_EQ(CodeOf(by_other), "snapshot.source.unreadable");
  ASSERT_TRUE(by_reader.ok()) << Why(by_reader);
  EXPECT_EQ(by_reader->entries, 2U);
  EXPECT_TRUE(EnsureTree(host_, by_reader->tree, hooks_).ok());
}

TEST_F(SourceJobs, f06_what_another_user_keeps_private_in_it_stays_private) {
  constexpr uid_t kReader = 1900000999;
  source_.Write("mine", "x", 0600);
  source_.Write("theirs", "y", 0600);
  ASSERT_EQ(chown((source_ / "theirs").c_str(), 1900000500, 1900000500), 0);
  const auto mounted = controller::CloneForReading(source_.fd(), kReader, kReader);
  ASSERT_TRUE(mounted.ok()) << Why(mounted);
  TempDirectory place;
  ASSERT_EQ(syscall(SYS_move_mount, mounted->get(), "", AT_FDCWD, place.path().c_str(), 4), 0);
  const ipc::Fd shown(open(place.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  host_.source_reader = host_.identity;
  host_.source_reader->uid_map = host_.source_reader->gid_map = {{0, kReader, 1}};
  host_.source_reader->uid = host_.source_reader->gid = kReader;
  const auto refused = ImportDirectory(host_, shown.get(), hooks_);
  EXPECT_EQ(umount2(place.path().c_str(), MNT_DETACH), 0);
  EXPECT_EQ(CodeOf(refused), "snapshot.source.unreadable");
  EXPECT_EQ(refused.error().subject, "theirs");
}

TEST_F(SourceJobs, b14_what_is_mounted_inside_the_source_is_never_read) {
  source_.Write("sub/under", "below the mount");
  source_.Write("a", "1");
  ASSERT_EQ(mount("none", (source_ / "sub").c_str(), "tmpfs", 0, nullptr), 0);
  source_.Write("sub/secret", "of another file system");
  const auto imported = ImportDirectory(host_, source_.fd(), hooks_);
  EXPECT_EQ(umount((source_ / "sub").c_str()), 0);
  ASSERT_TRUE(imported.ok()) << Why(imported);
  ASSERT_TRUE(EnsureTree(host_, imported->tree, hooks_).ok());
  const auto found = Listing(data_ / ("trees/" + imported->tree.hex()));
  EXPECT_EQ(found.count("sub/secret"), 0U) << "the clone is not recursive";
  EXPECT_EQ(found.count("sub/under"), 1U);
}

TEST_F(SourceJobs, a_damaged_object_never_becomes_a_tree) {
  source_.Write("a", "good");
  const auto imported = ImportDirectory(host_, source_.fd(), hooks_);
  ASSERT_TRUE(imported.ok()) << Why(imported);
  const std::string blob =
      data_ / ("objects/" + policy::ObjectPath(policy::ObjectKind::kBlob, policy::Hash("good")));
  ASSERT_EQ(chmod(blob.c_str(), 0644), 0);
  data_.Write("objects/" + policy::ObjectPath(policy::ObjectKind::kBlob, policy::Hash("good")),
              "evil", 0444);
  const auto made = EnsureTree(host_, imported->tree, hooks_);
  EXPECT_EQ(CodeOf(made), "snapshot.object.damaged") << Why(made);
  EXPECT_EQ(Listing(data_ / "trees").count(imported->tree.hex()), 0U);
  EXPECT_EQ(Staged(), 0U);
}

TEST_F(SourceJobs, a_missing_tree_is_named) {
  const auto made = EnsureTree(host_, policy::Hash("no such tree"), hooks_);
  EXPECT_EQ(CodeOf(made), "snapshot.object.missing") << Why(made);
}

TEST_F(SourceJobs, cancelling_leaves_nothing) {
  source_.Write("a", "1");
  hooks_.cancelled = [] { return true; };
  EXPECT_EQ(CodeOf(ImportDirectory(host_, source_.fd(), hooks_)), "run.signal.cancelled");
  EXPECT_EQ(Staged(), 0U);
}

TEST_F(SourceJobs, f09_a_job_is_killed_when_the_reserve_is_reached) {
  source_.Write("a", "1");
  host_.reserve_bytes = ~0ULL;
  EXPECT_EQ(CodeOf(ImportDirectory(host_, source_.fd(), hooks_)), "snapshot.space.reserve");
  EXPECT_EQ(Staged(), 0U);
}

TEST_F(SourceJobs, export_writes_an_ordinary_tree) {
  source_.Write("bin/run", "#!/bin/sh\n", 0755);
  source_.Write("doc", "text");
  const auto imported = ImportDirectory(host_, source_.fd(), hooks_);
  ASSERT_TRUE(imported.ok()) << Why(imported);
  TempDirectory out;
  const auto exported = controller::ExportTree(host_, imported->tree, out.fd(), hooks_);
  ASSERT_TRUE(exported.ok()) << Why(exported);
  EXPECT_EQ(Listing(out.path()),
            (std::map<std::string, std::string>{
                {"bin", "d 0755"}, {"bin/run", "f 0755 #!/bin/sh\n"}, {"doc", "f 0644 text"}}));
}

TEST_F(SourceJobs, R3_02_export_writes_into_nothing_that_is_there) {
  source_.Write("doc", "text");
  const auto imported = ImportDirectory(host_, source_.fd(), hooks_);
  ASSERT_TRUE(imported.ok()) << Why(imported);
  TempDirectory out;
  out.Write("mine", "kept");
  EXPECT_EQ(CodeOf(controller::ExportTree(host_, imported->tree, out.fd(), hooks_)),
            "snapshot.destination.exists");
  EXPECT_EQ(Listing(out.path()), (std::map<std::string, std::string>{{"mine", "f 0644 kept"}}));
}

TEST_F(SourceJobs, e01_a_sweep_removes_what_dead_controllers_left) {
  data_.MakeDirectory("staging/0123456789abcdef0123456789abcdef/out/deep", 0000);
  const auto swept = controller::SweepStaging(data_.fd());
  ASSERT_TRUE(swept.ok()) << Why(swept);
  EXPECT_EQ(*swept, 1U);
  EXPECT_EQ(Staged(), 0U);
}

}  // namespace
}  // namespace bailiff::test
