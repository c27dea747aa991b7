#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What no row refers to goes, what a row refers to stays: after killed imports and removals, beside a running attempt, beside an import
# that has found its objects and not stored its row yet, and in two processes against each other.
set -uo pipefail
# shellcheck source=tests/support/live.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/live.sh"

# struck FAULT ARG…: a call of the test build that meets a fault.
struck() {
  local fault=$1
  shift
  (
    BAILIFF_FAULT=$fault "$BAILIFF_BUILD/testing/bin/bailiff" --data-dir "$data" \
      ${BAILIFF_TEST_CGROUP_PARENT:+--cgroup-parent "$BAILIFF_TEST_CGROUP_PARENT"} "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
    exit $?  # here the shell says "Killed", to nobody
  ) 2>/dev/null
}
# stopped WORDS: waits until the process whose command line ends so has stopped, and prints its id.
stopped() {
  local pid tries
  for ((tries = 0; tries < 100; tries++)); do
    for pid in $(pgrep -f -- "$1\$"); do
      [[ $(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null) == T* ]] && { echo "$pid"; return; }
    done
    sleep 0.1
  done
  echo 0
}
objects() { find "$data/objects" -type f -printf '%P\n' | LC_ALL=C sort; }
images() { find "$data/images" -mindepth 1 -maxdepth 1 -printf '%f\n' | LC_ALL=C sort; }
trees() { find "$data/trees" -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | LC_ALL=C sort; }
same() { if [[ $2 == "$3" ]]; then pass "$1"; else fail "$1" "got:" "$2" "expected:" "$3"; fi; }
# part NAME MEMBER: of the JSON on stdin.
part() { python3 -I -S -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]].get(sys.argv[2], "absent"))' "$1" "$2"; }
audits() { python3 -I -S - "$data" <<'PY'
import shutil, sqlite3, sys, tempfile, glob, os
folder = tempfile.mkdtemp()
for path in glob.glob(sys.argv[1] + "/state.sqlite*"):
    if not path.endswith("-shm"):
        shutil.copy(path, folder)
for row in sqlite3.connect(folder + "/state.sqlite").execute("SELECT before_json FROM audit WHERE action = 'gc.remove' ORDER BY seq"):
    print(row[0].decode())
shutil.rmtree(folder)
PY
}
# new_source NAME: a directory whose content nobody imported before.
new_source() {
  mkdir -p "$scratch/$1/d"
  echo "$1 $RANDOM$RANDOM" >"$scratch/$1/file"
  echo "shared by all" >"$scratch/$1/d/shared"
}

bailiff init >/dev/null || { fail setup init; finish; }
busybox_rootfs "$scratch/busybox.tar"
bailiff image import "$scratch/busybox.tar" --name busybox >/dev/null || { fail setup image; finish; }
mkdir -p "$scratch/small/etc" && echo small >"$scratch/small/etc/name" && tar -C "$scratch/small" -cf "$scratch/small.tar" etc
new_source kept
kept=$(bailiff --json source import "$scratch/kept" | member revision)
bailiff run --image busybox --source "$kept" -- /bin/cat /source/file >/dev/null 2>&1 || { fail setup run; finish; }
before=$(objects)
image=$(images)

# --- with nothing to remove nothing is removed, and nothing is audited
said=$(bailiff --json gc --dry-run)
same "a fresh store has no garbage objects or images" "$(part objects count <<<"$said") $(part images count <<<"$said")" "0 0"
same "a tree of no open attempt is garbage" "$(part trees count <<<"$said")" 1
same "a dry run removes nothing" "$(trees | wc -l) $(audits | wc -l)" "1 0"

# --- a killed import leaves objects that no row names; one that shares them stays whole
new_source lost
struck StoreBegin=kill source import "$scratch/lost"
left=$(comm -13 <(echo "$before") <(objects))
same "an import killed before its row leaves its objects" "$(wc -l <<<"$left")" 3
said=$(bailiff --json gc --dry-run)
same "a dry run counts them" "$(part objects count <<<"$said")" 3
bytes=$(cd "$data/objects" && cat $left | wc -c)
same "and their bytes" "$(part objects bytes <<<"$said")" "$bytes"
same "and leaves them" "$(comm -13 <(echo "$before") <(objects))" "$left"
said=$(bailiff --json gc)
same "gc removes them" "$(part objects count <<<"$said") $(objects)" "3 $before"
same "gc removes the tree" "$(trees)" ""
same "one audit row says how much" "$(audits)" "{\"images\":{\"bytes\":0,\"count\":0},\"objects\":{\"bytes\":$bytes,\"count\":3},\"trees\":{\"bytes\":$(cat "$scratch/kept/file" "$scratch/kept/d/shared" | wc -c),\"count\":1}}"
said=$(bailiff --json gc)
same "a second gc finds nothing" "$(part objects count <<<"$said") $(part trees count <<<"$said") $(audits | wc -l)" "0 0 1"
check "the same directory is imported again" bailiff source import "$scratch/lost"
check "the revision that shared an object runs" bailiff run --image busybox --source "$kept" -- /bin/cat /source/d/shared

# --- an attempt that is registered and not run yet: its tree stays until it is cancelled
bailiff run --image busybox --source "$kept" -- /bin/true >/dev/null 2>&1
bailiff --json check show run-1 | python3 -I -S -c '
import json, sys
request = json.load(sys.stdin)["request"]
request["attempt_id"] = "waiting"
json.dump(request, open(sys.argv[1], "w"))' "$scratch/request.json"
check "an attempt is registered" bailiff check create "$scratch/request.json"
said=$(bailiff --json gc)
same "the tree of a registered attempt stays" "$(part trees count <<<"$said") $(trees | wc -l)" "0 1"
bailiff check cancel waiting 0 "not needed" >/dev/null
said=$(bailiff --json gc)
same "cancelled, its tree goes" "$(part trees count <<<"$said") $(trees | wc -l)" "1 0"

# --- image remove: the row goes first; what a kill leaves is whole, and no row's
bailiff image import "$scratch/small.tar" --name small >/dev/null
struck GarbageMove=kill image remove small
same "a removal killed after its row leaves the directory whole" "$(images | wc -l) $(find "$data/images" -name complete | wc -l)" "2 2"
said=$(bailiff --json gc)
same "gc removes an image without a row, and no other" "$(part images count <<<"$said") $(images)" "1 $image"
check "it is imported again" bailiff image import "$scratch/small.tar" --name small
check "and removed by its name" bailiff image remove small
same "its directory is gone" "$(images)" "$image"
said=$(bailiff --json gc)
same "gc has nothing left of it" "$(part images count <<<"$said")" 0

# --- what dead owners left in staging
struck JobReaped=kill source import "$scratch/lost"
[[ -n $(ls -A "$data/staging") ]] && pass "a killed import leaves staging" || fail "a killed import leaves staging"
said=$(bailiff --json gc --dry-run)
same "a dry run counts it and leaves it" "$(part staging count <<<"$said") $(find "$data/staging" -mindepth 1 -maxdepth 1 | wc -l)" "1 1"
bailiff gc >/dev/null
same "gc removes it" "$(ls -A "$data/staging")" ""

# --- beside a running attempt: its tree stays, garbage objects go
new_source lost2
struck StoreBegin=kill source import "$scratch/lost2"
"$BAILIFF_BUILD/bin/bailiff" --data-dir "$data" ${BAILIFF_TEST_CGROUP_PARENT:+--cgroup-parent "$BAILIFF_TEST_CGROUP_PARENT"} \
  run --image busybox --source "$kept" --timeout 20s -- /bin/sh -c 'echo ready; while [ ! -e /source/never ]; do sleep 0.2; cat /source/file /source/d/shared >/dev/null || exit 9; done' \
  >"$scratch/run.out" 2>"$scratch/run.err" &
runner=$!
for ((i = 0; i < 100; i++)); do [[ -s $scratch/run.out ]] && break; sleep 0.1; done
said=$(bailiff --json gc)
same "beside a running attempt the trees are kept and objects removed" "$(part trees kept <<<"$said"), $(part objects count <<<"$said")" "an attempt is at work, 3"
sleep 0.5
kill -TERM "$runner"
wait "$runner" 2>/dev/null
same "the attempt read its source to the end" "$(bailiff --json check list --limit 1 | member outcome)" cancelled
same "its tree is still there" "$(trees | wc -l)" 1

# --- an attempt whose owner died is recorded as running: its tree stays until it is recovered
struck AfterRelease=kill run --image busybox --source "$kept" -- /bin/sleep 20
said=$(bailiff --json gc)
dead=$(bailiff --json check list --state running | member attempt)
[[ -n $dead ]] || dead=$(bailiff --json check list --state running | member id)
same "a recorded run keeps the trees" "$(part trees kept <<<"$said")" "attempt $dead is recorded as running"
bailiff check recover "$dead" 1 "its owner was killed" >/dev/null 2>&1
said=$(bailiff --json gc)
same "recovered, its tree goes" "$(part trees count <<<"$said")" 1

# --- an import that has found or made its objects and has no row yet
new_source race
struck StoreBegin=stop source import "$scratch/race" &
shell=$!
pid=$(stopped "source import $scratch/race")
said=$(bailiff --json gc)
same "an import at work keeps the objects" "$(part objects kept <<<"$said")" "an import or another removal is at work"
kill -CONT "$pid"
wait "$shell"
race=$(bailiff --json source list | python3 -c 'import json, sys; print(json.load(sys.stdin)["revisions"][0]["revision"])')
check "its revision is whole" bailiff source export "$race" "$scratch/race.out"
check "byte for byte" diff -r "$scratch/race" "$scratch/race.out"

# --- an image import at work: neither gc nor image remove takes images
struck ImageSync=stop image import "$scratch/small.tar" --name small &
shell=$!
pid=$(stopped "image import $scratch/small.tar --name small")
said=$(bailiff --json gc)
same "an image import at work keeps the images, not the objects" "$(part images kept <<<"$said"), $(part objects kept <<<"$said")" "an import or another removal is at work, absent"
said=$(bailiff image remove busybox 2>&1)
same "image remove waits its turn" "$? $(grep -o 'store.contents.busy' <<<"$said")" "75 store.contents.busy"
kill -CONT "$pid"
wait "$shell"
check "the image is there" bailiff image show small

# --- two processes against each other: imports of the same and of new content beside gc after gc
(
  for ((i = 0; i < 25; i++)); do
    [[ ! -e $scratch/stop ]] || break
    new_source "loop$i"
    bailiff source import "$scratch/loop$i" >/dev/null 2>>"$scratch/loop.err" || echo "import $i: $?" >>"$scratch/loop.err"
    struck StoreBegin=kill source import "$scratch/small"
    bailiff source import "$scratch/small" >/dev/null 2>>"$scratch/loop.err" || echo "import small $i: $?" >>"$scratch/loop.err"
  done
  touch "$scratch/ended"
) 2>/dev/null &
loop=$!
collections=0
while [[ ! -e $scratch/ended ]]; do
  bailiff gc >/dev/null 2>>"$scratch/gc.err" || echo "gc: $?" >>"$scratch/gc.err"
  collections=$((collections + 1))
done
wait "$loop"
same "no import and no gc failed beside the other ($collections collections)" "$(cat "$scratch/loop.err" "$scratch/gc.err" 2>/dev/null)" ""
bailiff gc >/dev/null
bad=
for revision in $(bailiff --json source list | python3 -c 'import json, sys; [print(r["revision"]) for r in json.load(sys.stdin)["revisions"]]'); do
  rm -rf "$scratch/whole"
  bailiff source export "$revision" "$scratch/whole" >/dev/null 2>"$scratch/err" || bad+="$revision $(cat "$scratch/err") "
done
same "every revision is whole afterwards" "$bad" ""

# --- a damaged store: nothing is removed on doubt
tree=$(bailiff --json source show "$kept" | member tree)
struck StoreBegin=kill source import "$scratch/lost2"
count=$(objects | wc -l)
mv "$data/objects/tree/${tree:0:2}/${tree:2}" "$scratch/away"
said=$(bailiff gc 2>&1)
same "a tree that is missing ends it" "$? $(grep -o 'snapshot.object.missing' <<<"$said")" "74 snapshot.object.missing"
same "with nothing removed" "$(objects | wc -l)" $((count - 1))
mv "$scratch/away" "$data/objects/tree/${tree:0:2}/${tree:2}"
touch "$data/objects/blob/README" "$data/images/README" 2>/dev/null
check "a name that is no object's is left alone" bailiff gc
check "it is still there" test -e "$data/objects/blob/README"
finish
