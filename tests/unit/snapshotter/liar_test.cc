// SPDX-License-Identifier: Apache-2.0
// Hijacked helpers against the controller: whatever they claim, nothing but the subject's bytes
// becomes an object, a tree or an image.
#include <filesystem>

#include "tests/unit/snapshotter/data_fixture.h"
#include "tests/unit/snapshotter/git_repository.h"

namespace bailiff::test {
namespace {

using controller::EnsureTree;
using controller::ImportDirectory;
using controller::ImportImage;
using controller::ListTree;

class Liars : public DataFixture {
 protected:
  void SetUp() override {
    DataFixture::SetUp();
    lying_snapshotter_ = OpenPath(std::string(BAILIFF_TEST_BINARY_DIR) + "/tests/liar_snapshotter");
    lying_importer_ = OpenPath(std::string(BAILIFF_TEST_BINARY_DIR) + "/tests/liar_importer");
  }
  static ipc::Fd OpenPath(const std::string& path) {
    ipc::Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_TRUE(fd.valid()) << path;
    return fd;
  }
  // An image that the real importer takes.
  ipc::Fd Archive() const {
    source_.Write("archive", MakeTar({{'0', "bin/sh", "ELF", 0755}}));
    return OpenPath(source_ / "archive");
  }
  std::size_t Objects() const {
    std::size_t files = 0;
    for (const auto& [name, what] : Listing(data_ / "objects"))
      files += what.starts_with("f ") && name != "lie" ? 1U : 0U;
    return files;
  }

  ipc::Fd lying_snapshotter_;
  ipc::Fd lying_importer_;
};

struct Lie {
  const char* lie;
  const char* code;
};

TEST_F(Liars, no_false_object_of_an_importer_enters_the_store) {
  host_.importer = lying_importer_.get();
  for (const Lie& lie : {Lie{"other bytes under the name", "snapshot.staging.mismatch"},
                         {"a link under the name", "snapshot.staging.mismatch"},
                         {"a directory under the name", "snapshot.staging.mismatch"},
                         {"a second name of the file", "snapshot.staging.mismatch"},
                         {"another size", "snapshot.staging.mismatch"},
                         {"nothing under the name", "snapshot.staging.mismatch"},
                         {"revision of another tree", "snapshot.staging.mismatch"},
                         {"two trees", "snapshot.staging.mismatch"},
                         {"no revision", "snapshot.staging.mismatch"},
                         {"a layer in a source", "snapshot.staging.mismatch"},
                         {"c07 a tree nobody can remove by name", "snapshot.staging.mismatch"},
                         {"git ids of a directory", "ipc.message.unexpected"},
                         {"too many objects", "ipc.message.unexpected"},
                         {"protocol: an observation", "ipc.message.malformed"},
                         {"protocol: an entry of a listing", "ipc.message.unexpected"},
                         {"protocol: a second hello", "ipc.message.unexpected"},
                         {"protocol: an unknown fault", "ipc.message.malformed"},
                         {"protocol: an unknown warning", "ipc.message.malformed"},
                         {"protocol: too many warnings", "ipc.message.unexpected"},
                         {"protocol: no last word", "snapshot.helper.died"},
                         {"protocol: crash", "snapshot.helper.died"},
                         {"call: a process", "snapshot.helper.died"}}) {
    source_.Write("lie", lie.lie);
    const auto refused = ImportDirectory(host_, source_.fd(), hooks_);
    EXPECT_EQ(CodeOf(refused), lie.code) << lie.lie << ": " << Why(refused);
    EXPECT_EQ(Objects(), 0U) << lie.lie;
    EXPECT_EQ(Staged(), 0U) << lie.lie;
  }
}

TEST_F(Liars, no_revision_names_another_commit_than_was_asked_for) {
  host_.importer = lying_importer_.get();
  const policy::GitId tree = GitIdOf("tree", GitTreeBytes({{"100644", "a", GitIdOf("blob", "x")}}));
  const policy::GitId commit = GitIdOf("commit", "tree " + tree.hex() + "\n");
  const controller::GitSource asked{commit.hex()};
  for (const Lie& lie : {Lie{"git: another commit", "snapshot.staging.mismatch"},
                         {"git: another tree of the commit", "snapshot.staging.mismatch"},
                         {"git: a revision of another commit", "snapshot.staging.mismatch"},
                         {"git: a revision of another git tree", "snapshot.staging.mismatch"},
                         {"git: files of another commit", "snapshot.staging.mismatch"},
                         {"git: an execute bit more", "snapshot.staging.mismatch"},
                         {"git: another name", "snapshot.staging.mismatch"},
                         {"git: a file less", "snapshot.staging.mismatch"},
                         {"git: a file more", "snapshot.staging.mismatch"},
                         {"git: a tree of another commit", "snapshot.staging.mismatch"},
                         {"git: a commit that names no tree", "snapshot.staging.mismatch"},
                         {"git: a commit without end", "snapshot.staging.mismatch"},
                         {"git: a submodule nobody left out", "snapshot.staging.mismatch"},
                         {"git: a file as a submodule", "snapshot.staging.mismatch"},
                         {"git: a file left out", "snapshot.staging.mismatch"},
                         {"git: a full tree left out", "snapshot.staging.mismatch"},
                         {"git: a path twice", "snapshot.staging.mismatch"},
                         {"git: a path of no tree", "snapshot.staging.mismatch"},
                         {"git: a file and a tree of one name", "snapshot.staging.mismatch"},
                         {"git: a blob with other bytes", "snapshot.staging.mismatch"},
                         {"git: a blob that is a FIFO", "snapshot.helper.died"},
                         {"git: a blob that is a link", "snapshot.staging.mismatch"},
                         {"git: a blob that is not there", "snapshot.staging.mismatch"},
                         {"git: no proof", "snapshot.staging.mismatch"},
                         {"git: half a proof", "snapshot.staging.mismatch"},
                         {"git: a list that is cut", "snapshot.staging.mismatch"},
                         {"git: no ids", "ipc.message.unexpected"},
                         {"git: no commit", "ipc.message.unexpected"}}) {
    source_.Write("lie", lie.lie);
    const auto refused = controller::ImportGit(host_, source_.fd(), asked, hooks_);
    EXPECT_EQ(CodeOf(refused), lie.code) << lie.lie << ": " << Why(refused);
    EXPECT_EQ(Objects(), 0U) << lie.lie;
    EXPECT_EQ(Staged(), 0U) << lie.lie;
  }
  // Submodules that the operator leaves out are the commit's, too.
  source_.Write("lie", "git: a submodule nobody left out");
  EXPECT_EQ(CodeOf(controller::ImportGit(host_, source_.fd(), {commit.hex(), true}, hooks_)),
            "snapshot.staging.mismatch");
  source_.Write("lie", "git: the truth");
  EXPECT_EQ(CodeOf(controller::ImportGit(host_, source_.fd(), asked, hooks_)), "");
  // What the store has already is no reason not to show it.
  source_.Write("lie", "git: a blob that is not there");
  EXPECT_EQ(CodeOf(controller::ImportGit(host_, source_.fd(), asked, hooks_)),
            "snapshot.staging.mismatch");
}

TEST_F(Liars, an_export_without_git_ids_is_a_violation) {
  host_.importer = lying_importer_.get();
  TempDirectory out;
  data_.Write("objects/lie", "none");
  EXPECT_EQ(CodeOf(controller::ExportGit(host_, policy::Hash("t"), policy::Hash("r"), true,
                                         out.fd(), hooks_)),
            "ipc.message.unexpected");
}

TEST_F(Liars, no_false_image_gets_a_name) {
  host_.importer = lying_importer_.get();
  for (const Lie& lie : {Lie{"image: another configuration", "snapshot.staging.mismatch"},
                         {"image: a file too many", "snapshot.staging.mismatch"},
                         {"image: another id", "snapshot.staging.mismatch"},
                         {"image: layers of another image", "snapshot.staging.mismatch"},
                         {"image: no facts", "snapshot.staging.mismatch"},
                         {"image: setuid in the root", "snapshot.tree.unclean"}}) {
    source_.Write("lie", lie.lie);
    const ipc::Fd file(open((source_ / "lie").c_str(), O_RDONLY | O_CLOEXEC));
    const auto refused = ImportImage(host_, {file.get(), -1}, hooks_);
    EXPECT_EQ(CodeOf(refused), lie.code) << lie.lie << ": " << Why(refused);
    EXPECT_TRUE(Listing(data_ / "images").empty()) << lie.lie;
    EXPECT_EQ(Staged(), 0U) << lie.lie;
  }
}

TEST_F(Liars, no_false_layer_is_written_out) {
  const ipc::Fd archive = Archive();
  const auto image = ImportImage(host_, {archive.get(), -1}, hooks_);
  ASSERT_TRUE(image.ok()) << Why(image);
  const std::string name = image->image.hex();
  host_.importer = lying_importer_.get();
  host_.identity.uid = host_.identity.gid = 0;
  host_.identity.uid_map = host_.identity.gid_map = {{0, 0, 1}};
  for (const char* lie : {"layer: a link", "layer: nothing", "layer: other bytes", "layer: a blob",
                          "layer: another size", "layer: two digests"}) {
    data_.Write("images/" + name + "/root/lie", lie);
    source_.Write("to", "");
    const ipc::Fd to(open((source_ / "to").c_str(), O_WRONLY | O_CLOEXEC));
    const auto refused = ExportImage(host_, name, to.get(), hooks_);
    EXPECT_FALSE(refused.ok()) << lie;
    EXPECT_EQ(ReadAll(source_ / "to"), "") << lie;
    EXPECT_EQ(Staged(), 0U) << lie;
  }
}

// Even with the real verifier hijacked too (it is the lying program here), the tree that was asked
// for is what is on disk, or nothing.
TEST_F(Liars, no_tree_but_the_subjects_gets_its_name) {
  source_.Write("a", "good");
  source_.Write("b", "good");
  const auto imported = ImportDirectory(host_, source_.fd(), hooks_);
  ASSERT_TRUE(imported.ok()) << Why(imported);
  host_.snapshotter = lying_snapshotter_.get();
  for (const Lie& lie : {Lie{"tree: other bytes", "snapshot.tree.mismatch"},
                         {"tree: one file more", "snapshot.tree.mismatch"},
                         {"tree: executable", "snapshot.tree.mismatch"},
                         {"tree: an empty directory", "snapshot.tree.unclean"},
                         {"tree: a writable file", "snapshot.tree.unclean"},
                         {"protocol: no last word", "snapshot.helper.died"}}) {
    data_.Write("objects/lie", lie.lie);
    const auto refused = EnsureTree(host_, imported->tree, hooks_);
    EXPECT_EQ(CodeOf(refused), lie.code) << lie.lie << ": " << Why(refused);
    EXPECT_EQ(Listing(data_ / "trees").count(imported->tree.hex()), 0U) << lie.lie;
    EXPECT_EQ(Staged(), 0U) << lie.lie;
  }
  // chown of the controller clears set-id bits: the lie does not survive, and the tree is the right
  // one.
  data_.Write("objects/lie", "tree: setuid");
  const auto made = EnsureTree(host_, imported->tree, hooks_);
  if (made.ok()) {
    EXPECT_EQ(Listing(data_ / ("trees/" + imported->tree.hex())).at("a"), "f 0444 good");
  } else {
    EXPECT_EQ(CodeOf(made), "snapshot.tree.mismatch") << Why(made);
  }
}

TEST_F(Liars, no_listing_but_the_trees_own_is_shown) {
  source_.Write("a", "good");
  source_.Write("b", "good");
  const auto imported = ImportDirectory(host_, source_.fd(), hooks_);
  ASSERT_TRUE(imported.ok()) << Why(imported);
  host_.snapshotter = lying_snapshotter_.get();
  for (const Lie& lie : {Lie{"listing: nothing", "snapshot.tree.mismatch"},
                         {"listing: another name", "snapshot.tree.mismatch"},
                         {"listing: other bytes", "snapshot.tree.mismatch"},
                         {"listing: one entry more", "snapshot.tree.mismatch"},
                         {"listing: out of turn", "ipc.message.unexpected"},
                         {"listing: too many", "ipc.message.unexpected"},
                         {"listing: no path", "ipc.message.malformed"},
                         {"listing: a path too long", "ipc.message.malformed"},
                         {"protocol: no last word", "snapshot.helper.died"}}) {
    data_.Write("objects/lie", lie.lie);
    const auto refused = ListTree(host_, imported->tree, hooks_);
    EXPECT_EQ(CodeOf(refused), lie.code) << lie.lie << ": " << Why(refused);
  }
}

TEST_F(Liars, a_helper_of_the_other_role_is_refused) {
  source_.Write("a", "1");
  host_.importer = snapshotter_.get();
  const auto refused = ImportDirectory(host_, source_.fd(), hooks_);
  EXPECT_EQ(CodeOf(refused), "ipc.message.malformed") << Why(refused);
}

TEST_F(Liars, a_helper_that_did_not_lock_itself_gets_no_work) {
  const ipc::Fd unlocked =
      OpenPath(std::string(BAILIFF_TEST_BINARY_DIR) + "/tests/unlocked_importer");
  source_.Write("a", "1");
  host_.importer = unlocked.get();
  const auto refused = ImportDirectory(host_, source_.fd(), hooks_);
  EXPECT_EQ(CodeOf(refused), std::string(Info(ErrorCode::kHelperNotLocked).name)) << Why(refused);
  EXPECT_EQ(Objects(), 0U);
}

}  // namespace
}  // namespace bailiff::test
