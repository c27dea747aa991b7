// SPDX-License-Identifier: Apache-2.0
// What a controller that somebody took over could still do with the mounts it was given: it has
// every capability of its own user namespace, so only what the kernel locked holds. Needs root.
#include "controller/supervisor/host_mode.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <string>

#include "tests/unit/snapshotter/support.h"

namespace bailiff::test {
namespace {

using controller::HostMode;

// 0, or what the kernel refused it with.
int Clear(int directory, const char* path, unsigned flags, std::uint64_t attribute) {
  mount_attr attributes{};
  attributes.attr_clr = attribute;
  if (syscall(SYS_mount_setattr, directory, path, flags, &attributes, sizeof attributes) == 0)
    return 0;
  return errno;
}

int Remount(const char* path) {
  return mount(nullptr, path, nullptr, MS_REMOUNT | MS_BIND, nullptr) == 0 ? 0 : errno;
}

int Unmount(const char* path) { return umount2(path, MNT_DETACH) == 0 ? 0 : errno; }

int Write(int directory, const char* name) {
  const int fd = openat(directory, name, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  close(fd);
  return 0;
}

ipc::Fd Copy(int directory, const char* path, unsigned flags) {
  return ipc::Fd(static_cast<int>(
      syscall(SYS_open_tree, directory, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | flags)));
}

class HostModeMounts : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(geteuid(), 0U) << "a controller started as root is what is tested: run it as root";
    source_.Write("secret", "root's\n", 0600);
    ASSERT_EQ(chmod(source_.path().c_str(), 0700), 0);
    ASSERT_EQ(chmod(data_.path().c_str(), 0700), 0);
  }

  // What `inside` says of itself in a controller that has this source as its operand.
  std::string InController(const std::function<std::string(HostMode&)>& inside) {
    int words[2];
    if (pipe2(words, O_CLOEXEC) != 0) return "pipe2";
    const pid_t pid = fork();
    if (pid == 0) {
      std::string said;
      {
        controller::HostModeRequest request;
        request.operand_directories.emplace_back(
            open(source_.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        auto mode = controller::EnterHostMode(std::move(request));
        said = mode.ok() ? inside(*mode) : Why(mode);
      }
      static_cast<void>(!write(words[1], said.data(), said.size()));
      _exit(0);
    }
    close(words[1]);
    std::string said;
    char buffer[4096];
    for (ssize_t got = 0; (got = read(words[0], buffer, sizeof buffer)) > 0;)
      said.append(buffer, static_cast<std::size_t>(got));
    close(words[0]);
    waitpid(pid, nullptr, 0);
    return said;
  }

  TempDirectory source_;
  TempDirectory data_;
};

// Becomes the id that reads the source as its owner, with every capability kept.
void BecomeReader(const HostMode& mode) {
  static_cast<void>(!setresuid(mode.import_id(), mode.import_id(), 0));
}

TEST_F(HostModeMounts, f06_the_owner_of_a_lent_source_can_be_become_and_reads_it) {
  EXPECT_EQ(InController([](HostMode& mode) {
              BecomeReader(mode);
              return std::to_string(access("/operands/0/secret", R_OK));
            }),
            "0")
      << "the tests below would pass for another reason";
}

TEST_F(HostModeMounts, what_the_caller_masks_is_masked_for_nobody_inside) {
  for (const mode_t mask : {0U, 077U, 0777U}) {
    const mode_t before = umask(mask);
    EXPECT_EQ(InController([](HostMode& mode) {
                const mode_t now = umask(0);
                return std::to_string(access("/operands/0", X_OK)) +
                       std::to_string(access("/proc/self", X_OK)) +
                       std::to_string(mode.operands.size()) + " " + std::to_string(now);
              }),
              "001 63")
        << mask;
    umask(before);
  }
}

TEST_F(HostModeMounts, R3_01_a_lent_source_stays_read_only_whatever_becomes_of_the_controller) {
  EXPECT_EQ(InController([](HostMode& mode) {
              std::string said;
              const auto tell = [&](const char* what, int error) {
                said += std::string(what) + ": " + std::to_string(error) + "\n";
              };
              const int operand = mode.operands[0].get();
              tell("setattr", Clear(AT_FDCWD, "/operands/0", 0, MOUNT_ATTR_RDONLY));
              tell("nosuid", Clear(AT_FDCWD, "/operands/0", 0, MOUNT_ATTR_NOSUID));
              tell("nodev", Clear(AT_FDCWD, "/operands/0", 0, MOUNT_ATTR_NODEV));
              tell("noexec", Clear(AT_FDCWD, "/operands/0", 0, MOUNT_ATTR_NOEXEC));
              tell("descriptor", Clear(operand, "", AT_EMPTY_PATH, MOUNT_ATTR_RDONLY));
              tell("remount", Remount("/operands/0"));
              const ipc::Fd copy = Copy(operand, "", AT_EMPTY_PATH);
              tell("copy",
                   copy.valid() ? Clear(copy.get(), "", AT_EMPTY_PATH, MOUNT_ATTR_RDONLY) : -1);
              // One more namespace inside is one more copy, never one without the lock.
              tell("unshare", unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 ? 0 : errno);
              tell("deeper", Clear(AT_FDCWD, "/operands/0", 0, MOUNT_ATTR_RDONLY));
              return said;
            }),
            "setattr: 1\nnosuid: 1\nnodev: 1\nnoexec: 1\ndescriptor: 1\nremount: 1\ncopy: 1\n"
            "unshare: 0\ndeeper: 1\n");
  EXPECT_EQ(InController([](HostMode& mode) {
              BecomeReader(mode);
              return std::to_string(Write(mode.operands[0].get(), "secret"));
            }),
            std::to_string(EROFS));
}

TEST_F(HostModeMounts, b14_the_tiny_root_is_locked_in_place) {
  EXPECT_EQ(InController([](HostMode&) {
              std::string said;
              const auto tell = [&](const char* what, int error) {
                said += std::string(what) + ": " + std::to_string(error) + "\n";
              };
              tell("writable", Clear(AT_FDCWD, "/", 0, MOUNT_ATTR_RDONLY));
              tell("source", Unmount("/operands/0"));
              tell("proc", Unmount("/proc"));
              tell("cgroups", Unmount("/sys/fs/cgroup"));
              tell("file", open("/file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600) >= 0 ? 0 : errno);
              return said;
            }),
            "writable: 1\nsource: 22\nproc: 22\ncgroups: 22\nfile: 30\n");
}

}  // namespace
}  // namespace bailiff::test
