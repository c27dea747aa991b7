#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Nothing stays of an export that failed, as root too, whose service account may not remove what the operator made: of a source to a
# directory and to git, of an image to a file; a name that is unknown, an object that is damaged, a full disk, Ctrl-C, a helper that dies.
set -uo pipefail
# shellcheck source=tests/support/cell.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/cell.sh"
umask 022
world
mkdir "$scratch/many" && (cd "$scratch/many" && for ((i = 0; i < 400; i++)); do mkdir -p "d$((i % 20))/e" && head -c 8000 /dev/urandom >"d$((i % 20))/e/$i"; done)
many=$(bailiff --json source import "$scratch/many" 2>"$scratch/stderr" | member revision)
mkdir "$scratch/room" && cd "$scratch/room" || finish

# ends NAME STATUS CODE EXPORT…: fails so, and leaves nothing
ends() {
  local name=$1 status=$2 code=$3 got
  shift 3
  "$@" >"$scratch/stdout" 2>"$scratch/stderr"
  got=$?
  same "$name" "$got $(grep -o "\[$code\]" "$scratch/stderr") $(ls -A)" "$status [$code] "
}
ends source_unknown 66 revision.id.unknown bailiff source export 0123456789abcdef out
ends image_unknown 66 image.id.unknown bailiff image export nothing out.tar

tree=$(bailiff --json source show "$many" --tree)
last=$(python3 -I -S -c 'import json, sys; print(json.load(sys.stdin)["paths"][-1]["blob"])' <<<"$tree")
object=$data/objects/blob/${last:0:2}/${last:2}
cp -p "$object" "$scratch/kept" && printf X | dd of="$object" conv=notrunc bs=1 seek=5 status=none
ends source_object_damaged 74 snapshot.object.damaged bailiff source export "$many" out
ends git_object_damaged 74 snapshot.object.damaged bailiff source export "$many" out --git commit
rm -f "$object"
ends source_object_missing 74 snapshot.object.missing bailiff source export "$many" out
cp -p "$scratch/kept" "$object"
blob=$(find "$data/images" -path '*/root/bin/busybox' | head -n 1)
chmod u+w "$blob" && mv "$blob" "$scratch/busybox" && mkfifo "$blob"
ends image_with_a_fifo 65 snapshot.entry.type bailiff image export bb out.tar
rm "$blob" && mv "$scratch/busybox" "$blob"

testing() { "$BAILIFF_BUILD/testing/bin/bailiff" --data-dir "$data" "$@"; }
BAILIFF_HELPER_FAULT=HelperWrite#150=kill ends source_helper_dies 70 snapshot.helper.died testing source export "$many" out
BAILIFF_HELPER_FAULT=HelperWrite#150=kill ends git_helper_dies 70 snapshot.helper.died testing source export "$many" out --git tree
BAILIFF_FAULT=JobReaped=errno:5 ends image_after_the_helper 74 host.call.failed testing image export bb out.tar

interrupted() {  # interrupted EXPORT…: Ctrl-C while the helper is held at one of its writes
  local pid i
  BAILIFF_HELPER_FAULT=HelperWrite#100=stop env --default-signal=INT "$BAILIFF_BUILD/testing/bin/bailiff" --data-dir "$data" "$@" >"$scratch/stdout" 2>"$scratch/stderr" &
  pid=$!
  for ((i = 0; i < 500; i++)); do (($(find . -type f 2>/dev/null | wc -l) < 90)) || break; read -r -t 0.01 _ <> <(:) || true; done
  kill -INT "$pid"
  wait "$pid"
}
ends source_interrupted 130 run.signal.cancelled interrupted source export "$many" out
ends git_interrupted 130 run.signal.cancelled interrupted source export "$many" out --git tree
cd ..

mkdir narrow && mount -t tmpfs -o size=1m,mode=755 none narrow && cd narrow || { fail "a small disk" "mount failed: this test needs root"; finish; }
ends source_full_disk 74 snapshot.io.failed bailiff source export "$many" out
check source_full_disk_is_said grep -q 'fix: make room' "$scratch/stderr"
ends git_full_disk 74 snapshot.io.failed bailiff source export "$many" out --git commit
ends image_full_disk 74 host.call.failed bailiff image export bb out.tar
check image_full_disk_is_said grep -q 'No space left on device' "$scratch/stderr"
cd .. && umount narrow && cd room || finish

# --- and what is whole stays, as the operator's
check source_exported bailiff source export "$many" out
same source_is_the_operators "$(find out ! -user "$(id -u)" | head -n 1)" ""
check source_is_whole diff -r "$scratch/many" out
check image_exported bailiff image export bb out.tar
same image_is_the_operators "$(stat -c '%u %a %h' out.tar)" "$(id -u) 644 1"
refused a_name_that_is_taken 73 cli.file.exists bailiff image export bb out.tar
refused a_directory_that_is_taken 73 cli.file.exists bailiff source export "$many" out
same both_are_as_they_were "$(find . | wc -l) $(stat -c %h out.tar)" "443 1"
cd / && left_nothing "exports leave nothing behind"
finish
