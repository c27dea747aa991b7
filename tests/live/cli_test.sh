# SPDX-License-Identifier: Apache-2.0
# The real program as a stranger meets it: the first five minutes, the mistakes one makes, what each of them says, and the exit status
# of every kind of end. Everything it says is looked at twice: as text, and as one JSON value.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../support/live.sh"

# says NAME STATUS PATTERN ARG…: the program ends with STATUS and its standard error holds PATTERN (a bash pattern); the same call with
# --json says one JSON value with the same exit status.
says() {
  local name=$1 status=$2 pattern=$3 out err got
  shift 3
  out=$(bailiff "$@" 2>"$scratch/err" </dev/null)
  got=$?
  err=$(<"$scratch/err")
  if [[ $got != "$status" ]]; then
    fail "$name" "exit $got, expected $status" "$out" "$err"
    return
  fi
  # shellcheck disable=SC2053  # the right side is a pattern
  if [[ $err != $pattern ]]; then
    fail "$name" "standard error is not like $pattern" "$err"
    return
  fi
  bailiff --json "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
  got=$?
  if [[ $got != "$status" ]]; then
    fail "$name" "with --json: exit $got, expected $status" "$(<"$scratch/err")"
  elif ! member exit <"$scratch/err" | grep -qx "$status"; then
    fail "$name" "with --json: no exit $status in" "$(<"$scratch/err")"
  elif [[ -s $scratch/out ]]; then
    fail "$name" "with --json: standard output is not empty" "$(<"$scratch/out")"
  else
    pass "$name"
  fi
}

# answers NAME SCHEMA ARG…: exit 0, and with --json exactly one value of that schema and a silent standard error.
answers() {
  local name=$1 schema=$2
  shift 2
  if ! bailiff "$@" >"$scratch/out" 2>"$scratch/err" </dev/null; then
    fail "$name" "exit not 0" "$(<"$scratch/err")"
  elif [[ ! -s $scratch/out ]]; then
    fail "$name" "says nothing"
  elif ! bailiff --json "$@" >"$scratch/out" 2>"$scratch/err" </dev/null; then
    fail "$name" "with --json: exit not 0" "$(<"$scratch/err")"
  elif [[ $(wc -l <"$scratch/out") != 1 || $(member schema <"$scratch/out") != "bailiff/$schema/v1" ]]; then
    fail "$name" "not one line of schema bailiff/$schema/v1" "$(head -c 2000 "$scratch/out")"
  elif [[ -s $scratch/err ]]; then
    fail "$name" "with --json: standard error is not empty" "$(<"$scratch/err")"
  else
    pass "$name"
  fi
}

# status NAME STATUS ARG…
status() {
  local name=$1 status=$2 got
  shift 2
  bailiff "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
  got=$?
  if [[ $got == "$status" ]]; then pass "$name"; else fail "$name" "exit $got, expected $status" "$(<"$scratch/err")"; fi
}

root=$scratch/root
mkdir -p "$root/bin" "$scratch/source"
busybox=$(command -v busybox) || { fail "busybox" "busybox (static) must be installed for this test"; finish; }
cp "$busybox" "$root/bin/busybox"
for applet in sh cat echo sleep true false kill head printf; do ln -s busybox "$root/bin/$applet"; done
tar -C "$root" -cf "$scratch/root.tar" bin
echo "hello" >"$scratch/source/file"
printf 'control' >"$scratch/source/$(printf 'a\033b')"

# --- before anything is there
says "no data directory: says how to make one" 78 "*data.directory.missing*fix: bailiff init*" image list
says "a run without a data directory says the same" 78 "*data.directory.missing*fix: bailiff init*" \
  run --image b --source "$scratch/source" -- /bin/true
answers "doctor works before there is anything" doctor doctor
[[ $(bailiff --json doctor | member checked_unix_ms) -gt 1700000000000 ]] && pass "R16.04 doctor says when it looked" || fail "R16.04 doctor says when it looked"
if bailiff --json doctor | python3 -c '
import json, sys
native = json.load(sys.stdin)["native"]
sys.exit(0 if native["usable"] and not native["qualified"] and not native["executed"] and not native["isolation_verified"] else 1)'; then
  pass "R16.02 doctor claims no execution and no isolation"
else
  fail "R16.02 doctor claims no execution and no isolation" "$(bailiff --json doctor)"
fi
answers "init" init init
answers "init again changes nothing" init init

# --- taking in
answers "image import" image.import image import "$scratch/root.tar" --name busybox
check "image import from a pipe" sh -c 'cat "$0" | "$1" --data-dir "$2" image import - --name piped' "$scratch/root.tar" "$BAILIFF_BUILD/bin/bailiff" "$data"
answers "image list" image.list image list
check "image export" bailiff image export busybox "$scratch/exported.tar"
[[ $(stat -c '%u %s' "$scratch/exported.tar") == "$(id -u) $(bailiff image export busybox - 2>"$scratch/err" | wc -c)" ]] && pass "an exported image is the operator's, and the same through a pipe" ||
  fail "an exported image is the operator's, and the same through a pipe" "$(stat "$scratch/exported.tar")" "$(<"$scratch/err")"
image=$(bailiff --json image show busybox | member image)
answers "image show by a prefix of 12" image.show image show "${image:7:12}"
answers "source import" source.import source import "$scratch/source"
revision=$(bailiff --json source import "$scratch/source" | member revision)
answers "source list" source.list source list
answers "source show by a prefix of 12" source.show source show "${revision:0:12}"
answers "source show --tree" source.show source show "$revision" --tree
[[ $(bailiff source show "$revision" --tree) == *'a\x1bb'* && $(bailiff --json source show "$revision" --tree) == *'"path_hex":"611b62"'* ]] && pass "source show --tree escapes a name" ||
  fail "source show --tree escapes a name" "$(bailiff --json source show "$revision" --tree)"
status "source export" 0 source export "$revision" "$scratch/exported"
check "an export is the operator's and equal to what was imported" diff -r "$scratch/source" "$scratch/exported"
[[ $(stat -c %u "$scratch/exported/file") == "$(id -u)" ]] && pass "an export is owned by who asked" || fail "an export is owned by who asked"

# --- mistakes
says "misspelled verb" 64 '*"image lsit"*fix: bailiff image list*' image lsit
says "misspelled option" 64 "*--memroy*fix: --memory*" run --image busybox --source "$revision" --memroy 1 -- /bin/true
says "a tag is no name (R16.21)" 64 '*"ubuntu:24.04"*image.name.tag*fix: skopeo copy docker://ubuntu:24.04 oci:ubuntu2404 && bailiff image import ubuntu2404 --name ubuntu2404*' run --image ubuntu:24.04 --source "$revision" -- /bin/true
says "an image that is not there" 66 "*image.id.unknown*fix: bailiff image list*" run --image debian --source "$revision" -- /bin/true
says "a revision that is not there" 66 "*revision.id.unknown*" run --image busybox --source 000000000000 -- /bin/true
says "memory below the bound, as on the first screen" 65 \
  $'bailiff: memory 8 MiB: below the smallest bound, 16 MiB \[recipe.memory.low\]\n  fix: --memory 16M or more' \
  run --image busybox --memory 8M --source . -- /bin/true
says "a relative command" 65 "*" run --image busybox --source "$revision" -- true
says "no command" 64 "*cli.command.missing*" run --image busybox --source "$revision"
ln -s "$scratch/source" "$scratch/link"
says "a source that is a link is not followed" 65 "*symbolic link*" source import "$scratch/link"
says "a source that is not there" 66 "*cli.file.missing*" source import "$scratch/nothing"
says "an export onto something" 73 "*cli.file.exists*" source export "$revision" "$scratch/source"
says "an image export onto something" 73 "*cli.file.exists*" image export busybox "$scratch/exported.tar"
says "an image export with --json to standard output" 64 "*cli.argument.value*" --json image export busybox -
says "a format that is none" 64 "*--format oci|docker|rootfs*" image import "$scratch/root.tar" --format tar
says "an archive that is none" 65 "*image.archive*" image import "$scratch/source/file"
says "a prefix that is too short" 64 "*id.prefix.short*" evidence show 0123
says "evidence that is not there" 66 "*evidence*fix*" evidence show 000000000000
says "an attempt that is not there" 66 "*attempt*" check show nothing
says "a generation that is no number" 64 "*GEN*" check run run-1 one
printf '{"version":1,"image":"busybox"}' >"$scratch/bad.json"
says "a bad document: all its faults at once" 65 "*json.member.missing*recipe.image.form*" recipe check "$scratch/bad.json"
head -c 1100000 /dev/zero >"$scratch/large.json"
says "a document above 1 MiB" 65 "*cli.file.large*" recipe check "$scratch/large.json"
bailiff recipe example >/dev/full 2>"$scratch/err"
[[ $? == 74 ]] && pass "a full standard output: 74" || fail "a full standard output: 74" "$(<"$scratch/err")"

# --- running: every exit status of `run`
run=(run --image busybox --source "$revision" --timeout 10s --memory 32M --scratch 1M --output 64K --pids 16)
status "success: 0" 0 "${run[@]}" -- /bin/true
status "failed: the command's own code" 7 "${run[@]}" -- /bin/sh -c 'exit 7'
status "failed with --exit=outcome: 1" 1 "${run[@]}" --exit=outcome -- /bin/sh -c 'exit 7'
status "timed out with --exit=outcome: 2" 2 run --image busybox --source "$revision" --timeout 200ms --exit=outcome -- /bin/sleep 20
status "not started: 125" 125 "${run[@]}" -- /bin/nothing
status "a directory as source is imported first" 0 run --image busybox --source "$scratch/source" -- /bin/cat /source/file

remember
out=$(bailiff "${run[@]}" -- /bin/sh -c 'echo out; echo err >&2' 2>"$scratch/err")
[[ $out == out ]] && grep -qx err "$scratch/err" && grep -q '^success  exit 0 in .*cleanup confirmed  evidence ' "$scratch/err" &&
  pass "output goes where it belongs, Bailiff's words to standard error" ||
  fail "output goes where it belongs, Bailiff's words to standard error" "$out" "$(<"$scratch/err")"
out=$(bailiff --quiet "${run[@]}" -- /bin/echo out 2>"$scratch/err")
[[ $out == out && ! -s $scratch/err ]] && pass "--quiet says nothing of its own" || fail "--quiet says nothing of its own" "$(<"$scratch/err")"
leaves_nothing "runs leave nothing behind"

# a12: bytes are kept whatever they are
bailiff "${run[@]}" -- /bin/printf '\377\300\200\000\033[0m\r\n\342\202' >"$scratch/bytes" 2>/dev/null
printf '\377\300\200\000\033[0m\r\n\342\202' | cmp -s - "$scratch/bytes" && pass "a12 bytes pass to a file as they are" || fail "a12 bytes pass to a file as they are" "$(od -c "$scratch/bytes")"
bailiff --json "${run[@]}" -- /bin/printf '\377\300\200\000\033[0m\r\n\342\202' 2>/dev/null | member stdout_base64 | base64 -d >"$scratch/bytes"
printf '\377\300\200\000\033[0m\r\n\342\202' | cmp -s - "$scratch/bytes" && pass "a12 JSON carries them losslessly" || fail "a12 JSON carries them losslessly"
attempt=$(bailiff --json check list --limit 1 | member attempt)
bailiff check logs "$attempt" --stream stdout >"$scratch/bytes"
printf '\377\300\200\000\033[0m\r\n\342\202' | cmp -s - "$scratch/bytes" && pass "a12 the log has them" || fail "a12 the log has them" "$(od -c "$scratch/bytes")"

# a13: standard input is not the command's, and closed descriptors take no file of ours
rest=$(printf 'secret\n' | { bailiff --quiet "${run[@]}" -- /bin/cat; cat; })
[[ $rest == secret ]] && pass "a13 the caller's input is left alone" || fail "a13 the caller's input is left alone" "$rest"
bailiff --quiet "${run[@]}" -- /bin/true <&- >&- 2>&-
[[ $? == 0 ]] && pass "a13 works with 0, 1 and 2 closed" || fail "a13 works with 0, 1 and 2 closed"

# --- on a terminal
python3 "$BAILIFF_TREE/tests/live/terminal_test.py" "$BAILIFF_BUILD/bin/bailiff" "$data" busybox "$revision" "${BAILIFF_TEST_CGROUP_PARENT:-}" || tests_failed=$((tests_failed + 1))

# --- records
evidence=$(bailiff --json check list --limit 1 | member evidence_id)
answers "check list" check.list check list
answers "check show" check.show check show "$attempt"
answers "R14.16 the seed's name for it" check.show check-show "$attempt"
answers "check logs" check.logs check logs "$attempt"
answers "evidence show" evidence.show evidence show "${evidence:0:12}"
digest=$({ printf 'bailiff.evidence.v1\0'; bailiff evidence show "$evidence" --raw; } | sha256sum | cut -d' ' -f1)
[[ $digest == "$evidence" ]] && pass "the id of evidence is the digest of its bytes" || fail "the id of evidence is the digest of its bytes" "$digest" "$evidence"
answers "R14.17 the seed's name for it" evidence.show check-evidence "$evidence"
says "a finished attempt is not run again" 75 "*attempt*" check run "$attempt" 2
says "a finished attempt is not cancelled" 75 "*attempt*" check cancel "$attempt" 2 "too late"

# --- a request of one's own on a change that `run` made
bailiff --json check show "$attempt" | python3 -c '
import json, sys
request = json.load(sys.stdin)["request"]
request["attempt_id"] = "mine"
json.dump(request, open(sys.argv[1], "w"))' "$scratch/request.json"
answers "check create" check.create check create "$scratch/request.json"
answers "check create again gives the same (R13.25)" check.create check create "$scratch/request.json"
says "check run at another generation" 75 "*pending at generation 0*fix: bailiff check run mine 0*" check run mine 5
status "R14.15 the seed's name for check run; exit by outcome" 0 check-run mine 0
sed 's/"mine"/"other"/' "$scratch/request.json" >"$scratch/other.json"
answers "a second one" check.create check create "$scratch/other.json"
status "is cancelled while pending (R11.04)" 0 check cancel other 0 "not needed"

# starts ARG…: a run in the background that has begun; $pid is the controller, $attempt and $generation its row.
starts() {
  "$BAILIFF_BUILD/bin/bailiff" --data-dir "$data" ${BAILIFF_TEST_CGROUP_PARENT:+--cgroup-parent "$BAILIFF_TEST_CGROUP_PARENT"} \
    run --image busybox --source "$revision" --exit=outcome "$@" -- /bin/sh -c 'echo ready; sleep 25' >"$scratch/out" 2>"$scratch/err" &
  pid=$!
  for _ in $(seq 400); do grep -q ready "$scratch/out" && break; read -r -t 0.05 _ <> <(:) || true; done
  bailiff --json check list --state running --limit 1 >"$scratch/running"
  attempt=$(member attempt <"$scratch/running")
  generation=$(member generation <"$scratch/running")
}

# --- Ctrl-C once: cancelled, cleaned up, recorded
remember
starts
live=$(bailiff --json surface --live)
for role in controller collector warden candidate; do
  [[ $live == *"\"role\":\"$role\""* ]] && pass "surface --live shows the $role" || fail "surface --live shows the $role" "$live"
done
answers "check logs of a running attempt" check.logs check logs "$attempt"
# Followed: what has come already, what comes, and the end, whoever makes it; a reader that goes away is not waited for.
bailiff check logs "$attempt" --follow >"$scratch/followed" 2>&1 &
follower=$!
bailiff --json check logs "$attempt" --follow >"$scratch/followed.json" 2>&1 &
follower_json=$!
[[ $(timeout 10 "$BAILIFF_BUILD/bin/bailiff" --data-dir "$data" check logs "$attempt" --follow | head -n 1) == ready ]] &&
  pass "check logs --follow ends with its reader" || fail "check logs --follow ends with its reader"
says "a running attempt whose owner lives is not recovered" 75 "*" check recover "$attempt" "$generation" "is it dead?"
kill -INT "$pid"
wait "$pid"
[[ $? == 2 ]] && grep -q '^cancelled' "$scratch/err" && pass "Ctrl-C: cancelled and recorded" || fail "Ctrl-C: cancelled and recorded" "$(<"$scratch/err")"
wait "$follower"
[[ $? == 0 && $(<"$scratch/followed") == ready ]] && pass "check logs --follow ends with the attempt" ||
  fail "check logs --follow ends with the attempt" "$(<"$scratch/followed")"
wait "$follower_json"
[[ $? == 0 && $(member state <"$scratch/followed.json") == finished && $(member stdout_base64 <"$scratch/followed.json" | base64 -d) == ready ]] &&
  pass "check logs --follow --json waits and says all" || fail "check logs --follow --json waits and says all" "$(<"$scratch/followed.json")"
leaves_nothing "Ctrl-C leaves nothing behind"

# --- cancelled by another process (R11.04, R14.18)
starts
status "R11.04 a running attempt is cancelled by its generation" 0 check-cancel "$attempt" "$generation" "changed my mind"
wait "$pid"
outcome=$(bailiff --json check show "$attempt" | member outcome)
[[ $outcome == cancelled ]] && pass "R11.04 and its outcome is cancelled" || fail "R11.04 and its outcome is cancelled" "$outcome" "$(<"$scratch/err")"
leaves_nothing "R11.04 leaves nothing behind"

# --- the owner dies (R13.22, R13.23, R14.19)
starts
bailiff check logs "$attempt" --follow >"$scratch/followed" 2>"$scratch/err" &
follower=$!
for _ in $(seq 200); do grep -q ready "$scratch/followed" && break; read -r -t 0.05 _ <> <(:) || true; done
kill -KILL "$pid"
wait "$pid" 2>/dev/null
wait "$follower"
[[ $? == 75 && $(<"$scratch/followed") == ready && $(<"$scratch/err") == *attempt.owner.dead*"fix: bailiff check recover $attempt $generation REASON"* ]] &&
  pass "check logs --follow says that the owner died" || fail "check logs --follow says that the owner died" "$(<"$scratch/err")"
state=$(bailiff --json check show "$attempt" | member state)
[[ $state == running ]] && pass "R13.22 opening again changes nothing" || fail "R13.22 opening again changes nothing" "$state"
says "R13.23 recovery asks for the generation seen" 75 "*" check recover "$attempt" 77 "it died"
status "R14.19 check-recover" 0 check-recover "$attempt" "$generation" "it died"
bailiff --json check show "$attempt" >"$scratch/shown"
[[ $(member outcome <"$scratch/shown") == incomplete && $(member state <"$scratch/shown") == finished ]] &&
  pass "R14.19 running became incomplete" || fail "R14.19 running became incomplete" "$(<"$scratch/shown")"
leaves_nothing "R14.19 leaves nothing behind"

# --- the rest
says "backup over a file" 73 "*cli.file.exists*fix: choose another name*" backup "$scratch/root.tar"
[[ $(bailiff --json backup "$scratch/backup.tar" | member schema) == bailiff/backup/v1 ]] && pass "backup answers" || fail "backup answers"
answers "gc --dry-run" gc gc --dry-run
answers "gc" gc gc
answers "surface" surface surface
check "surface is the committed PROTOCOL.md" diff <(bailiff surface) "$BAILIFF_TREE/ipc/PROTOCOL.md"
answers "version" version version
answers "recipe example" recipe.example recipe example
says "a kind of recipe this version does not run" 65 "*check.kind.other*" recipe example --kind source_paths/v1
digest=$(bailiff recipe example | bailiff check-recipe -)
[[ $digest =~ ^[0-9a-f]{64}$ && $digest == "$(bailiff recipe example | bailiff recipe digest -)" ]] &&
  pass "R14.04 check-recipe gives the digest of the canonical bytes" || fail "R14.04 check-recipe gives the digest of the canonical bytes" "$digest"
check "the example is a good recipe" sh -c '"$0" recipe example | "$0" recipe check -' "$BAILIFF_BUILD/bin/bailiff"
for shell in bash zsh fish; do answers "completion $shell" completion completion "$shell"; done
status "image remove" 0 image remove piped
status "and then it is gone" 66 image show piped
finish
