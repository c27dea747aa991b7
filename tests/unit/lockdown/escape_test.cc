// SPDX-License-Identifier: Apache-2.0
// What a hijacked snapshotter, importer or collector can reach: its view and nothing else. Each way
// out is tried.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "arena.h"
#include "policy/landlock.h"
#include "policy/lockdown.h"
#include "policy/view.h"

namespace bailiff::policy {
namespace {

using arena::Ended;
using arena::RunLocked;
using arena::Say;

long OpenAt(int directory, const char* path, int flags, int mode = 0) {
  return syscall(SYS_openat, directory, path, flags | O_CLOEXEC, mode);
}

std::string Content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class View : public testing::TestWithParam<Role> {
 protected:
  void SetUp() override {
    directory_.Write("secret", "outside");
    directory_.Write("in/file", "inside");
    ASSERT_EQ(symlink("/secret", (in_ + "/absolute").c_str()), 0);
    ASSERT_EQ(symlink("../../secret", (in_ + "/relative").c_str()), 0);
    ASSERT_EQ(symlink("/proc/self/root/etc/passwd", (in_ + "/magic").c_str()), 0);
  }
  Ended Try(const std::function<void()>& body) const {
    return RunLocked(GetParam(), in_, out_, body);
  }

  arena::TemporaryDirectory directory_;
  std::string in_ = directory_.Make("in");
  std::string out_ = directory_.Make("out");
};

INSTANTIATE_TEST_SUITE_P(Roles, View, testing::Values(Role::kSnapshotter, Role::kImporter),
                         [](const auto& one) { return std::string(RoleName(one.param)); });

TEST_P(View, HoldsWhatTheJobNeeds) {
  const Ended ended = Try([] {
    char bytes[16] = {};
    const long file = OpenAt(AT_FDCWD, "/in/file", O_RDONLY);
    Say("open", file);
    Say("read", read(static_cast<int>(file), bytes, sizeof bytes));
    Say("list", OpenAt(AT_FDCWD, "/in", O_RDONLY | O_DIRECTORY));
    Say("link text", readlinkat(AT_FDCWD, "/in/absolute", bytes, sizeof bytes));
    const long made = OpenAt(AT_FDCWD, "/out/new", O_WRONLY | O_CREAT | O_EXCL, 0600);
    Say("create", made);
    Say("write", write(static_cast<int>(made), "x", 1));
    Say("fchmod", fchmod(static_cast<int>(made), 0444));
    Say("mkdir", mkdirat(AT_FDCWD, "/out/dir", 0755));
    Say("symlink", symlinkat("anything", AT_FDCWD, "/out/dir/link"));
  });
  EXPECT_EQ(ended.said,
            "open=ok\nread=ok\nlist=ok\nlink text=ok\ncreate=ok\nwrite=ok\nfchmod=ok\nmkdir=ok\n"
            "symlink=ok\n");
  EXPECT_TRUE(ended.exited(0));
  EXPECT_EQ(Content(out_ + "/new"), "x");
}

TEST_P(View, DotDotAndHostPathsAreNotThere) {
  const Ended ended = Try([] {
    const int in = static_cast<int>(OpenAt(AT_FDCWD, "/in", O_PATH | O_DIRECTORY));
    const int out = static_cast<int>(OpenAt(AT_FDCWD, "/out", O_PATH | O_DIRECTORY));
    Say("in", in);
    Say("..", OpenAt(in, "../secret", O_RDONLY));
    Say("../..", OpenAt(in, "../../../../../../secret", O_RDONLY));
    Say("out/..", OpenAt(out, "../../etc/passwd", O_RDONLY));
    Say("/etc/passwd", OpenAt(AT_FDCWD, "/etc/passwd", O_RDONLY));
    Say("/proc", OpenAt(AT_FDCWD, "/proc/self/status", O_RDONLY));
    Say("/data", OpenAt(AT_FDCWD, "/data/state.sqlite", O_RDONLY));
    Say("/dev", OpenAt(AT_FDCWD, "/dev/null", O_RDONLY));
    Say("old root", OpenAt(AT_FDCWD, "/..", O_PATH));
    struct stat root {};
    struct stat above {};
    const bool same = fstatat(AT_FDCWD, "/", &root, 0) == 0 &&
                      fstatat(AT_FDCWD, "/..", &above, 0) == 0 && root.st_ino == above.st_ino &&
                      root.st_dev == above.st_dev;
    errno = EXDEV;
    Say("above / is /", same ? 0 : -1);
  });
  EXPECT_EQ(ended.said,
            "in=ok\n..=ENOENT\n../..=ENOENT\nout/..=ENOENT\n/etc/passwd=ENOENT\n/proc=ENOENT\n"
            "/data=ENOENT\n/dev=ENOENT\nold root=ok\nabove / is /=ok\n");
}

TEST_P(View, LinksOfTheSourceAreNotFollowed) {
  const Ended ended = Try([] {
    Say("absolute", OpenAt(AT_FDCWD, "/in/absolute", O_RDONLY));
    Say("relative", OpenAt(AT_FDCWD, "/in/relative", O_RDONLY));
    Say("magic", OpenAt(AT_FDCWD, "/in/magic", O_RDONLY));
    Say("make", symlinkat("/in/file", AT_FDCWD, "/out/link"));
    Say("own", OpenAt(AT_FDCWD, "/out/link", O_RDONLY));
  });
  EXPECT_EQ(ended.said, "absolute=ELOOP\nrelative=ELOOP\nmagic=ELOOP\nmake=ok\nown=ELOOP\n");
}

TEST_P(View, InputAndRootCannotBeChanged) {
  const Ended ended = Try([] {
    const int file = static_cast<int>(OpenAt(AT_FDCWD, "/in/file", O_RDONLY));
    Say("chmod through a read-only mount", fchmod(file, 0777));
    Say("write", OpenAt(AT_FDCWD, "/in/file", O_RDWR));
    Say("create", OpenAt(AT_FDCWD, "/in/new", O_WRONLY | O_CREAT, 0600));
    Say("directory", mkdirat(AT_FDCWD, "/in/new", 0700));
    Say("link", symlinkat("x", AT_FDCWD, "/in/new"));
    Say("root", OpenAt(AT_FDCWD, "/new", O_WRONLY | O_CREAT, 0600));
    Say("root directory", mkdirat(AT_FDCWD, "/new", 0700));
  });
  // Landlock answers some of these before the mount does; either wall is enough.
  EXPECT_TRUE(ended.said.starts_with("chmod through a read-only mount=EROFS\n")) << ended.said;
  EXPECT_EQ(ended.said.find("=ok"), std::string::npos) << ended.said;
  EXPECT_EQ(std::count(ended.said.begin(), ended.said.end(), '\n'), 7) << ended.said;
  EXPECT_EQ(Content(in_ + "/file"), "inside");
}

TEST_P(View, NoDeviceNoOwnerNoAttribute) {
  const auto ends = [this](const std::function<void()>& body) {
    const Ended ended = Try([&body] {
      body();
      Say("survived", 0);
    });
    return ended.said.find("survived") == std::string::npos && !ended.exited(0);
  };
  EXPECT_TRUE(ends([] { syscall(SYS_mknodat, AT_FDCWD, "/out/fifo", S_IFIFO | 0600, 0); }));
  EXPECT_TRUE(ends([] { syscall(SYS_fchownat, AT_FDCWD, "/out", 1, 1, 0); }));
  EXPECT_TRUE(ends([] { syscall(SYS_setxattr, "/out", "user.x", "", 0, 0); }));
  EXPECT_FALSE(std::filesystem::exists(out_ + "/fifo"));
}

// /proc does not show Landlock, so behaviour must: reading the view's own root would work without
// it.
TEST_P(View, LandlockIsTheSecondWall) {
  ASSERT_GE(LandlockAbi(), 1U) << "this kernel offers no Landlock: the test needs it";
  const Ended ended = Try([] { Say("list /", OpenAt(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY)); });
  EXPECT_EQ(ended.said, "list /=EACCES\n");
}

TEST(CollectorView, IsEmpty) {
  const Ended ended = arena::Run([] {
    arena::EnterOwnNamespaces();
    if (!EnterView({}).ok()) _exit(97);
    Say("list /", OpenAt(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY));
    Say("/etc", OpenAt(AT_FDCWD, "/etc", O_PATH));
    Say("/proc", OpenAt(AT_FDCWD, "/proc", O_PATH));
    Say("create", OpenAt(AT_FDCWD, "/x", O_WRONLY | O_CREAT, 0600));
    char names[4096];
    const int root = static_cast<int>(OpenAt(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY));
    // Two entries of 24 bytes: "." and "..".
    errno = E2BIG;
    Say("nothing in it", syscall(SYS_getdents64, root, names, sizeof names) == 48 ? 0 : -1);
  });
  EXPECT_EQ(ended.said, "list /=ok\n/etc=ENOENT\n/proc=ENOENT\ncreate=EROFS\nnothing in it=ok\n");
}

TEST(CollectorView, LandlockAloneRefusesEverything) {
  ASSERT_GE(LandlockAbi(), 1U) << "this kernel offers no Landlock: the test needs it";
  arena::TemporaryDirectory directory;
  directory.Write("file", "x");
  const std::string file = directory.path() + "/file";
  const Ended ended = arena::Run([&] {
    arena::EnterOwnNamespaces();
    std::uint32_t abi = 0;
    if (!RestrictByLandlock(false, &abi).ok()) _exit(97);
    Say("read", OpenAt(AT_FDCWD, file.c_str(), O_RDONLY));
    Say("write", OpenAt(AT_FDCWD, file.c_str(), O_WRONLY));
    Say("list", OpenAt(AT_FDCWD, directory.path().c_str(), O_RDONLY | O_DIRECTORY));
    Say("make", mkdirat(AT_FDCWD, (file + "2").c_str(), 0700));
    Say("remove", unlinkat(AT_FDCWD, file.c_str(), 0));
    Say("mount", mount("none", directory.path().c_str(), "tmpfs", 0, nullptr));
  });
  EXPECT_EQ(ended.said,
            "read=EACCES\nwrite=EACCES\nlist=EACCES\nmake=EACCES\nremove=EACCES\nmount=EPERM\n");
}

TEST(CollectorView, CollectorHasNoCallThatTakesAPath) {
  std::vector<long> numbers = {SYS_openat2,    SYS_chdir,      SYS_unlinkat, SYS_mkdirat,
                               SYS_readlinkat, SYS_getdents64, SYS_linkat,   SYS_renameat2};
#ifndef BAILIFF_SANITIZE  // filter_sanitizer.cc
  numbers.insert(numbers.end(), {SYS_open, SYS_openat, SYS_stat});
#endif
  for (const long number : numbers) {
    const Ended ended = RunLocked(Role::kCollector, "", "", [number] {
      syscall(number, AT_FDCWD, "/", 0, 0);
      Say("survived", 0);
    });
    EXPECT_TRUE(ended.exited(kForbiddenCallExit)) << number << ' ' << ended.said;
  }
}

// The clone carries its attributes before anybody can attach it, and nothing mounted below it.
TEST(CloneTree, AttributesAreSetOnTheDetachedMount) {
  arena::TemporaryDirectory directory;
  const std::string tree = directory.Make("tree");
  directory.Make("tree/below");
  directory.Write("tree/below/hidden", "x");
  const Ended ended = arena::Run([&] {
    arena::EnterOwnNamespaces();
    if (mount("none", (tree + "/below").c_str(), "tmpfs", 0, nullptr) != 0) _exit(97);
    const int at = open(tree.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (const MountUse use : {MountUse::kViewInput, MountUse::kViewOutput, MountUse::kCellRoot,
                               MountUse::kCellSource}) {
      Result<ipc::Fd> clone = CloneTree(at, use);
      if (!clone.ok()) _exit(96);
      struct statvfs facts {};
      if (fstatvfs(clone.value().get(), &facts) != 0) _exit(95);
      dprintf(
          2, "%lx %s %s\n", facts.f_flag & (ST_RDONLY | ST_NOSUID | ST_NODEV | ST_NOEXEC),
          (facts.f_flag & 0x2000) != 0 ? "nosymfollow" : "follow",
          faccessat(clone.value().get(), "below/hidden", F_OK, 0) == 0 ? "alone" : "with mounts");
    }
  });
  EXPECT_EQ(ended.said,
            "f nosymfollow alone\ne nosymfollow alone\n7 follow alone\n7 follow alone\n");
}

TEST(CloneTree, NeedsADirectoryOfOnesOwnNamespace) {
  const Ended ended = arena::Run([] {
    const int outside = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
    arena::EnterOwnNamespaces();
    const Result<ipc::Fd> clone = CloneTree(outside, MountUse::kViewInput);
    dprintf(2, "%s", clone.ok() ? "ok" : Info(clone.error().code).name.data());
  });
  EXPECT_EQ(ended.said, "policy.view.failed");
}

}  // namespace
}  // namespace bailiff::policy
