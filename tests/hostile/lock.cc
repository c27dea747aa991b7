// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>

#include "ipc/bounds.h"
#include "policy/filter.h"
#include "policy/lockdown.h"
#include "policy/view.h"
#include "tests/hostile/mode.h"

namespace bailiff::hostile {
namespace {

void Must(bool done, const char* step) {
  if (done) return;
  dprintf(ipc::kDiagnosisFd, "hostile: %s failed\n", step);
  _exit(3);
}

void InstallFilter(policy::Role role) {
  const auto program = policy::FilterProgram(role);
  sock_fprog filter{static_cast<unsigned short>(program.size()),
                    const_cast<sock_filter*>(program.data())};
  Must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0, "seccomp");
}

int Idle(void*) {
  for (;;) pause();
}

}  // namespace

void Lock(policy::Role role, const std::string& mode, bool has_out) {
  if (mode != "open-view") {
    if (role == policy::Role::kCollector) {
      Must(policy::EnterView({}).ok(), "view");
    } else {
      const policy::ViewMount mounts[] = {{ipc::kFirstJobFd, "in"}, {ipc::kFirstJobFd + 1, "out"}};
      Must(policy::EnterView({mounts, has_out ? 2U : 1U}).ok(), "view");
    }
  }
  if (!mode.starts_with("open-") || mode == "open-view") {
    std::uint32_t abi = 0;
    Must(policy::LockHelper(role, &abi).ok(), "lock");
    return;
  }
  if (mode == "open-descriptor") Must(dup2(ipc::kChannelFd, 20) == 20, "dup2");
  if (mode == "open-thread") {
    static char stack[16384];
    Must(clone(Idle, stack + sizeof stack,
               CLONE_VM | CLONE_SIGHAND | CLONE_THREAD | CLONE_FS | CLONE_FILES, nullptr) > 0,
         "clone");
  }
  if (mode != "open-bounding") {
    for (int capability = 0; capability < 64; ++capability)
      prctl(PR_CAPBSET_DROP, static_cast<unsigned long>(capability), 0UL, 0UL, 0UL);
  }
  // Without no_new_privs a filter needs CAP_SYS_ADMIN: it goes in before the capabilities go.
  const bool late_capabilities = mode == "open-no-new-privs";
  if (!late_capabilities) Must(prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0, "no_new_privs");
  const auto drop = [] {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[2] = {};
    Must(syscall(SYS_capset, &header, none) == 0, "capset");
  };
  if (mode != "open-capabilities" && !late_capabilities) drop();
  if (late_capabilities) {
    // A list that also lets capset through: the test is about one bit, and the number of filters is
    // right.
    sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    sock_fprog filter{1, allow};
    Must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0, "seccomp");
    drop();
    return;
  }
  if (mode == "open-seccomp") return;
  if (mode == "open-second-filter") {
    sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    sock_fprog filter{1, allow};
    Must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0, "seccomp");
  }
  InstallFilter(role);
}

}  // namespace bailiff::hostile
