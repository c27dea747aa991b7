#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What only root on a host can bring about: cases c08 (a task that does not die), e11 (a pid that is used again), h01 h02 h03 (hosts that
# refuse), and the outcomes limit_not_enforceable and proc_masked. For cgroup v1 hosts: the faults are made in its hierarchies.
set -uo pipefail
# shellcheck source=tests/support/cell.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/cell.sh"
((EUID == 0)) || { fail "root is needed" "run as root"; finish; }
[[ -d /sys/fs/cgroup/memory && -d /sys/fs/cgroup/freezer ]] || { fail "cgroup v1 with a freezer is needed"; finish; }
world
slow=$BAILIFF_TEST_SLOWNESS
own=bailiff-test-$$
tidy() {
  local c
  for c in memory pids cpu freezer; do
    [[ ! -e /sys/fs/cgroup/$c/$own/freezer.state ]] || echo THAWED >"/sys/fs/cgroup/$c/$own/freezer.state"
    find "/sys/fs/cgroup/$c/$own" -depth -type d -exec rmdir {} \; 2>/dev/null
  done
}
trap 'tidy; chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT
run_here=("${bailiff_argv[@]}" --json run --exit=outcome --image bb --source "$revision" -- /bin/true)
# elsewhere NAME SCRIPT CONDITION…: the same run in a mount namespace that SCRIPT changed first
elsewhere() {
  local name=$1 script=$2 why
  shift 2
  unshare -m sh -c "$script"' && exec "$@"' sh "${run_here[@]}" >"$scratch/elsewhere" 2>"$scratch/stderr" </dev/null
  status=$?
  if why=$(holds "$@" <"$scratch/elsewhere" 2>&1); then pass "$name"; else fail "$name" "exit $status" "$why" "$(head -c 1500 "$scratch/stderr")"; fi
}
# says NAME STATUS TEXT… : the last `elsewhere_fails` ended so and named each text
fails() {
  local name=$1 wanted=$2 script=$3 text
  shift 3
  unshare -m sh -c "$script"' && exec "$@"' sh "${bailiff_argv[@]}" run --image bb --source "$revision" -- /bin/true >"$scratch/stdout" 2>"$scratch/stderr" </dev/null
  status=$?
  [[ $status == "$wanted" && ! -s $scratch/stdout ]] || { fail "$name" "exit $status, expected $wanted" "$(cat "$scratch/stderr")"; return; }
  for text in "$@"; do grep -qF -- "$text" "$scratch/stderr" || { fail "$name" "does not say: $text" "$(cat "$scratch/stderr")"; return; }; done
  pass "$name"
}

# --- outcomes that a host makes
elsewhere outcome_proc_masked 'mount -t tmpfs none /proc/tty' outcome=unavailable 'reasons=["proc_masked"]' process.state=not_started cleanup.confirmed=true
same exit_of_proc_masked "$status" 2
for c in memory pids cpu; do mkdir "/sys/fs/cgroup/$c/$own" || fail "a cgroup for the test" "$c"; done
echo 10000 >"/sys/fs/cgroup/cpu/$own/cpu.cfs_quota_us"
"${bailiff_argv[@]}" --cgroup-parent "/$own" --json run --exit=outcome --image bb --source "$revision" --cpu 1.0 -- /bin/true >"$scratch/limited" 2>"$scratch/stderr" </dev/null
if why=$(holds outcome=unavailable 'reasons=["limit_not_enforceable"]' process.state=not_started cleanup.confirmed=true exit=2 <"$scratch/limited" 2>&1); then pass outcome_limit_not_enforceable; else fail outcome_limit_not_enforceable "$why" "$(cat "$scratch/stderr")"; fi
text=$("${bailiff_argv[@]}" --cgroup-parent "/$own" run --image bb --source "$revision" --cpu 1.0 -- /bin/true 2>&1 </dev/null)
if [[ $text == *"/$own/"*"cpu.cfs_quota_us: cannot set it to 100000"* ]]; then pass h02_limit_not_enforceable_names_the_file; else fail h02_limit_not_enforceable_names_the_file "$text"; fi
"${bailiff_argv[@]}" --cgroup-parent "/$own" --json run --exit=outcome --image bb --source "$revision" --cpu 0.1 -- /bin/true >"$scratch/limited" 2>"$scratch/stderr" </dev/null
if why=$(holds outcome=success <"$scratch/limited" 2>&1); then pass h02_a_limit_the_parent_allows; else fail h02_a_limit_the_parent_allows "$why" "$(cat "$scratch/stderr")"; fi
echo 8388608 >"/sys/fs/cgroup/memory/$own/memory.limit_in_bytes"
echo -1 >"/sys/fs/cgroup/cpu/$own/cpu.cfs_quota_us"
"${bailiff_argv[@]}" --cgroup-parent "/$own" --json run --exit=outcome --image bb --source "$revision" --memory 64M -- /bin/sh -c 'dd if=/dev/zero of=/dev/null bs=32M; exit 0' >"$scratch/limited" 2>"$scratch/stderr" </dev/null
if why=$(holds outcome=incomplete 'reasons~"oom_ancestor"' <"$scratch/limited" 2>&1); then pass outcome_oom_ancestor; else fail outcome_oom_ancestor "$why" "$(cat "$scratch/stderr")"; fi
refused h02_parent_that_is_not_there 69 host.cgroup.unavailable bailiff --cgroup-parent "/$own/not/there" run --image bb --source "$revision" -- /bin/true
tidy

# --- h03: read-only cgroupfs, as inside a container
read_only='for c in memory pids cpu; do mount --bind /sys/fs/cgroup/$c /sys/fs/cgroup/$c && mount -o remount,ro,bind /sys/fs/cgroup/$c || exit 99; done'
fails h03_read_only_cgroupfs 69 "$read_only" 'Read-only file system' '/sys/fs/cgroup/memory' 'host.cgroup.unavailable' 'fix: cgroupfs is mounted read-only'
fails h03_one_hierarchy_is_missing 69 'mount --bind /mnt /sys/fs/cgroup/pids' '/sys/fs/cgroup/pids' 'fix: '
doctor=$(unshare -m sh -c "$read_only"' && exec "$@"' sh "${bailiff_argv[@]}" doctor 2>&1)
same h03_doctor_says_the_same "$? $(grep -c 'not usable' <<<"$doctor") $(grep -c 'Read-only file system' <<<"$doctor" | sed 's/[1-9]/some/')" "69 1 some"

# --- h01: a host that refuses user namespaces, and an ordinary user on v1
mkdir -m 755 "$scratch/user" && chown 4321:4321 "$scratch/user" && chmod 711 "$scratch"
cp "$scratch/bb.tar" "$scratch/user/bb.tar" && chmod 644 "$scratch/user/bb.tar"
cp -R "$scratch/source" "$scratch/user/source" && chmod -R a+rX "$scratch/user"
as_user() { setpriv --reuid 4321 --regid 4321 --clear-groups env -i HOME="$scratch/user" PATH="$PATH" "$@"; }
made=$(as_user "$BAILIFF_BUILD/bin/bailiff" init 2>&1)
same user_init_names_what_it_made "$(head -n 1 <<<"$made" | sed 's/  */ /')" "made $scratch/user/.local/state/bailiff"
check user_imports_an_image as_user "$BAILIFF_BUILD/bin/bailiff" image import "$scratch/user/bb.tar" --name bb
refused user_run_on_v1_is_refused 69 host.cgroup.unavailable as_user "$BAILIFF_BUILD/bin/bailiff" run --image bb --source "$scratch/user/source" -- /bin/true
text=$(as_user "$BAILIFF_BUILD/bin/bailiff" run --image bb --source "$scratch/user/source" -- /bin/true 2>&1)
if [[ $text == *'not delegated to this user'* && $text == *'or run as root'* ]]; then pass user_run_on_v1_names_the_way; else fail user_run_on_v1_names_the_way "$text"; fi
same user_nothing_ran "$(as_user "$BAILIFF_BUILD/bin/bailiff" --json check list | member state 2>/dev/null)" ""
text=$(unshare -U -r sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"' sh "$BAILIFF_BUILD/bin/bailiff" --data-dir "$data" doctor 2>&1)
if [[ $text == *'user.max_user_namespaces=0'*'fix: '* ]]; then pass h01_doctor_names_the_sysctl; else fail h01_doctor_names_the_sysctl "$text"; fi

# --- c08: a task that SIGKILL does not end. A frozen cgroup v1 task is one, and can be thawed again.
mkdir "/sys/fs/cgroup/freezer/$own"
if start --timeout 1s -- /bin/sh -c 'echo begun; sleep 600'; then
  candidate=$(pgrep -f '^sleep 600$' -n)
  parent=$(awk '/^PPid/ { print $2 }' "/proc/$candidate/status")
  for pid in "$parent" "$candidate"; do echo "$pid" >"/sys/fs/cgroup/freezer/$own/cgroup.procs"; done
  echo FROZEN >"/sys/fs/cgroup/freezer/$own/freezer.state"
  began=$SECONDS
  ended
  took=$((SECONDS - began))
  if ((took < 45 * slow)); then pass "c08_the_wait_is_bounded ($took s)"; else fail c08_the_wait_is_bounded "$took s"; fi
  same c08_exit_says_unconfirmed "$ended_status" 75
  if why=$(holds state=running outcome=absent <<<"$said" 2>&1); then pass c08_no_outcome_is_stored; else fail c08_no_outcome_is_stored "$why" "$(cat "$scratch/stderr")"; fi
  grep -q 'attempt.cleanup.unconfirmed' "$scratch/stderr" && pass c08_the_message || fail c08_the_message "$(cat "$scratch/stderr")"
  attempt=$(newest) generation=$(member generation <<<"$said")
  bailiff check recover "$attempt" "$generation" stuck >"$scratch/stuck" 2>&1
  same c08_recover_while_stuck $? 75
  generation=$(bailiff --json check show "$attempt" | member generation)
  echo THAWED >"/sys/fs/cgroup/freezer/$own/freezer.state"
  tail --pid="$candidate" -f /dev/null
  bailiff check recover "$attempt" "$generation" thawed >"$scratch/thawed" 2>&1
  same c08_recover_after_it_died "$? $(bailiff --json check show "$attempt" | member state)" "0 finished"
  outcome=$(bailiff --json check show "$attempt" | member outcome)
  case $outcome in incomplete | timed_out) pass c08_final_outcome ;; *) fail c08_final_outcome "$outcome" "$(cat "$scratch/thawed")" ;; esac
fi
tidy

# --- e11: a recorded pid now belongs to someone else
if start -- /bin/sh -c 'echo begun; sleep 600'; then
  attempt=$(newest)
  warden=$(cat /proc/"$started"/task/*/children | tr ' ' '\n' | while read -r pid; do [[ $(cat "/proc/$pid/comm" 2>/dev/null) == bailiff-warden ]] && echo "$pid"; done | head -n 1)
  kill -KILL "$started"
  exec {says}<&-
  wait "$started" 2>/dev/null
  tail --pid="$warden" -f /dev/null
  innocent=
  for ((i = 0; i < 200; i++)); do
    echo $((warden - 1)) >/proc/sys/kernel/ns_last_pid
    sleep 1000 &
    if [[ $! == "$warden" ]]; then innocent=$!; break; fi
    kill "$!"
    wait "$!" 2>/dev/null
  done
  if [[ -z $innocent ]]; then fail e11_a_pid_used_again "pid $warden was never free in 200 tries"; else
    generation=$(bailiff --json check show "$attempt" | member generation)
    check e11_recover bailiff check recover "$attempt" "$generation" "its pid is used again"
    if kill -0 "$innocent" 2>/dev/null && [[ $(cat "/proc/$innocent/comm") == sleep ]]; then pass e11_the_innocent_lives; else fail e11_the_innocent_lives "pid $innocent is gone"; fi
    if why=$(bailiff --json check show "$attempt" | holds state=finished outcome=incomplete 2>&1); then pass e11_state; else fail e11_state "$why"; fi
    kill "$innocent"
  fi
fi
left_nothing_after_a_run "host cases leave nothing behind"
finish
