// SPDX-License-Identifier: Apache-2.0
// What a native cell is: the warden builds from these tables, the controller compares
// /proc/<pid> of the stopped candidate with the same tables before it releases it (design,
// section 4; R5.01–R5.12). Constants only. Why each step is where it is: collector/warden/CELL.md.
#pragma once

#include <sys/resource.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace bailiff::policy {

// --- steps -------------------------------------------------------------------------------------

// Steps of setting up a cell, in order. ExecFailed carries the number; every failure before
// kExecute means that nothing of the candidate ran.
enum class CellStep : std::uint32_t {
  kOrder = 1,        // the order and the descriptors that came with it
  kPipes,            // release and error pipe
  kLoopback,         // lo up in the network namespace of the cell
  kHostname,         // "bailiff"
  kClone,            // the candidate's process, pid 1 of the inner pid namespace
  kJoinCgroup,       // v1: 0 into each tasks file; v2: born in cell/ (reported as kClone)
  kCgroupNamespace,  // the cell's cgroups become its root
  kPrivateMounts,    // nothing propagates in or out
  kImageRoot,        // image root attached
  kMountPoints,      // proc, sys, dev, source, scratch exist in the image as real directories
  kSource,           // source tree attached
  kProc,             // own proc; refused by the kernel where the host's is masked
  kProcMasks,        // read-only and empty places in it
  kSys,              // small read-only tmpfs
  kCgroupFiles,      // cgroupfs, read-only
  kDevices,          // minimal /dev
  kScratch,          // bounded tmpfs
  kPivot,            // the image root becomes /, everything of the host is gone
  kIds,              // the candidate's uid and gid, no groups
  kLockMounts,       // one unshare(NEWUSER|NEWNS): every mount is locked
  kMaps,             // uid_map and gid_map of the inner user namespace
  kNamespaceBounds,  // user.max_*_namespaces = 0
  kResourceLimits,   // kCellLimits
  kStreams,          // descriptors 0–2
  kSession,          // session, signals, umask, working directory
  kLockdown,         // capabilities, no_new_privs, seccomp
  kExecute,          // execve of the command
  kDied,             // the candidate's process ended before exec without a word
};
inline constexpr CellStep kFirstCellStep = CellStep::kOrder;
inline constexpr CellStep kLastCellStep = CellStep::kDied;

// Name of a step for people, and the reason (contracts, section 2) that an attempt whose cell
// failed there ends with, always as `unavailable`.
struct CellStepInfo {
  CellStep step;
  std::string_view name;
  std::string_view reason;
};

inline constexpr std::array kCellSteps = {
    CellStepInfo{CellStep::kOrder, "order", "configuration_rejected"},
    CellStepInfo{CellStep::kPipes, "pipes", "runtime_unavailable"},
    CellStepInfo{CellStep::kLoopback, "loopback", "runtime_unavailable"},
    CellStepInfo{CellStep::kHostname, "hostname", "runtime_unavailable"},
    CellStepInfo{CellStep::kClone, "clone", "runtime_unavailable"},
    CellStepInfo{CellStep::kJoinCgroup, "join cgroup", "limit_not_enforceable"},
    CellStepInfo{CellStep::kCgroupNamespace, "cgroup namespace", "runtime_unavailable"},
    CellStepInfo{CellStep::kPrivateMounts, "private mounts", "runtime_unavailable"},
    CellStepInfo{CellStep::kImageRoot, "image root", "image_unavailable"},
    CellStepInfo{CellStep::kMountPoints, "mount points", "image_unavailable"},
    CellStepInfo{CellStep::kSource, "source", "runtime_unavailable"},
    CellStepInfo{CellStep::kProc, "proc", "proc_masked"},
    CellStepInfo{CellStep::kProcMasks, "proc masks", "configuration_rejected"},
    CellStepInfo{CellStep::kSys, "sys", "configuration_rejected"},
    CellStepInfo{CellStep::kCgroupFiles, "cgroup files", "configuration_rejected"},
    CellStepInfo{CellStep::kDevices, "devices", "configuration_rejected"},
    CellStepInfo{CellStep::kScratch, "scratch", "limit_not_enforceable"},
    CellStepInfo{CellStep::kPivot, "pivot", "configuration_rejected"},
    CellStepInfo{CellStep::kIds, "ids", "configuration_rejected"},
    CellStepInfo{CellStep::kLockMounts, "lock mounts", "configuration_rejected"},
    CellStepInfo{CellStep::kMaps, "maps", "configuration_rejected"},
    CellStepInfo{CellStep::kNamespaceBounds, "namespace bounds", "limit_not_enforceable"},
    CellStepInfo{CellStep::kResourceLimits, "resource limits", "limit_not_enforceable"},
    CellStepInfo{CellStep::kStreams, "streams", "configuration_rejected"},
    CellStepInfo{CellStep::kSession, "session", "configuration_rejected"},
    CellStepInfo{CellStep::kLockdown, "lockdown", "configuration_rejected"},
    CellStepInfo{CellStep::kExecute, "execute", "executable_unavailable"},
    CellStepInfo{CellStep::kDied, "died", "runtime_unavailable"},
};

// The row of a step number from the wire; nullptr for a number that is none.
constexpr const CellStepInfo* FindCellStep(std::uint32_t step) {
  for (const CellStepInfo& info : kCellSteps) {
    if (static_cast<std::uint32_t>(info.step) == step) return &info;
  }
  return nullptr;
}

// --- identity, places, descriptors --------------------------------------------------------------

inline constexpr std::uint32_t kCellId = 65532;  // uid and gid that the candidate sees (R2.02)
inline constexpr std::string_view kCellHostname = "bailiff";
inline constexpr const char* kAttachPoint = "/cell";  // empty directory in the controller's root
inline constexpr const char* kScratchPath = "/scratch";
inline constexpr std::uint32_t kCellUmask = 022;
// Mode that the controller, who owns the pipes of stdout and stderr, gives them (fchmod): without
// it the candidate may write to its descriptor but not open /dev/stdout or /dev/stderr again.
inline constexpr std::uint32_t kStreamMode = 0622;
inline constexpr int kCellOomScore = 1000;

// The warden's descriptors after 0–3 (ipc/bounds.h).
inline constexpr int kWardenImageFd = 4;   // detached clone of the image root
inline constexpr int kWardenSourceFd = 5;  // detached clone of the source tree
inline constexpr int kWardenStdoutFd = 6;  // write ends of the candidate's pipes
inline constexpr int kWardenStderrFd = 7;
inline constexpr int kWardenCgroupFd = 8;  // v2: cell/; v1: tasks of memory, then pids, cpu
inline constexpr int kWardenCgroupFdsV1 = 3;
// The stopped candidate holds 0–2 and these two, both close-on-exec, and nothing else (b01).
inline constexpr int kCandidateReleaseFd = 3;
inline constexpr int kCandidateErrorFd = 4;

// --- mounts -------------------------------------------------------------------------------------

// Options as the sixth field of /proc/<pid>/mountinfo shows them (proc(5)).
enum CellMountFlag : unsigned {
  kMountReadOnly = 1U << 0,  // "ro", else "rw"
  kMountNoSuid = 1U << 1,
  kMountNoDev = 1U << 2,
  kMountNoExec = 1U << 3,
};
inline constexpr unsigned kMountQuiet = kMountNoSuid | kMountNoDev | kMountNoExec;

// When a row of kCellMounts is there. A row that is there for another reason, a row missing, a row
// twice and a mount that is no row are all refused.
enum class CellMountWhen {
  kAlways,
  kCgroup1,
  kCgroup2,
  kHostProcHas,  // exactly when the host's /proc has this path: those files are the kernel's, the
                 // same in every proc mount
};

struct CellMount {
  std::string_view point;
  // Type as mountinfo shows it; empty where it is that of a directory the operator chose (data
  // directory) or of the host's /dev.
  std::string_view type;
  // Fourth field, where it is fixed: the place inside the mounted file system.
  std::string_view root;
  unsigned flags;
  CellMountWhen when;
};

// Every mount of a cell, in the order of being made. Exactly one is writable by the candidate
// (/scratch); /proc itself is "rw" because programs write their own /proc/self files. The device
// binds are the only ones without nodev.
inline constexpr std::array kCellMounts = {
    CellMount{"/", "", "", kMountReadOnly | kMountNoSuid | kMountNoDev, CellMountWhen::kAlways},
    CellMount{"/source", "", "", kMountReadOnly | kMountNoSuid | kMountNoDev,
              CellMountWhen::kAlways},
    CellMount{"/proc", "proc", "/", kMountQuiet, CellMountWhen::kAlways},
    // Read-only views of the same place (as runc's readonlyPaths).
    CellMount{"/proc/sys", "proc", "/sys", kMountQuiet | kMountReadOnly, CellMountWhen::kAlways},
    CellMount{"/proc/bus", "proc", "/bus", kMountQuiet | kMountReadOnly,
              CellMountWhen::kHostProcHas},
    CellMount{"/proc/fs", "proc", "/fs", kMountQuiet | kMountReadOnly, CellMountWhen::kHostProcHas},
    CellMount{"/proc/irq", "proc", "/irq", kMountQuiet | kMountReadOnly,
              CellMountWhen::kHostProcHas},
    CellMount{"/proc/sysrq-trigger", "proc", "/sysrq-trigger", kMountQuiet | kMountReadOnly,
              CellMountWhen::kHostProcHas},
    // Hidden: an empty read-only directory, or the null device over a file (runc's maskedPaths).
    CellMount{"/proc/acpi", "tmpfs", "/", kMountQuiet | kMountReadOnly,
              CellMountWhen::kHostProcHas},
    CellMount{"/proc/asound", "tmpfs", "/", kMountQuiet | kMountReadOnly,
              CellMountWhen::kHostProcHas},
    CellMount{"/proc/scsi", "tmpfs", "/", kMountQuiet | kMountReadOnly,
              CellMountWhen::kHostProcHas},
    CellMount{"/proc/interrupts", "", "/null", kMountNoSuid | kMountNoExec | kMountReadOnly,
              CellMountWhen::kHostProcHas},
    CellMount{"/proc/kcore", "", "/null", kMountNoSuid | kMountNoExec | kMountReadOnly,
              CellMountWhen::kHostProcHas},
    CellMount{"/proc/keys", "", "/null", kMountNoSuid | kMountNoExec | kMountReadOnly,
              CellMountWhen::kHostProcHas},
    CellMount{"/proc/latency_stats", "", "/null", kMountNoSuid | kMountNoExec | kMountReadOnly,
              CellMountWhen::kHostProcHas},
    CellMount{"/proc/sched_debug", "", "/null", kMountNoSuid | kMountNoExec | kMountReadOnly,
              CellMountWhen::kHostProcHas},
    CellMount{"/proc/timer_list", "", "/null", kMountNoSuid | kMountNoExec | kMountReadOnly,
              CellMountWhen::kHostProcHas},
    CellMount{"/proc/timer_stats", "", "/null", kMountNoSuid | kMountNoExec | kMountReadOnly,
              CellMountWhen::kHostProcHas},
    CellMount{"/sys", "tmpfs", "/", kMountQuiet | kMountReadOnly, CellMountWhen::kAlways},
    // The root field of these is the cell's own cgroup, shown relative to the reader's cgroup
    // namespace: the controller compares it with the path it made.
    CellMount{"/sys/fs/cgroup", "cgroup2", "", kMountQuiet | kMountReadOnly,
              CellMountWhen::kCgroup2},
    CellMount{"/sys/fs/cgroup/memory", "cgroup", "", kMountQuiet | kMountReadOnly,
              CellMountWhen::kCgroup1},
    CellMount{"/sys/fs/cgroup/pids", "cgroup", "", kMountQuiet | kMountReadOnly,
              CellMountWhen::kCgroup1},
    CellMount{"/sys/fs/cgroup/cpu", "cgroup", "", kMountQuiet | kMountReadOnly,
              CellMountWhen::kCgroup1},
    CellMount{"/dev", "tmpfs", "/", kMountQuiet | kMountReadOnly, CellMountWhen::kAlways},
    CellMount{"/dev/null", "", "/null", kMountNoSuid | kMountNoExec | kMountReadOnly,
              CellMountWhen::kAlways},
    CellMount{"/dev/zero", "", "/zero", kMountNoSuid | kMountNoExec | kMountReadOnly,
              CellMountWhen::kAlways},
    CellMount{"/dev/full", "", "/full", kMountNoSuid | kMountNoExec | kMountReadOnly,
              CellMountWhen::kAlways},
    CellMount{"/dev/random", "", "/random", kMountNoSuid | kMountNoExec | kMountReadOnly,
              CellMountWhen::kAlways},
    CellMount{"/dev/urandom", "", "/urandom", kMountNoSuid | kMountNoExec | kMountReadOnly,
              CellMountWhen::kAlways},
    CellMount{"/dev/tty", "", "/tty", kMountNoSuid | kMountNoExec | kMountReadOnly,
              CellMountWhen::kAlways},
    CellMount{"/scratch", "tmpfs", "/", kMountNoSuid | kMountNoDev, CellMountWhen::kAlways},
};

// Links of /dev besides the device binds above. No /dev/shm, mqueue, pts: nothing needs them with
// stdin closed, and each is one more place to write (R12.28).
struct CellLink {
  const char* path;
  const char* target;
};
inline constexpr std::array kCellLinks = {
    CellLink{"dev/fd", "/proc/self/fd"},
    CellLink{"dev/stdin", "/proc/self/fd/0"},
    CellLink{"dev/stdout", "/proc/self/fd/1"},
    CellLink{"dev/stderr", "/proc/self/fd/2"},
};

// --- limits -------------------------------------------------------------------------------------

// Resource limits of the candidate, soft and hard the same (R12.25 for the first two). Those of
// which a host may have given us less (a hard limit cannot be raised) make the cell fail with
// limit_not_enforceable rather than run under another machine's numbers. RLIMIT_NPROC is left as
// inherited: it counts across cells of one host id; the bound on processes is the cgroup's.
// The warden must therefore not be started with lower limits than these.
struct CellLimit {
  int resource;
  rlim_t value;
  std::string_view name;  // first column of /proc/<pid>/limits
};
inline constexpr std::array kCellLimits = {
    CellLimit{RLIMIT_NOFILE, 128, "Max open files"},
    CellLimit{RLIMIT_CORE, 0, "Max core file size"},
    CellLimit{RLIMIT_STACK, rlim_t{8} << 20, "Max stack size"},
    CellLimit{RLIMIT_MEMLOCK, rlim_t{64} << 10, "Max locked memory"},
    CellLimit{RLIMIT_MSGQUEUE, 0, "Max msgqueue size"},
    CellLimit{RLIMIT_SIGPENDING, 1024, "Max pending signals"},
    CellLimit{RLIMIT_NICE, 0, "Max nice priority"},
    CellLimit{RLIMIT_RTPRIO, 0, "Max realtime priority"},
    CellLimit{RLIMIT_CPU, RLIM_INFINITY, "Max cpu time"},
    CellLimit{RLIMIT_FSIZE, RLIM_INFINITY, "Max file size"},
    CellLimit{RLIMIT_DATA, RLIM_INFINITY, "Max data size"},
    CellLimit{RLIMIT_AS, RLIM_INFINITY, "Max address space"},
};

// sysctls of the inner user namespace set to 0: no namespace of any kind can be made in the cell,
// whatever becomes of the filter.
inline constexpr const char* kCellNamespaceBoundsDirectory = "proc/sys/user";
inline constexpr std::array kCellNamespaceBounds = {
    "max_cgroup_namespaces", "max_ipc_namespaces",  "max_mnt_namespaces",  "max_net_namespaces",
    "max_pid_namespaces",    "max_time_namespaces", "max_user_namespaces", "max_uts_namespaces",
};

}  // namespace bailiff::policy
