# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the tests that run commands in cells share beyond live.sh. Sourced.
#
#   world                      a data directory, the busybox image `bb` (with /bin/probe), and the revision $revision
#   make_root DIR              the folder such an image is made of;  import_root DIR NAME: packs and imports it
#   expect NAME "CONDITION…" [OPTION…] -- EXE ARG…      one run in a cell; every condition (record.py) holds for its JSON
#   cell [OPTION…] -- EXE ARG…                          one run, JSON on stdout, its own words in $scratch/stderr
#   start [OPTION…] -- EXE ARG…                         a run in the background ($started), seen to have begun: the command must write a line
#   ended                                               waits for it: $ended_status, and $said = its attempt as JSON
#   left_nothing NAME          of this data directory: no process, no cgroup, no mount, no file of an attempt
#   left_nothing_after_a_run NAME   the same once another run has ended, for tests that kill the owner
#   refused NAME STATUS CODE COMMAND…                   ends with that exit status, and names that code and a fix, and nothing ran
# shellcheck source=tests/support/live.sh
source "$(dirname "${BASH_SOURCE[0]}")/live.sh"

bailiff_argv=("$BAILIFF_BUILD/bin/bailiff" --data-dir "$data")
[[ -z ${BAILIFF_TEST_CGROUP_PARENT:-} ]] || bailiff_argv+=(--cgroup-parent "$BAILIFF_TEST_CGROUP_PARENT")
image=bb

probe_program=${BAILIFF_TEST_PROBE:-$BAILIFF_BUILD/tests/probe}

make_root() {
  mkdir -p "$1/bin" "$1/etc" "$1/tmp"
  cp "$(command -v busybox)" "$1/bin/busybox"
  applets "$1/bin"
  [[ -x $probe_program ]] || { fail "the probe is built" "$probe_program is missing: cmake --build … --target probe"; finish; }
  cp "$probe_program" "$1/bin/probe"
  echo 'root:x:0:0::/:/bin/sh' >"$1/etc/passwd"
}

import_root() {
  tar -C "$1" --sort=name --owner=0 --group=0 --numeric-owner -cf "$scratch/$2.tar" . || return
  bailiff --json image import "$scratch/$2.tar" --format rootfs --name "$2"
}

world() {
  check "a data directory" bailiff init
  make_root "$scratch/root"
  check "a busybox image" import_root "$scratch/root" bb
  mkdir -p "$scratch/source"
  echo 'a line' >"$scratch/source/file"
  revision=$(bailiff --json source import "$scratch/source" 2>"$scratch/stderr" | member revision)
  [[ ${#revision} == 64 ]] || { fail "a revision" "$(cat "$scratch/stderr")"; finish; }
}

cell() { bailiff --json run --exit=outcome --image "$image" --source "$revision" "$@" 2>"$scratch/stderr" </dev/null; }

holds() { "$BAILIFF_TREE/tests/support/record.py" "$@"; }

expect() {
  local name=$1 conditions why
  read -r -a conditions <<<"$2"
  shift 2
  local status=0
  said=$(cell "$@") || status=$?
  if [[ -z $said ]]; then fail "$name" "no record, exit $status" "$(tail -n 5 "$scratch/stderr")"; return 1; fi
  if why=$(holds "${conditions[@]}" <<<"$said" 2>&1); then pass "$name"; else fail "$name" "$why" "$(tail -n 5 "$scratch/stderr")" "$(bytes_of stdout <<<"$said")" "$(bytes_of stderr <<<"$said")" "${said:0:3000}"; return 1; fi
}
bytes_of() {  # bytes_of stdout|stderr: the command's bytes of the JSON on stdin
  python3 -I -S -c 'import base64, json, sys; sys.stdout.buffer.write(base64.b64decode(json.load(sys.stdin).get(sys.argv[1] + "_base64", "")))' "$1"
}

# Bash ignores SIGINT in what it starts in the background; an interactive shell does not.
start() {
  local line
  rm -f "$scratch/says"
  mkfifo "$scratch/says"
  env --default-signal=INT,QUIT,TERM "${bailiff_argv[@]}" run --exit=outcome --image "$image" --source "$revision" "$@" \
    >"$scratch/says" 2>"$scratch/stderr" </dev/null &
  started=$!
  exec {says}<"$scratch/says"
  read -r -t $((20 * BAILIFF_TEST_SLOWNESS)) line <&"$says" || { fail "a run began" "$(cat "$scratch/stderr")"; return 1; }
}

newest() { bailiff --json check list --limit 1 | member attempt; }

ended() {
  cat <&"$says" >"$scratch/rest" &
  wait "$started"
  ended_status=$?
  exec {says}<&-
  said=$(bailiff --json check show "$(newest)")
}

refused() {
  local name=$1 status=$2 code=$3 text got
  shift 3
  text=$("$@" 2>&1 >"$scratch/stdout" </dev/null)
  got=$?
  if [[ $got != "$status" || $text != *"[$code]"* || $text != *"fix: "* ]]; then
    fail "$name" "exit $got, expected $status and [$code] with a fix" "$text"
  else
    pass "$name"
  fi
}

same() { if [[ $2 == "$3" ]]; then pass "$1"; else fail "$1" "found $2" "expected $3"; fi; }

# What this data directory's attempts could leave, and nobody else's: other runs may go on at the same time.
own_leavings() {
  local id pid
  id=bailiff.$(head -c 8 "$data/authority" 2>/dev/null)
  find /sys/fs/cgroup -type d \( -name "$id" -o -path "*/$id/*" \) 2>/dev/null | sed 's/^/cgroup /'
  for pid in $(grep -lsa -e "$data" /proc/[0-9]*/cmdline; grep -ls -e "$id" /proc/[0-9]*/cgroup); do
    pid=${pid#/proc/} pid=${pid%/*}
    [[ $pid == "$$" || $pid == "$BASHPID" || $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null) == grep* ]] || echo "process $pid $(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null)"
  done
  grep -F "$data" /proc/self/mountinfo | sed 's/^/mount /'
  (cd "$data" && find execution staging run -mindepth 1 ! -name owners.lock ! -name instance ! -name wake 2>/dev/null | sed 's/^/file /')
}
# The empty cgroup of the repository may wait for the next run when the last owner was killed: that run takes it away.
left_nothing_after_a_run() {
  cell -- /bin/true >/dev/null || fail "$1" "the run after it" "$(tail -n 5 "$scratch/stderr")"
  left_nothing "$1"
}
left_nothing() {
  local left tries=0
  while left=$(own_leavings); [[ -n $left ]]; do
    ((++tries < 20)) || { fail "$1" "left behind:" "$left"; return; }
    read -r -t 0.1 _ <> <(:) || true
  done
  pass "$1"
}
