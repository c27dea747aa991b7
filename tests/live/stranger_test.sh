#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A stranger in trouble: no data directory, one that is a file, read-only, somebody else's or full (case e10), a foreign database, two
# terminals at once, a closed terminal, wrong words. Each ends with its exit status and one fix, and leaves nothing.
set -uo pipefail
# shellcheck source=tests/support/cell.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/cell.sh"
slow=$BAILIFF_TEST_SLOWNESS

# --- places that are no data directory
at() { local place=$1; shift; "$BAILIFF_BUILD/bin/bailiff" --data-dir "$place" "$@"; }
refused no_data_directory 78 data.directory.missing at "$scratch/none" image list
refused no_data_directory_run 78 data.directory.missing at "$scratch/none" run --image bb --source / -- /bin/true
echo x >"$scratch/file"
at "$scratch/file" image list >"$scratch/stdout" 2>"$scratch/stderr"
same a_file_as_data_directory "$? $(grep -c 'fix: ' "$scratch/stderr")" "78 1"
mkdir -m 700 "$scratch/full_of_things" && echo x >"$scratch/full_of_things/thing"
at "$scratch/full_of_things" init >"$scratch/stdout" 2>"$scratch/stderr"
# Started by root it belongs to the service account, so a folder of root's own is refused for its owner first.
same init_in_a_folder_with_things "$? $(grep -c 'fix: ' "$scratch/stderr") $(ls "$scratch/full_of_things")" "$( ((EUID == 0)) && echo 78 || echo 73) 1 thing"
world
ln -s "$data" "$scratch/link"
refused data_directory_behind_a_link 78 data.path.link at "$scratch/link" image list
chmod 755 "$data"
refused data_directory_open_to_others 78 data.directory.mode at "$data" image list
chmod 700 "$data"
cp "$data/format" "$scratch/format" && echo 'bailiff-data 9' >"$data/format"
refused data_directory_of_another_release 78 data.format.unknown at "$data" image list
cat "$scratch/format" >"$data/format"
check it_is_well_again at "$data" image list

# --- wrong words
refused wrong_verb 64 cli.verb.unknown bailiff rum
refused no_words 64 cli.option.missing bailiff run
text=$(bailiff run --image bb --source "$revision" 2>&1); same no_command_exit $? 64
refused unknown_image 66 image.id.unknown bailiff run --image nothing --source "$revision" -- /bin/true
refused a_tag 64 image.name.tag bailiff run --image ubuntu:24.04 --source "$revision" -- /bin/true
refused unknown_revision 66 revision.id.unknown bailiff run --image bb --source ffffffffffff -- /bin/true
refused unknown_attempt 66 attempt.id.unknown bailiff check show nobody
refused unknown_evidence 66 evidence.id.unknown bailiff evidence show ffffffffffff
refused short_prefix 64 id.prefix.short bailiff evidence show fff
bailiff run --image bb --source "$scratch/nothing" -- /bin/true >/dev/null 2>"$scratch/stderr"
same source_that_is_not_there "$? $(grep -c 'fix: ' "$scratch/stderr")" "66 1"
bailiff run --image bb --source "$revision" -- true >/dev/null 2>"$scratch/stderr"
same relative_executable "$? $(grep -c 'path.entry.relative' "$scratch/stderr")" "65 1"
same wrong_words_ran_nothing "$(bailiff --json check list | member attempts)" "[]"
mkfifo "$scratch/source_pipe" && mkdir "$scratch/odd" && mv "$scratch/source_pipe" "$scratch/odd/pipe"
refused a_pipe_in_the_source 65 snapshot.entry.type bailiff source import "$scratch/odd"
mkdir -p "$scratch/reserved/sub/.git"
echo x >"$scratch/reserved/sub/.git/config"
refused a_reserved_name 65 snapshot.path.reserved bailiff source import "$scratch/reserved"
head -c 5000 /dev/urandom >"$scratch/noise"
bailiff image import "$scratch/noise" --format rootfs --name noise >/dev/null 2>"$scratch/stderr"
same noise_is_no_image "$? $(grep -c 'fix: ' "$scratch/stderr")" "65 1"

# --- two terminals
for terminal in 1 2 3; do
  (for i in 1 2 3; do cell -- /bin/sh -c "echo $terminal-$i"; done | grep -o '"outcome":"[a-z]*"' | sort | uniq -c >"$scratch/terminal$terminal") &
done
wait
same two_terminals_at_once "$(cat "$scratch"/terminal? | tr -s ' \n' ' ' | sed 's/"outcome"://g')" ' 6 "success" 6 "success" 6 "success" '
same each_has_its_own_row "$(bailiff --json check list --limit 50 | python3 -c 'import json, sys; print(len({a["attempt"] for a in json.load(sys.stdin)["attempts"]}))')" 9

# --- output that nobody takes
"${bailiff_argv[@]}" run --image bb --source "$revision" -- /bin/echo lost >/dev/full 2>"$scratch/stderr" </dev/null
said=$(bailiff --json check show "$(newest)")
if why=$(holds outcome=success <<<"$said" 2>&1) && grep -q 'standard output took no more; the record has all of it' "$scratch/stderr"; then pass full_terminal_is_said; else fail full_terminal_is_said "$why" "$(cat "$scratch/stderr")"; fi
same full_terminal_the_record_has_it "$("${bailiff_argv[@]}" check logs "$(newest)")" lost
"${bailiff_argv[@]}" run --image bb --source "$revision" -- /bin/yes 2>/dev/null </dev/null | head -n 1 >"$scratch/head"
statuses=("${PIPESTATUS[@]}")
same a_reader_that_left "$(cat "$scratch/head") $(bailiff --json check show "$(newest)" | member state)" "y finished"
((statuses[0] != 0)) && pass a_reader_that_left_is_no_success || fail a_reader_that_left_is_no_success "${statuses[*]}"

# --- what a caller may have set before: limits, the mask of new files, a terminal that goes away
# limited TEXT LIMIT ARG…: under `ulimit LIMIT` the verb ends with an error that holds TEXT.
limited() {
  local text=$1 limit=$2 said
  shift 2
  said=$( (eval "ulimit $limit"; exec "${bailiff_argv[@]}" "$@") 2>&1 </dev/null)
  status=$?
  if ((status >= 64 && status < 126)) && [[ $said == *"$text"* ]]; then pass "ulimit $limit: $1"; else fail "ulimit $limit: $1" "exit $status" "$said"; fi
}
for count in 20 64 1023; do
  limited "host.limit.unenforceable" "-n $count" run --image bb --source "$revision" -- /bin/echo hi
  limited "host.limit.unenforceable" "-n $count" source import "$scratch/source"
done
same "a soft limit of files is raised" "$( (ulimit -Sn 64; exec "${bailiff_argv[@]}" run --image bb --source "$revision" -- /bin/echo hi) 2>/dev/null </dev/null)" hi
limited "" "-f 1" backup "$scratch/limited.tar"
limited "" "-f 1" run --image bb --source "$revision" -- /bin/echo hi
same "no limit leaves an attempt open" "$(bailiff --json check list --state running | member attempts)" "[]"
for mask in 000 777; do
  same "umask $mask: a source goes out" "$(umask "$mask"; "${bailiff_argv[@]}" source export "$revision" "$scratch/mask$mask" >/dev/null 2>&1; echo $?)" 0
  same "umask $mask: a backup is private" "$(umask "$mask"; "${bailiff_argv[@]}" backup "$scratch/mask$mask.tar" >/dev/null 2>&1; stat -c %a "$scratch/mask$mask.tar")" 600
done
"${bailiff_argv[@]}" run --exit=outcome --image bb --source "$revision" --timeout 60s -- /bin/sleep 30 >/dev/null 2>&1 </dev/null &
runner=$!
sleep 0.7
kill -HUP "$runner"
wait "$runner"
same "a terminal that goes away cancels" "$? $(bailiff --json check show "$(newest)" | member outcome)" "2 cancelled"
# Ignored before (nohup), it is ignored.
(trap '' HUP; exec "${bailiff_argv[@]}" run --image bb --source "$revision" --timeout 60s -- /bin/sleep 2 >/dev/null 2>&1 </dev/null) &
runner=$!
sleep 0.7
kill -HUP "$runner"
wait "$runner"
same "nohup outlives it" "$?" 0

# --- e10: a full disk, on a small file system in memory (root: mounted here; otherwise in a namespace of the test's own)
disk=$scratch/disk
mkdir "$disk"
if ((EUID == 0)); then
  mount -t tmpfs -o size=300m,mode=700 none "$disk" || { fail "a small file system"; finish; }
  trap 'umount "$disk" 2>/dev/null; chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT
  small() { "$BAILIFF_BUILD/bin/bailiff" --data-dir "$disk/data" ${BAILIFF_TEST_CGROUP_PARENT:+--cgroup-parent "$BAILIFF_TEST_CGROUP_PARENT"} "$@"; }
  check e10_init small init
  check e10_image small image import "$scratch/bb.tar" --format rootfs --name bb
  onto=$(small --json source import "$scratch/source" | member revision)
  small --json run --exit=outcome --image bb --source "$onto" -- /bin/echo before >"$scratch/e10" 2>"$scratch/stderr"
  if why=$(holds outcome=success <"$scratch/e10" 2>&1); then pass e10_room_enough; else fail e10_room_enough "$why" "$(cat "$scratch/stderr")"; fi
  fill() { head -c 400000000 /dev/zero >"$disk/fill" 2>/dev/null; }
  # Full before it starts.
  fill
  small --json run --exit=outcome --image bb --source "$onto" -- /bin/echo never >"$scratch/e10" 2>"$scratch/stderr"
  status=$?
  if ((status != 0)) && ! holds outcome=success <"$scratch/e10" >/dev/null 2>&1 && grep -qiE 'space|disk|ENOSPC|full' "$scratch/stderr" "$scratch/e10"; then pass "e10_full_before (exit $status)"; else fail e10_full_before "exit $status" "$(cat "$scratch/e10" "$scratch/stderr" | head -c 1500)"; fi
  rm -f "$disk/fill"
  check e10_freed small image list
  # Full while it runs: room for the start, and the last of it taken when the command has begun.
  fill
  truncate -s -3M "$disk/fill"
  rm -f "$scratch/says" && mkfifo "$scratch/says"
  small run --exit=outcome --image bb --source "$onto" -- /bin/sh -c 'echo begun; sleep 1; head -c 700000 /dev/zero; echo ok' >"$scratch/says" 2>"$scratch/stderr" </dev/null &
  runner=$!
  exec {says}<"$scratch/says"
  read -r -t $((20 * slow)) _ <&"$says"
  head -c 9000000 /dev/zero >>"$disk/fill" 2>/dev/null
  cat <&"$says" >/dev/null
  exec {says}<&-
  wait "$runner"
  status=$?
  if ((status != 0)); then pass "e10_full_while_running_is_no_success (exit $status)"; else fail e10_full_while_running_is_no_success "$(cat "$scratch/stderr")"; fi
  rm -f "$disk/fill"
  shown=$(small --json check list --limit 1)
  attempt=$(member attempt <<<"$shown") state=$(member state <<<"$shown") outcome=$(member outcome <<<"$shown")
  case $state/$outcome in
    finished/incomplete) pass e10_recorded_as_incomplete ;;
    running/) if small check recover "$attempt" "$(member generation <<<"$shown")" "the disk was full" >"$scratch/recovered" 2>&1 && small --json check show "$attempt" | holds state=finished outcome=incomplete; then pass e10_recovered_after_room; else fail e10_recovered_after_room "$(cat "$scratch/recovered")"; fi ;;
    *) fail e10_state "$state/$outcome" "$(cat "$scratch/stderr")" ;;
  esac
  small --json run --exit=outcome --image bb --source "$onto" -- /bin/echo after >"$scratch/e10" 2>"$scratch/stderr"
  if why=$(holds outcome=success <"$scratch/e10" 2>&1); then pass e10_well_after_freeing; else fail e10_well_after_freeing "$why" "$(cat "$scratch/stderr")"; fi
  if small doctor 2>/dev/null | grep -q 'integrity ok'; then pass e10_database_is_whole; else fail e10_database_is_whole "$(small doctor 2>&1 | grep store)"; fi
  # Read-only.
  mount -o remount,ro "$disk"
  small run --image bb --source "$onto" -- /bin/echo never >"$scratch/stdout" 2>"$scratch/stderr"
  status=$?
  if ((status != 0)) && [[ ! -s $scratch/stdout ]] && grep -q 'fix: ' "$scratch/stderr"; then pass "read_only_disk (exit $status)"; else fail read_only_disk "exit $status" "$(cat "$scratch/stderr")"; fi
  mount -o remount,rw "$disk"
  check read_only_disk_again_writable small image list
  small_data=$data; data=$disk/data left_nothing e10_leaves_nothing; data=$small_data
  umount "$disk"
fi
left_nothing "strangers leave nothing behind"
finish
