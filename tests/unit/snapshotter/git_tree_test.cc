// SPDX-License-Identifier: Apache-2.0
// Trees that git fsck would refuse, and bounds: generated repositories, read in this process.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "snapshotter/importer/git_import.h"
#include "snapshotter/importer/git_store.h"
#include "snapshotter/importer/git_walk.h"
#include "tests/unit/snapshotter/git_repository.h"

namespace bailiff::test {
namespace {

using policy::GitId;
using policy::SnapshotWarning;
using snapshotter::DecodeTree;
using snapshotter::ImportGit;

class GitTrees : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(snapshotter::InitialiseGit().ok()); }

  Result<snapshotter::JobResult> Import(const GitRepository& repository, bool skip = false) {
    TempDirectory out;
    Recorder recorder;
    auto result = ImportGit(repository.fd(), repository.path(), out.fd(), {"HEAD", skip}, recorder);
    staged_ = Listing(out.path());
    warnings_ = recorder.warnings;
    return result;
  }

  std::map<std::string, std::string> staged_;
  std::vector<std::pair<SnapshotWarning, std::string>> warnings_;
};

std::string Refusal(const std::vector<GitTreeEntry>& entries) {
  const std::string bytes = GitTreeBytes(entries);
  return CodeOf(DecodeTree(bytes, GitIdOf("tree", bytes), "", 100));
}

TEST_F(GitTrees, b13_dotgit_lookalikes_are_refused_at_the_top_and_below) {
  for (const char* name : {".git",
                           ".GIT",
                           ".Git",
                           "git~1",
                           "GIT~1",
                           ".git ",
                           ".git.",
                           ".git. .",
                           ".git::$INDEX_ALLOCATION",
                           ".git:x",
                           ".g\xe2\x80\x8cit",
                           ".gi\xe2\x80\x8dt",
                           "\xef\xbb\xbf.git",
                           ".git\xe2\x81\xaf",
                           ".\xe2\x80\x8c.",
                           "..::$DATA",
                           "..\\x",
                           "x\\..",
                           "x\\.git",
                           "x\\git~1",
                           ".. ",
                           ".agentscm",
                           ".AgentSCM-Workspace",
                           "agentscm-data.",
                           "agentscm\xe2\x80\x8c-data"}) {
    for (const bool below : {false, true}) {
      const GitRepository repository;
      const GitTreeEntry entry{"100644", name, repository.Blob("x")};
      const GitId inner = repository.Tree({entry});
      repository.Commit(below ? repository.Tree({{"40000", "sub", inner}}) : inner);
      const auto refused = Import(repository);
      ASSERT_EQ(CodeOf(refused), "snapshot.path.reserved") << name;
      EXPECT_EQ(refused.error().subject, (below ? "sub/" : "") + std::string(name));
      EXPECT_NE(refused.error().why.find(inner.hex()), std::string::npos) << refused.error().why;
      EXPECT_TRUE(staged_.empty()) << name;
    }
  }
}

TEST_F(GitTrees, b13_names_that_only_resemble_them_pass) {
  const GitRepository repository;
  const GitId blob = repository.Blob("x");
  std::vector<GitTreeEntry> entries;
  for (const char* name :
       {"...", ".gitattributes", ".github", ".gitignore", ".gitmodules", "a\\b", "git", "git~10",
        "git~2", "x.git", "x:.git", "\xe2\x80\x8c", "\xef\xbb\xbf", "\xef\xbb\xbfx"})
    entries.push_back({"100644", name, blob});
  repository.Commit(repository.Tree(entries));
  const auto imported = Import(repository);
  ASSERT_TRUE(imported.ok()) << Why(imported);
  EXPECT_EQ(imported->entries, entries.size());
}

TEST_F(GitTrees, b13_gitmodules_as_a_link_is_refused_and_as_a_file_never_parsed) {
  for (const char* name : {".gitmodules", ".GITMODULES", ".gitmodules ", "gitmod~1", "GITMOD~4",
                           "gi7eba~1", "gi7eb~12", ".git\xe2\x80\x8dmodules", "a\\.gitmodules"}) {
    const GitRepository repository;
    repository.Commit(repository.Tree({{"120000", name, repository.Blob("target")}}));
    EXPECT_EQ(CodeOf(Import(repository)), "git.tree.malformed") << name;
  }
  for (const char* name : {"gitmod~5", "gi7eba~0", "gi7eba1", "gitmodules", "gi7ebax1"}) {
    const GitRepository repository;
    repository.Commit(repository.Tree({{"120000", name, repository.Blob("target")}}));
    EXPECT_EQ(CodeOf(Import(repository)), "") << name;
  }
  const std::string hostile =
      "[submodule \"../../hooks\"]\n\tpath = ../../x\n\turl = --upload-pack=touch canary\n";
  const GitRepository repository;
  repository.Commit(repository.Tree({{"100644", ".gitmodules", repository.Blob(hostile)}}));
  const auto imported = Import(repository);
  ASSERT_TRUE(imported.ok()) << Why(imported);
  EXPECT_EQ(staged_.at("blob-" + policy::Hash(hostile).hex()).substr(7), hostile);
}

TEST_F(GitTrees, every_tree_that_git_fsck_refuses_is_refused) {
  GitId blob;
  blob.bytes.fill(1);
  const auto file = [&blob](const std::string& name, const std::string& mode = "100644") {
    return GitTreeEntry{mode, name, blob};
  };
  const auto tree = [&file](const std::string& name) { return file(name, "40000"); };
  struct Case {
    const char* what;
    std::vector<GitTreeEntry> entries;
    const char* code;
  };
  const std::vector<Case> cases = {
      {"nothing wrong", {file("a"), file("b.c", "100755"), tree("b"), file("c", "120000")}, ""},
      {"an old mode of a plain file", {file("a", "100664")}, ""},
      {"the same name twice", {file("a"), file("a")}, "git.tree.malformed"},
      {"a file and a tree of one name", {file("a"), file("a-b"), tree("a")}, "git.tree.malformed"},
      {"out of order", {file("b"), file("a")}, "git.tree.malformed"},
      {"a tree sorted as a file", {tree("a"), file("a.b")}, "git.tree.malformed"},
      {"a mode with leading zeros", {file("a", "0100644")}, "git.tree.malformed"},
      {"a tree's mode with leading zeros", {file("a", "040000")}, "git.tree.malformed"},
      {"a device", {file("a", "20644")}, "git.tree.malformed"},
      {"setuid", {file("a", "104755")}, "git.tree.malformed"},
      {"group may write and execute", {file("a", "100775")}, "git.tree.malformed"},
      {"no mode", {file("a", "")}, "git.tree.malformed"},
      {"a mode that is no number", {file("a", "x")}, "git.tree.malformed"},
      {"an empty name", {file("")}, "git.tree.malformed"},
      {"a path for a name", {file("a/b")}, "git.tree.malformed"},
      {"an absolute name", {file("/a")}, "git.tree.malformed"},
      {"itself", {file(".")}, "git.tree.malformed"},
      {"its parent", {file("..")}, "git.tree.malformed"},
      {"the null id", {{"100644", "a", GitId{}}}, "git.tree.malformed"},
      {"a name of 255 bytes", {file(std::string(255, 'a'))}, ""},
      {"a name of 256 bytes", {file(std::string(256, 'a'))}, "snapshot.path.component"},
  };
  for (const Case& item : cases) EXPECT_EQ(Refusal(item.entries), item.code) << item.what;
  const std::string whole = GitTreeBytes({file("a"), file("b")});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string cut = whole.substr(0, size);
    EXPECT_EQ(CodeOf(DecodeTree(cut, blob, "", 100)),
              size == 0 || size == whole.size() / 2 ? "" : "git.tree.malformed")
        << size;
  }
}

TEST_F(GitTrees, submodules_are_refused_or_left_out_by_name) {
  const GitRepository repository;
  GitId commit;
  commit.bytes.fill(0xab);
  const GitId inner = repository.Tree({{"160000", "lib", commit}});
  repository.Commit(
      repository.Tree({{"40000", "a", inner}, {"100644", "b", repository.Blob("b")}}));
  const auto refused = Import(repository);
  ASSERT_EQ(CodeOf(refused), "git.entry.submodule");
  EXPECT_EQ(refused.error().subject, "a/lib");
  EXPECT_NE(refused.error().why.find(commit.hex()), std::string::npos);
  const auto imported = Import(repository, true);
  ASSERT_TRUE(imported.ok()) << Why(imported);
  EXPECT_EQ(imported->entries, 1U);
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_EQ(warnings_[0].first, SnapshotWarning::kSubmoduleLeftOut);
  EXPECT_EQ(warnings_[0].second, "a/lib");
}

TEST_F(GitTrees, a_pointer_of_lfs_and_an_empty_tree_are_named) {
  const GitRepository repository;
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12345\n";
  repository.Commit(
      repository.Tree({{"40000", "empty", repository.Tree({})},
                       {"100644", "large.bin", repository.Blob(pointer)},
                       {"100644", "spec", repository.Blob(pointer + std::string(1000, 'x'))}}));
  const auto imported = Import(repository);
  ASSERT_TRUE(imported.ok()) << Why(imported);
  EXPECT_EQ(imported->entries, 2U);
  EXPECT_EQ(staged_.at("blob-" + policy::Hash(pointer).hex()).substr(7), pointer);
  const decltype(warnings_) expected = {{SnapshotWarning::kEmptyDirectory, "empty"},
                                        {SnapshotWarning::kLfsPointer, "large.bin"}};
  EXPECT_EQ(warnings_, expected);
}

TEST_F(GitTrees, links_have_targets_of_1_to_4095_bytes_without_nul) {
  for (const auto& [target, code] :
       {std::pair<std::string, const char*>{std::string(4095, 't'), ""},
        {std::string(4096, 't'), "snapshot.link.target"},
        {"", "snapshot.link.target"},
        {std::string("a\0b", 3), "snapshot.link.target"}}) {
    const GitRepository repository;
    const GitId blob = repository.Blob(target);
    // As a file first, so that the blob is known when the link comes.
    repository.Commit(repository.Tree({{"100644", "file", blob}, {"120000", "link", blob}}));
    EXPECT_EQ(CodeOf(Import(repository)), code) << target.size();
  }
}

// A tree of ten entries that are all the same tree, thirty levels deep: a few objects that stand
// for more than any disk holds.
TEST_F(GitTrees, f09_a_few_objects_that_stand_for_many_are_refused_by_the_count) {
  for (const bool files : {true, false}) {
    const GitRepository repository;
    GitId inner = files ? repository.Blob("x") : repository.Tree({});
    std::string mode = files ? "100644" : "40000";
    for (int level = 0; level < 30; ++level) {
      std::vector<GitTreeEntry> entries;
      for (char name = '0'; name <= '9'; ++name) entries.push_back({mode, {name}, inner});
      inner = repository.Tree(entries);
      mode = "40000";
    }
    repository.Commit(inner);
    EXPECT_EQ(CodeOf(Import(repository)), "snapshot.bounds.entries") << files;
  }
}

TEST_F(GitTrees, bounds_hold_at_the_edge) {
  const auto nested = [](int levels) {
    auto repository = std::make_unique<GitRepository>();
    GitId inner = repository->Tree({{"100644", "f", repository->Blob("x")}});
    for (int level = 1; level < levels; ++level) inner = repository->Tree({{"40000", "d", inner}});
    repository->Commit(inner);
    return repository;
  };
  EXPECT_EQ(CodeOf(Import(*nested(255))), "");
  EXPECT_EQ(CodeOf(Import(*nested(256))), "snapshot.path.deep");

  const auto many = [](int count) {
    auto repository = std::make_unique<GitRepository>();
    const GitId blob = repository->Blob("");
    std::vector<GitTreeEntry> entries;
    for (int i = 0; i < count; ++i)
      entries.push_back({"100644", std::to_string(100'000 + i), blob});
    repository->Commit(repository->Tree(entries));
    return repository;
  };
  EXPECT_EQ(CodeOf(Import(*many(10'000))), "");
  EXPECT_EQ(CodeOf(Import(*many(10'001))), "snapshot.bounds.entries");

  const GitRepository deep;
  GitId inner = deep.Tree({{"100644", std::string(255, 'f'), deep.Blob("x")}});
  for (int level = 0; level < 15; ++level)
    inner = deep.Tree({{"40000", std::string(255, 'd'), inner}});
  deep.Commit(inner);
  EXPECT_EQ(CodeOf(Import(deep)), "") << "4095 bytes";
  deep.Commit(deep.Tree({{"40000", "e", inner}}));
  EXPECT_EQ(CodeOf(Import(deep)), "snapshot.path.long");
}

// The header of an object says its size before a byte of it is unpacked.
TEST_F(GitTrees, R3_10_R3_11_sizes_are_judged_by_the_header) {
  const GitRepository repository;
  const GitId giant = GitIdOf("blob", "no such giant");
  repository.Plant(giant, std::string("blob 99999999999") + '\0', "short");
  repository.Commit(repository.Tree({{"100644", "giant", giant}}));
  const auto refused = Import(repository);
  EXPECT_EQ(CodeOf(refused), "snapshot.bounds.file") << Why(refused);
  EXPECT_EQ(refused.error().subject, "giant");

  std::vector<GitTreeEntry> entries;
  const GitId large = repository.Blob(std::string(64 << 20, 'l'));
  for (char name = 'a'; name <= 'd'; ++name) entries.push_back({"100644", {name}, large});
  repository.Commit(repository.Tree(entries));
  EXPECT_EQ(CodeOf(Import(repository)), "") << "256 MiB";
  entries.push_back({"100644", "e", repository.Blob("x")});
  repository.Commit(repository.Tree(entries));
  EXPECT_EQ(CodeOf(Import(repository)), "snapshot.bounds.bytes");
}

}  // namespace
}  // namespace bailiff::test
