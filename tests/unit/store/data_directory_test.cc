// SPDX-License-Identifier: Apache-2.0
// Which directories are accepted as a data directory, and what init makes of one.
#include "controller/store/data_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "tests/unit/store/support.h"

namespace bailiff::controller {
namespace {

using namespace test;

class DataDirectory : public testing::Test {
 protected:
  std::string Make(const std::string& name, mode_t mode) {
    const std::string path = directory_.path() + "/" + name;
    EXPECT_EQ(mkdir(path.c_str(), 0700), 0);
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }
  TemporaryDirectory directory_;
};

TEST_F(DataDirectory, accepts_a_private_directory_below_a_sticky_one) {
  const auto opened = OpenDataDirectory(Make("d", 0700), geteuid());
  ASSERT_OK(opened);
  EXPECT_NE(fcntl(opened->get(), F_GETFD) & FD_CLOEXEC, 0);
  ASSERT_OK(OpenDataDirectory(directory_.path() + "/./d/", geteuid()));
  ASSERT_OK(OpenDataDirectory(directory_.path() + "/d/../d", geteuid()));
}

TEST_F(DataDirectory, accepts_a_relative_path) {
  const int status = InChild([&] {
    if (chdir(directory_.path().c_str()) != 0) return 2;
    return CreateDataDirectory("some/where", {geteuid(), getegid()}).ok() ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
  struct stat made {};
  ASSERT_EQ(stat((directory_.path() + "/some/where").c_str(), &made), 0);
  EXPECT_EQ(made.st_mode & 07777, 0700U);
}

TEST_F(DataDirectory, r3_05_refuses_a_mode_others_can_use) {
  for (const mode_t mode : {0701U, 0750U, 0755U, 0770U, 0777U, 01700U, 0500U})
    ASSERT_CODE(ErrorCode::kDataMode,
                OpenDataDirectory(Make("m" + std::to_string(mode), mode), geteuid()));
}

TEST_F(DataDirectory, refuses_another_owner) {
  const std::string path = Make("d", 0700);
  const auto refused = OpenDataDirectory(path, geteuid() + 1);
  ASSERT_CODE(ErrorCode::kDataOwner, refused);
  EXPECT_EQ(refused.error().subject, path);
}

TEST_F(DataDirectory, refuses_links_wherever_they_stand) {
  Make("real", 0700);
  const std::string link = directory_.path() + "/link";
  ASSERT_EQ(symlink("real", link.c_str()), 0);
  ASSERT_CODE(ErrorCode::kDataLink, OpenDataDirectory(link, geteuid()));
  ASSERT_EQ(mkdir((directory_.path() + "/real/d").c_str(), 0700), 0);
  const auto refused = OpenDataDirectory(link + "/d", geteuid());
  ASSERT_CODE(ErrorCode::kDataLink, refused);
  EXPECT_EQ(refused.error().subject, link);
  ASSERT_CODE(ErrorCode::kDataLink, CreateDataDirectory(link + "/e", {geteuid(), getegid()}));
}

TEST_F(DataDirectory, refuses_a_way_others_can_write_to_unless_it_is_sticky) {
  for (const mode_t mode : {0777U, 0770U, 0722U, 0720U, 0702U}) {
    const std::string open = Make("o" + std::to_string(mode), mode);
    ASSERT_EQ(mkdir((open + "/d").c_str(), 0700), 0);
    const auto refused = OpenDataDirectory(open + "/d", geteuid());
    ASSERT_CODE(ErrorCode::kDataPath, refused);
    EXPECT_EQ(refused.error().subject, open);
    ASSERT_EQ(chmod(open.c_str(), mode | S_ISVTX), 0);
    ASSERT_OK(OpenDataDirectory(open + "/d", geteuid()));
  }
}

TEST_F(DataDirectory, refuses_a_way_that_belongs_to_another_user) {
  ASSERT_EQ(geteuid(), 0U) << "this test needs root to give a directory away";
  const std::string other = Make("other", 0755);
  ASSERT_EQ(mkdir((other + "/d").c_str(), 0700), 0);
  ASSERT_EQ(chown(other.c_str(), 12345, 12345), 0);
  ASSERT_CODE(ErrorCode::kDataPath, OpenDataDirectory(other + "/d", geteuid()));
}

TEST_F(DataDirectory, create_gives_the_last_one_to_its_owner_and_makes_parents) {
  ASSERT_EQ(geteuid(), 0U) << "this test needs root to give a directory away";
  const std::string path = directory_.path() + "/a/b/data";
  ASSERT_OK(CreateDataDirectory(path, {12345, 23456}));
  struct stat made {};
  ASSERT_EQ(stat(path.c_str(), &made), 0);
  EXPECT_EQ(made.st_uid, 12345U);
  EXPECT_EQ(made.st_gid, 23456U);
  EXPECT_EQ(made.st_mode & 07777, 0700U);
  ASSERT_EQ(stat((directory_.path() + "/a/b").c_str(), &made), 0);
  EXPECT_EQ(made.st_uid, 0U);
  ASSERT_OK(CreateDataDirectory(path, {12345, 23456}));  // accepted as it is
  ASSERT_CODE(ErrorCode::kDataOwner, CreateDataDirectory(path, {0, 0}));
}

TEST_F(DataDirectory, names_what_is_missing) {
  const auto missing = OpenDataDirectory(directory_.path() + "/no/where", geteuid());
  ASSERT_CODE(ErrorCode::kDataMissing, missing);
  EXPECT_EQ(missing.error().subject, directory_.path() + "/no");
  std::ofstream(directory_.path() + "/file") << "x";
  ASSERT_CODE(ErrorCode::kDataMissing, OpenDataDirectory(directory_.path() + "/file", geteuid()));
  ASSERT_CODE(ErrorCode::kDataMissing, OpenDataDirectory("", geteuid()));
  ASSERT_CODE(ErrorCode::kDataPath, OpenDataDirectory("/", geteuid()));
}

TEST_F(DataDirectory, e09_refuses_file_systems_of_other_machines_by_type) {
  EXPECT_EQ(RefusedFileSystem(0x6969), "NFS");
  EXPECT_EQ(RefusedFileSystem(0x01021997), "9p");
  EXPECT_EQ(RefusedFileSystem(0x65735546), "FUSE");
  EXPECT_EQ(RefusedFileSystem(0xff534d42), "CIFS");
  EXPECT_EQ(RefusedFileSystem(0xef53), "");
  EXPECT_EQ(RefusedFileSystem(0x794c7630), "");  // overlay: shown by the probe
}

TEST_F(DataDirectory, e09_a_file_system_without_shared_files_is_refused_by_the_probe) {
  // /proc is neither trusted nor refused by type, and no file can be made there.
  const auto proc = ipc::OpenAt(AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY);
  ASSERT_OK(proc);
  EXPECT_FALSE(CheckFileSystem(proc->get(), "/proc").ok());
}

TEST_F(DataDirectory, init_makes_the_layout_of_the_contract) {
  const Data data(directory_.path());
  for (const char* name : {"objects/blob", "objects/tree", "objects/revision", "images", "trees",
                           "execution", "staging", "run"}) {
    struct stat status {};
    ASSERT_EQ(fstatat(data.fd.get(), name, &status, 0), 0) << name;
    EXPECT_EQ(status.st_mode, S_IFDIR | 0700U) << name;
  }
  struct stat status {};
  ASSERT_EQ(fstatat(data.fd.get(), "run/wake", &status, 0), 0);
  EXPECT_EQ(status.st_mode, S_IFIFO | 0600U);
  for (const char* name :
       {"format", "authority", "state.sqlite", "execution/owners.lock", "controller.lock"}) {
    ASSERT_EQ(fstatat(data.fd.get(), name, &status, 0), 0) << name;
    EXPECT_EQ(status.st_mode & S_IFMT, static_cast<mode_t>(S_IFREG)) << name;
  }
  EXPECT_EQ(*ipc::ReadFileAt(data.fd.get(), "format", 100), "bailiff-data 1\n");
  EXPECT_EQ(data.repository.size(), 32U);
  Store store = data.Open();
  EXPECT_EQ(store.GetAuthority()->repository, data.repository);
  EXPECT_EQ(store.GetAuthority()->policy_epoch, 0);
  ASSERT_OK(store.CheckIntegrity(true));
}

TEST_F(DataDirectory, init_again_changes_nothing) {
  const Data data(directory_.path());
  const auto again = InitDataDirectory(data.fd.get(), data.database, kOperator);
  ASSERT_OK(again);
  EXPECT_FALSE(again->created);
  EXPECT_EQ(again->repository, data.repository);
}

TEST_F(DataDirectory, init_refuses_a_directory_with_something_else_in_it) {
  const std::string path = Make("d", 0700);
  std::ofstream(path + "/thesis.txt") << "x";
  const auto fd = OpenDataDirectory(path, geteuid());
  ASSERT_OK(fd);
  const auto refused = InitDataDirectory(fd->get(), path + "/state.sqlite", kOperator);
  ASSERT_CODE(ErrorCode::kDataNotEmpty, refused);
  EXPECT_NE(refused.error().why.find("thesis.txt"), std::string::npos);
  EXPECT_NE(access((path + "/objects").c_str(), F_OK), 0);
}

TEST_F(DataDirectory, format_is_checked) {
  const std::string path = Make("d", 0700);
  const auto fd = OpenDataDirectory(path, geteuid());
  ASSERT_OK(fd);
  ASSERT_CODE(ErrorCode::kDataMissing, CheckFormat(fd->get()));
  std::ofstream(path + "/format") << "bailiff-data 2\n";
  ASSERT_CODE(ErrorCode::kDataFormatUnknown, CheckFormat(fd->get()));
  std::ofstream(path + "/format") << "bailiff-data 1\n";
  ASSERT_OK(CheckFormat(fd->get()));
  std::ofstream(path + "/authority") << "not an id\n";
  ASSERT_CODE(ErrorCode::kStoreForeign, ReadAuthority(fd->get()));
}

TEST_F(DataDirectory, b13_a_place_where_names_fold_is_refused) {
  const std::string path = Make("d", 0700);
  const auto fd = OpenDataDirectory(path, geteuid());
  ASSERT_OK(fd);
  std::ofstream(path + "/format") << "bailiff-data 1\n";
  std::ofstream(path + "/controller.lock") << "";
  ASSERT_OK(CheckFormat(fd->get()));
  // One file under both names, as a file system that folds case would show it.
  ASSERT_EQ(link((path + "/controller.lock").c_str(), (path + "/CONTROLLER.LOCK").c_str()), 0);
  ASSERT_CODE(ErrorCode::kDataFolds, CheckFormat(fd->get()));
}

TEST_F(DataDirectory, two_inits_at_once_make_one_repository) {
  const std::string path = Make("d", 0700);
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    children.push_back(StartChild([&] {
      const auto fd = OpenDataDirectory(path, geteuid());
      if (!fd.ok()) return 1;
      return InitDataDirectory(fd->get(), path + "/state.sqlite", kOperator).ok() ? 0 : 1;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(WaitChild(child), 0);
  EXPECT_EQ(ForeignSql(path + "/state.sqlite", "SELECT count(*) FROM authority"), "1");
}

}  // namespace
}  // namespace bailiff::controller
