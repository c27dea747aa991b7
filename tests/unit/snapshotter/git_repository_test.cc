// SPDX-License-Identifier: Apache-2.0
// Repositories of every form, and what their files may say: refs, pointers to elsewhere, damage.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "snapshotter/importer/git_import.h"
#include "snapshotter/importer/git_refs.h"
#include "snapshotter/importer/git_store.h"
#include "tests/unit/snapshotter/git_repository.h"

namespace bailiff::test {
namespace {

using policy::GitId;
using snapshotter::ImportGit;

class GitRepositories : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(snapshotter::InitialiseGit().ok()); }

  static Result<snapshotter::JobResult> Import(const GitRepository& repository,
                                               const std::string& commit = "HEAD") {
    TempDirectory out;
    Recorder recorder;
    return ImportGit(repository.fd(), repository.path(), out.fd(), {commit, false}, recorder);
  }
  // A commit with one file that holds `text`.
  static GitId Committed(const GitRepository& repository, const std::string& text) {
    return repository.Commit(repository.Tree({{"100644", "file", repository.Blob(text)}}));
  }
  static std::string HexOf(const Result<snapshotter::JobResult>& result) {
    return result.ok() ? result->git->commit.hex() : Why(result);
  }
};

TEST_F(GitRepositories, f04_bare_and_not_bare_give_the_same_revision) {
  const GitRepository bare(true);
  const GitRepository with_worktree(false);
  const GitId commit = Committed(bare, "same");
  ASSERT_EQ(Committed(with_worktree, "same"), commit);
  const auto first = Import(bare);
  const auto second = Import(with_worktree);
  ASSERT_TRUE(first.ok() && second.ok()) << Why(first) << Why(second);
  EXPECT_EQ(first->digest, second->digest);
  EXPECT_EQ(first->git->commit, commit);
  EXPECT_EQ(first->digest, policy::HashDomain("bailiff.revision.v1",
                                              policy::GitRevision(*first->tree, *first->git)));
}

TEST_F(GitRepositories, f04_a_commit_is_named_by_digits_head_or_a_full_ref) {
  const GitRepository repository;
  const GitId first = Committed(repository, "first");
  const GitId second = Committed(repository, "second");
  EXPECT_EQ(HexOf(Import(repository, first.hex())), first.hex());
  EXPECT_EQ(HexOf(Import(repository, "HEAD")), second.hex());
  EXPECT_EQ(HexOf(Import(repository, "refs/heads/main")), second.hex());

  repository.Write("HEAD", first.hex() + "\n");
  EXPECT_EQ(HexOf(Import(repository)), first.hex()) << "detached";
  repository.Write("HEAD", "ref:\trefs/heads/alias \n");
  repository.Write("refs/heads/alias", "ref: refs/remotes/origin/main");
  repository.Write("packed-refs", "# pack-refs with: peeled fully-peeled sorted \n" + first.hex() +
                                      " refs/remotes/origin/main\n^" + second.hex() + "\n" +
                                      first.hex() + " refs/heads/main\n");
  EXPECT_EQ(HexOf(Import(repository)), first.hex()) << "through two names into packed-refs";
  EXPECT_EQ(HexOf(Import(repository, "refs/heads/main")), second.hex()) << "loose before packed";
  repository.directory().MakeDirectory(repository.Own("refs/tags/gone/below"));
  EXPECT_EQ(CodeOf(Import(repository, "refs/tags/gone")), "git.ref.missing");
  EXPECT_EQ(CodeOf(Import(repository, "refs/tags/gone/below/deeper")), "git.ref.missing");
  EXPECT_EQ(CodeOf(Import(repository, "refs/heads/main/x")), "git.ref.missing");
}

TEST_F(GitRepositories, annotated_tags_lead_to_their_commit_and_digits_never_do) {
  const GitRepository repository;
  const GitId commit = Committed(repository, "tagged");
  const auto tag_of = [&](const GitId& id, const std::string& type) {
    return repository.Add("tag", "object " + id.hex() + "\ntype " + type +
                                     "\ntag v1\ntagger A <a@example.org> 1 +0000\n\nwords\n");
  };
  GitId tag = tag_of(commit, "commit");
  repository.Write("refs/tags/v1", tag.hex() + "\n");
  EXPECT_EQ(HexOf(Import(repository, "refs/tags/v1")), commit.hex());
  EXPECT_EQ(CodeOf(Import(repository, tag.hex())), "git.object.type");
  for (int tags = 0; tags < 5; ++tags) tag = tag_of(tag, "tag");
  repository.Write("refs/tags/v1", tag.hex() + "\n");
  EXPECT_EQ(CodeOf(Import(repository, "refs/tags/v1")), "git.object.type") << "six of them";
  const GitId tree = repository.Tree({});
  repository.Write("refs/tags/v1", tag_of(tree, "tree").hex() + "\n");
  EXPECT_EQ(CodeOf(Import(repository, "refs/tags/v1")), "git.object.type");
  const std::string hex = commit.hex();
  const std::string no_hex(40, 'x');
  for (const std::string& bytes :
       {std::string(), std::string("object "), std::string("object 0123\ntype commit\n"),
        std::string("type commit\n"), "objekt " + hex + "\ntype commit\n",
        "object " + no_hex + "\ntype commit\n", "object " + hex + " type commit\n",
        "object " + hex + "\ntype commits\n", "object " + hex + "\n"}) {
    repository.Write("refs/tags/v1", repository.Add("tag", bytes).hex() + "\n");
    EXPECT_EQ(CodeOf(Import(repository, "refs/tags/v1")), "git.object.damaged") << bytes;
  }
  const std::string root = repository.Tree({}).hex();
  for (const std::string& bytes :
       {std::string(), std::string("tree "), std::string("tree 0123\n"), std::string("parent 0\n"),
        "tref " + root + "\n", "tree " + no_hex + "\n", "tree " + root + " \n"}) {
    EXPECT_EQ(CodeOf(Import(repository, repository.Add("commit", bytes).hex())),
              "git.object.damaged")
        << bytes;
  }
}

TEST_F(GitRepositories, f04_other_formats_are_refused_by_name) {
  const std::string sha256(64, 'a');
  const GitRepository repository;
  const GitId commit = Committed(repository, "x");
  repository.Write("refs/heads/main", sha256 + "\n");
  const auto refused = Import(repository);
  EXPECT_EQ(CodeOf(refused), "git.format.sha256");
  EXPECT_NE(Info(refused.error().code).fix.find("sha256 is not supported"), std::string::npos);
  EXPECT_EQ(CodeOf(Import(repository, std::string(40, 'a'))), "git.format.sha256")
      << "digits that cannot be there";
  std::filesystem::remove(repository.directory() / ".git/refs/heads/main");
  repository.Write("packed-refs", sha256 + " refs/heads/main\n");
  EXPECT_EQ(CodeOf(Import(repository)), "git.format.sha256");

  repository.directory().MakeDirectory(".git/reftable");
  EXPECT_EQ(CodeOf(Import(repository)), "git.refs.reftable");
  EXPECT_EQ(HexOf(Import(repository, commit.hex())), commit.hex()) << "digits need no refs";
}

TEST_F(GitRepositories, refs_that_are_no_refs_are_refused) {
  const GitRepository repository;
  Committed(repository, "x");
  for (const char* text : {"", "\n", "ref:", "ref: HEAD", "ref: /etc/passwd",
                           "ref: refs/../../etc/x", "ref: refs/heads/.lock", "0123456789abcdef",
                           "ref: refs/heads/a b", "0123456789ABCDEF0123456789ABCDEF01234567"}) {
    repository.Write("HEAD", text);
    EXPECT_EQ(CodeOf(Import(repository)), "git.ref.malformed") << text;
  }
  repository.Write("HEAD", "ref: refs/heads/a");
  repository.Write("refs/heads/a", "ref: refs/heads/b");
  repository.Write("refs/heads/b", "ref: refs/heads/a");
  EXPECT_EQ(CodeOf(Import(repository)), "git.ref.malformed") << "a ring";
  repository.Write("HEAD", "ref: refs/heads/c");
  for (const char* packed : {"no id here\n", "0123 refs/heads/c\n", "\n",
                             "0123456789abcdef0123456789abcdef01234567 refs/heads/c",
                             "0123456789abcdef0123456789abcdef0123456x refs/heads/c\n"}) {
    repository.Write("packed-refs", packed);
    EXPECT_EQ(CodeOf(Import(repository)), "git.ref.malformed") << packed;
  }
  repository.Write("HEAD", std::string(4096, 'r'));
  EXPECT_EQ(CodeOf(Import(repository)), "git.ref.malformed");
}

TEST_F(GitRepositories, what_is_no_repository_is_refused_by_name) {
  TempDirectory empty;
  TempDirectory out;
  Recorder recorder;
  const auto import = [&](const TempDirectory& directory) {
    return CodeOf(ImportGit(directory.fd(), directory.path(), out.fd(), {"HEAD", false}, recorder));
  };
  EXPECT_EQ(import(empty), "git.repository.missing");
  empty.Write(".git", "gitdir: ../elsewhere/.git/worktrees/here\n");
  EXPECT_EQ(import(empty), "git.repository.pointer");
  const GitRepository worktree(true);
  Committed(worktree, "x");
  worktree.Write("commondir", "../..\n");
  EXPECT_EQ(CodeOf(Import(worktree)), "git.repository.pointer");
  const GitRepository other;
  Committed(other, "x");
  TempDirectory linked;
  linked.Link(".git", other.path() + "/.git");
  EXPECT_EQ(import(linked), "git.repository.missing") << "a link is not followed";
}

// Nothing that another repository holds comes in: not by alternates, not by links, not by a fetch.
TEST_F(GitRepositories, b12_objects_of_elsewhere_are_never_read) {
  const GitRepository other;
  const GitId secret = other.Blob("secret");
  const auto without_blob = [&secret](const GitRepository& repository) {
    repository.Commit(repository.Tree({{"100644", "file", secret}}));
  };
  struct Case {
    const char* file;
    const char* words;
  };
  for (const Case& item : {Case{"objects/info/alternates", "alternates"},
                           {"objects/info/http-alternates", "does not hold it"},
                           {"objects/pack/pack-1.promisor", "partial clone"},
                           {"shallow", "shallow clone"}}) {
    const GitRepository repository;
    without_blob(repository);
    repository.Write(item.file, other.path() + "/.git/objects\n");
    const auto refused = Import(repository);
    ASSERT_EQ(CodeOf(refused), "git.object.missing") << item.file;
    EXPECT_EQ(refused.error().subject, secret.hex());
    EXPECT_NE(refused.error().why.find(item.words), std::string::npos) << refused.error().why;
  }
  const GitRepository by_link;
  without_blob(by_link);
  std::filesystem::create_directories(by_link.path() + "/.git/objects/" +
                                      secret.hex().substr(0, 2));
  by_link.directory().Link(by_link.LooseName(secret), other.path() + "/" + other.LooseName(secret));
  EXPECT_EQ(CodeOf(Import(by_link)), "git.object.damaged");
  const GitRepository by_shelf;
  without_blob(by_shelf);
  by_shelf.directory().Link(".git/objects/" + secret.hex().substr(0, 2),
                            other.path() + "/.git/objects/" + secret.hex().substr(0, 2));
  EXPECT_EQ(CodeOf(Import(by_shelf)), "git.object.damaged");
  const GitRepository by_objects;
  std::filesystem::remove_all(by_objects.path() + "/.git/objects");
  by_objects.directory().Link(".git/objects", other.path() + "/.git/objects");
  Committed(other, "x");
  by_objects.Write("refs/heads/main", ReadAll(other.path() + "/.git/refs/heads/main"));
  EXPECT_EQ(CodeOf(Import(by_objects)), "git.repository.missing");
  const GitRepository by_pack;
  Committed(by_pack, "x");
  std::filesystem::remove_all(by_pack.path() + "/.git/objects/pack");
  by_pack.directory().Link(".git/objects/pack", other.path() + "/.git/objects/pack");
  EXPECT_EQ(CodeOf(Import(by_pack)), "git.object.damaged");
}

TEST_F(GitRepositories, b12_replace_refs_grafts_and_a_shallow_boundary_change_nothing) {
  const GitRepository repository;
  const GitId replaced = Committed(repository, "forged");
  const GitId commit = Committed(repository, "real");
  const auto plain = Import(repository);
  ASSERT_TRUE(plain.ok()) << Why(plain);
  repository.Write("refs/replace/" + commit.hex(), replaced.hex() + "\n");
  repository.Write("info/grafts", commit.hex() + " " + replaced.hex() + "\n");
  repository.Write("shallow", commit.hex() + "\n");
  repository.Write("objects/info/alternates", "/etc\n");
  const auto again = Import(repository);
  ASSERT_TRUE(again.ok()) << Why(again);
  EXPECT_EQ(again->digest, plain->digest);
  EXPECT_EQ(again->git->commit, commit);
}

TEST_F(GitRepositories, an_object_is_what_its_id_says_or_refused) {
  const GitRepository repository;
  const std::string good = "good bytes";
  const GitId blob = repository.Blob(good);
  repository.Commit(repository.Tree({{"100644", "file", blob}}));
  ASSERT_TRUE(Import(repository).ok());
  using namespace std::string_literals;
  struct Case {
    const char* what;
    std::string header;
    std::string bytes;
    const char* code;
  };
  for (const Case& item : {Case{"other bytes", "blob 10\0"s, "evil bytes", "git.object.damaged"},
                           {"bytes behind it, which are not of it", "blob 10\0"s, good + "!", ""},
                           {"shorter than it says", "blob 11\0"s, good, "git.object.damaged"},
                           {"another type", "tree 10\0"s, good, "git.object.type"},
                           {"no type", "blip 10\0"s, good, "git.object.damaged"},
                           {"a type and more", "blobs 10\0"s, good, "git.object.damaged"},
                           {"no size", "blob x\0"s, good, "git.object.damaged"},
                           {"no header", "", good, "git.object.damaged"}}) {
    repository.Plant(blob, item.header, item.bytes);
    const auto refused = Import(repository);
    EXPECT_EQ(CodeOf(refused), item.code) << item.what << ": " << Why(refused);
  }
  repository.directory().Write(repository.LooseName(blob), "not zlib");
  EXPECT_EQ(CodeOf(Import(repository)), "git.object.damaged");
  repository.directory().Write(repository.LooseName(blob), "");
  EXPECT_EQ(CodeOf(Import(repository)), "git.object.damaged");
  // A tree where a blob should be, and the other way round.
  const GitId tree = repository.Tree({});
  repository.Commit(repository.Tree({{"100644", "file", tree}}));
  EXPECT_EQ(CodeOf(Import(repository)), "git.object.type");
  const GitId plain = repository.Blob("plain");
  repository.Commit(repository.Tree({{"40000", "sub", plain}}));
  EXPECT_EQ(CodeOf(Import(repository)), "git.object.type");
  repository.Commit(plain);
  EXPECT_EQ(CodeOf(Import(repository)), "git.object.type");
}

// A FIFO would hold a reader for ever, a device might do worse.
TEST_F(GitRepositories, what_is_no_regular_file_is_never_opened) {
  for (const char* name : {"objects/pack/pack-1.idx", "objects/pack/pack-1.pack",
                           "objects/pack/multi-pack-index", "loose", "HEAD", "packed-refs"}) {
    const GitRepository repository;
    const GitId blob = repository.Blob("x");
    repository.Commit(repository.Tree({{"100644", "file", blob}}));
    std::string where = repository.Own(name);
    if (std::string(name) == "loose") where = repository.LooseName(blob);
    if (std::string(name) == "packed-refs") repository.Write("HEAD", "ref: refs/heads/absent\n");
    std::filesystem::remove(repository.directory() / where);
    ASSERT_EQ(mkfifo((repository.directory() / where).c_str(), 0644), 0);
    const std::string code = CodeOf(Import(repository));
    EXPECT_TRUE(code == "git.object.damaged" || code == "git.ref.malformed" ||
                (std::string(name) == "HEAD" && code == "git.repository.missing"))
        << name << ": " << code;
  }
}

TEST_F(GitRepositories, a_pack_that_is_no_pack_is_refused) {
  const GitRepository repository;
  GitId absent;
  absent.bytes.fill(3);
  repository.Write("objects/pack/pack-1.idx", "\377tOc" + std::string(2000, '\0'));
  repository.Write("objects/pack/pack-1.pack", "PACK");
  repository.Write("objects/pack/pack-2.idx", "");
  repository.Write("objects/pack/pack-2.pack", "");
  repository.Commit(repository.Tree({{"100644", "file", absent}}));
  const std::string code = CodeOf(Import(repository));
  EXPECT_TRUE(code == "git.object.missing" || code == "git.object.damaged") << code;
}

}  // namespace
}  // namespace bailiff::test
