// SPDX-License-Identifier: Apache-2.0
#include "controller/cli/live_processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <utility>

#include "controller/cli/escape.h"
#include "ipc/fd.h"

namespace bailiff::controller::cli {
namespace {

constexpr std::array kPrograms = {
    std::pair{std::string_view("bailiff"), std::string_view("controller")},
    std::pair{std::string_view("bailiff-warden"), std::string_view("warden")},
    std::pair{std::string_view("bailiff-collector"), std::string_view("collector")},
    std::pair{std::string_view("bailiff-snapshotter"), std::string_view("snapshotter")},
    std::pair{std::string_view("bailiff-importer"), std::string_view("importer")},
};
constexpr std::array kNamespaces = {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"};

struct DirectoryClose {
  void operator()(DIR* directory) const { closedir(directory); }
};

std::optional<std::string> ReadLink(int directory, const char* path) {
  std::array<char, 4096> target{};
  const ssize_t size = readlinkat(directory, path, target.data(), target.size());
  if (size < 0) return std::nullopt;
  return std::string(target.data(), static_cast<std::size_t>(size));
}

// Numbers among the names of a directory of /proc, ascending.
std::vector<int> Numbers(int directory, const char* path) {
  std::vector<int> numbers;
  ipc::Fd fd(openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return numbers;
  std::unique_ptr<DIR, DirectoryClose> stream(fdopendir(fd.get()));
  if (stream == nullptr) return numbers;
  fd.release();
  while (const dirent* entry = readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    int number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc() && end == name.data() + name.size()) numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// The value of a field of /proc/<pid>/status, words separated by one blank.
std::string Field(std::string_view status, std::string_view name) {
  const std::string key = "\n" + std::string(name) + ":";
  const std::size_t at = status.find(key);
  if (at == status.npos) return {};
  std::string_view line = status.substr(at + key.size());
  line = line.substr(0, line.find('\n'));
  std::string value;
  for (const char c : line) {
    const bool blank = c == ' ' || c == '\t';
    if (blank && (value.empty() || value.back() == ' ')) continue;
    value += blank ? ' ' : c;
  }
  return value;
}

std::string Capabilities(std::string hex) {
  hex.erase(0, std::min(hex.find_first_not_of('0'), hex.size() - 1));
  return hex;
}

// The role of a process by its first argument and, where it may be read, its executable: a name
// alone can be anybody's.
std::optional<std::string> RoleOf(int process) {
  const auto arguments = ipc::ReadFileAt(process, "cmdline", 1 << 20);
  if (!arguments.ok()) return std::nullopt;
  std::string_view name = std::string_view(*arguments).substr(0, arguments->find('\0'));
  name = name.substr(name.rfind('/') + 1);
  for (const auto& [program, role] : kPrograms) {
    if (name != program) continue;
    if (const auto executable = ReadLink(process, "exe")) {
      std::string_view base = *executable;
      if (base.ends_with(" (deleted)")) base.remove_suffix(10);
      if (base.substr(base.rfind('/') + 1) != program) return std::nullopt;
    }
    return std::string(role);
  }
  return std::nullopt;
}

void ReadHeld(int process, LiveProcess& live) {
  live.readable = true;
  for (const char* name : kNamespaces) {
    const std::string path = std::string("ns/") + name;
    const auto its = ReadLink(process, path.c_str());
    const auto ours = ReadLink(AT_FDCWD, ("/proc/self/" + path).c_str());
    if (!its.has_value() || !ours.has_value()) {
      live.readable = false;
      return;
    }
    if (*its != *ours) live.namespaces.emplace_back(name);
  }
  for (const int number : Numbers(process, "fd")) {
    const std::string path = "fd/" + std::to_string(number);
    if (const auto target = ReadLink(process, path.c_str())) {
      live.descriptors.push_back(std::to_string(number) + "=" + EscapeName(*target));
    }
  }
}

LiveProcess Describe(int pid, std::string_view status) {
  LiveProcess live;
  live.pid = pid;
  live.uid = Field(status, "Uid");
  live.permitted = Capabilities(Field(status, "CapPrm"));
  live.effective = Capabilities(Field(status, "CapEff"));
  live.bounding = Capabilities(Field(status, "CapBnd"));
  live.no_new_privs = Field(status, "NoNewPrivs");
  live.seccomp = Field(status, "Seccomp");
  live.filters = Field(status, "Seccomp_filters");
  return live;
}

}  // namespace

Result<std::vector<LiveProcess>> FindLiveProcesses() {
  BAILIFF_TRY_ASSIGN(const ipc::Fd proc, ipc::OpenAt(AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY));
  struct Seen {
    LiveProcess live;
    std::string parent;
    ipc::Fd process;
  };
  std::vector<Seen> others;  // not one of our programs; may be the child of a warden
  std::vector<LiveProcess> processes;
  std::vector<std::string> wardens;
  for (const int pid : Numbers(proc.get(), ".")) {
    if (pid == getpid()) continue;
    ipc::Fd process(
        openat(proc.get(), std::to_string(pid).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!process.valid()) continue;
    const auto status = ipc::ReadFileAt(process.get(), "status", 1 << 16);
    if (!status.ok()) continue;
    LiveProcess live = Describe(pid, *status);
    if (auto role = RoleOf(process.get())) {
      live.role = *role;
      if (live.role == "warden") wardens.push_back(std::to_string(pid));
      ReadHeld(process.get(), live);
      processes.push_back(std::move(live));
    } else {
      others.push_back({std::move(live), Field(*status, "PPid"), std::move(process)});
    }
  }
  for (Seen& other : others) {
    if (std::find(wardens.begin(), wardens.end(), other.parent) == wardens.end()) continue;
    other.live.role = "candidate";
    ReadHeld(other.process.get(), other.live);
    processes.push_back(std::move(other.live));
  }
  return processes;
}

}  // namespace bailiff::controller::cli
