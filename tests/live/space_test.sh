#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A disk that is really full, not only at its reserve, in the middle of an import: of a directory, a git commit, and an image as an OCI
# layout, under gzip and under zstd. The error says so, nothing half imported is to be seen, gc has nothing to take away, and the same
# import works once there is room. f09, and R3's staging.
set -uo pipefail
# shellcheck source=tests/support/live.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/live.sh"
chmod 755 "$scratch"
umask 022
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
same() { if [[ $2 == "$3" ]]; then pass "$1"; else fail "$1" "found $2" "expected $3"; fi; }

mkdir "$scratch/disk" && mount -t tmpfs -o size=900m,mode=755 none "$scratch/disk" || { fail "a small disk" "mount failed: this test needs root"; finish; }
trap 'umount -l "$scratch/disk"; live_end' EXIT
data=$scratch/disk/data
check "a data directory on it" bailiff init

mkdir "$scratch/source"
for ((i = 0; i < 12; i++)); do head -c 16000000 /dev/urandom >"$scratch/source/f$i"; done
git init -q "$scratch/git" && (cd "$scratch/git" && cp "$scratch"/source/* . && git -c core.compression=0 add -A &&
  git -c user.name=A -c user.email=a@example.org commit -qm large) || fail "a repository"
mkdir -p "$scratch/root/bin" && cp "$(command -v busybox)" "$scratch/root/bin/busybox" && cp -R "$scratch/source" "$scratch/root/data"
umoci init --layout "$scratch/layout" && umoci new --image "$scratch/layout:t" && umoci insert --image "$scratch/layout:t" "$scratch/root" / && chmod -R a+rX "$scratch/layout" ||
  fail "an OCI layout"
tar -C "$scratch/root" -cf "$scratch/root.tar" . && gzip -1 -k "$scratch/root.tar" && zstd -q -1 "$scratch/root.tar" || fail "root file systems"
rm -rf "$scratch/root" "$scratch/root.tar"

# What is there to be seen: objects, trees, images, staging, and the rows of both.
seen() {
  (cd "$data" && find objects images staging -type f | sort)
  bailiff --json source list | member revisions
  bailiff --json image list | member images
}
helper_of() {  # helper_of PID: the importer below it, at work
  local pid
  for pid in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
    [[ $(cat "/proc/$pid/comm" 2>/dev/null) != bailiff-importe ]] || echo "$pid"
    helper_of "$pid"
  done
}
state_of() { sed 's/.*) //;s/ .*//' "/proc/$1/stat" 2>/dev/null; }

# full NAME IMPORT…: both processes are stopped while the importer writes, the disk is filled to the last byte, the importer goes on alone
# until it has ended, then the controller, which looks at the reserve only when it runs.
full() {
  local name=$1 before importing importer status i
  shift
  before=$(seen)
  # The program itself and no shell of ours: what has a pid here is what is stopped.
  "$BAILIFF_BUILD/bin/bailiff" --data-dir "$data" ${BAILIFF_TEST_CGROUP_PARENT:+--cgroup-parent "$BAILIFF_TEST_CGROUP_PARENT"} "$@" >"$scratch/stdout" 2>"$scratch/stderr" &
  importing=$!
  importer=
  for ((i = 0; i < 2000; i++)); do
    [[ -z $(find "$data/staging" -type f -path '*/out/*' -size +64k -print -quit 2>/dev/null) ]] || importer=$(helper_of "$importing" | head -n 1)
    [[ -z $importer ]] || break
    kill -0 "$importing" 2>/dev/null || break
    read -r -t 0.005 _ <> <(:) || true
  done
  [[ -n $importer ]] || { fail "$name: it was caught while it wrote" "$(cat "$scratch/stderr")"; wait "$importing"; return; }
  kill -STOP "$importing" "$importer"
  dd if=/dev/zero of="$scratch/disk/filler" bs=1M status=none 2>/dev/null
  same "$name: the disk is full" "$(stat -f -c %a "$scratch/disk")" 0
  kill -CONT "$importer"
  for ((i = 0; i < 3000; i++)); do
    case $(state_of "$importer") in "" | Z | X) break ;; esac
    read -r -t 0.01 _ <> <(:) || true
  done
  kill -CONT "$importing"
  wait "$importing"
  status=$?
  if [[ $status == 74 && $(cat "$scratch/stderr") == *ENOSPC*"[snapshot.io.failed]"*"fix: make room"* ]]; then pass "$name: it says so"; else
    fail "$name: it says so" "exit $status" "$(cat "$scratch/stderr")"; fi
  same "$name: nothing of it is to be seen" "$(seen)" "$before"
  rm "$scratch/disk/filler"
  same "$name: gc finds nothing to take away" "$(bailiff --json gc --dry-run | member count) $(ls -A "$data/staging")" "0 "
  check "$name: with room it works" bailiff "$@"
  same "$name: gc finds nothing to take away then" "$(bailiff --json gc | member count)" 0
}
full "a directory" source import "$scratch/source"
rm -rf "$data" && check "a new one" bailiff init
full "a git commit" source import --git "$scratch/git" HEAD
rm -rf "$data" && check "a new one" bailiff init
full "an OCI layout" image import "$scratch/layout"
rm -rf "$data" && check "a new one" bailiff init
full "a root under gzip" image import "$scratch/root.tar.gz"
rm -rf "$data" && check "a new one" bailiff init
full "a root under zstd" image import "$scratch/root.tar.zst"
finish
