// SPDX-License-Identifier: Apache-2.0
#include "ipc/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

namespace bailiff::ipc {
namespace {

class FdTest : public testing::Test {
 protected:
  FdTest()
      : root_(std::filesystem::path(testing::TempDir()) / ("fd_test." + std::to_string(getpid()))) {
    std::filesystem::create_directories(root_ / "in/deep");
    directory_ = Fd(open((root_ / "in").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  ~FdTest() override { std::filesystem::remove_all(root_); }
  std::filesystem::path root_;
  Fd directory_;
};

bool CloseOnExec(int fd) { return (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0; }

TEST_F(FdTest, EverythingIsCloseOnExec) {
  EXPECT_TRUE(CloseOnExec(OpenAt(directory_.get(), ".", O_RDONLY)->get()));
  EXPECT_TRUE(CloseOnExec(OpenBeneath(directory_.get(), "deep", O_RDONLY)->get()));
  const auto pipe = MakePipe();
  EXPECT_TRUE(CloseOnExec(pipe->read.get()));
  EXPECT_TRUE(CloseOnExec(pipe->write.get()));
}

TEST_F(FdTest, MovingLeavesNothingBehind) {
  Fd a(dup(0));
  const int number = a.get();
  Fd b = std::move(a);
  EXPECT_FALSE(a.valid());  // NOLINT(bugprone-use-after-move)
  b = Fd();
  EXPECT_EQ(fcntl(number, F_GETFD), -1);
}

TEST_F(FdTest, BeneathNeverLeavesAndFollowsNoLink) {
  std::filesystem::create_symlink("/etc/passwd", root_ / "in/absolute");
  std::filesystem::create_symlink("deep", root_ / "in/inside");
  EXPECT_TRUE(OpenBeneath(directory_.get(), "deep", O_RDONLY).ok());
  for (const char* path : {"..", "../in", "deep/../../in", "/etc/passwd", "absolute", "inside"}) {
    EXPECT_FALSE(OpenBeneath(directory_.get(), path, O_RDONLY).ok()) << path;
  }
}

TEST_F(FdTest, ReadToEndStopsAtItsBound) {
  const auto file = OpenAt(directory_.get(), "/dev/zero", O_RDONLY);
  const auto bytes = ReadToEnd(file->get(), 1 << 20, "zero");
  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.error().system_error, EFBIG);
}

TEST_F(FdTest, ReadAndWriteWholeFiles) {
  const Fd file(open((root_ / "in/f").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  const std::string bytes(100000, 'x');
  ASSERT_TRUE(WriteAll(file.get(), bytes, "f").ok());
  const Fd in(open((root_ / "in").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_EQ(*ReadFileAt(in.get(), "f", 100000), bytes);
  EXPECT_FALSE(ReadFileAt(in.get(), "f", 99999).ok());
  ASSERT_TRUE(WriteFileAt(in.get(), "f", "short").ok());
  EXPECT_EQ(ReadFileAt(in.get(), "f", 100000)->substr(0, 6), "shortx");
  EXPECT_FALSE(WriteFileAt(in.get(), "absent", "x").ok());
  EXPECT_FALSE(WriteAll(OpenAt(AT_FDCWD, "/dev/full", O_WRONLY)->get(), "x", "full").ok());
}

}  // namespace
}  // namespace bailiff::ipc
