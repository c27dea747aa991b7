// SPDX-License-Identifier: Apache-2.0
#include "policy/lockdown.h"

#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "ipc/bounds.h"
#include "policy/filter.h"
#include "policy/landlock.h"

namespace bailiff::policy {
namespace {

Error StepError(const char* step, const char* call) {
  const int error = errno;
  return {ErrorCode::kLockdown, step, SystemError(call, "", error).why, error, {}};
}

// Bits that keep uid 0 from meaning anything, each locked so that nothing can take it back.
constexpr unsigned long kSecureBits =
    SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |
    SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

// `kept`: bits of the first word of capability sets.
Result<void> DropCapabilities(std::uint32_t kept) {
  if (prctl(PR_SET_SECUREBITS, kSecureBits) != 0) return StepError("securebits", "prctl");
  // Past the last capability of this kernel the call answers EINVAL (capabilities(7)).
  for (unsigned long capability = 0; capability < 64; ++capability) {
    if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) {
      if (errno == EINVAL && capability > CAP_CHOWN) break;
      return StepError("bounding set", "prctl");
    }
  }
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
    return StepError("ambient set", "prctl");
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{kept, kept, 0}, {0, 0, 0}};
  if (syscall(SYS_capset, &header, sets) != 0) return StepError("capability sets", "capset");
  return {};
}

Result<void> ForbidNewRights() {
  if (prctl(PR_SET_DUMPABLE, 0UL) != 0) return StepError("not dumpable", "prctl");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) != 0)
    return StepError("no_new_privs", "prctl");
  return {};
}

Result<void> InstallFilter(Role role) {
  const std::span<const sock_filter> code = FilterProgram(role);
  const sock_fprog program{static_cast<unsigned short>(code.size()),
                           const_cast<sock_filter*>(code.data())};
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
    return StepError("seccomp", "seccomp");
  return {};
}

// What the handler says, made before the lock: inside it only write and exit are left.
char last_words[64];

char* AppendNumber(char* at, unsigned long value, unsigned base) {
  char digits[24];
  int count = 0;
  do {
    digits[count++] = "0123456789abcdef"[value % base];
    value /= base;
  } while (value != 0);
  while (count > 0) *at++ = digits[--count];
  return at;
}

char* AppendText(char* at, const char* text) {
  while (*text != '\0') *at++ = *text++;
  return at;
}

[[noreturn]] void OnForbiddenCall(int, siginfo_t* info, void*) {
  char line[192];
  char* end = AppendText(line, last_words);
  end = AppendNumber(end, static_cast<unsigned long>(info->si_syscall), 10);
  end = AppendText(end, " (arch 0x");
  end = AppendNumber(end, info->si_arch, 16);
  end = AppendText(end, ") is not allowed\n");
  const auto length = static_cast<std::size_t>(end - line);
  if (syscall(SYS_write, ipc::kDiagnosisFd, line, length) < 0) {
    // Nobody reads any more; the exit status still tells.
  }
  syscall(SYS_exit_group, kForbiddenCallExit);
  __builtin_trap();
}

Result<void> InstallHandler(Role role) {
  std::snprintf(last_words, sizeof last_words, "SIGSYS: %s: system call ",
                std::string(RoleName(role)).c_str());
  struct sigaction action {};
  action.sa_sigaction = OnForbiddenCall;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  if (sigaction(SIGSYS, &action, nullptr) != 0) return StepError("SIGSYS handler", "sigaction");
  return {};
}

}  // namespace

Result<void> LockHelper(Role role, std::uint32_t* landlock_abi) {
  BAILIFF_TRY(DropCapabilities(0));
  BAILIFF_TRY(ForbidNewRights());
  BAILIFF_TRY(RestrictByLandlock(role != Role::kCollector, landlock_abi));
  BAILIFF_TRY(InstallHandler(role));
  return InstallFilter(role);
}

Result<void> LockWarden() {
  BAILIFF_TRY(DropCapabilities(1U << CAP_KILL));
  BAILIFF_TRY(ForbidNewRights());
  BAILIFF_TRY(InstallHandler(Role::kWarden));
  return InstallFilter(Role::kWarden);
}

Result<void> LockCandidate() {
  BAILIFF_TRY(DropCapabilities(0));
  BAILIFF_TRY(ForbidNewRights());
  return InstallFilter(Role::kCandidate);
}

}  // namespace bailiff::policy
