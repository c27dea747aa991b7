// SPDX-License-Identifier: Apache-2.0
#include "controller/store/layout.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "controller/store/owners_lock.h"
#include "controller/store/store.h"
#include "ipc/fault.h"
#include "policy/digest.h"

namespace bailiff::controller {
namespace {

constexpr const char* kFormatName = "format";
constexpr const char* kAuthorityName = "authority";
constexpr const char* kInstanceName = "instance";  // below execution/
constexpr std::size_t kRepositoryDigits = 32;

constexpr std::array kDirectories = {"objects",          "objects/blob", "objects/tree",
                                     "objects/revision", "images",       "trees",
                                     "execution",        "staging",      "run"};

constexpr std::array<std::string_view, 16> kKnown = {
    "objects", "images", "trees", "execution", "staging", "run", "keys", "format", "format.new",
    "authority", "authority.new", "controller.lock", "state.sqlite", "state.sqlite-wal",
    "state.sqlite-shm",
    // While the database is being made, before it is in WAL mode.
    "state.sqlite-journal"};

Error LayoutError(ErrorCode code, std::string why) {
  return Error{.code = code, .subject = "data directory", .why = std::move(why), .fix = {}};
}

bool Exists(int data, const char* name) {
  struct stat status {};
  return fstatat(data, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

Result<void> RefuseForeignEntries(int data) {
  BAILIFF_TRY_ASSIGN(ipc::Fd fd, ipc::OpenAt(data, ".", O_RDONLY | O_DIRECTORY));
  DIR* const stream = fdopendir(fd.get());
  if (stream == nullptr) return SystemError("fdopendir", "data directory");
  static_cast<void>(fd.release());
  std::string foreign;
  while (const dirent* entry = readdir(stream)) {
    const std::string_view name = entry->d_name;
    // lost+found: the data directory may be the top of a file system of its own.
    if (name == "." || name == ".." || name == "lost+found") continue;
    if (std::find(kKnown.begin(), kKnown.end(), name) == kKnown.end()) foreign = name;
  }
  closedir(stream);
  if (foreign.empty()) return {};
  return LayoutError(ErrorCode::kDataNotEmpty, "it holds \"" + foreign + "\", which is not ours");
}

// Where names that differ in case are one, a file of an image or of a tree would take the place of
// another one. Asked of a file that is always there.
Result<void> RefuseFolding(int data) {
  struct stat lower {};
  struct stat upper {};
  if (fstatat(data, "controller.lock", &lower, AT_SYMLINK_NOFOLLOW) != 0 ||
      fstatat(data, "CONTROLLER.LOCK", &upper, AT_SYMLINK_NOFOLLOW) != 0 ||
      lower.st_ino != upper.st_ino)
    return {};
  return LayoutError(ErrorCode::kDataFolds, "\"a\" and \"A\" are one name there");
}

Result<void> MakeLayout(int data) {
  for (const char* name : kDirectories) {
    const Result<ipc::Fd> made = MakeDirectory(data, name);
    if (!made.ok() && made.error().system_error != EEXIST) return made.error();
  }
  if (mkfifoat(data, "run/wake", 0600) != 0 && errno != EEXIST)
    return SystemError("mkfifoat", "run/wake");
  BAILIFF_TRY(ipc::OpenBeneath(data, "controller.lock", O_RDWR | O_CREAT, 0600, true));
  BAILIFF_TRY(OwnersLock::Open(data));
  for (const char* name : {"objects", "execution", "run", "."}) {
    BAILIFF_TRY_ASSIGN(const ipc::Fd directory,
                       ipc::OpenBeneath(data, name, O_RDONLY | O_DIRECTORY, 0, true));
    BAILIFF_TRY(SyncDirectory(directory.get(), name));
  }
  return {};
}

Result<std::string> NewRepository() {
  std::array<char, kRepositoryDigits / 2> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return SystemError("getrandom", "repository id");
  return policy::Hex({bytes.data(), bytes.size()});
}

// "DEVICE:INODE ", of the data directory.
Result<std::string> PlaceOf(int data) {
  struct stat status {};
  if (fstat(data, &status) != 0) return SystemError("fstat", "data directory");
  return std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino) + " ";
}

std::optional<std::string> KnownInstance(int execution, const std::string& place) {
  const auto text = ipc::ReadFileAt(execution, kInstanceName, 128);
  if (!text.ok() || !text->starts_with(place) ||
      text->size() != place.size() + kRepositoryDigits + 1 || text->back() != '\n')
    return std::nullopt;
  std::string id = text->substr(place.size(), kRepositoryDigits);
  if (id.find_first_not_of("0123456789abcdef") != std::string::npos) return std::nullopt;
  return id;
}

// `fresh`: the id, if it has none.
Result<std::string> EnsureInstance(int data, const std::string& fresh) {
  BAILIFF_TRY_ASSIGN(const std::string place, PlaceOf(data));
  BAILIFF_TRY_ASSIGN(const ipc::Fd execution,
                     ipc::OpenBeneath(data, "execution", O_RDONLY | O_DIRECTORY, 0, true));
  if (auto known = KnownInstance(execution.get(), place)) return *std::move(known);
  // One writer at a time: whoever comes second finds the first one's.
  while (flock(execution.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return SystemError("flock", "execution");
  }
  if (auto known = KnownInstance(execution.get(), place)) return *std::move(known);
  BAILIFF_TRY(WriteFileDurably(execution.get(), kInstanceName, place + fresh + "\n"));
  return fresh;
}

}  // namespace

Result<std::string> ReadInstance(int data) {
  BAILIFF_TRY_ASSIGN(const std::string fresh, NewRepository());
  return EnsureInstance(data, fresh);
}

Result<void> CheckFormat(int data) {
  const Result<std::string> format = ipc::ReadFileAt(data, kFormatName, 64);
  if (!format.ok() && format.error().system_error == ENOENT)
    return LayoutError(ErrorCode::kDataMissing,
                       "it has no file \"format\": it is not initialised, or not completely");
  if (!format.ok()) return format.error();
  if (*format != kDataFormat)
    return LayoutError(ErrorCode::kDataFormatUnknown,
                       "its format is another one than \"bailiff-data 1\"");
  return RefuseFolding(data);
}

Result<std::string> ReadAuthority(int data) {
  BAILIFF_TRY_ASSIGN(std::string text, ipc::ReadFileAt(data, kAuthorityName, 64));
  const bool whole = text.size() == kRepositoryDigits + 1 && text.back() == '\n';
  if (whole) text.pop_back();
  if (!whole || text.find_first_not_of("0123456789abcdef") != std::string::npos)
    return LayoutError(ErrorCode::kStoreForeign,
                       "its file \"authority\" does not hold a repository id");
  return text;
}

Result<InitReport> InitDataDirectory(int data, const std::string& database,
                                     std::string_view operator_json) {
  // One init at a time; the lock goes with this description, whatever happens.
  BAILIFF_TRY_ASSIGN(const ipc::Fd turn, ipc::OpenAt(data, ".", O_RDONLY | O_DIRECTORY));
  while (flock(turn.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return SystemError("flock", "data directory");
  }
  if (Exists(data, kFormatName)) {
    BAILIFF_TRY(CheckFormat(data));
    BAILIFF_TRY_ASSIGN(std::string repository, ReadAuthority(data));
    return InitReport{.repository = std::move(repository), .created = false};
  }
  BAILIFF_TRY(RefuseForeignEntries(data));
  BAILIFF_TRY(MakeLayout(data));
  BAILIFF_TRY(RefuseFolding(data));
  // The id is durable before the database exists, so an init that is taken up again keeps it.
  if (!Exists(data, kAuthorityName)) {
    BAILIFF_TRY_ASSIGN(const std::string fresh, NewRepository());
    BAILIFF_TRY(WriteFileDurably(data, kAuthorityName, fresh + "\n"));
  }
  BAILIFF_TRY_ASSIGN(std::string repository, ReadAuthority(data));
  {
    BAILIFF_TRY_ASSIGN(Store store, Store::Create({.path = database,
                                                   .operator_json = std::string(operator_json),
                                                   .repository = repository},
                                                  repository));
  }
  BAILIFF_TRY(EnsureInstance(data, repository));
  BAILIFF_TRY(WriteFileDurably(data, kFormatName, kDataFormat));
  return InitReport{.repository = std::move(repository), .created = true};
}

}  // namespace bailiff::controller
