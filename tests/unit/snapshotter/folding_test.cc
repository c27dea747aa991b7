// SPDX-License-Identifier: Apache-2.0
// b13: a directory that takes two names of a tree for one. Such a file system is not at hand
// everywhere (tests/vm/folding has one), but what it answers is: a name that nothing has yet is
// taken.
#include <gtest/gtest.h>

#include "policy/object.h"
#include "snapshotter/materialize.h"
#include "tests/unit/snapshotter/support.h"

namespace bailiff::test {
namespace {

using policy::ObjectKind;
using snapshotter::EntryKind;

class Folding : public testing::Test {
 protected:
  Folding() {
    objects_.MakeDirectory("blob");
    objects_.MakeDirectory("tree");
    Put(ObjectKind::kBlob, policy::Hash("text"), "text");
    snapshotter::TreeBuilder builder(policy::kSourceBounds, policy::TreeNames::kSource);
    for (const char* path : {"README", "readme", "Src/a", "src/b"})
      EXPECT_TRUE(builder.Add(EntryKind::kFile, 4, policy::Hash("text"), path).ok());
    EXPECT_TRUE(builder.Add(EntryKind::kLink, 4, policy::Hash("text"), "Link").ok());
    const std::string bytes = builder.Finish();
    tree_ = policy::HashDomain("bailiff.tree.v1", bytes);
    Put(ObjectKind::kTree, tree_, bytes);
  }

  void Put(ObjectKind kind, const policy::Digest& digest, const std::string& bytes) const {
    const std::string path = policy::ObjectPath(kind, digest);
    objects_.MakeDirectory(path.substr(0, path.rfind('/')));
    objects_.Write(path, bytes);
  }
  std::string Written(const TempDirectory& out, snapshotter::Share share) {
    Recorder recorder;
    return CodeOf(snapshotter::Materialize(objects_.fd(), out.fd(), tree_,
                                           snapshotter::kExportModes, share, recorder));
  }

  TempDirectory objects_;
  policy::Digest tree_;
};

TEST_F(Folding, b13_names_that_differ_are_all_written) {
  const TempDirectory out;
  EXPECT_EQ(Written(out, {0, 1}), "");
}

TEST_F(Folding, b13_a_file_whose_name_is_taken_is_a_fault_of_its_own) {
  const TempDirectory out;
  out.Write("readme", "as README under a folded name");
  EXPECT_EQ(Written(out, {0, 1}), "snapshot.name.taken");
  const TempDirectory two;
  two.Write("readme", "as README under a folded name");
  EXPECT_EQ(Written(two, {0, 2}) + Written(two, {1, 2}), "snapshot.name.taken");
}

TEST_F(Folding, b13_a_link_whose_name_is_taken_is_one_too) {
  const TempDirectory out;
  out.Link("Link", "as link under a folded name");
  EXPECT_EQ(Written(out, {0, 1}), "snapshot.name.taken");
}

// Without this both directories would become one, with the files of both.
TEST_F(Folding, b13_a_directory_whose_name_is_taken_is_one_too) {
  const TempDirectory out;
  out.MakeDirectory("src");
  EXPECT_EQ(Written(out, {0, 1}), "snapshot.name.taken");
}

TEST_F(Folding, two_writers_share_directories) {
  const TempDirectory out;
  EXPECT_EQ(Written(out, {0, 2}), "");
  EXPECT_EQ(Written(out, {1, 2}), "");
}

}  // namespace
}  // namespace bailiff::test
