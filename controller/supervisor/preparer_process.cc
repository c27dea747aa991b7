// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/preparer_process.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "controller/supervisor/cgroup_layout.h"
#include "ipc/fault.h"
#include "ipc/fd.h"

namespace bailiff::controller {
namespace {

constexpr int kMaxDepth = 255;

// newuidmap(1) and newgidmap(1) are set-user-ID: the only programs of others that are executed, by
// absolute path, with no environment.
Result<void> RunMapTool(const char* tool, std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  char* const environment[] = {nullptr};
  const pid_t pid = fork();
  if (pid < 0) return SystemError("fork", tool);
  if (pid == 0) {
    execve(tool, arguments.data(), environment);
    _exit(127);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) {
    return Error{ErrorCode::kUserNamespace,
                 tool,
                 "it refused the range of /etc/subuid or /etc/subgid",
                 0,
                 {}};
  }
  return {};
}

Result<void> WriteMaps(PreparerWork& work) {
  const HostIdPlan& plan = work.plan;
  const std::string proc = "/proc/" + std::to_string(work.controller);
  if (plan.root_started) {
    const auto map = [&](std::uint32_t self, std::uint32_t first) {
      return "0 " + std::to_string(self) + " 1\n1 " + std::to_string(first) + ' ' +
             std::to_string(plan.count) + '\n';
    };
    BAILIFF_TRY(
        ipc::WriteFileAt(AT_FDCWD, (proc + "/uid_map").c_str(), map(plan.service_uid, plan.first)));
    return ipc::WriteFileAt(AT_FDCWD, (proc + "/gid_map").c_str(),
                            map(plan.service_gid, plan.first_gid));
  }
  if (plan.count == 0) {
    BAILIFF_TRY(ipc::WriteFileAt(AT_FDCWD, (proc + "/setgroups").c_str(), "deny"));
    BAILIFF_TRY(ipc::WriteFileAt(AT_FDCWD, (proc + "/uid_map").c_str(),
                                 "0 " + std::to_string(plan.service_uid) + " 1\n"));
    return ipc::WriteFileAt(AT_FDCWD, (proc + "/gid_map").c_str(),
                            "0 " + std::to_string(plan.service_gid) + " 1\n");
  }
  const std::string pid = std::to_string(work.controller);
  const std::string count = std::to_string(plan.count);
  BAILIFF_TRY(
      RunMapTool("/usr/bin/newuidmap", {"newuidmap", pid, "0", std::to_string(plan.service_uid),
                                        "1", "1", std::to_string(plan.first), count}));
  return RunMapTool("/usr/bin/newgidmap", {"newgidmap", pid, "0", std::to_string(plan.service_gid),
                                           "1", "1", std::to_string(plan.first_gid), count});
}

// A call on cgroupfs that failed, with what would mend it (h02, h03).
Error CgroupError(const char* call, const std::string& path) {
  Error error = SystemError(call, path);
  error.code = ErrorCode::kCgroupUnavailable;
  if (error.system_error == EROFS) {
    error.fix =
        "cgroupfs is mounted read-only here; run on the host or with a writable, private cgroup "
        "namespace";
  }
  if (error.system_error == EACCES || error.system_error == EPERM) {
    error.fix =
        "the parent cgroup is not delegated to this user: systemd-run --user --scope -p "
        "Delegate=yes bailiff …, or run as root";
  }
  return error;
}

Result<void> Own(const HostIdPlan& plan, const std::string& path) {
  if (!plan.root_started) return {};
  if (lchown(path.c_str(), plan.service_uid, plan.service_gid) != 0)
    return CgroupError("lchown", path);
  return {};
}

Result<void> MakeDirectory(const std::string& path) {
  if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return CgroupError("mkdir", path);
  return {};
}

Result<void> MoveInto(const PreparerWork& work, const std::string& cgroup) {
  for (const pid_t pid : {getpid(), work.controller}) {
    BAILIFF_TRY(
        ipc::WriteFileAt(AT_FDCWD, (cgroup + "/cgroup.procs").c_str(), std::to_string(pid)));
  }
  return {};
}

// v2 forbids processes in a cgroup that hands controllers to its children (cgroups(7), "no internal
// processes"), so the controller and this process move to a leaf. The leaf is inside the subtree:
// to start a process in another cgroup the controller must be allowed to write the cgroup.procs of
// the nearest common ancestor ("Delegation containment"), and the subtree is the one it owns.
Result<void> HandDown(PreparerWork& work, const std::string& parent, const std::string& subtree) {
  const std::string leaf = subtree + "/controller";
  // Another controller of this data directory may take an empty one away between two of these.
  for (int tries = 0;; ++tries) {
    BAILIFF_TRY(MakeDirectory(subtree));
    if (auto made = MakeDirectory(leaf); !made.ok()) {
      if (made.error().system_error == ENOENT && tries < 8) continue;
      return made;
    }
    auto moved = MoveInto(work, leaf);
    if (moved.ok()) break;
    if (moved.error().system_error == ENOENT && tries < 8) continue;
    Error error = std::move(moved).error();
    error.code = ErrorCode::kCgroupUnavailable;
    return error;
  }
  BAILIFF_TRY_ASSIGN(const std::string have,
                     ipc::ReadFileAt(AT_FDCWD, (parent + "/cgroup.controllers").c_str(), 4096));
  for (const char* controller : {"memory", "pids", "cpu"}) {
    if ((" " + have.substr(0, have.find('\n')) + " ").find(" " + std::string(controller) + " ") ==
        std::string::npos) {
      return Error{ErrorCode::kCgroupUnavailable,
                   parent,
                   "the controller " + std::string(controller) + " is not delegated here",
                   0,
                   {}};
    }
  }
  if (auto set = ipc::WriteFileAt(AT_FDCWD, (parent + "/cgroup.subtree_control").c_str(),
                                  "+memory +pids +cpu");
      !set.ok()) {
    Error error = std::move(set).error();
    error.code = ErrorCode::kCgroupUnavailable;
    if (error.system_error == EBUSY) {
      error.why += ": other processes are in " + parent;
      error.fix =
          "give bailiff a cgroup of its own: systemd-run --scope -p Delegate=yes bailiff …, or "
          "--cgroup-parent /NAME";
    }
    return error;
  }
  for (const char* file : {"", "/cgroup.procs", "/cgroup.subtree_control", "/cgroup.threads"}) {
    BAILIFF_TRY(Own(work.plan, subtree + file));
  }
  return {};
}

Result<void> DropCapabilities();

Result<void> MakeCgroups(PreparerWork& work, const std::string& name) {
  if (work.began.empty()) {
    BAILIFF_TRY_ASSIGN(const CgroupLayout own, FindCgroups(""));
    if (own.version == 2) work.began = own.hierarchies.front().parent;
  }
  BAILIFF_TRY_ASSIGN(CgroupLayout layout, FindCgroups(work.cgroup_parent));
  if (layout.version == 2 && work.cgroup_parent.empty())
    layout.hierarchies.front().parent = work.began;
  for (const CgroupHierarchy& hierarchy : layout.hierarchies) {
    const std::string subtree = hierarchy.parent + "/" + name;
    work.subtrees.push_back(subtree);
    if (!work.cgroup_parent.empty()) BAILIFF_TRY(MakeDirectory(hierarchy.parent));
    if (layout.version == 2) {
      BAILIFF_TRY(HandDown(work, hierarchy.parent, subtree));
    } else {
      BAILIFF_TRY(MakeDirectory(subtree));
      for (const char* file : {"", "/cgroup.procs", "/tasks"})
        BAILIFF_TRY(Own(work.plan, subtree + file));
    }
  }
  return DropCapabilities();
}

// Only an empty one goes: what an attempt still has in it stays. On v2 both processes go back to
// where they were started first; where that has controllers of its own by now they cannot, and the
// leaf stays until they have ended.
Result<void> RemoveCgroups(const PreparerWork& work) {
  for (const std::string& subtree : work.subtrees) {
    if (!work.began.empty()) {
      if (auto back = MoveInto(work, work.began); !back.ok())
        return back.error().system_error == EBUSY ? Result<void>() : back;
      const std::string leaf = subtree + "/controller";
      if (rmdir(leaf.c_str()) != 0 && errno != ENOENT) return SystemError("rmdir", leaf);
    }
    if (rmdir(subtree.c_str()) != 0 && errno != ENOENT) return SystemError("rmdir", subtree);
  }
  return {};
}

// What is left to do after the cgroups are made needs the caller's id, and as root one capability:
// the root of a v1 hierarchy is mode 0555, so removing a directory in it is refused even to its
// owner.
Result<void> DropCapabilities() {
  for (unsigned long capability = 0; prctl(PR_CAPBSET_READ, capability, 0UL, 0UL, 0UL) >= 0;
       ++capability) {
    prctl(PR_CAPBSET_DROP, capability, 0UL, 0UL, 0UL);
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct kept[2] = {};
  kept[0].effective = kept[0].permitted = geteuid() == 0 ? 1U << CAP_DAC_OVERRIDE : 0;
  if (syscall(SYS_capset, &header, kept) != 0) return SystemError("capset", "preparer");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) != 0)
    return SystemError("PR_SET_NO_NEW_PRIVS", "preparer");
  return {};
}

// Chowns without following links; what is not a directory, a file or a link was never put there by
// an export.
Result<void> GiveBack(int directory, const HostIdPlan& plan, int depth) {
  if (depth > kMaxDepth) return SystemError("fchown", "export directory", ELOOP);
  if (fchown(directory, plan.operator_uid, plan.operator_gid) != 0)
    return SystemError("fchown", "export directory");
  const int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return SystemError("openat", "export directory");
  DIR* entries = fdopendir(copy);
  Result<void> result;
  while (const dirent* entry = readdir(entries)) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (fchownat(directory, entry->d_name, plan.operator_uid, plan.operator_gid,
                 AT_SYMLINK_NOFOLLOW) != 0) {
      result = SystemError("fchownat", name);
      break;
    }
    if (entry->d_type != DT_DIR) continue;
    auto child = ipc::OpenBeneath(directory, entry->d_name, O_RDONLY | O_DIRECTORY, 0, true);
    result = child.ok() ? GiveBack(child->get(), plan, depth + 1)
                        : Result<void>(std::move(child).error());
    if (!result.ok()) break;
  }
  closedir(entries);
  return result;
}

// A file of O_TMPFILE has no name until all of it is on the disk: whatever dies before, nothing is
// left, and what has the name is whole. Where the file system has none, it has its name already.
Result<void> NameFile(const NewEntry& made) {
  struct stat status {};
  if (fstat(made.file, &status) != 0) return SystemError("fstat", made.name);
  const std::string link = "/proc/self/fd/" + std::to_string(made.file);
  if (const int error = BAILIFF_FAULT(BackupName)) return SystemError("linkat", made.name, error);
  if (status.st_nlink == 0 &&
      linkat(AT_FDCWD, link.c_str(), made.parent, made.name.c_str(), AT_SYMLINK_FOLLOW) != 0) {
    Error error = SystemError("linkat", made.name);
    if (error.system_error == EEXIST) error.code = ErrorCode::kFileExists;
    return error;
  }
  if (const int error = BAILIFF_FAULT(BackupNamed)) return SystemError("fsync", made.name, error);
  if (fsync(made.parent) != 0) return SystemError("fsync", made.name);
  return {};
}

// Everything below `directory`; nothing outside it, whatever links say. The helper that wrote it is
// gone.
bool Empty(int directory, int depth) {
  const int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* entries = depth > kMaxDepth || copy < 0 ? nullptr : fdopendir(copy);
  if (entries == nullptr) {
    if (copy >= 0) close(copy);
    return false;
  }
  bool empty = true;
  while (const dirent* entry = readdir(entries)) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == ".." || unlinkat(directory, entry->d_name, 0) == 0) continue;
    const auto child = ipc::OpenBeneath(directory, entry->d_name, O_RDONLY | O_DIRECTORY, 0, true);
    empty = child.ok() && Empty(child->get(), depth + 1) &&
            unlinkat(directory, entry->d_name, AT_REMOVEDIR) == 0 && empty;
  }
  closedir(entries);
  return empty;
}

// Nothing half made stays under the name: as the operator, whom the place belongs to. What has the
// name by now and is something else is left alone. Nobody waits for an answer any more; what cannot
// be taken away is the operator's to see.
void Discard(const NewEntry& made) {
  const int own = made.directory >= 0 ? made.directory : made.file;
  if (own < 0) return;
  struct stat mine {};
  struct stat named {};
  if (fstat(own, &mine) != 0 ||
      fstatat(made.parent, made.name.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0 ||
      mine.st_dev != named.st_dev || mine.st_ino != named.st_ino)
    return;
  if (made.directory < 0) {
    unlinkat(made.parent, made.name.c_str(), 0);
  } else if (Empty(made.directory, 0)) {
    unlinkat(made.parent, made.name.c_str(), AT_REMOVEDIR);
  }
}

// The name is checked here too: this process is the one with the privilege.
bool IsSubtreeName(const std::string& name) {
  constexpr std::string_view prefix = "bailiff.";
  if (name.size() != prefix.size() + 8 || !name.starts_with(prefix)) return false;
  return std::all_of(name.begin() + static_cast<std::ptrdiff_t>(prefix.size()), name.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

Result<void> Serve(PreparerWork& work, const std::string& request) {
  if (request == "m") return WriteMaps(work);
  if (request == "o" && work.made.directory >= 0) {
    if (work.plan.root_started) BAILIFF_TRY(GiveBack(work.made.directory, work.plan, 0));
    work.kept = true;
    return {};
  }
  if (request == "n" && work.made.file >= 0) {
    BAILIFF_TRY(NameFile(work.made));
    work.kept = true;
    return {};
  }
  if (request.size() > 1 && request[0] == 'c' && IsSubtreeName(request.substr(1)))
    return MakeCgroups(work, request.substr(1));
  if (request == "r" || request == std::string(1, kLastRequest)) return RemoveCgroups(work);
  return Error{ErrorCode::kSystem, "preparer", "a request it does not know", EINVAL, {}};
}

// One answer: errno, code, then subject, why and fix, each NUL-terminated.
std::string Encode(const Result<void>& result) {
  if (result.ok()) return "ok";
  const Error& error = result.error();
  std::string text = "no" + std::to_string(static_cast<unsigned>(error.code)) + ' ' +
                     std::to_string(error.system_error);
  for (const std::string* part : {&error.subject, &error.why, &error.fix})
    text += '\0' + part->substr(0, 1024);
  return text;
}

}  // namespace

void RunPreparer(PreparerWork& work, int socket, int bell) {
  prctl(PR_SET_PDEATHSIG, static_cast<unsigned long>(SIGKILL));
  signal(SIGINT, SIG_IGN);  // a Ctrl-C reaches the whole terminal group; the controller decides
  signal(SIGTERM, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  char buffer[64];
  for (;;) {
    eventfd_t rings = 0;
    ssize_t got = recv(socket, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) {
      pollfd wait[2] = {{bell, POLLIN, 0}, {socket, POLLRDHUP, 0}};  // of the socket only its end
      if (poll(wait, 2, -1) < 0 && errno != EINTR) _exit(0);
      if (wait[0].revents != 0) eventfd_read(bell, &rings);
      got = recv(socket, buffer, sizeof buffer, MSG_DONTWAIT);
      if (got < 0 && errno == EAGAIN) continue;
    }
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      if (!work.kept) Discard(work.made);
      _exit(0);
    }
    const std::string answer =
        Encode(Serve(work, std::string(buffer, static_cast<std::size_t>(got))));
    if (send(socket, answer.data(), answer.size(), MSG_NOSIGNAL) < 0 || buffer[0] == kLastRequest)
      _exit(0);
  }
}

}  // namespace bailiff::controller
