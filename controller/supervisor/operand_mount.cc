// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/operand_mount.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

namespace bailiff::controller {
namespace {

constexpr std::uint64_t kIdMap = 0x100000;  // MOUNT_ATTR_IDMAP, Linux 5.12

// A user namespace exists as long as somebody holds it: a child makes it and waits until it has
// been opened.
class NamespaceChild {
 public:
  static Result<NamespaceChild> Start() {
    BAILIFF_TRY_ASSIGN(ipc::Pipe hold, ipc::MakePipe());
    const long pid =
        syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
    if (pid < 0) return SystemError("clone", "operand");
    if (pid == 0) {
      close(hold.write.get());
      char byte = 0;
      static_cast<void>(!read(hold.read.get(), &byte, 1));  // ends when the parent lets go
      _exit(0);
    }
    return NamespaceChild(static_cast<pid_t>(pid), std::move(hold.write));
  }
  NamespaceChild(NamespaceChild&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), hold_(std::move(other.hold_)) {}
  NamespaceChild& operator=(NamespaceChild&&) = delete;
  NamespaceChild(const NamespaceChild&) = delete;
  NamespaceChild& operator=(const NamespaceChild&) = delete;
  ~NamespaceChild() {
    if (pid_ < 0) return;
    hold_.reset();
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
  }
  std::string File(const char* name) const { return "/proc/" + std::to_string(pid_) + "/" + name; }

 private:
  NamespaceChild(pid_t pid, ipc::Fd hold) : pid_(pid), hold_(std::move(hold)) {}
  pid_t pid_;
  ipc::Fd hold_;
};

std::string MapLine(std::uint32_t inside, std::uint32_t outside) {
  return std::to_string(inside) + " " + std::to_string(outside) + " 1\n";
}

// A user namespace in which `owner` is shown as uid:gid.
Result<ipc::Fd> MakeMapping(const struct stat& owner, uid_t uid, gid_t gid) {
  BAILIFF_TRY_ASSIGN(const NamespaceChild child, NamespaceChild::Start());
  BAILIFF_TRY(
      ipc::WriteFileAt(AT_FDCWD, child.File("uid_map").c_str(), MapLine(owner.st_uid, uid)));
  BAILIFF_TRY(
      ipc::WriteFileAt(AT_FDCWD, child.File("gid_map").c_str(), MapLine(owner.st_gid, gid)));
  return ipc::OpenAt(AT_FDCWD, child.File("ns/user").c_str(), O_RDONLY);
}

}  // namespace

Result<ipc::Fd> CloneForReading(int directory, uid_t uid, gid_t gid) {
  struct stat owner {};
  if (fstat(directory, &owner) != 0) return SystemError("fstat", "directory");
  // no fault point: nothing has been made yet, and the caller ends
  ipc::Fd tree(static_cast<int>(
      syscall(SYS_open_tree, directory, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH)));
  if (!tree.valid()) return SystemError("open_tree", "directory");
  // First read-only: where the mapping holds, what the owner may do the controller could do too.
  mount_attr attributes{};
  attributes.attr_set =
      MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
  if (syscall(SYS_mount_setattr, tree.get(), "", AT_EMPTY_PATH, &attributes, sizeof attributes) !=
      0)
    return SystemError("mount_setattr", "directory");
  // Without the mapping (a file system that has none, a mount that has one already, no user
  // namespace to be had) the helper reads less, never more.
  const auto mapping = MakeMapping(owner, uid, gid);
  if (!mapping.ok()) return tree;
  mount_attr map{};
  map.attr_set = kIdMap;
  map.userns_fd = static_cast<std::uint64_t>(mapping->get());
  static_cast<void>(syscall(SYS_mount_setattr, tree.get(), "", AT_EMPTY_PATH, &map, sizeof map));
  return tree;
}

}  // namespace bailiff::controller
