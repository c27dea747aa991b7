# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the tests that drive the real programs share: lines `ok NAME` / `not ok NAME`, a data directory of their own, and a look at what
# a run leaves on the host. Sourced; ends with `finish`.
#
#   $BAILIFF_BUILD, $BAILIFF_TREE   the build and the source tree (set by ctest and by the throw-away machine)
#   bailiff ARG…                    the built program on this test's data directory, under --cgroup-parent where one was delegated
#   check NAME COMMAND…             one test: passes when the command does; prints what it said when not
#   run_check NAME OUTCOME REASON ARG…   `bailiff --json run ARG…` ends in OUTCOME with REASON first ("" for none), and leaves nothing
#   leaves_nothing NAME             compares the host with what `remember` saw
here_support=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
BAILIFF_TREE=${BAILIFF_TREE:-$(cd "$here_support/../.." && pwd)}
BAILIFF_BUILD=${BAILIFF_BUILD:-$BAILIFF_TREE/build/release}
BAILIFF_TEST_SLOWNESS=${BAILIFF_TEST_SLOWNESS:-1}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/bailiff-test.XXXXXX")
data=$scratch/data
live_end() {
  local repository
  repository=$(head -c 8 "$data/authority" 2>/dev/null)
  [[ -z $repository ]] || find /sys/fs/cgroup -depth -type d -name "bailiff.$repository" -exec rmdir {} + 2>/dev/null
  chmod -R u+w "$scratch" 2>/dev/null
  rm -rf "$scratch"
}
trap live_end EXIT
tests_failed=0

pass() { echo "ok $1"; }
fail() {
  echo "not ok $1"
  shift
  printf '%s\n' "$@" | head -n 40 | sed 's/^/  # /'
  tests_failed=$((tests_failed + 1))
}
finish() { exit $((tests_failed > 0)); }

check() {
  local name=$1 said
  shift
  if said=$("$@" 2>&1); then pass "$name"; else fail "$name" "exit $?: $*" "$said"; fi
}

bailiff() {
  "$BAILIFF_BUILD/bin/bailiff" --data-dir "$data" ${BAILIFF_TEST_CGROUP_PARENT:+--cgroup-parent "$BAILIFF_TEST_CGROUP_PARENT"} "$@"
}

# applets DIR: a link to busybox for each of its applets. In one process: a machine that is emulated starts few in a second.
applets() {
  busybox --list | python3 -I -S -c '
import os, sys
for name in sys.stdin.read().split():
    if not os.path.lexists(f"{sys.argv[1]}/{name}"):
        os.symlink("busybox", f"{sys.argv[1]}/{name}")' "$1"
}

# busybox_rootfs FILE: a root file system with every applet of this host's static busybox, as a tar that is always the same bytes.
busybox_rootfs() {
  local root=$scratch/busybox-root
  mkdir -p "$root/bin"
  cp "$(command -v busybox)" "$root/bin/busybox"
  applets "$root/bin"
  tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$root" -cf "$1" bin
}

# member NAME: the first value of that name in the JSON on stdin, text or number; "" when absent.
member() {
  python3 -I -S -c '
import json, sys
def find(value, name):
    if isinstance(value, dict):
        if name in value:
            return value[name]
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            found = find(inner, name)
            if found is not None:
                return found
    return None
found = find(json.load(sys.stdin), sys.argv[1])
print("" if found is None else found if isinstance(found, str) else json.dumps(found, separators=(",", ":")))' "$1"
}

# Everything of Bailiff's that a host can show: processes, cgroups, mounts, namespaces, files. One line each, sorted. With
# BAILIFF_SHARED_HOST set, as a developer beside others may, only what is this test's own: other runs come and go meanwhile.
host_state() {
  local pid mine=
  [[ -z ${BAILIFF_SHARED_HOST:-} ]] || mine=$(sed -n '1s/^\(........\).*/\1/p' "$data/authority" 2>/dev/null || true)
  for pid in /proc/[0-9]*; do
    case $(readlink "$pid/exe" 2>/dev/null) in
      "$BAILIFF_BUILD"/*bin/bailiff*) echo "process ${pid#/proc/} $(tr '\0' ' ' <"$pid/cmdline" 2>/dev/null)" ;;
    esac
  done
  # The repository's own cgroup stays, empty, for the next attempt: custody proves absence under the same parent directory.
  find /sys/fs/cgroup -type d -path "*/bailiff.$mine*/*" 2>/dev/null | sed 's/^/cgroup /'
  cut -d' ' -f5- /proc/self/mountinfo | sed 's/^/mount /'
  if [[ -z ${BAILIFF_SHARED_HOST:-} ]]; then
    readlink /proc/[0-9]*/ns/{user,net,pid,mnt,ipc,uts,cgroup} 2>/dev/null | sort -u | sed 's/^/namespace /'
    find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'bailiff*' 2>/dev/null | sed 's/^/file /'
  fi
  [[ ! -d $data ]] || (cd "$data" && find execution staging run -mindepth 1 ! -name owners.lock ! -name instance ! -name wake 2>/dev/null | sed 's/^/file /')
}
remember() { host_state | sort -u >"$scratch/remembered"; }
leaves_nothing() {
  local new tries=0
  # A namespace or a pid may take a moment to go after its last process was reaped; what stays longer was left.
  while :; do
    new=$(host_state | sort -u | comm -13 "$scratch/remembered" -)
    [[ -n $new ]] || { pass "$1"; return; }
    ((++tries < 20)) || { fail "$1" "left behind:" "$new"; return; }
    read -r -t 0.1 _ <> <(:) || true
  done
}

# run_check NAME OUTCOME REASON ARG…
run_check() {
  local name=$1 outcome=$2 reason=$3 said got
  shift 3
  remember
  said=$(bailiff --json run --exit=outcome "$@" 2>"$scratch/stderr" </dev/null) || true
  got=$(member outcome <<<"$said" 2>/dev/null)
  if [[ $got != "$outcome" ]]; then
    fail "$name" "outcome ${got:-none}, expected $outcome" "$said" "$(tail -n 20 "$scratch/stderr")"
  elif [[ -n $reason && $(member reasons <<<"$said") != "[\"$reason\""* ]]; then
    fail "$name" "reasons $(member reasons <<<"$said"), expected $reason first" "$said"
  else
    pass "$name"
  fi
  leaves_nothing "$name: nothing left behind"
}
