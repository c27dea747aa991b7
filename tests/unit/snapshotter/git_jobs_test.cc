// SPDX-License-Identifier: Apache-2.0
// Git end to end: commit → objects → bare repository again, by the programs as they are installed.
#include <algorithm>
#include <filesystem>
#include <random>

#include "policy/tree_path.h"
#include "tests/unit/snapshotter/data_fixture.h"
#include "tests/unit/snapshotter/git_repository.h"

namespace bailiff::test {
namespace {

using controller::ExportGit;
using controller::ImportGit;
using policy::GitId;
using policy::SnapshotWarning;

using GitJobs = DataFixture;

std::string Trimmed(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

TEST_F(GitJobs, a_commit_becomes_a_revision_whose_origin_names_it) {
  const GitRepository repository;
  const GitId tree = repository.Tree({{"100644", "a.c", repository.Blob("int a;\n")},
                                      {"100664", "b.c", repository.Blob("int b;\n")},
                                      {"120000", "link", repository.Blob("/nowhere")},
                                      {"100755", "run", repository.Blob("#!/bin/sh\n")}});
  const GitId commit = repository.Commit(tree);
  const auto imported = ImportGit(host_, repository.fd(), {"HEAD"}, hooks_);
  ASSERT_TRUE(imported.ok()) << Why(imported);
  EXPECT_EQ(imported->origin_json, R"({"commit":")" + commit.hex() + R"(","git_tree":")" +
                                       tree.hex() + R"(","kind":"git","object_format":"sha1"})");
  EXPECT_EQ(imported->entries, 4U);
  EXPECT_EQ(ReadAll(data_ / ("objects/" + policy::ObjectPath(policy::ObjectKind::kRevision,
                                                             imported->revision))),
            policy::GitRevision(imported->tree, {commit, tree}));
  ASSERT_TRUE(controller::EnsureTree(host_, imported->tree, hooks_).ok());
  EXPECT_EQ(Listing(data_ / ("trees/" + imported->tree.hex())),
            (std::map<std::string, std::string>{{"a.c", "f 0444 int a;\n"},
                                                {"b.c", "f 0444 int b;\n"},
                                                {"link", "l /nowhere"},
                                                {"run", "f 0555 #!/bin/sh\n"}}));
  EXPECT_EQ(Staged(), 0U);

  // The same files as a directory are the same tree, and another revision.
  source_.Write("a.c", "int a;\n");
  source_.Write("b.c", "int b;\n");
  source_.Link("link", "/nowhere");
  source_.Write("run", "#!/bin/sh\n", 0755);
  const auto directory = controller::ImportDirectory(host_, source_.fd(), hooks_);
  ASSERT_TRUE(directory.ok()) << Why(directory);
  EXPECT_EQ(directory->tree, imported->tree);
  EXPECT_NE(directory->revision, imported->revision);
}

// What has no place in a tree of ours still counts for the git tree that the commit names, and a
// second process finds that it does.
TEST_F(GitJobs, b13_what_is_left_out_is_part_of_the_proof) {
  const GitRepository repository;
  const GitId blob = repository.Blob("int a;\n");
  const GitId empty = repository.Tree({});
  const GitId below = repository.Tree({{"100664", "b.c", blob},
                                       {"40000", "empty", empty},
                                       {"160000", "module", GitIdOf("commit", "elsewhere")}});
  const GitId tree = repository.Tree({{"100664", "a-b", blob},
                                      {"100664", "a.c", blob},
                                      {"40000", "a", below},
                                      {"40000", "hollow", repository.Tree({{"40000", "e", empty}})},
                                      {"160000", "z", GitIdOf("commit", "elsewhere")}});
  const GitId commit = repository.Commit(tree);
  const auto imported = ImportGit(host_, repository.fd(), {commit.hex(), true}, hooks_);
  ASSERT_TRUE(imported.ok()) << Why(imported);
  EXPECT_EQ(imported->git->tree, tree);
  EXPECT_EQ(imported->entries, 3U);
  EXPECT_EQ(Staged(), 0U);
}

// A random tree: `entries` files and links, nested.
GitId RandomTree(const GitRepository& repository, std::mt19937& random, int depth, int& count) {
  std::map<std::string, GitTreeEntry> entries;  // by git's order: '/' after a tree's name
  const int children = 1 + static_cast<int>(random() % 5);
  for (int i = 0; i < children; ++i) {
    std::string name(1 + random() % 3, 'a');
    for (char& c : name) c = "ab-.0\xc3\xa9 \\"[random() % 9];
    if (policy::CheckComponent(name, policy::TreeNames::kSource) != policy::SnapshotFault::kNone)
      continue;
    if (entries.count(name) != 0 || entries.count(name + "/") != 0) continue;
    if (depth > 0 && random() % 3 == 0) {
      entries[name + "/"] = {"40000", name, RandomTree(repository, random, depth - 1, count)};
      continue;
    }
    const char* modes[] = {"100644", "100755", "120000"};
    entries[name] = {modes[random() % 3], name,
                     repository.Blob("b" + std::to_string(random() % 50))};
    ++count;
  }
  if (entries.empty()) {
    entries["z"] = {"100644", "z", repository.Blob("")};
    ++count;
  }
  std::vector<GitTreeEntry> sorted;
  for (const auto& [key, entry] : entries) sorted.push_back(entry);
  return repository.Tree(sorted);
}

TEST_F(GitJobs, property_a_tree_that_is_exported_has_the_id_that_git_gave_it) {
  std::mt19937 random(20240229);
  for (int round = 0; round < 12; ++round) {
    const GitRepository repository(round % 2 == 0);
    int count = 0;
    const GitId tree = RandomTree(repository, random, 4, count);
    const GitId commit = repository.Commit(tree);
    const auto imported = ImportGit(host_, repository.fd(), {commit.hex()}, hooks_);
    ASSERT_TRUE(imported.ok()) << round << Why(imported);
    EXPECT_EQ(imported->entries, static_cast<std::uint64_t>(count));
    const TempDirectory out;
    const auto exported =
        ExportGit(host_, imported->tree, imported->revision, false, out.fd(), hooks_);
    ASSERT_TRUE(exported.ok()) << round << Why(exported);
    EXPECT_EQ(exported->tree, tree);
    EXPECT_EQ(Trimmed(ReadAll(out / "refs/bailiff/tree")), tree.hex());
    EXPECT_FALSE(exported->commit.has_value());
  }
}

TEST_F(GitJobs, an_exported_commit_is_a_function_of_the_revision) {
  source_.Write("a/b", "text");
  const auto imported = controller::ImportDirectory(host_, source_.fd(), hooks_);
  ASSERT_TRUE(imported.ok()) << Why(imported);
  std::map<std::string, std::string> before;
  for (int round = 0; round < 2; ++round) {
    const TempDirectory out;
    const auto exported =
        ExportGit(host_, imported->tree, imported->revision, true, out.fd(), hooks_);
    ASSERT_TRUE(exported.ok()) << Why(exported);
    ASSERT_TRUE(exported->commit.has_value());
    const std::string who = "Bailiff <bailiff@invalid> 0 +0000\n";
    EXPECT_EQ(*exported->commit,
              GitIdOf("commit", "tree " + exported->tree.hex() + "\nauthor " + who + "committer " +
                                    who + "\nBailiff revision " + imported->revision.hex() + "\n"));
    const auto now = Listing(out.path());
    EXPECT_EQ(now.at("refs/heads/main"), "f 0644 " + exported->commit->hex() + "\n");
    EXPECT_TRUE(before.empty() || now == before);
    before = now;
    // And back: the same tree, by way of another revision.
    const auto again = ImportGit(host_, out.fd(), {"HEAD"}, hooks_);
    ASSERT_TRUE(again.ok()) << Why(again);
    EXPECT_EQ(again->tree, imported->tree);
  }
}

TEST_F(GitJobs, R3_02_an_export_to_git_writes_into_nothing_that_is_there) {
  source_.Write("a", "text");
  const auto imported = controller::ImportDirectory(host_, source_.fd(), hooks_);
  ASSERT_TRUE(imported.ok()) << Why(imported);
  TempDirectory out;
  out.Write("HEAD", "mine");
  EXPECT_EQ(CodeOf(ExportGit(host_, imported->tree, imported->revision, true, out.fd(), hooks_)),
            "snapshot.destination.exists");
  EXPECT_EQ(Listing(out.path()), (std::map<std::string, std::string>{{"HEAD", "f 0644 mine"}}));
}

TEST_F(GitJobs, b13_a_tree_that_git_fsck_refuses_is_not_exported) {
  source_.Link(".gitmodules", "elsewhere");
  const auto imported = controller::ImportDirectory(host_, source_.fd(), hooks_);
  ASSERT_TRUE(imported.ok()) << Why(imported);
  TempDirectory out;
  const auto refused = ExportGit(host_, imported->tree, imported->revision, true, out.fd(), hooks_);
  EXPECT_EQ(CodeOf(refused), "git.tree.malformed") << Why(refused);
  EXPECT_EQ(refused.error().subject, ".gitmodules");
}

TEST_F(GitJobs, a_refused_or_cancelled_import_leaves_nothing) {
  const GitRepository repository;
  GitId missing;
  missing.bytes.fill(5);
  repository.Commit(repository.Tree(
      {{"100644", "a", repository.Blob("written first")}, {"100644", "b", missing}}));
  const auto files = [this] {
    const auto objects = Listing(data_ / "objects");
    return std::count_if(objects.begin(), objects.end(),
                         [](const auto& item) { return item.second.starts_with("f "); });
  };
  EXPECT_EQ(CodeOf(ImportGit(host_, repository.fd(), {"HEAD"}, hooks_)), "git.object.missing");
  EXPECT_EQ(files(), 0);
  EXPECT_EQ(Staged(), 0U);
  hooks_.cancelled = [] { return true; };
  EXPECT_EQ(CodeOf(ImportGit(host_, repository.fd(), {"HEAD"}, hooks_)), "run.signal.cancelled");
  hooks_.cancelled = {};
  host_.reserve_bytes = ~0ULL;
  EXPECT_EQ(CodeOf(ImportGit(host_, repository.fd(), {"HEAD"}, hooks_)), "snapshot.space.reserve");
  EXPECT_EQ(files(), 0);
  EXPECT_EQ(Staged(), 0U);
}

TEST_F(GitJobs, an_unreadable_repository_is_named_with_its_fix) {
  const GitRepository repository;
  repository.Commit(repository.Tree({{"100644", "a", repository.Blob("x")}}));
  ASSERT_EQ(chmod((repository.path() + "/.git/objects").c_str(), 0700), 0);
  EXPECT_EQ(CodeOf(ImportGit(host_, repository.fd(), {"HEAD"}, hooks_)),
            "snapshot.source.unreadable");
}

// What a library would need that the filter does not give would end the process: these go through
// every path of it that reading has.
TEST_F(GitJobs, warnings_come_through_the_channel) {
  const GitRepository repository;
  GitId commit;
  commit.bytes.fill(0xcc);
  repository.Commit(repository.Tree(
      {{"160000", "lib", commit},
       {"100644", "pointer", repository.Blob("version https://git-lfs.github.com/spec/v1\n")}}));
  const auto imported = ImportGit(host_, repository.fd(), {"HEAD", true}, hooks_);
  ASSERT_TRUE(imported.ok()) << Why(imported);
  ASSERT_EQ(imported->warnings.size(), 2U);
  EXPECT_EQ(imported->warnings[0].code, SnapshotWarning::kSubmoduleLeftOut);
  EXPECT_EQ(imported->warnings[1].code, SnapshotWarning::kLfsPointer);
  EXPECT_EQ(CodeOf(ImportGit(host_, repository.fd(), {"HEAD"}, hooks_)), "git.entry.submodule");
}

}  // namespace
}  // namespace bailiff::test
