#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Cases a03 c01 c02 c07 d03 e03 e06: floods, stopped processes, killed helpers and controllers, races of cancel and end. Same bodies on
# cgroup v1 and v2, as root and rootless.
set -uo pipefail
# shellcheck source=tests/support/cell.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/cell.sh"
world
slow=$BAILIFF_TEST_SLOWNESS

# children_of PID: pid and name of each process of Bailiff below it
children_of() {
  local pid
  for pid in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
    echo "$pid $(cat "/proc/$pid/comm" 2>/dev/null)"
    children_of "$pid"
  done
}
helper_of() { children_of "$1" | awk -v name="$2" '$2 == name { print $1; exit }'; }
below() { children_of "$1" | cut -d' ' -f1; }
# gone_within NAME SECONDS PID…: none of them is a living process after that time (five times as long on an emulated machine)
gone_within() {
  local name=$1 deadline=$(($(date +%s%N) + $2 * (slow > 4 ? 5 : 1) * 1000000000)) alive pid
  shift 2
  [[ -n $* ]] || { fail "$name" "nobody to look for"; return; }
  while :; do
    alive=
    for pid in "$@"; do
      case $(sed 's/.*) //;s/ .*//' "/proc/$pid/stat" 2>/dev/null) in "" | Z | X) ;; *) alive+=" $pid" ;; esac
    done
    [[ -n $alive ]] || { pass "$name"; return; }
    (($(date +%s%N) < deadline)) || { fail "$name" "alive:$alive"; return; }
    read -r -t 0.02 _ <> <(:) || true
  done
}

# --- a03: killed for memory at once, eight at a time; the reason is never lost
runs=${BAILIFF_TEST_A03_RUNS:-$((slow > 4 ? 16 : 40))}
a03() {
  local i
  for ((i = $1; i < runs; i += 8)); do
    said=$(bailiff --json run --exit=outcome --image bb --source "$revision" --memory 16M -- /bin/sh -c 'dd if=/dev/zero of=/dev/null bs=20M' 2>"$scratch/a03.$1.err" </dev/null)
    holds outcome=incomplete 'reasons.0="oom_local"' 'usage.oom_kills>0' cleanup.confirmed=true <<<"$said" >>"$scratch/a03.$1" 2>&1 || echo "run $i" >>"$scratch/a03.$1"
  done
}
for lane in 0 1 2 3 4 5 6 7; do a03 "$lane" & done
wait
same "a03_oom_at_start ($runs runs, 8 at a time)" "$(cat "$scratch"/a03.? | head -c 600)" ""

# --- c01: floods of processes; another run beside them is not disturbed
cell --pids 64 --memory 128M --timeout 3s -- /bin/sh -c 'f() { f | f & }; f; wait; sleep 60' >"$scratch/flood" &
flood=$!
beside=$(for i in 1 2 3 4 5; do cell --pids 8 -- /bin/echo beside | member outcome; done | sort -u)
wait "$flood"
same c01_a_run_beside_a_fork_bomb "$beside" success
if why=$(holds cleanup.confirmed=true 'usage.pids_refused>0' outcome!=success 'usage.pids_peak<65' <"$scratch/flood" 2>&1); then pass c01_fork_bomb; else fail c01_fork_bomb "$why"; fi
expect c01_children_that_wait 'outcome=success reasons=["pids_limit_hit"] cleanup.confirmed=true usage.pids_peak=64' --pids 64 -- /bin/probe fork_flood

# --- c02: stopped processes do not stop the clock
expect c02_stop_a_child 'outcome=timed_out cleanup.confirmed=true' --timeout 500ms -- /bin/sh -c 'sleep 100 & kill -STOP $!; wait'
expect c02_stop_everyone_else 'outcome=timed_out cleanup.confirmed=true' --timeout 500ms -- /bin/sh -c 'sleep 100 & kill -STOP -1; sleep 100'
expect c02_stop_the_own_group 'outcome=timed_out cleanup.confirmed=true' --timeout 500ms -- /bin/sh -c 'sleep 100 & kill -STOP 0; sleep 100'
expect c02_pid_1_cannot_stop_itself 'outcome=success process.code=0' --timeout $((2 * slow))s -- /bin/probe stop

# --- c07: a tree that rm cannot remove goes with its file system
expect c07_deep_and_locked 'outcome=success cleanup.confirmed=true' --timeout $((20 * slow < 300 ? 20 * slow : 300))s \
  -- /bin/sh -c 'cd /scratch; i=0; while [ $i -lt 200 ]; do mkdir d && cd d || exit 9; i=$((i+1)); done; touch f; chmod 000 .; cd /scratch; chmod 0 d'
mkdir -p "$scratch/locked/a/b" && echo x >"$scratch/locked/a/b/f" && chmod 444 "$scratch/locked/a/b/f" && chmod 555 "$scratch/locked/a/b" "$scratch/locked/a"
revision=$scratch/locked expect c07_source_without_write_bits 'outcome=success cleanup.confirmed=true stdout=x\n' -- /bin/cat /source/a/b/f
chmod -R u+w "$scratch/locked"

# --- d03: a stopped collector, a stopped controller
if start --timeout $((slow > 4 ? 15 : 1))s -- /bin/sh -c 'echo begun; sleep 600'; then
  collector=$(helper_of "$started" bailiff-collect)
  [[ -n $collector ]] || fail d03_the_collector_is_found "$(children_of "$started")"
  kill -STOP "$collector"
  ended
  if why=$(holds outcome=timed_out <<<"$said" 2>&1); then pass d03_stopped_collector_deadline; else fail d03_stopped_collector_deadline "$why" "$(cat "$scratch/stderr")"; fi
  gone_within d03_stopped_collector_is_gone 1 "$collector"
fi
if start --timeout $((20 * slow < 300 ? 20 * slow : 300))s -- /bin/sh -c "echo begun; sleep $((1 * slow)); exit 0"; then
  kill -STOP "$(helper_of "$started" bailiff-collect)"
  ended
  if why=$(holds outcome=incomplete <<<"$said" 2>&1); then pass d03_stopped_collector_never_success; else fail d03_stopped_collector_never_success "$why" "$(cat "$scratch/stderr")"; fi
fi
if start --timeout 1s -- /bin/sh -c 'echo begun; sleep 2; exit 0'; then
  kill -STOP "$started"
  candidate=$(below "$(helper_of "$started" bailiff-warden)" | head -n 1)
  tail --pid="$candidate" -f /dev/null
  kill -CONT "$started"
  ended
  if why=$(holds outcome=timed_out <<<"$said" 2>&1); then pass d03_stopped_controller_draws_no_stale_conclusion; else fail d03_stopped_controller_draws_no_stale_conclusion "$why" "$(cat "$scratch/stderr")"; fi
fi
left_nothing d03_leaves_nothing

# --- e03: kill -9 of one process at a time
for victim in bailiff-collect bailiff-warden; do
  if start -- /bin/sh -c 'echo begun; sleep 600'; then
    mapfile -t family < <(below "$started")
    kill -KILL "$(helper_of "$started" "$victim")"
    ended
    case $victim in bailiff-collect) reason=collector_died ;; *) reason=warden_died ;; esac
    if why=$(holds outcome=incomplete state=finished <<<"$said" 2>&1); then pass "e03_killed_$victim"; else fail "e03_killed_$victim" "$why" "$(cat "$scratch/stderr")"; fi
    if why=$(bailiff --json evidence show "$(member evidence_id <<<"$said")" | holds "reasons~\"$reason\"" cleanup.confirmed=true 2>&1); then pass "e03_$reason"; else fail "e03_$reason" "$why"; fi
    gone_within "e03_nothing_lives_after_$victim" 1 "${family[@]}"
  fi
done
if start -- /bin/sh -c '(setsid sleep 601 &); echo begun; sleep 600'; then
  mapfile -t family < <(below "$started")
  kill -KILL "$started"
  gone_within e03_killed_controller_leaves_no_process_without_recovery 1 "${family[@]}"
  exec {says}<&-
  wait "$started" 2>/dev/null
  attempt=$(newest)
  same e03_still_running_in_the_record "$(bailiff --json check show "$attempt" | member state)" running
  generation=$(bailiff --json check show "$attempt" | member generation)
  refused e03_stale_generation 75 attempt.generation.conflict bailiff check recover "$attempt" $((generation + 5)) stale
  check e03_recover bailiff check recover "$attempt" "$generation" "the controller was killed"
  said=$(bailiff --json check show "$attempt")
  if why=$(holds outcome=incomplete state=finished "generation=$((generation + 2))" <<<"$said" 2>&1); then pass e03_recovered_is_incomplete; else fail e03_recovered_is_incomplete "$why" "$said"; fi
  if why=$(bailiff --json evidence show "$(member evidence_id <<<"$said")" | holds 'reasons~"recovered"' cleanup.confirmed=true 2>&1); then pass e03_recovered_record; else fail e03_recovered_record "$why"; fi
  bailiff check recover "$attempt" "$generation" again >"$scratch/again" 2>&1
  same e03_second_recover_is_refused $? 75
  same e03_second_recover_changes_nothing "$(bailiff --json check show "$attempt")" "$said"
fi
if start -- /bin/sh -c 'echo begun; sleep 600'; then
  mapfile -t family < <(below "$started")
  kill -KILL "$started" "${family[@]}" 2>/dev/null
  exec {says}<&-
  wait "$started" 2>/dev/null
  gone_within e03_killed_all_at_once 1 "${family[@]}"
  attempt=$(newest)
  check e03_recover_after_all_at_once bailiff check recover "$attempt" "$(bailiff --json check show "$attempt" | member generation)" "all killed"
fi
left_nothing_after_a_run e03_leaves_nothing

# --- e06: cancel against the end
cell --timeout 30s --output 64K --memory 64M --scratch 16M --pids 32 --cpu 1.0 -- /bin/sh -c 'sleep 0.2' >"$scratch/first"
request() {
  python3 - "$1" "$scratch/first" <<'PYTHON'
import json, sys
record = json.load(open(sys.argv[2]))["record"]
subject = record["subject"]
recipe = {"version": 1, "image": record["image"], "executable": "/bin/sh", "arguments": ["-c", "sleep 0.2"], "environment": {},
          "toolchain": record["toolchain"], "limits": {"timeout_ms": 30000, "max_output_bytes": 65536, "memory_bytes": 67108864,
                                                       "scratch_bytes": 16777216, "pids": 32, "cpu_millis": 1000}}
print(json.dumps({"attempt_id": sys.argv[1], "change": {"repository": subject["repository"], "id": subject["change"]},
                  "change_version": subject["change_version"], "context_digest": subject["context_digest"],
                  "revision": subject["revision"], "recipe": recipe}))
PYTHON
}
runs=$((slow > 4 ? 4 : 10)) bad= cancelled=0 completed=0
for ((i = 0; i < runs; i++)); do
  request "e06-$i" >"$scratch/request"
  pending=$(bailiff --json check create "$scratch/request" 2>"$scratch/stderr" | member generation) || { bad="create: $(cat "$scratch/stderr")"; break; }
  bailiff --json check run "e06-$i" "$pending" >/dev/null 2>&1 </dev/null &
  runner=$!
  read -r -t "0.$(printf %02d $((i * 5 + RANDOM % 5)))" _ <> <(:) || true
  bailiff check cancel "e06-$i" $((pending + 1)) race >"$scratch/cancel" 2>&1
  status=$?
  bailiff check cancel "e06-$i" "$pending" stale >/dev/null 2>&1 && [[ $(bailiff --json check show "e06-$i" | member state) != cancelled ]] && bad+="stale cancel accepted; "
  wait "$runner"
  outcome=$(bailiff --json check show "e06-$i" | member outcome 2>/dev/null)
  case $status/$outcome in
    0/cancelled) cancelled=$((cancelled + 1)) ;;
    75/success) completed=$((completed + 1)) ;;
    75/) [[ $(bailiff --json check show "e06-$i" | member state) == cancelled ]] || bad+="e06-$i: $status $outcome $(cat "$scratch/cancel"); " ;;
    *) bad+="e06-$i: cancel $status, outcome $outcome: $(cat "$scratch/cancel"); " ;;
  esac
done
same "e06_cancel_races_the_end ($cancelled cancelled, $completed completed)" "$bad" ""
left_nothing e06_leaves_nothing

left_nothing "cases leave nothing behind"
finish
