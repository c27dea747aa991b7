// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/witness.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <set>
#include <sstream>

#include "controller/supervisor/proc_text.h"
#include "ipc/bounds.h"
#include "ipc/fd.h"

namespace bailiff::controller {
namespace {

constexpr std::size_t kMaxProcFile = 1 << 20;
constexpr const char* kNoCapability = "0000000000000000";
constexpr const char* kCapabilitySets[] = {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"};

std::string Proc(pid_t pid, const char* file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}

Result<std::string> ReadProc(pid_t pid, const char* file) {
  return ipc::ReadFileAt(AT_FDCWD, Proc(pid, file).c_str(), kMaxProcFile);
}

std::string Four(std::uint32_t id) {
  const std::string one = std::to_string(id);
  return one + ' ' + one + ' ' + one + ' ' + one;
}

Error Unlocked(const HelperExpectation& expectation, const std::string& field,
               const std::string& wanted, const std::string& found) {
  return {ErrorCode::kHelperNotLocked,
          expectation.name,
          field + " is " + found + " where " + wanted + " was asked for",
          0,
          {}};
}

Result<std::map<int, std::string>> Descriptors(pid_t pid) {
  const std::string path = Proc(pid, "fd");
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(path.c_str()), closedir);
  if (directory == nullptr) return SystemError("opendir", path);
  std::map<int, std::string> found;
  while (const dirent* entry = readdir(directory.get())) {
    if (entry->d_name[0] == '.') continue;
    char target[4096];
    const ssize_t length = readlinkat(dirfd(directory.get()), entry->d_name, target, sizeof target);
    if (length < 0) return SystemError("readlinkat", path);
    found[std::atoi(entry->d_name)] = std::string(target, static_cast<std::size_t>(length));
  }
  return found;
}

Result<void> VerifyDescriptors(pid_t pid, const HelperExpectation& expectation) {
  BAILIFF_TRY_ASSIGN(auto found, Descriptors(pid));
  for (const DescriptorKind& wanted : expectation.descriptors) {
    const auto at = found.find(wanted.fd);
    const std::string name = "descriptor " + std::to_string(wanted.fd);
    if (at == found.end()) return Unlocked(expectation, name, wanted.target, "closed");
    if (!at->second.starts_with(wanted.target))
      return Unlocked(expectation, name, wanted.target, at->second);
    found.erase(at);
  }
  if (!found.empty())
    return Unlocked(expectation, "descriptor " + std::to_string(found.begin()->first), "nothing",
                    found.begin()->second);
  return {};
}

Result<void> VerifyLimits(pid_t pid, const HelperExpectation& expectation) {
  BAILIFF_TRY_ASSIGN(const std::string text, ReadProc(pid, "limits"));
  for (const ipc::ResourceLimit& limit : expectation.limits) {
    const char* name = LimitName(limit.resource);
    const auto found = FindLimit(text, name);
    const std::string wanted = std::to_string(limit.value);
    // A caller may have given less than we ask for: lower is as good, unlimited or higher is not.
    if (!found || found->first != found->second || found->first > limit.value) {
      return Unlocked(expectation, name, wanted,
                      found ? std::to_string(found->first) : "unlimited");
    }
  }
  return {};
}

// "ro,nosuid,nodev,noexec,nosymfollow" of the options of a mount, in that order whatever theirs is.
std::string Attributes(const std::string& options) {
  std::string text;
  for (const char* word : {"ro", "rw", "nosuid", "nodev", "noexec", "nosymfollow"}) {
    const std::string padded = "," + options + ",";
    if (padded.find("," + std::string(word) + ",") != std::string::npos) {
      text += (text.empty() ? "" : ",") + std::string(word);
    }
  }
  return text;
}

Result<void> VerifyView(pid_t pid, const HelperExpectation& expectation) {
  std::map<std::string, std::string> wanted = {{"/", "ro,nosuid,nodev,noexec,nosymfollow"}};
  if (expectation.has_in) wanted["/in"] = "ro,nosuid,nodev,noexec,nosymfollow";
  if (expectation.has_out) wanted["/out"] = "rw,nosuid,nodev,noexec,nosymfollow";
  BAILIFF_TRY_ASSIGN(const std::string text, ReadProc(pid, "mountinfo"));
  for (const MountLine& mount : ParseMountInfo(text)) {
    const auto at = wanted.find(mount.point);
    const std::string attributes = Attributes(mount.options);
    if (at == wanted.end())
      return Unlocked(expectation, "mount " + mount.point, "nothing", attributes);
    if (at->second != attributes) {
      return Unlocked(expectation, "mount " + mount.point, at->second, attributes);
    }
    if (mount.point == "/" && mount.type != "tmpfs") {
      return Unlocked(expectation, "mount /", "tmpfs", mount.type);
    }
    wanted.erase(at);
  }
  if (!wanted.empty())
    return Unlocked(expectation, "mount " + wanted.begin()->first, wanted.begin()->second,
                    "absent");
  return {};
}

Result<void> VerifyNamespaces(pid_t pid, const HelperExpectation& expectation) {
  for (const char* name : {"user", "mnt", "pid", "ipc", "uts", "cgroup"}) {
    const std::string file = std::string("ns/") + name;
    struct stat theirs {};
    struct stat ours {};
    if (stat(Proc(pid, file.c_str()).c_str(), &theirs) != 0)
      return SystemError("stat", Proc(pid, file.c_str()));
    if (stat(Proc(getpid(), file.c_str()).c_str(), &ours) != 0) return SystemError("stat", file);
    if (theirs.st_ino == ours.st_ino)
      return Unlocked(expectation, std::string("namespace ") + name, "one of its own",
                      "the controller's");
  }
  return {};
}

}  // namespace

const std::string& ProcessStatus::Get(const std::string& name) const {
  static const std::string kAbsent = "absent";
  const auto found = fields.find(name);
  return found == fields.end() ? kAbsent : found->second;
}

Result<ProcessStatus> ReadStatus(pid_t pid) {
  BAILIFF_TRY_ASSIGN(const std::string text, ReadProc(pid, "status"));
  return ProcessStatus{ParseStatus(text)};
}

Result<std::uint64_t> StartTicks(pid_t pid) {
  BAILIFF_TRY_ASSIGN(const std::string text, ReadProc(pid, "stat"));
  const auto ticks = ParseStartTicks(text);
  if (!ticks) return SystemError("read", Proc(pid, "stat"), EPROTO);
  return *ticks;
}

Result<void> VerifyHelper(pid_t pid, const HelperExpectation& expectation) {
  BAILIFF_TRY_ASSIGN(const ProcessStatus status, ReadStatus(pid));
  BAILIFF_TRY_ASSIGN(const ProcessStatus own, ReadStatus(getpid()));
  const auto expect = [&](const char* field, const std::string& wanted) -> Result<void> {
    if (status.Get(field) != wanted) return Unlocked(expectation, field, wanted, status.Get(field));
    return {};
  };
  BAILIFF_TRY(expect("Uid", Four(expectation.id)));
  BAILIFF_TRY(expect("Gid", Four(expectation.id)));
  BAILIFF_TRY(expect("Groups", expectation.own_groups ? "" : own.Get("Groups")));
  for (const char* set : kCapabilitySets) BAILIFF_TRY(expect(set, kNoCapability));
  BAILIFF_TRY(expect("NoNewPrivs", "1"));
  BAILIFF_TRY(expect("Seccomp", "2"));
  BAILIFF_TRY(
      expect("Seccomp_filters", std::to_string(std::atoi(own.Get("Seccomp_filters").c_str()) + 1)));
  BAILIFF_TRY(expect("Threads", "1"));
  BAILIFF_TRY(expect("TracerPid", "0"));
  BAILIFF_TRY(VerifyNamespaces(pid, expectation));
  BAILIFF_TRY(VerifyView(pid, expectation));
  BAILIFF_TRY(VerifyDescriptors(pid, expectation));
  return VerifyLimits(pid, expectation);
}

Result<std::vector<int>> OpenDescriptors(pid_t pid) {
  BAILIFF_TRY_ASSIGN(const auto found, Descriptors(pid));
  std::vector<int> open;
  for (const auto& [fd, target] : found) open.push_back(fd);
  return open;
}

std::vector<DescriptorKind> CommonDescriptors() {
  return {{0, "/dev/null"},
          {1, "/dev/null"},
          {ipc::kDiagnosisFd, "pipe:"},
          {ipc::kChannelFd, "socket:"}};
}

std::vector<ipc::ResourceLimit> HelperLimits(std::uint64_t memory) {
#ifdef BAILIFF_SANITIZE
  memory = RLIM_INFINITY;  // AddressSanitizer reserves terabytes of address space
#endif
  return {{RLIMIT_AS, memory},  {RLIMIT_CORE, 0},   {RLIMIT_NOFILE, 64},    {RLIMIT_MEMLOCK, 0},
          {RLIMIT_MSGQUEUE, 0}, {RLIMIT_RTPRIO, 0}, {RLIMIT_SIGPENDING, 64}};
}

}  // namespace bailiff::controller
