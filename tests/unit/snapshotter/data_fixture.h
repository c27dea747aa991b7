// SPDX-License-Identifier: Apache-2.0
// A data directory and the real, locked helper programs. Needs root, as the controller is inside
// its own namespace: without it the test fails.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "controller/supervisor/objects.h"
#include "tests/unit/snapshotter/support.h"

namespace bailiff::test {

class DataFixture : public testing::Test {
 protected:
  static constexpr uid_t kHelper = 1900000123;

  void SetUp() override {
    ASSERT_EQ(geteuid(), 0U)
        << "these tests start helpers under an id of their own: run them as root";
    ASSERT_EQ(chmod(data_.path().c_str(), 0700), 0);
    for (const char* name : {"objects", "objects/blob", "objects/tree", "objects/revision",
                             "images", "trees", "staging"})
      data_.MakeDirectory(name, 0700);
    snapshotter_ = Open("bailiff-snapshotter");
    importer_ = Open("bailiff-importer");
    host_.data = data_.fd();
    host_.snapshotter = snapshotter_.get();
    host_.importer = importer_.get();
    host_.identity.uid_map = {{0, kHelper, 1}};
    host_.identity.gid_map = {{0, kHelper, 1}};
    host_.identity.uid = kHelper;
    host_.identity.gid = kHelper;
    old_umask_ = umask(077);
  }
  void TearDown() override { umask(old_umask_); }

  static ipc::Fd Open(const std::string& program) {
    const std::string path = std::string(BAILIFF_TEST_BINARY_DIR) + "/bin/" + program;
    ipc::Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_TRUE(fd.valid()) << path;
    return fd;
  }

  std::size_t Staged() const { return Listing(data_ / "staging").size(); }

  TempDirectory data_;
  TempDirectory source_;
  ipc::Fd snapshotter_;
  ipc::Fd importer_;
  controller::JobHost host_;
  controller::JobHooks hooks_;
  mode_t old_umask_ = 0;
};

}  // namespace bailiff::test
