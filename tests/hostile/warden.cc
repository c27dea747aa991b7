// SPDX-License-Identifier: Apache-2.0
// A warden whose cell is wrong in one place. It is the real one, linked with the linker's --wrap:
// of the calls that build the candidate's process, what the mode names is left out or done
// otherwise. The controller must read that from the kernel, name it, and release nothing.
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>
#include <string>
#include <string_view>

#include "policy/cell.h"
#include "tests/hostile/mode.h"

// NOLINTBEGIN(bugprone-reserved-identifier): the linker's own names for what it wraps
extern "C" {
long __real_syscall(long, ...);
int __real_prctl(int, ...);
int __real_setrlimit(__rlimit_resource_t, const rlimit*);
int __real_fsopen(const char*, unsigned);
int __real_fsconfig(int, unsigned, const char*, const void*, int);
int __real_fsmount(int, unsigned, unsigned);
int __real_mount_setattr(int, const char*, unsigned, mount_attr*, std::size_t);
int __real_move_mount(int, const char*, int, const char*, unsigned);

long __wrap_syscall(long, ...);
int __wrap_prctl(int, ...);
int __wrap_setrlimit(__rlimit_resource_t, const rlimit*);
int __wrap_fsopen(const char*, unsigned);
int __wrap_fsconfig(int, unsigned, const char*, const void*, int);
int __wrap_fsmount(int, unsigned, unsigned);
int __wrap_mount_setattr(int, const char*, unsigned, mount_attr*, std::size_t);
int __wrap_move_mount(int, const char*, int, const char*, unsigned);
}

namespace {

bool in_candidate = false;
bool scratch = false;      // the file system that is being made is that of /scratch
std::string_view made_of;  // its type

bool Bent(std::string_view mode) { return in_candidate && bailiff::hostile::Mode() == mode; }

int Idle(void*) {
  for (;;) pause();
}

// One more filter, which lets everything through.
void AddFilter() {
  sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog filter{1, allow};
  if (__real_syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0) _exit(3);
}

// What the real filter would not allow any more.
void BeforeTheFilter() {
  static char stack[16384];
  if (Bent("thread") &&
      clone(Idle, stack + sizeof stack,
            CLONE_VM | CLONE_SIGHAND | CLONE_THREAD | CLONE_FS | CLONE_FILES, nullptr) < 0)
    _exit(3);
  if (Bent("second-process") && fork() == 0) Idle(nullptr);
  if (Bent("descriptor") && dup2(0, 9) != 9) _exit(3);
  if (Bent("two-filters")) AddFilter();
}

int MoreMounts(int at, const char* from, const char* to) {
  const int clone = open_tree(at, from, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
  const int done = __real_move_mount(clone, "", at, to, MOVE_MOUNT_F_EMPTY_PATH);
  close(clone);
  return done;
}

}  // namespace

extern "C" {

long __wrap_syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long a[6];
  for (long& one : a) one = va_arg(list, long);
  va_end(list);
  if (number == SYS_capset && in_candidate) {
    if (Bent("cap-permitted") || Bent("no-new-privs")) return 0;
    if (Bent("cap-inheritable"))
      reinterpret_cast<__user_cap_data_struct*>(a[1])->inheritable = 1U << CAP_CHOWN;
  }
  if (number == SYS_seccomp && in_candidate) {
    BeforeTheFilter();
    if (Bent("no-filter")) return 0;
    if (Bent("no-new-privs")) {
      // Without it a filter needs CAP_SYS_ADMIN: capabilities go after it.
      AddFilter();
      __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
      const __user_cap_data_struct none[2] = {};
      return __real_syscall(SYS_capset, &header, none);
    }
  }
  const long result = __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  if (number == SYS_clone3 && result == 0) in_candidate = true;
  return result;
}

int __wrap_prctl(int option, ...) {
  va_list list;
  va_start(list, option);
  unsigned long a[4];
  for (unsigned long& one : a) one = va_arg(list, unsigned long);
  va_end(list);
  if (option == PR_SET_NO_NEW_PRIVS && Bent("no-new-privs")) return 0;
  if (option == PR_CAPBSET_DROP && (Bent("cap-bounding") || Bent("cap-inheritable"))) return 0;
  return __real_prctl(option, a[0], a[1], a[2], a[3]);
}

// "limit Max open files": one less than the profile has, or finite where it has none, or left as it
// was where the profile has 0.
int __wrap_setrlimit(__rlimit_resource_t resource, const rlimit* both) {
  for (const bailiff::policy::CellLimit& limit : bailiff::policy::kCellLimits) {
    if (static_cast<int>(resource) != limit.resource || !Bent("limit " + std::string(limit.name)))
      continue;
    if (limit.value == 0) return 0;
    const rlim_t other = limit.value == RLIM_INFINITY ? rlim_t{1} << 50 : limit.value - 1;
    const rlimit bent{other, other};
    return __real_setrlimit(resource, &bent);
  }
  return __real_setrlimit(resource, both);
}

int __wrap_fsopen(const char* type, unsigned flags) {
  made_of = type;
  scratch = false;
  return __real_fsopen(type, flags);
}

int __wrap_fsconfig(int context, unsigned command, const char* key, const void* value, int aux) {
  const std::string_view name = key == nullptr ? "" : key;
  if (name == "mode" && static_cast<const char*>(value) == std::string_view("0700")) scratch = true;
  if (name == "size" && Bent("scratch-size")) {
    const std::string size = static_cast<const char*>(value);
    if (!size.ends_with('k'))
      return __real_fsconfig(context, command, key, std::to_string(2 * std::stoull(size)).c_str(),
                             aux);
  }
  return __real_fsconfig(context, command, key, value, aux);
}

int __wrap_fsmount(int context, unsigned flags, unsigned attributes) {
  if (made_of == "proc" && Bent("proc-exec"))
    attributes &= ~static_cast<unsigned>(MOUNT_ATTR_NOEXEC);
  if (scratch && Bent("scratch-devices")) attributes &= ~static_cast<unsigned>(MOUNT_ATTR_NODEV);
  if (scratch && Bent("scratch-setuid")) attributes &= ~static_cast<unsigned>(MOUNT_ATTR_NOSUID);
  if (made_of.starts_with("cgroup") && Bent("cgroup-writable"))
    attributes &= ~static_cast<unsigned>(MOUNT_ATTR_RDONLY);
  return __real_fsmount(context, flags, attributes);
}

int __wrap_mount_setattr(int at, const char* path, unsigned flags, mount_attr* attributes,
                         std::size_t size) {
  const bool source = at == bailiff::policy::kWardenSourceFd;
  if (*path == '\0' &&
      ((source && Bent("source-writable")) || (!source && Bent("root-writable")))) {
    mount_attr bent = *attributes;
    bent.attr_set &= ~static_cast<decltype(bent.attr_set)>(MOUNT_ATTR_RDONLY);
    bent.attr_clr |= MOUNT_ATTR_RDONLY;
    return __real_mount_setattr(at, path, flags, &bent, size);
  }
  return __real_mount_setattr(at, path, flags, attributes, size);
}

int __wrap_move_mount(int mount, const char* from, int at, const char* to, unsigned flags) {
  const std::string_view place = to;
  if (place == "proc/sys" && Bent("unmasked")) return 0;
  if (place == "proc/sys" && Bent("masked-otherwise")) return MoreMounts(at, "proc/fs", to);
  if (place == "scratch" && Bent("scratch-of-proc")) return MoreMounts(at, "proc", to);
  const int done = __real_move_mount(mount, from, at, to, flags);
  if (place == "scratch" && Bent("mounted-twice")) return MoreMounts(at, "scratch", to);
  if (place == "scratch" && Bent("foreign-mount")) return MoreMounts(at, "scratch", "sys/fs");
  return done;
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
