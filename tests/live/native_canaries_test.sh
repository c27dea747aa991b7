#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# R12.14 to R12.35 in a native cell, and cases b01 b06 b07 b08 b14 b15 c04: each hostile action must fail with its own error, not merely
# fail. The scripts run inside; they exit 0 only if every action was refused as it must be, and the test wants `success`.
set -uo pipefail
# shellcheck source=tests/support/cell.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/cell.sh"
make_root "$scratch/root"
# Bait for b14: bits and capabilities that an image must not bring in.
mkdir "$scratch/root/su" "$scratch/root/sg"
cp "$(command -v busybox)" "$scratch/root/su/id"
cp "$(command -v busybox)" "$scratch/root/sg/id"
chmod 4755 "$scratch/root/su/id"
chmod 2755 "$scratch/root/sg/id"
mkdir "$scratch/root/open" && chmod 1777 "$scratch/root/open"
printf '#!/proc/self/exe\n' >"$scratch/root/bin/self" && chmod 755 "$scratch/root/bin/self"
check "a data directory" bailiff init
# A file capability cannot be set without privilege, but an archive can hold one.
tar -C "$scratch/root" --sort=name --owner=0 --group=0 --numeric-owner -cf "$scratch/bait.tar" .
python3 - "$scratch/bait.tar" "$(command -v busybox)" <<'PYTHON'
import sys, tarfile
with tarfile.open(sys.argv[1], "a", format=tarfile.PAX_FORMAT) as archive:
    entry = archive.gettarinfo(sys.argv[2], "./grep-with-capability")
    entry.mode, entry.uid, entry.gid, entry.uname, entry.gname = 0o755, 0, 0, "", ""
    # vfs_cap_data revision 2, effective: CAP_SETUID (capabilities(7), "File capabilities")
    value = b"\1\0\0\2\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
    entry.pax_headers = {"SCHILY.xattr.security.capability": value.decode("utf-8", "surrogateescape")}
    archive.addfile(entry, open(sys.argv[2], "rb"))
PYTHON
check "an image with bait" bailiff --json image import "$scratch/bait.tar" --format rootfs --name bb
mkdir -p "$scratch/source/nested"
echo 'a line' >"$scratch/source/file"
echo nested >"$scratch/source/nested/x"
ln -s /proc/self/fd/7 "$scratch/source/w"
revision=$(bailiff --json source import "$scratch/source" 2>"$scratch/stderr" | member revision)

# inside NAME [OPTION…] SCRIPT: the functions below are there, and any `bad` fails the run.
prelude='
bad() { echo "BAD $*"; failed=1; }
failed=0
# says TEXT COMMAND…: the command fails, and its error holds the text
says() { w=$1; shift; if out=$("$@" 2>&1); then bad "$*: let through: $out"; else case $out in *"$w"*) ;; *) bad "$*: $out, expected $w";; esac; fi; }
# writes TEXT FILE: as says, for a redirection
writes() { if out=$( (: >"$2") 2>&1 ); then bad "write $2"; else case $out in *"$1"*) ;; *) bad "write $2: $out, expected $1";; esac; fi; }
equals() { [ "$2" = "$3" ] || bad "$1: $2, expected $3"; }
'
inside() {
  local name=$1 script=${*: -1}
  shift
  set -- "${@:1:$#-1}"
  expect "$name" 'outcome=success cleanup.confirmed=true isolation.observed=true' "$@" -- /bin/sh -c "$prelude
$script
exit \$failed"
}
# probes NAME "PROBE ANSWER…" [OPTION…]
probes() {
  local name=$1 pairs=$2 wanted names
  shift 2
  wanted=$(tr ' ' '\n' <<<"$pairs" | sed '/^$/d;s/=/ /')
  names=$(cut -d' ' -f1 <<<"$wanted")
  # shellcheck disable=SC2086
  cell "$@" -- /bin/probe $names >"$scratch/probed"
  same "$name" "$(bytes_of stdout <"$scratch/probed")" "$wanted"
}

# A canary that could not fail would show nothing: what gets through, and what fails for another reason, must fail the whole run.
canary() {  # canary NAME WORDS ACTION…: one action that is not what it has to be
  local name=$1 words=$2
  shift 2
  expect "$name" "outcome=failed process.code=1 stdout~${words// /\\040}" -- /bin/sh -c "$prelude
$*
exit \$failed"
}
canary r12_11_an_action_that_gets_through_fails_the_run 'BAD touch /scratch/x: let through' 'says "Read-only file system" touch /scratch/x'
canary r12_11_a_write_that_gets_through_fails_the_run 'BAD write /scratch/x' 'writes "Read-only file system" /scratch/x'
canary r12_11_another_value_fails_the_run 'BAD name: 1, expected 2' 'equals name 1 2'
canary r12_10_another_error_is_no_proof 'expected No space left' 'says "No space left on device" touch /x'
canary r12_10_another_error_of_a_write_is_no_proof 'expected No space left' 'writes "No space left on device" /x'

inside r12_14_network_egress_is_blocked '
says "Network is unreachable" telnet 192.0.2.1 80
says "Network is unreachable" nc -w 2 192.0.2.1 53
says "Network is unreachable" nslookup example.com 192.0.2.53
says "bad address" nc -w 2 example.com 80
says "permission denied" ping -c 1 -W 1 192.0.2.1
'
probes r12_14_raw_egress 'net_tcp=ENETUNREACH net_udp=ENETUNREACH net_loopback=ECONNREFUSED packet=EAFNOSUPPORT raw=EPERM alg=EAFNOSUPPORT vsock=EAFNOSUPPORT netlink_audit=EAFNOSUPPORT'
inside r12_15_only_loopback '
equals routes "$(tail -n +2 /proc/net/route | grep -vc "^lo")" 0
equals interfaces "$(tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " " | tr "\n" " ")" "lo "
equals ipv6 "$(grep -vc " lo$" /proc/net/if_inet6 2>/dev/null || :)" 0
'
inside r12_16_read_only_mounts '
option() { grep " $1 " /proc/self/mountinfo | head -n 1 | cut -d" " -f6; }
for m in / /source; do case ,$(option $m), in ,ro,*) ;; *) bad "$m is $(option $m)";; esac; done
case $(option /scratch) in rw,nosuid,nodev*) ;; *) bad "/scratch is $(option /scratch)";; esac
'
inside r12_18_writes_fail --scratch 1M '
for f in /source/f /source/nested/f /f /etc/f /bin/f /dev/f /sys/f /open/f; do writes "Read-only file system" $f; done
for f in /source/file /etc/passwd /bin/busybox; do writes "Read-only file system" $f; done
writes "Read-only file system" /tmp/f
writes "nonexistent directory" /usr/f
says "Read-only file system" touch /x
says "Read-only file system" rm -f /source/file
says "Read-only file system" ln -s x /source/l
says "Read-only file system" mkdir /source/d
says "Read-only file system" chmod 777 /source/file
'
inside r12_19_remount_fails '
says "mount: permission denied" mount -o remount,rw /
says "mount: permission denied" mount -o remount,rw,bind /source
says "Operation not permitted" umount /source
says "Operation not permitted" umount /proc/sys
equals source "$(cat /source/file)" "a line"
equals modes "$(stat -c %a /source /source/file /source/nested | tr "\n" " ")" "555 444 555 "
'
inside r12_20_scratch_is_bounded --scratch 1M --memory 64M '
echo x >/scratch/f || bad "scratch is not writable"
says "No space left on device" dd if=/dev/zero of=/scratch/big bs=64k
equals kept "$(($(stat -c %s /scratch/big) <= 1048576))" 1
'
inside r12_21_no_privileges '
equals ids "$(id -u) $(id -g) $(id -G)" "65532 65532 65532"
set -- $(grep -E "^(Uid|Gid):" /proc/self/status | cut -f2- | tr "\t" "\n" | sort -u); equals "all ids" "$*" 65532
for c in CapInh CapPrm CapEff CapBnd CapAmb; do equals $c "$(grep ^$c /proc/self/status | cut -f2)" 0000000000000000; done
equals NoNewPrivs "$(grep ^NoNewPrivs /proc/self/status | cut -f2)" 1
equals Seccomp "$(grep ^Seccomp: /proc/self/status | cut -f2)" 2
equals Seccomp_filters "$(grep ^Seccomp_filters: /proc/self/status | cut -f2)" 1
'
expect r12_22_exact_environment 'outcome=success stdout=A=1\nHOME=/scratch\nHOSTNAME=bailiff\nPATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nTMPDIR=/scratch\n' --env A=1 -- /bin/probe environment
inside r12_23_no_secrets_or_sockets '
equals sockets "$(find / -xdev -type s 2>/dev/null; find /scratch /dev /sys -type s 2>/dev/null)" ""
equals databases "$(find / -name "*.sqlite*" -o -name .agentscm -o -name docker.sock -o -name "owners.lock" -o -name authority 2>/dev/null | grep -v "^/proc")" ""
equals "unix sockets" "$(tail -n +2 /proc/net/unix | wc -l)" 0
equals shadow "$(cat /etc/shadow 2>&1)" "cat: can'"'"'t open '"'"'/etc/shadow'"'"': No such file or directory"
'
probes r12_24_mount_chroot_namespaces 'mount_tmpfs=EPERM mount_proc=EPERM remount_root=EPERM remount_source=EPERM mount_setattr=EPERM umount_source=EPERM umount_proc_sys=EPERM open_tree=EPERM fsopen=EPERM move_mount=EPERM pivot_root=EPERM chroot=EPERM unshare_user=EPERM unshare_mount=EPERM clone_user=EPERM clone_mount=EPERM clone3_user=ENOSYS setns=EPERM setuid_root=EINVAL setgroups=EPERM capset_all=EPERM clone_plain=OK'
inside r12_25_nofile_and_core '
equals nofile "$(ulimit -n) $(ulimit -Hn)" "128 128"
equals core "$(ulimit -c) $(ulimit -Hc)" "0 0"
says "Operation not permitted" ulimit -n 129
(exec 127</dev/null) || bad "descriptor 127"
(exec 128</dev/null) 2>/dev/null && bad "descriptor 128 opened"
'
# Lowered as far as the kernel lets it (the floor is never below 0: nobody's protection is handed on), and still ended by its own limit.
(echo -500 >/proc/self/oom_score_adj) 2>/dev/null && protect=-500 || protect=0
lowered=$( (echo "$protect" >/proc/self/oom_score_adj; bailiff --json run --exit=outcome --image bb --source "$revision" --memory 32M -- /bin/sh -c '
for v in 500 200 0 -1 -500 -1000; do echo $v >/proc/self/oom_score_adj; done 2>/dev/null
[ "$(cat /proc/self/oom_score_adj)" -ge 0 ] && echo held
exec dd if=/dev/zero of=/dev/null bs=60M count=1') 2>"$scratch/stderr" </dev/null)
if why=$(holds outcome=incomplete 'reasons=["oom_local"]' <<<"$lowered" 2>&1) && [[ $(bytes_of stdout <<<"$lowered") == held* ]]; then pass "r12_25_oom_floor (started at $protect)"; else fail r12_25_oom_floor "$why" "$lowered" "$(cat "$scratch/stderr")"; fi
probes r12_25_raising_limits 'raise_nofile=EPERM raise_core=EPERM nice=EACCES oom_score=EACCES'
expect r12_26_process_count_is_bounded 'outcome=success reasons=["pids_limit_hit"] usage.pids_peak=12 stdout=fork_count\04010\nfork_flood\040EAGAIN\n' --pids 12 -- /bin/probe fork_flood
inside r12_26_pids_max_is_visible --pids 12 '
for f in /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max; do [ ! -e $f ] || equals pids.max "$(cat $f)" 12; done
[ -e /sys/fs/cgroup/pids/pids.max ] || [ -e /sys/fs/cgroup/pids.max ] || bad "no pids.max to read"
'
inside r12_27_every_mount_is_expected '
while read -r _ _ _ _ at options rest; do
  case $at in
    /scratch) case $options in rw,nosuid,nodev*) ;; *) bad "$at $options";; esac ;;
    /proc) case $options in rw,nosuid,nodev,noexec*) ;; *) bad "$at $options";; esac ;;
    / | /source | /sys | /sys/fs/cgroup | /sys/fs/cgroup/* | /dev | /proc/*) case $options in ro,nosuid*) ;; *) bad "$at $options";; esac ;;
    /dev/null | /dev/zero | /dev/full | /dev/random | /dev/urandom | /dev/tty) case $options in ro,nosuid,noexec*) ;; *) bad "$at $options";; esac ;;
    *) bad "unexpected mount $at" ;;
  esac
done </proc/self/mountinfo
'
# THREATS.md, "What of the host a candidate can read": two paths below the data directory, and no other.
inside r12_23_paths_of_the_host '
while read -r _ _ _ root at rest; do
  case $at in
    /) case $root in */images/*/root) ;; *) bad "$at shows $root";; esac ;;
    /source) case $root in */trees/*) ;; *) bad "$at shows $root";; esac ;;
    *) case $root in / | /sys | /bus | /fs | /irq | /sysrq-trigger | /null | /zero | /full | /random | /urandom | /tty) ;; *) bad "$at shows $root";; esac ;;
  esac
done </proc/self/mountinfo
'
inside r12_28_devices '
for d in /dev/shm /dev/mem /dev/kmem /dev/kmsg /dev/fuse /dev/mqueue /dev/pts /dev/ptmx /dev/kvm /dev/loop0 /dev/vda /dev/sda; do [ ! -e $d ] || bad "$d is there"; done
equals blocks "$(find /dev /scratch /source -type b 2>/dev/null)" ""
equals list "$(ls /dev | tr "\n" " ")" "fd full null random stderr stdin stdout tty urandom zero "
'
probes r12_29_devices_names_clocks_namespaces 'mknod_block=EPERM mknod_char=EPERM mknod_fifo=OK sethostname=EPERM setdomainname=EPERM settimeofday=EPERM clock_settime=EPERM unshare_net=EPERM unshare_pid=EPERM unshare_ipc=EPERM unshare_uts=EPERM unshare_cgroup=EPERM unshare_time=EPERM clone_net=EPERM'
inside r12_29_by_busybox '
says "Operation not permitted" mknod /scratch/m c 1 3
says "Operation not permitted" mknod /scratch/b b 254 0
says "Operation not permitted" hostname x
equals date "$(date -s 2020-01-01 2>&1 | head -n 1)" "date: can'"'"'t set date: Operation not permitted"
case $(date +%Y) in 2020) bad "the clock was set" ;; esac
says "Operation not permitted" unshare -n true
equals hostname "$(hostname)" bailiff
'
inside r12_30_cgroup_values --memory 64M --cpu 0.5 --pids 20 '
g=/sys/fs/cgroup
if [ -e $g/memory.max ]; then
  equals memory.max "$(cat $g/memory.max)" 67108864
  equals memory.swap.max "$(cat $g/memory.swap.max 2>/dev/null || echo 0)" 0
  equals cpu.max "$(cat $g/cpu.max)" "50000 100000"
  equals pids.max "$(cat $g/pids.max)" 20
  writes "Read-only file system" $g/memory.max
  equals path "$(cat /proc/self/cgroup)" "0::/"
else
  equals memory "$(cat $g/memory/memory.limit_in_bytes)" 67108864
  equals memsw "$(cat $g/memory/memory.memsw.limit_in_bytes)" 67108864
  equals cpu "$(cat $g/cpu/cpu.cfs_quota_us) $(cat $g/cpu/cpu.cfs_period_us)" "50000 100000"
  equals pids.max "$(cat $g/pids/pids.max)" 20
  equals paths "$(grep -E ":(memory|pids|cpu):" /proc/self/cgroup | cut -d: -f3 | tr -d "\n")" ///
  writes "" $g/memory/memory.limit_in_bytes
fi
'
inside r12_31_pid_1_alone '
equals pid $$ 1
set -- /proc/[0-9]*
equals processes "$*" /proc/1
'
inside r12_32_proc_masks '
[ ! -e /proc/kcore ] || equals kcore "$(head -c 16 /proc/kcore 2>/dev/null | wc -c)" 0
[ ! -e /proc/sysrq-trigger ] || { (echo h >/proc/sysrq-trigger) 2>/dev/null && bad sysrq; }
(echo x >/proc/sys/kernel/hostname) 2>/dev/null && bad "hostname by /proc/sys"
for m in keys timer_list interrupts; do [ ! -e /proc/$m ] || equals $m "$(head -c 16 /proc/$m | wc -c)" 0; done
equals namespaces "$(cat /proc/sys/user/max_user_namespaces) $(cat /proc/sys/user/max_net_namespaces) $(cat /proc/sys/user/max_mnt_namespaces)" "0 0 0"
for m in acpi scsi; do [ ! -d /proc/$m ] || equals $m "$(ls /proc/$m)" ""; done
'
probes r12_32_raw_writes 'write_root=EROFS write_source=EROFS write_dev=EROFS write_sys=EROFS write_uid_map=EPERM'
expect r12_33_memory_exhaustion_is_killed_not_success 'outcome=incomplete reasons.0="oom_local" usage.oom_kills>0' --memory 16M \
  -- /bin/sh -c 'head -c 64000000 /dev/zero | tail >/dev/null; exit $?'
expect r12_34_output_flood_stops_at_limit 'outcome=output_limit streams.stdout.retained=65536 cleanup.confirmed=true' --output 64K -- /bin/yes
expect r12_35_timeout_kills_the_whole_process_tree 'outcome=timed_out cleanup.confirmed=true' --timeout 400ms \
  -- /bin/sh -c 'for i in 1 2 3 4; do (setsid sleep 600 &); done; sleep 600'
left_nothing r12_35_every_descendant_is_gone

# --- b01: descriptors and working directory
inside b01_only_three_descriptors '
equals descriptors "$(ls /proc/self/fd | tr "\n" " ")" "0 1 2 3 "
equals first "$(readlink /proc/self/fd/0)" /dev/null
equals where "$(pwd -P)" /scratch
equals above "$(ls -d ../../../../*)" "$(ls -d /*| sed s,^,../../../..,)"
says "No such file" cat /source/w/x
'
probes b01_dot_dot 'dot_dot=ENOENT'
# --- b06 b07: other tables of calls, rings, and what the filter is for
probes b06_foreign_call_tables 'int80=SIGSYS x32=SIGSYS new_call=ENOSYS'
probes b07_io_uring 'io_uring_setup=ENOSYS io_uring_enter=ENOSYS io_uring_register=ENOSYS'
probes r12_39_dangerous_calls 'keyctl=EPERM add_key=EPERM request_key=EPERM bpf=EPERM ptrace_attach=EPERM ptrace_traceme=EPERM process_vm_readv=EPERM pidfd_getfd=EPERM userfaultfd=EPERM perf_event_open=EPERM kexec_load=EPERM init_module=EPERM reboot=EPERM swapon=EPERM acct=EPERM syslog=EPERM fanotify_init=EPERM open_by_handle_at=EPERM quotactl=EPERM iopl=EPERM ioperm=EPERM modify_ldt=EPERM personality_rie=EPERM personality_addr=EPERM tiocsti=EPERM tioclinux=EPERM'
# --- b08: a listener of the host on an abstract name, and none of it inside
coproc listener { python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX); s.bind("\0bailiff-test-abstract"); s.listen(); print("up", flush=True); sys.stdin.read()'; }
read -r up <&"${listener[0]}"
same b08_the_host_listens "$up $(grep -c 'bailiff-test-abstract' /proc/net/unix)" "up 1"
probes b08_abstract_socket_of_the_host 'abstract=ECONNREFUSED'
start -- /bin/probe abstract_listen && {
  probes b08_cells_never_meet 'abstract=ECONNREFUSED'
  kill -INT "$started"
  ended
}
kill "$listener_PID" 2>/dev/null
# --- b14: bits of the image
inside b14_setuid_bits_are_gone '
equals euid "$(/su/id -u) $(/sg/id -g)" "65532 65532"
equals special "$(find / -xdev -perm /7000 2>/dev/null)" ""
'
same b14_file_capabilities_are_gone "$(python3 -c '
import glob, os, sys
found = glob.glob(sys.argv[1] + "/images/*/root/grep-with-capability")
print(len(found), [name for path in found for name in os.listxattr(path) if name.startswith("security.cap")])' "$data")" "1 []"
# --- b15: the programs of Bailiff cannot be reached by /proc
before=$(sha256sum "$BAILIFF_BUILD"/bin/bailiff*)
inside b15_every_exe_is_the_images '
for p in /proc/[0-9]*; do case $(readlink $p/exe) in /bin/busybox | "") ;; *) bad "$p $(readlink $p/exe)";; esac; done
writes "" /proc/1/exe
writes "" /proc/self/exe
'
expect b15_script_of_proc_self_exe 'outcome!=success isolation.observed=true' -- /bin/self
same b15_programs_unchanged "$(sha256sum "$BAILIFF_BUILD"/bin/bailiff*)" "$before"
# --- c04: who pays for scratch
inside c04_inodes_end --scratch 1M --memory 64M '
i=0; while ln -s x /scratch/$i 2>/scratch/../dev/null; do i=$((i + 1)); done
says "No space left on device" ln -s x /scratch/one_more
[ $i -le 1024 ] || bad "$i links in a scratch of 1 MiB"
'
expect c04_scratch_larger_than_memory 'outcome=incomplete reasons.0="oom_local"' --scratch 256M --memory 32M -- /bin/sh -c 'dd if=/dev/zero of=/scratch/f bs=1M'
expect c04_memory_larger_than_scratch 'outcome=failed reasons=[] process.code=1 stderr~No\040space\040left\040on\040device' --scratch 2M --memory 64M -- /bin/sh -c 'dd if=/dev/zero of=/scratch/f bs=1M'
inside c04_no_other_writable_place --scratch 1M '
says "No space left on device" fallocate -l 10485760 /scratch/big
writes "" /dev/shm/f
writes "" /dev/mqueue/f
truncate -s 1G /scratch/sparse && equals blocks "$(stat -c %b /scratch/sparse)" 0
'
left_nothing "canaries leave nothing behind"
finish
