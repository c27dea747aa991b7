// SPDX-License-Identifier: Apache-2.0
#include "policy/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "ipc/fd.h"
#include "policy/lockdown.h"

namespace bailiff::policy {
namespace {

// Debian 12's <linux/landlock.h> ends at ABI 2 or 3; the numbers below are the kernel's.
struct RulesetAttributes {
  std::uint64_t files = 0;
  std::uint64_t net = 0;    // ABI 4
  std::uint64_t scope = 0;  // ABI 6
};
struct [[gnu::packed]] PathBeneath {
  std::uint64_t allowed = 0;
  std::int32_t parent = -1;
};

constexpr std::uint64_t kFileBits1 = 0x1FFF;     // 13 rights of ABI 1
constexpr std::uint64_t kRefer = 1ULL << 13;     // ABI 2
constexpr std::uint64_t kTruncate = 1ULL << 14;  // ABI 3
constexpr std::uint64_t kIoctlDev = 1ULL << 15;  // ABI 5
constexpr std::uint64_t kNetBits = 0x3;          // bind and connect of TCP
constexpr std::uint64_t kScopeBits = 0x3;        // abstract sockets, signals
constexpr std::uint32_t kNewestKnown = 7;        // changes only what is logged

constexpr std::uint64_t kRead = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kWork = kRead | LANDLOCK_ACCESS_FS_WRITE_FILE |
                                LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                                LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                                LANDLOCK_ACCESS_FS_MAKE_SYM | kRefer | kTruncate;

RulesetAttributes Everything(std::uint32_t abi) {
  RulesetAttributes all;
  all.files = kFileBits1;
  if (abi >= 2) all.files |= kRefer;
  if (abi >= 3) all.files |= kTruncate;
  if (abi >= 4) all.net = kNetBits;
  if (abi >= 5) all.files |= kIoctlDev;
  if (abi >= 6) all.scope = kScopeBits;
  return all;
}

Error LandlockError(const char* step) {
  return {ErrorCode::kLockdown, "landlock", SystemError(step, "").why, errno, {}};
}

// A view without this directory gets no rule for it.
Result<void> AllowBelow(int ruleset, const char* path, std::uint64_t rights) {
  const ipc::Fd directory(open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.valid()) {
    if (errno == ENOENT) return {};
    return LandlockError("open");
  }
  const PathBeneath rule{rights, directory.get()};
  if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
    return LandlockError("landlock_add_rule");
  return {};
}

}  // namespace

std::uint32_t LandlockAbi() {
  const long abi =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return abi > 0 ? std::min(static_cast<std::uint32_t>(abi), kNewestKnown) : 0;
}

Result<void> RestrictByLandlock(bool files, std::uint32_t* abi) {
  *abi = LandlockAbi();
  if (*abi == 0) return {};
  const RulesetAttributes all = Everything(*abi);
  // Older kernels refuse trailing members they do not know unless they are 0, which they are.
  const ipc::Fd ruleset(
      static_cast<int>(syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0)));
  if (!ruleset.valid()) return LandlockError("landlock_create_ruleset");
  if (files) {
    BAILIFF_TRY(AllowBelow(ruleset.get(), "/in", kRead & all.files));
    BAILIFF_TRY(AllowBelow(ruleset.get(), "/out", kWork & all.files));
  }
  if (syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0)
    return LandlockError("landlock_restrict_self");
  return {};
}

}  // namespace bailiff::policy
