// SPDX-License-Identifier: Apache-2.0
#include "controller/store/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/unit/store/support.h"

namespace bailiff::controller {
namespace {

using namespace test;

class Files : public testing::Test {
 protected:
  bool Exists(const std::string& name) {
    struct stat status {};
    return fstatat(fd_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  }
  TemporaryDirectory directory_;
  ipc::Fd fd_{open(directory_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
};

TEST_F(Files, make_directory_is_private_and_new) {
  const auto made = MakeDirectory(fd_.get(), "snapshot-a1-1");
  ASSERT_OK(made);
  struct stat status {};
  ASSERT_EQ(fstat(made->get(), &status), 0);
  EXPECT_EQ(status.st_mode, S_IFDIR | 0700U);
  const auto again = MakeDirectory(fd_.get(), "snapshot-a1-1");
  ASSERT_CODE(ErrorCode::kSystem, again);
  EXPECT_EQ(again.error().system_error, EEXIST);
}

TEST_F(Files, durable_write_replaces_whole_files_only) {
  ASSERT_OK(WriteFileDurably(fd_.get(), "marker", "one"));
  ASSERT_OK(WriteFileDurably(fd_.get(), "marker", "two", 0400));
  EXPECT_EQ(*ipc::ReadFileAt(fd_.get(), "marker", 10), "two");
  EXPECT_FALSE(Exists("marker.new"));
  // Nothing is written through a link.
  ASSERT_EQ(symlinkat("marker", fd_.get(), "other.new"), 0);
  ASSERT_FALSE(WriteFileDurably(fd_.get(), "other", "three").ok());
  EXPECT_EQ(*ipc::ReadFileAt(fd_.get(), "marker", 10), "two");
}

TEST_F(Files, rename_never_replaces) {
  std::ofstream(directory_.path() + "/a") << "a";
  std::ofstream(directory_.path() + "/b") << "b";
  const auto refused = RenameDurably(fd_.get(), "a", fd_.get(), "b");
  ASSERT_CODE(ErrorCode::kSystem, refused);
  EXPECT_EQ(refused.error().system_error, EEXIST);
  ASSERT_OK(RenameDurably(fd_.get(), "a", fd_.get(), "c"));
  EXPECT_TRUE(Exists("c"));
}

TEST_F(Files, remove_tree_follows_no_link_and_minds_no_mode) {
  const std::string outside = directory_.path() + "/outside";
  ASSERT_EQ(mkdir(outside.c_str(), 0700), 0);
  std::ofstream(outside + "/kept") << "x";
  const std::string tree = directory_.path() + "/tree";
  ASSERT_EQ(mkdir(tree.c_str(), 0700), 0);
  ASSERT_EQ(mkdir((tree + "/a").c_str(), 0700), 0);
  ASSERT_EQ(symlink("../outside", (tree + "/link").c_str()), 0);
  ASSERT_EQ(symlink("../../outside", (tree + "/a/link").c_str()), 0);
  std::ofstream(tree + "/a/file") << "x";
  ASSERT_EQ(mkfifo((tree + "/a/fifo").c_str(), 0600), 0);
  ASSERT_EQ(chmod((tree + "/a").c_str(), 0), 0);
  ASSERT_EQ(chmod(tree.c_str(), 0555), 0);
  const int status = InChild([&] {
    // As an ordinary user, for whom modes count.
    if (geteuid() == 0) {
      if (chown(directory_.path().c_str(), 12345, 12345) != 0) return 2;
      for (const char* name : {"", "/a"})
        if (chown((tree + name).c_str(), 12345, 12345) != 0) return 3;
      if (setresgid(12345, 12345, 12345) != 0 || setresuid(12345, 12345, 12345) != 0) return 4;
    }
    const auto parent = ipc::OpenAt(AT_FDCWD, directory_.path().c_str(), O_RDONLY | O_DIRECTORY);
    return parent.ok() && RemoveTree(parent->get(), "tree").ok() ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(Exists("tree"));
  EXPECT_TRUE(Exists("outside/kept"));
  ASSERT_OK(RemoveTree(fd_.get(), "tree"));  // already gone
  ASSERT_OK(RemoveTree(fd_.get(), "outside/kept"));
}

TEST_F(Files, remove_tree_of_any_depth) {
  ASSERT_EQ(mkdirat(fd_.get(), "deep", 0700), 0);
  ipc::Fd at(openat(fd_.get(), "deep", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int depth = 0; depth < 1000; ++depth) {
    ASSERT_EQ(mkdirat(at.get(), "d", 0700), 0);
    if (depth % 10 == 0) {
      const ipc::Fd file(openat(at.get(), "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
      ASSERT_TRUE(file.valid());
    }
    at = ipc::Fd(openat(at.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(at.valid());
  }
  ASSERT_OK(RemoveTree(fd_.get(), "deep"));
  EXPECT_FALSE(Exists("deep"));
}

}  // namespace
}  // namespace bailiff::controller
