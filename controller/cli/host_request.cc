// SPDX-License-Identifier: Apache-2.0
#include "controller/cli/host_request.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "controller/store/data_directory.h"
#include "controller/supervisor/host_ids.h"
#include "policy/jcs.h"

namespace bailiff::controller::cli {
namespace {

struct FileClose {
  void operator()(FILE* file) const { fclose(file); }
};

std::string NameOf(uid_t uid) {
  const std::unique_ptr<FILE, FileClose> file(fopen("/etc/passwd", "re"));
  if (file == nullptr) return {};
  while (const passwd* entry = fgetpwent(file.get())) {
    if (entry->pw_uid == uid) return entry->pw_name;
  }
  return {};
}

// The directory an export writes. As root it is given to the service account for the time of the
// job and back to the operator afterwards.
Result<ipc::Fd> MakeExportDirectory(const Opened& target, const HostIdPlan& plan) {
  // Whatever the umask takes from others, the owner can use it: the job is the owner.
  const mode_t inherited = umask(077);
  umask(inherited & 0077);
  const int made_error = mkdirat(target.fd.get(), target.name.c_str(), 0755) == 0 ? 0 : errno;
  umask(inherited);
  if (made_error != 0) {
    errno = made_error;
    Error error = SystemError("mkdirat", target.name);
    if (error.system_error == EEXIST) error.code = ErrorCode::kFileExists;
    if (error.system_error == EACCES || error.system_error == EPERM) {
      error.code = ErrorCode::kFileDenied;
    }
    return error;
  }
  Result<ipc::Fd> made =
      ipc::OpenBeneath(target.fd.get(), target.name.c_str(), O_RDONLY | O_DIRECTORY);
  if (made.ok() && plan.root_started &&
      fchown(made->get(), plan.service_uid, plan.service_gid) != 0)
    made = SystemError("fchown", target.name);
  // From here on the preparer takes it away when the export fails.
  if (!made.ok()) unlinkat(target.fd.get(), target.name.c_str(), AT_REMOVEDIR);
  return made;
}

// For a file system that has no files without a name.
Result<ipc::Fd> MakeExportFile(const Opened& target) {
  ipc::Fd made(openat(target.fd.get(), target.name.c_str(),
                      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (made.valid()) return made;
  Error error = SystemError("openat", target.name);
  if (error.system_error == EEXIST) error.code = ErrorCode::kFileExists;
  if (error.system_error == EACCES || error.system_error == EPERM) {
    error.code = ErrorCode::kFileDenied;
  }
  return error;
}

bool IsDirectory(const ipc::Fd& fd) {
  struct stat status {};
  return fstat(fd.get(), &status) == 0 && S_ISDIR(status.st_mode);
}

// The file that is written, the operator's, made by the operator: it has no name until it is whole
// and durable.
Result<ipc::Fd> MakeUnnamedFile(const Opened& target, mode_t mode) {
  ipc::Fd file(openat(target.fd.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode));
  // A private file is exactly that, whatever the umask.
  if (file.valid() && (mode & 077) == 0 && fchmod(file.get(), mode) != 0)
    return SystemError("fchmod", target.name);
  if (file.valid()) return file;
  Error error = SystemError("openat(O_TMPFILE)", target.name);
  if (error.system_error == EACCES || error.system_error == EPERM)
    error.code = ErrorCode::kFileDenied;
  if (error.system_error == EOPNOTSUPP || error.system_error == EISDIR)
    error.fix = "write it to a local file system such as ext4 or tmpfs, then copy it from there";
  return error;
}

}  // namespace

Result<std::string> DataDirectoryOf(const Command& command) {
  if (!command.globals.data_dir.empty()) return command.globals.data_dir;
  return DefaultDataDirectory();
}

Result<HostModeRequest> MakeHostRequest(Command& command) {
  BAILIFF_TRY_ASSIGN(const HostIdPlan plan, PlanHostIds());
  BAILIFF_TRY_ASSIGN(const std::string path, DataDirectoryOf(command));
  // What is said later names the same place: then this process is id 0 of its own namespace.
  command.globals.data_dir = path;
  HostModeRequest request;
  request.cgroup_parent = command.globals.cgroup_parent;
  if (command.row->needs == Needs::kCreate) {
    BAILIFF_TRY(CheckRangeUnused(plan));
    BAILIFF_TRY_ASSIGN(request.data_directory,
                       CreateDataDirectory(path, {plan.service_uid, plan.service_gid}));
  } else {
    BAILIFF_TRY_ASSIGN(request.data_directory, OpenDataDirectory(path, plan.service_uid));
  }
  for (std::size_t i = 0; i < command.opened.size(); ++i) {
    Opened& opened = command.opened[i];
    const Opens opens = command.row->arguments[i].opens;
    // Not opened where the argument names a commit.
    if ((opens == Opens::kDirectory && opened.fd.valid()) ||
        (opens == Opens::kFileOrDirectory && IsDirectory(opened.fd))) {
      request.operand_directories.push_back(std::move(opened.fd));
    }
  }
  if (command.source.fd.valid()) {
    request.operand_directories.push_back(std::move(command.source.fd));
  }
  // Last: what is made here and not handed on would stay.
  for (std::size_t i = 0; i < command.opened.size(); ++i) {
    Opened& opened = command.opened[i];
    switch (command.row->arguments[i].opens) {
      case Opens::kNewDirectory: {
        BAILIFF_TRY_ASSIGN(request.export_directory, MakeExportDirectory(opened, plan));
        break;
      }
      case Opens::kNewFile: {
        if (opened.made.valid()) continue;  // standard output
        Result<ipc::Fd> file = MakeUnnamedFile(opened, 0666);
        if (!file.ok() &&
            (file.error().system_error == EOPNOTSUPP || file.error().system_error == EISDIR))
          file = MakeExportFile(opened);
        BAILIFF_TRY_ASSIGN(request.new_file, std::move(file));
        break;
      }
      case Opens::kWholeFile: {
        BAILIFF_TRY_ASSIGN(request.new_file, MakeUnnamedFile(opened, 0600));
        break;
      }
      default:
        continue;
    }
    request.new_parent = std::move(opened.fd);
    request.new_name = opened.name;
  }
  return request;
}

std::string OperatorJson() {
  policy::Value who = policy::Value::MakeObject();
  if (const auto text = ipc::ReadFileAt(AT_FDCWD, "/proc/self/loginuid", 32); text.ok()) {
    // 4294967295: no login, as for a service.
    if (*text != "4294967295") who.Set("login_uid", *text);
  }
  const std::string name = NameOf(getuid());
  if (!name.empty()) who.Set("name", name);
  who.Set("uid", getuid());
  const auto canonical = policy::Canonical(who);
  return canonical.ok() ? *canonical : "{\"uid\":" + std::to_string(getuid()) + "}";
}

}  // namespace bailiff::controller::cli
