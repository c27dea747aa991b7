// SPDX-License-Identifier: Apache-2.0
// What a candidate may do with sockets, events and devices, and the refusals that deserve their own
// line because their answer or their reason does.
#pragma once

#include <linux/netlink.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>

#include "policy/filter_candidate_files.h"
#include "policy/filter_candidate_process.h"
#include "policy/filter_table.h"

namespace bailiff::policy {

// clang-format off
inline constexpr std::array kCandidateNet = std::to_array<FilterLine>({
  {BAILIFF_CALL(socket), {ArgIs(0, AF_UNIX)}, kAllow, "local sockets of the cell"},
  {BAILIFF_CALL(socket), {ArgIs(0, AF_INET)}, kAllow, "the loopback of the cell is all there is"},
  {BAILIFF_CALL(socket), {ArgIs(0, AF_INET6)}, kAllow, "the same"},
  {BAILIFF_CALL(socket), {ArgIs(0, AF_NETLINK), ArgIs(2, NETLINK_ROUTE)}, kAllow, "getifaddrs and getaddrinfo read the loopback's addresses"},
  {BAILIFF_CALL(socket), {}, Errno(EAFNOSUPPORT), "vsock reaches the hypervisor, others are attack surface (alg, packet, rds, tipc)"},
  {BAILIFF_CALL(socketpair), {}, kAllow, "local sockets"},
  {BAILIFF_CALL(connect), {}, kAllow, "sockets of the cell's own empty network namespace"},
  {BAILIFF_CALL(bind), {}, kAllow, "the same"},
  {BAILIFF_CALL(listen), {}, kAllow, "the same"},
  {BAILIFF_CALL(accept), {}, kAllow, "the same"},
  {BAILIFF_CALL(accept4), {}, kAllow, "the same"},
  {BAILIFF_CALL(shutdown), {}, kAllow, "the same"},
  {BAILIFF_CALL(getsockname), {}, kAllow, "the same"},
  {BAILIFF_CALL(getpeername), {}, kAllow, "the same"},
  {BAILIFF_CALL(getsockopt), {}, kAllow, "the same"},
  {BAILIFF_CALL(setsockopt), {}, kAllow, "the same"},
  {BAILIFF_CALL(sendto), {}, kAllow, "the same"},
  {BAILIFF_CALL(recvfrom), {}, kAllow, "the same"},
  {BAILIFF_CALL(sendmsg), {}, kAllow, "the same"},
  {BAILIFF_CALL(recvmsg), {}, kAllow, "the same"},
  {BAILIFF_CALL(sendmmsg), {}, kAllow, "the same"},
  {BAILIFF_CALL(recvmmsg), {}, kAllow, "the same"},
  {BAILIFF_CALL(select), {}, kAllow, "event loops"},
  {BAILIFF_CALL(pselect6), {}, kAllow, "event loops"},
  {BAILIFF_CALL(poll), {}, kAllow, "event loops"},
  {BAILIFF_CALL(ppoll), {}, kAllow, "event loops"},
  {BAILIFF_CALL(epoll_create), {}, kAllow, "event loops"},
  {BAILIFF_CALL(epoll_create1), {}, kAllow, "event loops"},
  {BAILIFF_CALL(epoll_ctl), {}, kAllow, "event loops"},
  {BAILIFF_CALL(epoll_wait), {}, kAllow, "event loops"},
  {BAILIFF_CALL(epoll_pwait), {}, kAllow, "event loops"},
  {BAILIFF_CALL(epoll_pwait2), {}, kAllow, "event loops"},
  {BAILIFF_CALL(eventfd), {}, kAllow, "event loops"},
  {BAILIFF_CALL(eventfd2), {}, kAllow, "event loops"},
  {BAILIFF_CALL(io_setup), {}, kAllow, "POSIX asynchronous I/O of databases"},
  {BAILIFF_CALL(io_submit), {}, kAllow, "the same"},
  {BAILIFF_CALL(io_getevents), {}, kAllow, "the same"},
  {BAILIFF_CALL(io_cancel), {}, kAllow, "the same"},
  {BAILIFF_CALL(io_destroy), {}, kAllow, "the same"},
  {BAILIFF_CALL(ioctl), {ArgIsNot(1, TIOCSTI), ArgIsNot(1, TIOCLINUX)}, kAllow, "terminals, pipes, files; but no input faked into a terminal"},
  {BAILIFF_CALL(mknod), {ArgBits(1, S_IFMT, S_IFIFO)}, kAllow, "named pipes"},
  {BAILIFF_CALL(mknod), {ArgBits(1, S_IFMT, S_IFREG)}, kAllow, "files"},
  {BAILIFF_CALL(mknod), {ArgBits(1, S_IFMT, S_IFSOCK)}, kAllow, "sockets"},
  {BAILIFF_CALL(mknodat), {ArgBits(2, S_IFMT, S_IFIFO)}, kAllow, "named pipes"},
  {BAILIFF_CALL(mknodat), {ArgBits(2, S_IFMT, S_IFREG)}, kAllow, "files"},
  {BAILIFF_CALL(mknodat), {ArgBits(2, S_IFMT, S_IFSOCK)}, kAllow, "sockets"},
});

inline constexpr std::array kCandidateRefused = std::to_array<FilterLine>({
  {BAILIFF_CALL(clone3), {}, Errno(ENOSYS), "its flags lie in memory, where a filter cannot look; libraries fall back to clone"},
  {BAILIFF_CALL(io_uring_setup), {}, Errno(ENOSYS), "performs calls the filter never sees (case b07); libraries fall back"},
  {BAILIFF_CALL(io_uring_enter), {}, Errno(ENOSYS), "the same"},
  {BAILIFF_CALL(io_uring_register), {}, Errno(ENOSYS), "the same"},
  {BAILIFF_CALL(unshare), {}, Errno(EPERM), "a new user namespace would bring capabilities"},
  {BAILIFF_CALL(setns), {}, Errno(EPERM), "another namespace"},
  {BAILIFF_CALL(mount), {}, Errno(EPERM), "the cell's mounts are final"},
  {BAILIFF_CALL(umount2), {}, Errno(EPERM), "the same"},
  {BAILIFF_CALL(pivot_root), {}, Errno(EPERM), "the same"},
  {BAILIFF_CALL(chroot), {}, Errno(EPERM), "the same"},
  {BAILIFF_CALL(open_tree), {}, Errno(EPERM), "the same"},
  {BAILIFF_CALL(move_mount), {}, Errno(EPERM), "the same"},
  {BAILIFF_CALL(fsopen), {}, Errno(EPERM), "the same"},
  {BAILIFF_CALL(fsconfig), {}, Errno(EPERM), "the same"},
  {BAILIFF_CALL(fsmount), {}, Errno(EPERM), "the same"},
  {BAILIFF_CALL(fspick), {}, Errno(EPERM), "the same"},
  {BAILIFF_CALL(mount_setattr), {}, Errno(EPERM), "the same"},
  {BAILIFF_CALL(ptrace), {}, Errno(EPERM), "debugging is no part of a check; a large attack surface"},
  {BAILIFF_CALL(process_vm_readv), {}, Errno(EPERM), "the same"},
  {BAILIFF_CALL(process_vm_writev), {}, Errno(EPERM), "the same"},
  {BAILIFF_CALL(pidfd_getfd), {}, Errno(EPERM), "the same"},
  {BAILIFF_CALL(kcmp), {}, Errno(EPERM), "the same"},
  {BAILIFF_CALL(keyctl), {}, Errno(EPERM), "keyrings are not divided by namespaces of their own"},
  {BAILIFF_CALL(add_key), {}, Errno(EPERM), "the same"},
  {BAILIFF_CALL(request_key), {}, Errno(EPERM), "makes the kernel run a program on the host"},
  {BAILIFF_CALL(bpf), {}, Errno(EPERM), "programs in the kernel"},
  {BAILIFF_CALL(perf_event_open), {}, Errno(EPERM), "kernel attack surface, side channels"},
  {BAILIFF_CALL(userfaultfd), {}, Errno(EPERM), "holds the kernel inside a copy; the tool of many exploits"},
  {BAILIFF_CALL(open_by_handle_at), {}, Errno(EPERM), "opens by inode, past the cell's root"},
  {BAILIFF_CALL(fanotify_init), {}, Errno(EPERM), "watches whole file systems"},
  {BAILIFF_CALL(syslog), {}, Errno(EPERM), "the host's kernel log"},
});
// clang-format on

}  // namespace bailiff::policy
