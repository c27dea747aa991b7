#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A backup made while runs and imports go on is restored and read: evidence, logs, sources, images, and a run. Never over a file, never
# half of one under its name, never with an object that is not its digest.
set -uo pipefail
# shellcheck source=tests/support/live.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/live.sh"

same() { if [[ $2 == "$3" ]]; then pass "$1"; else fail "$1" "got:" "$2" "expected:" "$3"; fi; }
parent=${BAILIFF_TEST_CGROUP_PARENT:+--cgroup-parent $BAILIFF_TEST_CGROUP_PARENT}
# restored ARG…: the built program on what was restored.
restored() { "$BAILIFF_BUILD/bin/bailiff" --data-dir "$scratch/restored" $parent "$@"; }
# restore FILE: as BACKUP.md says.
restore() {
  rm -rf "$scratch/restored"
  mkdir -m 0700 "$scratch/restored"
  if ((EUID == 0)); then tar -xpf "$1" --numeric-owner -C "$scratch/restored"; else tar -xpf "$1" -C "$scratch/restored"; fi
}

bailiff init >/dev/null || { fail setup init; finish; }
busybox_rootfs "$scratch/busybox.tar"
bailiff image import "$scratch/busybox.tar" --name busybox >/dev/null || { fail setup image; finish; }
mkdir -p "$scratch/source/dir"
echo 'the true source' >"$scratch/source/file"
echo odd >"$scratch/source/dir/$(printf '\377 \n')"
ln -s file "$scratch/source/link"
printf '#!/bin/sh\n' >"$scratch/source/dir/run" && chmod +x "$scratch/source/dir/run"
revision=$(bailiff --json source import "$scratch/source" | member revision)
bailiff run --image busybox --source "$revision" -- /bin/cat /source/file >/dev/null 2>&1 || { fail setup run; finish; }
evidence=$(bailiff --json check list | member evidence_id)
bailiff evidence show "$evidence" --raw >"$scratch/evidence"
# an image whose files have several names, long names and a name that is no UTF-8
mkdir -p "$scratch/odd/etc/$(head -c 120 /dev/zero | tr '\0' d)/$(head -c 200 /dev/zero | tr '\0' e)"
echo once >"$scratch/odd/etc/one" && ln "$scratch/odd/etc/one" "$scratch/odd/etc/two"
echo latin >"$scratch/odd/etc/$(printf '\351')" && ln -s "$(head -c 300 /dev/zero | tr '\0' l)" "$scratch/odd/etc/long"
tar -C "$scratch/odd" -cf "$scratch/odd.tar" etc
odd=$(bailiff --json image import "$scratch/odd.tar" --name odd | member image)

# --- beside a run and imports
"$BAILIFF_BUILD/bin/bailiff" --data-dir "$data" $parent run --image busybox --source "$revision" --timeout 20s -- /bin/sh -c 'echo ready; sleep 3; cat /source/file' \
  >"$scratch/run.out" 2>"$scratch/run.err" &
runner=$!
for ((i = 0; i < 100; i++)); do [[ -s $scratch/run.out ]] && break; sleep 0.1; done
(for ((i = 0; i < 8; i++)); do mkdir "$scratch/more$i" && echo "$i" >"$scratch/more$i/f" && bailiff source import "$scratch/more$i" >/dev/null || echo "import $i" >>"$scratch/imports"; done) &
imports=$!
said=$(bailiff --json backup "$scratch/backup.tar" 2>"$scratch/err") || fail "a backup beside a run and imports" "$(cat "$scratch/err")"
wait "$imports"
wait "$runner"
same "the run and the imports went on" "$? $(cat "$scratch/imports" 2>/dev/null) $(tail -n 1 "$scratch/run.out")" "0  the true source"
same "the file is private" "$(stat -c %a "$scratch/backup.tar")" 600
same "it is what its digest says" "$(sha256sum <"$scratch/backup.tar" | cut -c1-64) $(stat -c %s "$scratch/backup.tar")" "$(member sha256 <<<"$said") $(member bytes <<<"$said")"
same "an audit row names it" "$(python3 -I -S - "$data" <<'PY'
import glob, shutil, sqlite3, sys, tempfile
folder = tempfile.mkdtemp()
for path in glob.glob(sys.argv[1] + "/state.sqlite*"):
    if not path.endswith("-shm"):
        shutil.copy(path, folder)
print(*[row[0].decode() for row in sqlite3.connect(folder + "/state.sqlite").execute("SELECT after_json FROM audit WHERE action = 'backup.create'")])
shutil.rmtree(folder)
PY
)" "{\"bytes\":$(member bytes <<<"$said"),\"sha256\":\"$(member sha256 <<<"$said")\"}"

# --- restored
restore "$scratch/backup.tar"
# layout: what a data directory is made of, with kinds, modes and owners; SQLite's own files and what is known of the programs come and go.
layout() { (cd "$1" && find . -maxdepth 2 ! -path './objects/*/*' ! -path './images/*' ! -path './trees/*' ! -path './execution/*' ! -path './staging/*' ! -name 'state.sqlite-*' ! -name programs -printf '%P %y %m %u\n' | LC_ALL=C sort); }
same "it is laid out as the original is" "$(layout "$scratch/restored")" "$(layout "$data")"
restored evidence show "$evidence" --raw >"$scratch/evidence.restored" 2>"$scratch/err"
check "the evidence is there, byte for byte" cmp "$scratch/evidence" "$scratch/evidence.restored"
same "the output is there" "$(restored check logs run-1)" "the true source"
check "the source is there" restored source export "$revision" "$scratch/exported"
check "byte for byte" diff -r --no-dereference "$scratch/source" "$scratch/exported"
check "a run on it works" restored run --image busybox --source "$revision" -- /bin/cat /source/file
same "an image is there, with its links, names and shared files" "$(cd "$scratch/restored/images/${odd#sha256:}/root" && find etc -printf '%p %y %m %s %n %l\n' | LC_ALL=C sort | sha256sum)" \
  "$(cd "$data/images/${odd#sha256:}/root" && find etc -printf '%p %y %m %s %n %l\n' | LC_ALL=C sort | sha256sum)"
check "its content, too" diff -r --no-dereference "$scratch/restored/images/${odd#sha256:}/root" "$data/images/${odd#sha256:}/root"
running=$(restored --json check list --state running | python3 -c 'import json, sys; print(*[a["attempt"] if "attempt" in a else a["id"] for a in json.load(sys.stdin)["attempts"]])')
same "the attempt that ran meanwhile is recorded as running" "$running" run-2
check "its record is stored by recovery" restored check recover "$running" 1 "restored from a backup"
check "then gc has only what was imported meanwhile" restored gc
same "nothing more is garbage" "$(restored --json gc --dry-run | member count)" 0
check "a second backup of what was restored" restored backup "$scratch/second.tar"

# --- never over a file
echo precious >"$scratch/precious"
bailiff backup "$scratch/precious" >/dev/null 2>"$scratch/err"
same "an existing file is refused and kept" "$? $(cat "$scratch/precious")" "73 precious"
ln -s nowhere "$scratch/dangling"
bailiff backup "$scratch/dangling" >/dev/null 2>"$scratch/err"
same "a link is refused and not followed" "$? $(ls "$scratch/nowhere" 2>/dev/null)" "73 "
(BAILIFF_FAULT=BackupSync=stop "$BAILIFF_BUILD/testing/bin/bailiff" --data-dir "$data" backup "$scratch/taken" >"$scratch/out" 2>"$scratch/err"; echo "$?" >"$scratch/status") &
pid=0
for ((i = 0; i < 100 && pid == 0; i++)); do
  for candidate in $(pgrep -f -- "backup $scratch/taken\$"); do
    [[ $(sed 's/.*) //' "/proc/$candidate/stat" 2>/dev/null) == T* ]] && pid=$candidate
  done
  sleep 0.1
done
check "until it is whole it has no name" test ! -e "$scratch/taken"
same "a gc meanwhile leaves objects and images alone" "$(bailiff --json gc | python3 -c 'import json, sys; v = json.load(sys.stdin); print("kept" in v["objects"], "kept" in v["images"])')" "True True"
echo first >"$scratch/taken"
kill -CONT "$pid"
wait
same "a name that was taken meanwhile is not taken away" "$(cat "$scratch/status") $(cat "$scratch/taken") $(grep -o 'cli.file.exists' "$scratch/err")" "73 first cli.file.exists"

# --- killed in the middle, and a disk that is full
for fault in BackupWrite BackupWrite#5 StoreCopy BackupSync; do
  (BAILIFF_FAULT=$fault=kill "$BAILIFF_BUILD/testing/bin/bailiff" --data-dir "$data" backup "$scratch/killed.tar" >/dev/null 2>&1; exit $?) 2>/dev/null
  same "killed at $fault nothing has the name, and nothing is beside it" "$? $(ls -A "$scratch" | grep -c killed)" "137 0"
done
mkdir "$scratch/small"
mount -t tmpfs -o size=1m tmpfs "$scratch/small"
bailiff backup "$scratch/small/full.tar" >/dev/null 2>"$scratch/err"
same "a full disk is an error and leaves nothing" "$? $(ls -A "$scratch/small") $(grep -o 'No space' "$scratch/err")" "74  No space"
umount "$scratch/small"

# --- what is damaged is not backed up as if it were whole
tree=$(bailiff --json source show "$revision" | member tree)
blob=$(bailiff --json source show "$revision" --tree | python3 -c 'import json, sys; print([p["blob"] for p in json.load(sys.stdin)["paths"] if p.get("path") == "file"][0])')
object=$data/objects/blob/${blob:0:2}/${blob:2}
cp -p "$object" "$scratch/kept"
chmod u+w "$object" && printf 'THE TRUE SOURCE\n' >"$object"
said=$(bailiff backup "$scratch/damaged.tar" 2>&1)
same "a damaged object ends it by its name" "$? $(grep -o 'snapshot.object.damaged' <<<"$said") $(ls "$scratch/damaged.tar" 2>/dev/null)" "74 snapshot.object.damaged "
rm -f "$object"
said=$(bailiff backup "$scratch/damaged.tar" 2>&1)
same "a missing object, too" "$? $(grep -o 'snapshot.object.missing' <<<"$said") $(ls "$scratch/damaged.tar" 2>/dev/null)" "74 snapshot.object.missing "
cp -p "$scratch/kept" "$object"
check "mended, it is backed up" bailiff backup "$scratch/mended.tar"
# --- one byte of an image: in the original no backup is made of it, in a restored one nothing runs on it
image=$(bailiff --json image list | python3 -c 'import json, sys; print([i["image"][7:] for i in json.load(sys.stdin)["images"] if "busybox" in i["names"]][0])')
# bent FILE: one byte in the middle of it is another one; bent again, it is as it was.
bent() { python3 -I -S - "$1" <<'PY'
import os, sys
path = sys.argv[1]
keep = os.stat(path).st_mode
os.chmod(path, 0o600)
with open(path, "r+b") as file:
    file.seek(os.path.getsize(path) // 2)
    byte = file.read(1)
    file.seek(-1, 1)
    file.write(bytes([byte[0] ^ 1]))
os.chmod(path, keep)
PY
}
for part in root/bin/busybox config.json; do
  bent "$data/images/$image/$part"
  said=$(bailiff backup "$scratch/damaged.tar" 2>&1)
  same "one byte of an image's $part ends it by its name" "$? $(grep -o 'image.record.damaged' <<<"$said") $(ls "$scratch/damaged.tar" 2>/dev/null)" "74 image.record.damaged "
  bent "$data/images/$image/$part"
done
restore "$scratch/mended.tar"
same "where something lay is in no backup" "$(tar -tf "$scratch/mended.tar" | grep -c 'images/[0-9a-f]*/verified$\|execution/instance')" 0
bent "$scratch/restored/images/$image/root/bin/busybox"
said=$(restored run --exit=outcome --image busybox --source "$revision" -- /bin/cat /source/file 2>&1)
same "a restored image with another byte does not run" "$? $(grep -c '^unavailable .* image_unavailable' <<<"$said") $(grep -c 'its files are not those it was imported with' <<<"$said")" "2 1 1"
bent "$scratch/restored/images/$image/root/bin/busybox"
restored_object=$scratch/restored/objects/blob/${blob:0:2}/${blob:2}
bent "$restored_object"
said=$(restored run --exit=outcome --image busybox --source "$revision" -- /bin/cat /source/file 2>&1)
same "nor a source with another byte" "$? $(grep -c '^incomplete .* snapshot_failed' <<<"$said") $(grep -c 'not its digest' <<<"$said")" "2 1 1"
bent "$restored_object"
check "mended, it runs" restored run --image busybox --source "$revision" -- /bin/cat /source/file
check "and is not hashed again" test -s "$scratch/restored/images/$image/verified"

# --- beside its original: what runs there is not the copy's to end
"$BAILIFF_BUILD/bin/bailiff" --data-dir "$data" $parent run --image busybox --source "$revision" --timeout 60s -- /bin/sh -c 'echo ready; sleep 8; cat /source/file' >"$scratch/run.out" 2>"$scratch/run.err" </dev/null &
runner=$!
for ((i = 0; i < 100; i++)); do [[ -s $scratch/run.out ]] && break; sleep 0.1; done
check "a backup while it runs" bailiff backup "$scratch/running.tar"
restore "$scratch/running.tar"
running=$(restored --json check list --state running | python3 -c 'import json, sys; print(*[a["attempt"] for a in json.load(sys.stdin)["attempts"]])')
for verb in recover cancel; do
  said=$(restored check $verb "$running" 1 "a copy" 2>&1)
  same "the copy does not $verb it" "$? $(grep -o 'attempt.owner.alive' <<<"$said") $(grep -c 'the data directory that this one is a copy of' <<<"$said")" "75 attempt.owner.alive 1"
done
check "the copy runs something of its own meanwhile" restored run --image busybox --source "$revision" -- /bin/cat /source/file
wait "$runner"
same "the original's attempt ends as if there were no copy" "$? $(tail -n 1 "$scratch/run.out")" "0 the true source"
check "then the copy finds it gone" restored check recover "$running" 1 "gone"
same "and says what it can" "$(restored --json check show "$running" | member outcome)" incomplete
cp -a "$data" "$scratch/twin"
twin() { "$BAILIFF_BUILD/bin/bailiff" --data-dir "$scratch/twin" $parent "$@"; }
check "a copied directory is one of its own" twin run --image busybox --source "$revision" -- /bin/cat /source/file
same "by another id" "$(cut -d' ' -f2 <"$scratch/twin/execution/instance" | grep -cx "$(cut -d' ' -f2 <"$data/execution/instance")")" 0
same "the original keeps the repository's" "$(cut -d' ' -f2 <"$data/execution/instance")" "$(cat "$data/authority")"
for directory in restored twin; do find /sys/fs/cgroup -depth -type d -name "bailiff.$(cut -d' ' -f2 <"$scratch/$directory/execution/instance" | head -c 8)" -exec rmdir {} + 2>/dev/null; done

head -c "$(($(stat -c %s "$scratch/mended.tar") / 2))" "$scratch/mended.tar" >"$scratch/cut.tar"
restore "$scratch/cut.tar" 2>/dev/null
said=$(restored image list 2>&1)
same "what a cut archive unpacks to is no data directory" "$? $(grep -o 'data.directory.missing' <<<"$said")" "78 data.directory.missing"
finish
