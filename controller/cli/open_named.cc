// SPDX-License-Identifier: Apache-2.0
// Opening what the command line names, as the operator and once. Nothing is read here.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "controller/cli/command_line.h"

namespace bailiff::controller::cli {
namespace {

Error OpenError(const std::string& name, int error) {
  Error failed = SystemError("openat", name, error);
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      failed.code = ErrorCode::kFileMissing;
      break;
    case EACCES:
    case EPERM:
      failed.code = ErrorCode::kFileDenied;
      break;
    case ELOOP:
      failed.code = ErrorCode::kFileKind;
      failed.why = "a symbolic link, which is not followed";
      failed.fix = "name what it points to";
      break;
    default:
      break;
  }
  return failed;
}

// "dir/" would follow a link that "dir" does not.
std::string WithoutTrailingSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

Result<ipc::Fd> OpenFile(const std::string& name, bool follow) {
  if (name == "-") {
    ipc::Fd copy(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
    if (!copy.valid()) return OpenError("standard input", errno);
    return copy;
  }
  // O_NONBLOCK: a FIFO without a writer must not hold the program; reads of a regular file do not
  // know it, and a FIFO or a character device is not taken as a file that may be imported.
  ipc::Fd fd(openat(AT_FDCWD, name.c_str(),
                    O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW)));
  if (!fd.valid()) return OpenError(name, errno);
  struct stat status {};
  if (fstat(fd.get(), &status) != 0) return OpenError(name, errno);
  const bool stream = follow && S_ISFIFO(status.st_mode);  // bailiff recipe check <(…)
  if (!S_ISREG(status.st_mode) && !stream) {
    return Error{ErrorCode::kFileKind,
                 name,
                 S_ISDIR(status.st_mode) ? "a directory, not a file" : "not a regular file",
                 0,
                 {}};
  }
  if (fcntl(fd.get(), F_SETFL, 0) != 0) return OpenError(name, errno);
  return fd;
}

Result<ipc::Fd> OpenDirectory(const std::string& name) {
  ipc::Fd fd(openat(AT_FDCWD, WithoutTrailingSlash(name).c_str(),
                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (fd.valid()) return fd;
  const int error = errno;
  struct stat status {};
  if (fstatat(AT_FDCWD, WithoutTrailingSlash(name).c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    if (S_ISLNK(status.st_mode)) return OpenError(name, ELOOP);
    if (!S_ISDIR(status.st_mode)) {
      return Error{ErrorCode::kFileKind, name, "not a directory", 0, {}};
    }
  }
  return OpenError(name, error);
}

Result<Opened> OpenParent(const std::string& name) {
  const std::string path = WithoutTrailingSlash(name);
  const std::size_t slash = path.rfind('/');
  Opened opened;
  opened.name = slash == std::string::npos ? path : path.substr(slash + 1);
  std::string parent = slash == std::string::npos ? "." : path.substr(0, slash);
  if (parent.empty()) parent = "/";
  if (opened.name.empty() || opened.name == "." || opened.name == "..") {
    return Error{ErrorCode::kFileExists, name, "the last part must be a new name", 0, {}};
  }
  opened.fd = ipc::Fd(openat(AT_FDCWD, parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.fd.valid()) return OpenError(parent, errno);
  struct stat status {};
  if (fstatat(opened.fd.get(), opened.name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    return Error{ErrorCode::kFileExists, name, "it exists already", 0, "choose another name"};
  }
  return opened;
}

bool NamesDirectory(const std::string& name) {
  struct stat status {};
  return name != "-" &&
         fstatat(AT_FDCWD, WithoutTrailingSlash(name).c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISDIR(status.st_mode);
}

Result<Opened> OpenStandardOutput(const Command& command) {
  const char* why = nullptr;
  if (command.globals.json) why = "with --json the JSON value goes there";
  if (isatty(STDOUT_FILENO) != 0) why = "it is a terminal";
  if (why != nullptr) {
    return Error{ErrorCode::kArgumentValue, "standard output", why, 0, "name a file"};
  }
  Opened opened;
  opened.name = "-";
  opened.made = ipc::Fd(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  if (!opened.made.valid()) return OpenError("standard output", errno);
  return opened;
}

}  // namespace

bool LooksLikeDigest(std::string_view text) {
  return text.size() >= 12 && text.size() <= 64 &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

namespace {

// The directory that an option names, or empty: `run --source DIR`, `source import --git REPO`.
std::string DirectoryOfOption(const Command& command) {
  const std::string* named = nullptr;
  if (command.row->verb == Verb::kSourceImport) named = command.Get("git");
  if (command.row->verb == Verb::kRun) named = command.Get("source");
  if (named == nullptr || (command.row->verb == Verb::kRun && LooksLikeDigest(*named))) return {};
  return *named;
}

}  // namespace

Result<void> OpenNamed(Command& command) {
  const bool commit = command.row->verb == Verb::kSourceImport && command.Has("git");
  for (std::size_t i = 0; i < command.row->arguments.size(); ++i) {
    Opened opened;
    const std::string& name = command.arguments[i];
    opened.name = name;
    switch (commit ? Opens::kText : command.row->arguments[i].opens) {
      case Opens::kText:
        break;
      case Opens::kDocument: {
        BAILIFF_TRY_ASSIGN(opened.fd, OpenFile(name, true));
        break;
      }
      case Opens::kFileOrDirectory: {
        BAILIFF_TRY_ASSIGN(opened.fd,
                           NamesDirectory(name) ? OpenDirectory(name) : OpenFile(name, false));
        break;
      }
      case Opens::kDirectory: {
        BAILIFF_TRY_ASSIGN(opened.fd, OpenDirectory(name));
        break;
      }
      case Opens::kNewFile: {
        BAILIFF_TRY_ASSIGN(opened, name == "-" ? OpenStandardOutput(command) : OpenParent(name));
        break;
      }
      case Opens::kNewDirectory:
      case Opens::kWholeFile: {
        BAILIFF_TRY_ASSIGN(opened, OpenParent(name));
        break;
      }
    }
    command.opened.push_back(std::move(opened));
  }
  command.source.name = DirectoryOfOption(command);
  if (!command.source.name.empty()) {
    BAILIFF_TRY_ASSIGN(command.source.fd, OpenDirectory(command.source.name));
  }
  return {};
}

Result<std::string> DefaultDataDirectory() {
  if (geteuid() == 0) return std::string("/var/lib/bailiff");
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && state[0] == '/') {
    return std::string(state) + "/bailiff";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') {
    return std::string(home) + "/.local/state/bailiff";
  }
  return Error{ErrorCode::kDataDirectoryUnnamed, {}, "HOME is not set to an absolute path", 0, {}};
}

}  // namespace bailiff::controller::cli
