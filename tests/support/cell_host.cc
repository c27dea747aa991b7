// SPDX-License-Identifier: Apache-2.0
#include "tests/support/cell_host.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "controller/supervisor/cgroup_layout.h"
#include "policy/cell.h"
#include "tests/support/cell_image.h"

namespace bailiff::test {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kService = 1900000000;  // becomes 0 inside; what follows, 1 and up
constexpr unsigned kWardenId = 1;
constexpr unsigned kCandidateId = 2;

[[noreturn]] void Die(const char* what) {
  std::fprintf(stderr, "cell_host: %s: %s\n", what, strerrordesc_np(errno));
  std::abort();
}
void Must(bool ok, const char* what) {
  if (!ok) Die(what);
}
template <class T>
T Take(Result<T> result, const char* what) {
  if (!result.ok()) {
    std::fprintf(stderr, "cell_host: %s: %s: %s\n", what, result.error().subject.c_str(),
                 result.error().why.c_str());
    std::abort();
  }
  return std::move(result).value();
}
void Put(const std::string& path, std::string_view text) {
  const auto done = ipc::WriteFileAt(AT_FDCWD, path.c_str(), text);
  if (!done.ok()) Die(path.c_str());
}

}  // namespace

CellHost& CellHost::Get() {
  static CellHost host;
  return host;
}

void CellHost::Enter() {
  Must(geteuid() == 0, "these tests need root");
  const std::string bin = BAILIFF_TEST_BINARY_DIR "/bin/";
  warden_ = Take(ipc::OpenAt(AT_FDCWD, (bin + "bailiff-warden").c_str(), O_PATH), "warden");
  collector_ =
      Take(ipc::OpenAt(AT_FDCWD, (bin + "bailiff-collector").c_str(), O_PATH), "collector");

  // Set in the machine of tests/vm: on v2 the caller's own cgroup, which holds processes, can have
  // no children with limits.
  const char* const parent_cgroup = std::getenv("BAILIFF_TEST_CGROUP_PARENT");
  const auto layout =
      Take(controller::FindCgroups(parent_cgroup == nullptr ? "" : parent_cgroup), "cgroups");
  version_ = static_cast<unsigned>(layout.version);
  const std::string leaf = "/bailiff-cell-test." + std::to_string(getpid());
  for (const auto& hierarchy : layout.hierarchies) {
    const std::string directory = hierarchy.parent + leaf;
    Must(mkdir(directory.c_str(), 0755) == 0, directory.c_str());
    Must(chown(directory.c_str(), kService, kService) == 0, directory.c_str());
    for (const char* const file :
         {"/cgroup.procs", version_ == 1 ? "/tasks" : "/cgroup.subtree_control"})
      Must(chown((directory + file).c_str(), kService, kService) == 0, file);
    parents_.push_back(directory);
  }
  if (version_ == 2)
    Must(mkdir((parents_[0] + "/controller").c_str(), 0755) == 0, "controller's cgroup");

  char work[] = "/tmp/bailiff-cell-test.XXXXXX";
  Must(mkdtemp(work) != nullptr, "mkdtemp");
  work_ = work;
  Must(chmod(work, 0755) == 0, "chmod");
  MakeImages(work_);
  for (const auto& entry : fs::recursive_directory_iterator(work_))
    Must(lchown(entry.path().c_str(), kService, kService) == 0, "lchown");

  int pair[2];
  Must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0, "socketpair");
  const pid_t parent = getpid();
  janitor_ = fork();
  Must(janitor_ >= 0, "fork");
  if (janitor_ == 0) {
    // Keeps root's privilege: writes the maps, and removes what was made when told or orphaned.
    close(pair[1]);
    char byte;
    const std::string proc = "/proc/" + std::to_string(parent);
    const std::string map = "0 " + std::to_string(kService) + " 65536\n";
    if (read(pair[0], &byte, 1) == 1) {
      Put(proc + "/uid_map", map);
      Put(proc + "/gid_map", map);
      if (write(pair[0], "g", 1) != 1) _exit(1);
    }
    while (read(pair[0], &byte, 1) > 0) {
    }
    if (version_ == 2) {
      // Its child is still where it was; a process that is gone needs no moving.
      auto own = ipc::ReadFileAt(AT_FDCWD, "/proc/self/cgroup", 4096);
      const std::string path = own.ok() ? own->substr(3, own->find('\n') - 3) : "/";
      static_cast<void>(ipc::WriteFileAt(
          AT_FDCWD, ("/sys/fs/cgroup" + path + "/cgroup.procs").c_str(), std::to_string(parent)));
    }
    std::error_code ignored;
    fs::remove_all(work_, ignored);
    // What a test that failed has left: its processes die with it, which takes a moment.
    for (const std::string& directory : parents_) {
      for (int i = 0; i < 200 && rmdir(directory.c_str()) != 0 && errno != ENOENT; ++i) {
        for (const auto& attempt : fs::directory_iterator(directory, ignored)) {
          if (!attempt.is_directory(ignored)) continue;
          rmdir((attempt.path() / "cell").c_str());
          rmdir((attempt.path() / "warden").c_str());
          rmdir(attempt.path().c_str());
        }
        usleep(5000);
      }
    }
    _exit(0);
  }
  close(pair[0]);
  janitor_channel_ = ipc::Fd(pair[1]);
  // Who starts a process in a cgroup must itself be below the directory that was given to it.
  if (version_ == 2) Put(parents_[0] + "/controller/cgroup.procs", "0");
  Must(unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0, "unshare");
  char byte;
  Must(write(pair[1], "u", 1) == 1 && read(pair[1], &byte, 1) == 1, "maps");
  Must(setgroups(0, nullptr) == 0 && setresgid(0, 0, 0) == 0 && setresuid(0, 0, 0) == 0, "ids");
  Must(prctl(PR_SET_DUMPABLE, 1UL) == 0, "dumpable");

  Must(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "private");
  const int data = open_tree(AT_FDCWD, work_.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
  Must(data >= 0, "open_tree");
  Must(mount("tmpfs", "/tmp", "tmpfs", 0, "mode=0755") == 0, "tmpfs");
  Must(chdir("/tmp") == 0, "chdir");
  const auto bind = [](int tree, const char* to) {
    Must(tree >= 0, to);
    Must(move_mount(tree, "", AT_FDCWD, to, MOVE_MOUNT_F_EMPTY_PATH) == 0, to);
    close(tree);
  };
  const unsigned recursive = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE;
  for (const char* const name : {"cell", "data", "proc", "dev", "sys/fs/cgroup"})
    fs::create_directories(name);
  bind(data, "data");
  bind(open_tree(AT_FDCWD, "/proc", recursive), "proc");
  bind(open_tree(AT_FDCWD, "/dev", recursive), "dev");
  bind(open_tree(AT_FDCWD, "/sys/fs/cgroup", recursive), "sys/fs/cgroup");
#ifdef BAILIFF_SANITIZE
  // Sanitized programs are dynamic: their loader and libraries must be there.
  fs::create_directory("usr");
  bind(open_tree(AT_FDCWD, "/usr", recursive), "usr");
  for (const char* const name : {"lib", "lib64"})
    fs::create_symlink(std::string("usr/") + name, name);
#endif
  Must(syscall(SYS_pivot_root, ".", ".") == 0, "pivot_root");
  Must(umount2(".", MNT_DETACH) == 0, "umount2");
  Must(chdir("/") == 0, "chdir");
}

void CellHost::Leave() {
  if (janitor_ < 0) return;
  janitor_channel_.reset();
  int status = 0;
  waitpid(janitor_, &status, 0);
  janitor_ = -1;
}

std::string CellHost::CgroupOf(const std::string& name, const std::string& controller) const {
  if (version_ == 2) return parents_[0] + '/' + name + "/cell";
  const std::size_t index = controller == "memory" ? 0 : controller == "pids" ? 1 : 2;
  return parents_[index] + '/' + name;
}

std::vector<ipc::Fd> CellHost::MakeCgroups(const std::string& name) {
  std::vector<ipc::Fd> descriptors;
  if (version_ == 2) {
    const std::string attempt = parents_[0] + '/' + name;
    Put(parents_[0] + "/cgroup.subtree_control", "+memory +pids +cpu");
    Must(mkdir(attempt.c_str(), 0755) == 0, attempt.c_str());
    Put(attempt + "/cgroup.subtree_control", "+memory +pids +cpu");
    for (const char* const part : {"/warden", "/cell"})
      Must(mkdir((attempt + part).c_str(), 0755) == 0, part);
    Put(attempt + "/cell/memory.max", "67108864");
    Put(attempt + "/cell/memory.swap.max", "0");
    Put(attempt + "/cell/pids.max", "32");
    for (const char* const file : {"/cgroup.procs", "/cell/cgroup.procs"})
      Must(chown((attempt + file).c_str(), kWardenId, kWardenId) == 0, file);
    descriptors.push_back(Take(
        ipc::OpenAt(AT_FDCWD, (attempt + "/cell").c_str(), O_RDONLY | O_DIRECTORY), "cell cgroup"));
    return descriptors;
  }
  for (const std::string& parent : parents_) {
    const std::string directory = parent + '/' + name;
    Must(mkdir(directory.c_str(), 0755) == 0, directory.c_str());
    const std::string tasks = directory + "/tasks";
    Must(chown(tasks.c_str(), kWardenId, kWardenId) == 0, tasks.c_str());
    // v1 compares the opener's effective id with the id of the task that is moved.
    Must(setresuid(static_cast<uid_t>(-1), kWardenId, static_cast<uid_t>(-1)) == 0, "seteuid");
    descriptors.push_back(Take(ipc::OpenAt(AT_FDCWD, tasks.c_str(), O_WRONLY), "tasks"));
    Must(setresuid(static_cast<uid_t>(-1), 0, static_cast<uid_t>(-1)) == 0, "seteuid");
    Must(prctl(PR_SET_DUMPABLE, 1UL) == 0, "dumpable");
  }
  Put(CgroupOf(name, "memory") + "/memory.limit_in_bytes", "67108864");
  Put(CgroupOf(name, "pids") + "/pids.max", "32");
  return descriptors;
}

bool CellHost::RemoveCgroups(const std::string& name) {
  bool removed = true;
  for (const std::string& parent : parents_) {
    const std::string directory = parent + '/' + name;
    if (version_ == 2) {
      removed = rmdir((directory + "/cell").c_str()) == 0 && removed;
      removed = rmdir((directory + "/warden").c_str()) == 0 && removed;
    }
    removed = rmdir(directory.c_str()) == 0 && removed;
  }
  return removed;
}

ipc::Fd CellHost::CloneImage(const char* image) {
  ipc::Fd tree(open_tree(AT_FDCWD, image, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  Must(tree.valid(), image);
  return tree;
}

ipc::Fd CellHost::CloneSource() { return CloneImage("/data/source"); }

CellUnderTest::CellUnderTest(CellOptions options) {
  static int number = 0;
  name_ = 'a' + std::to_string(++number) + '.' + std::to_string(getpid());
  CellHost& host = CellHost::Get();
  const std::vector<ipc::Fd> cgroups = host.MakeCgroups(name_);
  ipc::Pipe out = Take(ipc::MakePipe(), "pipe");
  ipc::Pipe err = Take(ipc::MakePipe(), "pipe");
  for (const ipc::Pipe* const pipe : {&out, &err})
    Must(fchmod(pipe->write.get(), policy::kStreamMode) == 0, "fchmod");
  const ipc::Fd image = host.CloneImage(options.image.c_str());
  const ipc::Fd source = host.CloneSource();
  ipc::SpawnRequest request;
  request.name = "bailiff-warden";
  request.executable = host.warden();
  request.namespaces =
      CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
  request.uid_map = {{0, kWardenId, 1}};
  if (!options.one_id) request.uid_map.push_back({65532, kCandidateId, 1});
  request.gid_map = request.uid_map;
  ipc::Fd warden_cgroup;
  if (host.cgroup_version() == 2) {
    std::string directory = host.CgroupOf(name_, "memory");
    directory.replace(directory.size() - 4, 4, "warden");
    warden_cgroup =
        Take(ipc::OpenAt(AT_FDCWD, directory.c_str(), O_RDONLY | O_DIRECTORY), "warden");
    request.cgroup = warden_cgroup.get();
  }
  request.descriptors = {image.get(), source.get(), out.write.get(), err.write.get()};
  for (const ipc::Fd& fd : cgroups) request.descriptors.push_back(fd.get());
  child_ = Take(ipc::Spawn(request), "spawn");
  out_read_ = std::move(out.read);
  err_read_ = std::move(err.read);

  wire::ToWarden message;
  wire::CellOrder& order = *message.mutable_order();
  order.set_candidate_id(options.one_id ? 0 : 65532);
  order.set_shown_id(65532);
  order.set_cgroup_version(static_cast<std::uint32_t>(host.cgroup_version()));
  order.set_scratch_bytes(options.scratch_bytes);
  order.set_scratch_inodes(options.scratch_inodes);
  order.set_nofile(128);
  order.set_executable(options.executable.empty() ? options.argv[0] : options.executable);
  for (const std::string& argument : options.argv) order.add_argv(argument);
  for (const std::string& entry : options.environment) order.add_environment(entry);
  Send(message);
}

CellUnderTest::~CellUnderTest() {
  if (!waited_) {
    child_.channel.reset();
    syscall(SYS_pidfd_send_signal, child_.pidfd.get(), SIGKILL, nullptr, 0);
    WaitWarden();
  }
  // The candidate's cgroups are empty once the warden is reaped: its end waits for everybody in its
  // pid namespace.
  if (!CellHost::Get().RemoveCgroups(name_)) Die("the cell's cgroups are not empty");
}

std::optional<wire::FromWarden> CellUnderTest::Next() {
  auto frame = reader_.Receive(child_.channel.get(), ipc::FrameReader::Wait::kBlock);
  if (!frame.ok() || !frame->has_value()) return std::nullopt;
  return Take(ipc::DecodeFromWarden(**frame), "decode");
}

void CellUnderTest::Send(const wire::ToWarden& message) {
  if (!ipc::SendMessage(child_.channel.get(), message).ok()) Die("send");
}

void CellUnderTest::Release() {
  wire::ToWarden message;
  message.mutable_release();
  Send(message);
}

void CellUnderTest::Kill() {
  wire::ToWarden message;
  message.mutable_kill();
  Send(message);
}

bool CellUnderTest::Start() {
  const auto built = Next();
  if (!built || !built->has_built()) {
    std::fprintf(stderr, "not built: step %u errno %d: %s\n",
                 built ? built->exec_failed().step() : 0, built ? built->exec_failed().error() : 0,
                 Diagnosis().c_str());
    return false;
  }
  Release();
  const auto started = Next();
  return started && started->has_started();
}

std::optional<wire::FromWarden> CellUnderTest::Finish() {
  std::array<char, 65536> buffer;
  while (out_read_.valid() || err_read_.valid()) {
    std::array<pollfd, 2> waits = {pollfd{out_read_.get(), POLLIN, 0},
                                   pollfd{err_read_.get(), POLLIN, 0}};
    if (poll(waits.data(), waits.size(), -1) < 0) Die("poll");
    const auto drain = [&](const pollfd& wait, ipc::Fd& fd, std::string& into) {
      if (!fd.valid() || wait.revents == 0) return;
      const ssize_t got = read(fd.get(), buffer.data(), buffer.size());
      if (got > 0) into.append(buffer.data(), static_cast<std::size_t>(got));
      if (got <= 0) fd.reset();
    };
    drain(waits[0], out_read_, out_);
    drain(waits[1], err_read_, err_);
  }
  return Next();
}

std::optional<int> CellUnderTest::Run() {
  if (!Start()) return std::nullopt;
  const auto message = Finish();
  if (!message || !message->has_ended()) return std::nullopt;
  return message->ended().wait_status();
}

pid_t CellUnderTest::candidate_pid() const {
  const std::string pid = std::to_string(child_.pid);
  const auto text = ipc::ReadFileAt(
      AT_FDCWD, ("/proc/" + pid + "/task/" + pid + "/children").c_str(), std::size_t{4096});
  return text.ok() ? static_cast<pid_t>(std::strtol(text->c_str(), nullptr, 10)) : 0;
}

int CellUnderTest::WaitWarden() {
  int status = 0;
  waitpid(child_.pid, &status, 0);
  waited_ = true;
  return status;
}

std::string CellUnderTest::Diagnosis() {
  std::array<char, 4096> buffer;
  const ssize_t got = read(child_.diagnosis.get(), buffer.data(), buffer.size());
  return got > 0 ? std::string(buffer.data(), static_cast<std::size_t>(got)) : std::string();
}

}  // namespace bailiff::test
