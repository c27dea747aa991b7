#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every outcome and reason of the native cell that a real run can make, with the exit status of `run`, `run --exit=outcome` and
# `check run`, and cases a01 a02 a05 a06 a08 a09 a11 a12 a13. Same bodies on cgroup v1 and v2, as root and rootless.
set -uo pipefail
# shellcheck source=tests/support/cell.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/cell.sh"
world

# --- success, failed, exit statuses
sound='isolation.observed=true runtime.unchanged=true cleanup.confirmed=true process.state=exited'
expect outcome_success "outcome=success reasons=[] process.code=0 exit=0 stdout=hello\\n stderr= $sound" -- /bin/echo hello
expect outcome_failed_by_code "outcome=failed reasons=[] process.code=3 exit=1 $sound" -- /bin/sh -c 'exit 3'
status_of() { "${bailiff_argv[@]}" run --image bb --source "$revision" "$@" >/dev/null 2>&1 </dev/null; echo $?; }
same exit_run_own_code "$(status_of -- /bin/sh -c 'exit 3')" 3
same exit_run_signal "$(status_of -- /bin/probe pid1_segv)" 139
same exit_run_unavailable "$(status_of -- /no/such/program)" 125
same exit_run_timed_out "$(status_of --timeout 50ms -- /bin/sleep 30)" 137
same exit_outcome_failed "$(status_of --exit=outcome -- /bin/false)" 1
same exit_outcome_unavailable "$(status_of --exit=outcome -- /no/such/program)" 2
same exit_outcome_success "$(status_of --exit=outcome -- /bin/true)" 0

# --- a05: a signal is not a code
for code in 137 139 255; do
  case $code in 137) outcome='outcome=incomplete reasons=["self_exit_137"]' ;; *) outcome='outcome=failed reasons=[]' ;; esac
  expect "a05_exit_$code" "$outcome process.state=exited process.code=$code process.signal=absent" -- /bin/sh -c "exit $code"
done
expect a05_exit_256_folds_to_0 'outcome=success process.code=0' -- /bin/sh -c 'exit 256'
expect a05_pid_1_survives_its_own_sigkill 'outcome=success process.code=0 stdout=survived\n' -- /bin/sh -c 'kill -9 $$; echo survived'
expect a05_signal_segv 'outcome=failed reasons=[] process.state=signalled process.signal=11 process.code=absent process.core?=false' -- /bin/probe pid1_segv
expect a05_child_killed_is_the_shells_137 'outcome=incomplete reasons=["self_exit_137"] process.state=exited process.code=137 usage.oom_kills=0' \
  -- /bin/sh -c 'sh -c "kill -9 \$\$"; exit $?'

# --- a08: a launch failure is not a command's status
for code in 125 126 127; do
  expect "a08_command_exit_$code" "outcome=failed process.state=exited process.code=$code reasons=[]" -- /bin/sh -c "exit $code"
done
launch() {  # launch NAME ERRNO EXECUTABLE
  expect "$1" "outcome=unavailable reasons=[\"executable_unavailable\"] process.state=not_started process.errno=$2 process.code=absent exit=2 stdout=" -- "$3"
}
mkdir -p "$scratch/launch"
(
  cd "$scratch/launch" || exit
  printf '#!/missing/interpreter\n' >script
  printf 'echo never\n' >plain
  chmod 755 script
  # An ELF of another machine: aarch64 (183) in the header of busybox.
  cp "$(command -v busybox)" foreign && printf '\267\000' | dd of=foreign bs=1 seek=18 conv=notrunc status=none
  printf 'MZ not a program' >text && chmod 755 foreign text
  mkdir directory
)
launched=$(bailiff --json source import "$scratch/launch" 2>/dev/null | member revision)
plain=$revision revision=$launched
launch a08_missing_is_enoent 2 /no/such/bin
launch a08_directory_is_eacces 13 /etc
launch a08_not_executable_is_eacces 13 /source/plain
launch a08_missing_interpreter_is_enoent 2 /source/script
launch a08_foreign_machine_is_enoexec 8 /source/foreign
launch a08_text_is_enoexec 8 /source/text
launch a08_through_a_file_is_enotdir 20 /source/plain/x
revision=$plain
refused a08_empty_executable 65 path.entry.empty bailiff run --image bb --source "$revision" -- ""

# --- image_unavailable: an image that was there when the attempt was registered
make_root "$scratch/gone_root"
echo gone >"$scratch/gone_root/etc/gone"
import_root "$scratch/gone_root" gone >"$scratch/gone.json" 2>&1 || fail "a second image" "$(cat "$scratch/gone.json")"
gone=$(member image <"$scratch/gone.json")
mv "$data/images/${gone#sha256:}" "$scratch/kept" 2>/dev/null || fail "the image's folder" "$gone"
image=gone expect outcome_image_unavailable 'outcome=unavailable reasons=["image_unavailable"] exit=2' -- /bin/true
mv "$scratch/kept" "$data/images/${gone#sha256:}"
image=gone expect outcome_image_back 'outcome=success' -- /bin/true

# --- the bounds that end a run
expect outcome_oom_local 'outcome=incomplete reasons.0="oom_local" exit=2' --memory 16M -- /bin/sh -c 'dd if=/dev/zero of=/dev/null bs=64M'
# v1 kills the child alone and the shell exits 0; v2 (memory.oom.group) kills the cell. Neither is a success.
expect a01_oom_of_a_child_and_exit_0 'outcome=incomplete reasons~"oom_local" usage.oom_kills>0' --memory 16M -- /bin/sh -c 'dd if=/dev/zero of=/dev/null bs=64M; exit 0'
expect outcome_pids_limit_hit_beside_failed 'outcome=failed reasons=["pids_limit_hit"] process.code=2 usage.pids_refused>0' --pids 4 \
  -- /bin/sh -c 'sleep 5 & sleep 5 & sleep 5 & sleep 5 & sleep 5 & wait'
expect outcome_pids_limit_hit_beside_success 'outcome=success reasons=["pids_limit_hit"] process.code=0 usage.pids_refused>0 stdout~fork_flood' --pids 8 -- /bin/probe fork_flood
expect outcome_timed_out 'outcome=timed_out stopped_by=wall_clock exit=2 process.signal=9' --timeout 200ms -- /bin/sleep 30
expect outcome_output_limit 'outcome=output_limit stopped_by=output_limit exit=2 streams.stdout.retained=256' --output 256 -- /bin/yes

# --- a01: a grandchild that holds the pipes ends with its pid 1
limit=$((3000000 * BAILIFF_TEST_SLOWNESS))
expect a01_grandchild_holds_stdout "outcome=success stdout=done\\n process.code=0 streams.stdout.eof=true usage.wall_us<$limit" -- /bin/sh -c 'sleep 300 & printf "done\n"; exit 0'
expect a01_late_writer "outcome=failed stdout=done\\n process.code=3 usage.wall_us<$limit" -- /bin/sh -c '(sleep 200; printf LATE) & printf "done\n"; exit 3'
expect a01_only_stderr_held "outcome=success stdout= usage.wall_us<$limit" -- /bin/sh -c 'sleep 300 >/dev/null & exit 0'

# --- a02: sessions and double forks
expect a02_setsid_survivor "outcome=success cleanup.confirmed=true usage.wall_us<$limit" \
  -- /bin/sh -c 'setsid sh -c "trap \"\" TERM HUP INT; while :; do date >>/scratch/alive; sleep 0.2; done" >/dev/null 2>&1 & exit 0'
expect a02_double_fork_without_descriptors "outcome=success cleanup.confirmed=true usage.wall_us<$limit" \
  -- /bin/sh -c '(setsid sh -c "(sleep 600 &) &" <&- >&- 2>&- &); exit 0'
expect a02_timed_form 'outcome=timed_out cleanup.confirmed=true' --timeout 300ms \
  -- /bin/sh -c 'setsid sh -c "trap \"\" TERM HUP INT; sleep 600" >/dev/null 2>&1 & wait'

# --- a06: the deadline and a clean exit
expect a06_term_is_never_asked 'outcome=timed_out stopped_by=wall_clock process.signal=9' --timeout 300ms -- /bin/sh -c 'trap "exit 0" TERM; while :; do sleep 0.05; done'
expect a06_child_holds_stdout_past_the_deadline 'outcome=success process.code=0' --timeout $((2 * BAILIFF_TEST_SLOWNESS))s -- /bin/sh -c 'sleep 600 & exit 0'
runs=0 bad=
for ((i = 0; i < 16 / (BAILIFF_TEST_SLOWNESS > 4 ? 8 : 1); i++)); do
  cell --timeout 200ms -- /bin/sleep 0.$((185 + i % 12 * 2)) >"$scratch/a06"
  # Two records are legal, and nothing between them.
  holds outcome=success process.code=0 stopped_by=absent 'usage.wall_us<200000' <"$scratch/a06" >/dev/null 2>&1 ||
    holds outcome=timed_out stopped_by=wall_clock <"$scratch/a06" >/dev/null 2>&1 || bad+="$(head -c 1500 "$scratch/a06") "
  runs=$((runs + 1))
done
if [[ -z $bad ]]; then pass "a06_around_the_deadline ($runs runs)"; else fail a06_around_the_deadline "$bad"; fi

# --- a09: the last bytes
hash_of() { sha256sum | cut -d' ' -f1; }
expect a09_no_newline "outcome=failed process.code=1 stdout=exiting streams.stdout.sha256=$(printf exiting | hash_of)" -- /bin/sh -c 'printf exiting; exit 1'
expect a09_both_streams 'outcome=failed stdout=out stderr=err process.signal=11' -- /bin/sh -c 'printf out; printf err >&2; exec probe pid1_segv'
tail_hash=$({ head -c 131072 /dev/zero | tr '\0' a; printf Z; } | hash_of)
bad=0 runs=$((BAILIFF_TEST_SLOWNESS > 4 ? 5 : 20))
for ((i = 0; i < runs; i++)); do
  cell -- /bin/sh -c 'head -c 131072 /dev/zero | tr "\0" a; printf Z' | holds outcome=success "streams.stdout.sha256=$tail_hash" streams.stdout.seen=131073 >"$scratch/why" 2>&1 || bad=$((bad + 1))
done
if ((bad == 0)); then pass "a09_tail_$runs times"; else fail "a09_tail_$runs times" "$bad of $runs differ" "$(cat "$scratch/why")"; fi

# --- a11: exactly the bound, one more, without end
expect a11_exactly_the_bound 'outcome=success streams.stdout.seen=4096 streams.stdout.retained=4096 streams.stdout.eof=true stopped_by=absent' --output 4096 -- /bin/sh -c 'head -c 4096 /dev/zero'
expect a11_one_more "outcome=output_limit stopped_by=output_limit streams.stdout.retained=4096 streams.stdout.sha256=$(head -c 4096 /dev/zero | hash_of) process.code?=0" \
  --output 4096 -- /bin/sh -c 'head -c 4097 /dev/zero; exit 0'
expect a11_endless "outcome=output_limit usage.wall_us<$limit streams.stdout.retained=65536" --output 64K -- /bin/yes
expect a11_ignores_epipe "outcome=output_limit usage.wall_us<$limit" --output 4096 -- /bin/sh -c 'trap "" PIPE; while :; do echo x || :; done'
expect a11_both_streams_are_one_bound "outcome=output_limit usage.wall_us<$limit" --output 4096 -- /bin/sh -c 'yes >&2 & yes; wait'
expect a11_joint_bound 'outcome=success streams.stdout.retained=2048 streams.stderr.retained=2048' --output 4096 -- /bin/sh -c 'head -c 2048 /dev/zero; head -c 2048 /dev/zero >&2'
expect a11_joint_bound_and_one 'outcome=output_limit' --output 4096 -- /bin/sh -c 'head -c 2048 /dev/zero; head -c 2049 /dev/zero >&2'

# --- a12: bytes are bytes
odd='\377\300\200\000\033[0m\r\n\342\202'
# shellcheck disable=SC2059
expect a12_invalid_bytes "outcome=success streams.stdout.sha256=$(printf "$odd" | hash_of) streams.stdout.seen=12" -- /bin/printf "$odd"
wide=$(printf '\320\237%.0s' $(seq 1 8)) wide_hash=$(for ((i = 0; i < 4096; i++)); do printf '%s' "$wide"; done | hash_of)
expect a12_characters_over_every_edge "outcome=success streams.stdout.sha256=$wide_hash" --output 64K -- /bin/sh -c "i=0; while [ \$i -lt 4096 ]; do printf '$wide'; i=\$((i+1)); done"
cut_hash=$({ head -c 4095 /dev/zero | tr '\0' a; printf '\342'; } | hash_of)
expect a12_bound_cuts_a_character "outcome=output_limit streams.stdout.retained=4096 streams.stdout.sha256=$cut_hash" --output 4096 \
  -- /bin/sh -c 'head -c 4095 /dev/zero | tr "\0" a; printf "\342\202\254"'
shown=$("${bailiff_argv[@]}" check logs "$(newest)" --raw 2>/dev/null | hash_of)
same a12_logs_gives_the_bytes_back "$shown" "$cut_hash"

# --- a13: standard input
expect a13_end_at_once 'outcome=success stdout=done\n' -- /bin/sh -c 'cat; echo done'
expect a13_read_fails_on_dev_null 'outcome=success stdout=rc=1\n/dev/null\n' -- /bin/sh -c 'read x; echo "rc=$?"; readlink /proc/self/fd/0'
expect a13_no_terminal 'outcome=success stdout=open_tty\040ENXIO\n' -- /bin/probe open_tty
left=$(printf 'secret\n' | { "${bailiff_argv[@]}" run --image bb --source "$revision" -- /bin/cat >/dev/null 2>&1; cat; })
same a13_callers_bytes_stay "$left" secret
"${bailiff_argv[@]}" --json run --image bb --source "$revision" -- /bin/echo closed <&- >"$scratch/closed" 2>/dev/null
if why=$(holds outcome=success 'stdout=closed\n' <"$scratch/closed" 2>&1); then pass a13_closed_stdin; else fail a13_closed_stdin "$why"; fi
"${bailiff_argv[@]}" run --image bb --source "$revision" -- /bin/true <&- >&- 2>&-
same a13_all_three_closed $? 0

# --- cancelled
for signal in INT TERM; do
  start -- /bin/sh -c 'trap "" INT TERM; echo begun; sleep 600' && {
    kill "-$signal" "$started"
    ended
    if why=$(holds outcome=cancelled state=finished <<<"$said" 2>&1) && ((ended_status == 2)); then pass "outcome_cancelled_by_$signal"
    else fail "outcome_cancelled_by_$signal" "exit $ended_status" "$why" "$(cat "$scratch/stderr")"; fi
    evidence=$(member evidence_id <<<"$said")
    if why=$(bailiff --json evidence show "$evidence" 2>&1 | holds stopped_by=cancel cleanup.confirmed=true process.signal=9 2>&1); then pass "cancelled_record_$signal"; else fail "cancelled_record_$signal" "$why"; fi
  }
done
start -- /bin/sh -c 'trap "" INT TERM; echo begun; sleep 600' && {
  kill -INT "$started"; kill -INT "$started" 2>/dev/null
  ended
  if why=$(holds outcome=cancelled <<<"$said" 2>&1); then pass outcome_cancelled_twice_is_still_clean; else fail outcome_cancelled_twice_is_still_clean "$why" "$(cat "$scratch/stderr")"; fi
}
# The directory of one attempt: private, there while it runs, gone with it.
start -- /bin/sh -c 'echo begun; sleep 600' && {
  attempt=$(newest)
  same R9_13_the_attempts_directory_is_private "$(cd "$data/execution" && stat -c '%a %n' snapshot-*)" "700 snapshot-$attempt-1"
  kill -INT "$started"
  ended
  same R9_13_and_goes_with_it "$(cd "$data/execution" && echo snapshot-*)" 'snapshot-*'
}
left_nothing "outcomes leave nothing behind"

# --- check run: registered attempts, on changes that run made
repository=$(cell -- /bin/true | member repository)
check_run() {  # check_run NAME STATUS OUTCOME TIMEOUT_MS SCRIPT
  local flags=(--timeout "$4ms" --output 64K --memory 64M --scratch 16M --pids 32 --cpu 1.0) got
  cell "${flags[@]}" -- /bin/sh -c "$5" >"$scratch/first"
  request "$1" "$4" "$5" "$scratch/first" >"$scratch/request"
  bailiff --json check create "$scratch/request" >"$scratch/created" 2>"$scratch/stderr" || { fail "$1" "$(cat "$scratch/created" "$scratch/stderr")"; return; }
  bailiff --json check run "$1" "$(member generation <"$scratch/created")" >"$scratch/ran" 2>"$scratch/stderr"
  got=$?
  if why=$(holds "outcome=$3" attempt.id="$1" "subject.repository=$repository" <"$scratch/ran" 2>&1) && [[ $got == "$2" ]]; then pass "$1"
  else fail "$1" "exit $got, expected $2" "$why" "$(cat "$scratch/stderr")"; fi
}
request() {  # request ID TIMEOUT_MS SCRIPT RECORD
  python3 - "$@" <<'PYTHON'
import json, sys
name, timeout, script, first = sys.argv[1:]
record = json.load(open(first))["record"]
subject = record["subject"]
recipe = {"version": 1, "image": record["image"], "executable": "/bin/sh", "arguments": ["-c", script], "environment": {},
          "toolchain": record["toolchain"], "limits": {"timeout_ms": int(timeout), "max_output_bytes": 65536, "memory_bytes": 67108864,
                                                       "scratch_bytes": 16777216, "pids": 32, "cpu_millis": 1000}}
print(json.dumps({"attempt_id": name, "change": {"repository": subject["repository"], "id": subject["change"]},
                  "change_version": subject["change_version"], "context_digest": subject["context_digest"],
                  "revision": subject["revision"], "recipe": recipe}))
PYTHON
}
check_run check_run_success 0 success 30000 'exit 0'
check_run check_run_failed 1 failed 30000 'exit 7'
check_run check_run_timed_out 2 timed_out 300 'sleep 30'
bailiff check run check_run_success 1 >/dev/null 2>"$scratch/stderr"
same check_run_twice_is_refused $? 75
bailiff --json check create "$scratch/request" >"$scratch/again" 2>/dev/null
same check_create_again_is_the_same_row "$(member attempt <"$scratch/again")" check_run_timed_out
sed 's/sleep 30/sleep 31/' "$scratch/request" >"$scratch/other"
bailiff check create "$scratch/other" >/dev/null 2>"$scratch/stderr"
same check_create_other_bytes_is_a_conflict "$? $(grep -c 'request.attempt.conflict\|attempt.id.reused\|context.recipe.mismatch' "$scratch/stderr")" "65 1"
left_nothing "checks leave nothing behind"
finish
