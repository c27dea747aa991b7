// SPDX-License-Identifier: Apache-2.0
#include "controller/supervisor/programs.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "controller/store/files.h"

namespace bailiff::controller {
namespace {

constexpr off_t kMaxProgram = 256L << 20;

std::string LibexecDirectory() {
#ifdef BAILIFF_TESTING
  if (const char* set = getenv("BAILIFF_TEST_LIBEXEC"); set != nullptr) return set;
  return BAILIFF_LIBEXEC_TESTING;
#else
  return BAILIFF_LIBEXEC;
#endif
}

Result<Program> Open(int directory, const char* name) {
  BAILIFF_TRY_ASSIGN(ipc::Fd file, ipc::OpenAt(directory, name, O_RDONLY | O_NOFOLLOW));
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return SystemError("fstat", name);
  if (!S_ISREG(status.st_mode) || (status.st_mode & (S_IWOTH | S_ISUID | S_ISGID)) != 0) {
    return Error{ErrorCode::kProgramUnsafe,
                 name,
                 "not a plain program that only its owner may write",
                 0,
                 {}};
  }
  return Program{std::move(file), {}};
}

Result<policy::Digest> HashFile(int file, const char* name) {
  struct stat status {};
  if (fstat(file, &status) != 0) return SystemError("fstat", name);
  if (status.st_size <= 0 || status.st_size > kMaxProgram) return SystemError("fstat", name, EFBIG);
  const auto size = static_cast<std::size_t>(status.st_size);
  void* bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
  if (bytes == MAP_FAILED) return SystemError("mmap", name);
  const policy::Digest digest = policy::Hash({static_cast<const char*>(bytes), size});
  munmap(bytes, size);
  return digest;
}

constexpr const char* kKnownDigests = "programs";
constexpr std::size_t kMaxKnownDigests = 4096;

Result<std::string> KeyOf(int file, const char* name) {
  struct stat status {};
  if (fstat(file, &status) != 0) return SystemError("fstat", name);
  const auto time = [](const timespec& at) {
    return std::to_string(at.tv_sec) + '.' + std::to_string(at.tv_nsec);
  };
  return std::to_string(status.st_dev) + ' ' + std::to_string(status.st_ino) + ' ' +
         std::to_string(status.st_size) + ' ' + time(status.st_mtim) + ' ' + time(status.st_ctim);
}

std::optional<policy::Digest> FindDigest(std::string_view known, const std::string& key) {
  while (!known.empty()) {
    const std::string_view line = known.substr(0, known.find('\n'));
    if (line.starts_with(key) && line.size() > key.size() && line[key.size()] == ' ') {
      return policy::ParseDigest(line.substr(key.size() + 1));
    }
    known.remove_prefix(std::min(known.size(), line.size() + 1));
  }
  return std::nullopt;
}

}  // namespace

Result<Programs> OpenPrograms() {
  const std::string path = LibexecDirectory();
  BAILIFF_TRY_ASSIGN(const ipc::Fd directory,
                     ipc::OpenAt(AT_FDCWD, path.c_str(), O_PATH | O_DIRECTORY));
  Programs programs;
  BAILIFF_TRY_ASSIGN(programs.warden, Open(directory.get(), "bailiff-warden"));
  BAILIFF_TRY_ASSIGN(programs.collector, Open(directory.get(), "bailiff-collector"));
  BAILIFF_TRY_ASSIGN(programs.snapshotter, Open(directory.get(), "bailiff-snapshotter"));
  BAILIFF_TRY_ASSIGN(programs.importer, Open(directory.get(), "bailiff-importer"));
  BAILIFF_TRY_ASSIGN(programs.controller.file, ipc::OpenAt(AT_FDCWD, "/proc/self/exe", O_RDONLY));
  return programs;
}

Result<void> HashPrograms(Programs& programs, int data) {
  const std::pair<Program*, const char*> all[] = {{&programs.controller, "bailiff"},
                                                  {&programs.warden, "bailiff-warden"},
                                                  {&programs.collector, "bailiff-collector"},
                                                  {&programs.snapshotter, "bailiff-snapshotter"}};
  auto known = ipc::ReadFileAt(data, kKnownDigests, kMaxKnownDigests);
  const std::string before = known.ok() ? std::move(known).value() : "";
  std::string after;
  for (const auto& [program, name] : all) {
    BAILIFF_TRY_ASSIGN(const std::string key, KeyOf(program->file.get(), name));
    if (const auto digest = FindDigest(before, key)) {
      program->digest = *digest;
    } else {
      BAILIFF_TRY_ASSIGN(program->digest, HashFile(program->file.get(), name));
    }
    after += key + ' ' + program->digest.hex() + '\n';
  }
  // A note that spares the next run some hashing. Of two controllers that write it at once one may
  // fail; nothing is less true without it.
  if (after != before) static_cast<void>(WriteFileDurably(data, kKnownDigests, after).ok());
  return {};
}

}  // namespace bailiff::controller
