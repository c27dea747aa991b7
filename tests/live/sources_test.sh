#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Cases f01 f06 f07 as a command in a cell sees them: odd names, modes, and a writer that changes a source while it is imported.
set -uo pipefail
# shellcheck source=tests/support/cell.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/cell.sh"
world
slow=$BAILIFF_TEST_SLOWNESS

# --- f01: names are bytes
mkdir "$scratch/names"
(
  cd "$scratch/names" || exit
  for name in $'new\nline' $'\xff\xfe' $'tab\t' '"q"' ' lead' 'trail ' '-rf' '*' '$(id)' 'a\b' $'\u2028' $'\ufeff' $'e\u0301' $'\u00e9' "$(head -c 255 /dev/zero | tr '\0' a)"; do
    printf '%s' "$name" >"./$name"
  done
  mkdir -p deep
  (cd deep && for ((i = 0; i < 90; i++)); do mkdir d && cd d || exit; done; echo bottom >f)
  ln -s nowhere dangling
  ln -s /etc/passwd absolute
  ln -s self self
  ln -s $'a\nb' odd
)
list='cd "$0" && find . \( -type f -o -type l \) -print0 | sort -z | sha256sum && find . -type l -exec readlink {} \; | sort | sha256sum && find . -type f -exec cat {} + | wc -c'
outside=$(LC_ALL=C sh -c "$list" "$scratch/names")
bailiff --json source import "$scratch/names" >"$scratch/names.json" 2>"$scratch/stderr" || fail f01_import "$(cat "$scratch/stderr")"
odd=$(member revision <"$scratch/names.json")
said=$(revision=$odd cell -- /bin/sh -c "$list" /source)
same f01_names_and_links_are_the_same_inside "$(bytes_of stdout <<<"$said")" "$outside"
tree=$(member tree <"$scratch/names.json")
same f01_manifest_carries_bytes "$(LC_ALL=C grep -caF $'\xff\xfe' "$data/objects/tree/${tree:0:2}/${tree:2}") $(LC_ALL=C grep -caF $'e\u0301' "$data/objects/tree/${tree:0:2}/${tree:2}")" "1 1"
bailiff source list >"$scratch/listed" 2>&1; bailiff source show "$odd" >>"$scratch/listed" 2>&1
same f01_text_is_escaped "$(LC_ALL=C grep -c $'[\x01-\x08\x0b-\x1f\x7f]' "$scratch/listed")" 0

bailiff source show "$odd" --tree >"$scratch/listed" 2>&1
same f01_listing_is_escaped "$(LC_ALL=C grep -c $'[\x01-\x08\x0b-\x1f\x7f]' "$scratch/listed")" 0
(cd "$scratch/names" && LC_ALL=C find . \( -type f -o -type l \) -printf '%P\0' | LC_ALL=C sort -z) | python3 -c '
import json, sys
outside = sys.stdin.buffer.read().split(b"\0")[:-1]
said = [bytes.fromhex(e["path_hex"]) if "path_hex" in e else e["path"].encode() for e in json.load(open(sys.argv[1]))["paths"]]
print("same" if said == outside and len(said) > 15 else f"{said} is not {outside}")' <(bailiff --json source show "$odd" --tree) >"$scratch/names.same"
same f01_listing_names_every_path_byte_for_byte "$(cat "$scratch/names.same")" same

# --- f06: the executable bit is content; other bits are not
printf '#!/bin/sh\necho ran\n' >"$scratch/tool.sh"
for mode in 644 755 664 4755; do
  mkdir "$scratch/mode$mode" && cp "$scratch/tool.sh" "$scratch/mode$mode/tool.sh" && chmod "$mode" "$scratch/mode$mode/tool.sh"
  declare "r$mode=$(umask 077; bailiff --json source import "$scratch/mode$mode" 2>/dev/null | member revision)"
done
# shellcheck disable=SC2154
[[ $r644 != "$r755" && ${#r644} == 64 && ${#r755} == 64 ]] && pass f06_bit_changes_the_revision || fail f06_bit_changes_the_revision "$r644" "$r755"
# shellcheck disable=SC2154
same f06_other_bits_do_not "$r664 $r4755" "$r644 $r755"
mkdir "$scratch/aslink" && ln -s '#!/bin/sh' "$scratch/aslink/tool.sh"
mkdir "$scratch/asfile" && printf '#!/bin/sh' >"$scratch/asfile/tool.sh"
[[ $(bailiff --json source import "$scratch/aslink" | member revision) != "$(bailiff --json source import "$scratch/asfile" | member revision)" ]] && pass f06_link_is_not_a_file || fail f06_link_is_not_a_file
revision=$r644 expect f06_without_the_bit 'outcome=unavailable reasons=["executable_unavailable"] process.errno=13' -- /source/tool.sh
revision=$r755 expect f06_with_the_bit 'outcome=success stdout=ran\n' -- /source/tool.sh
revision=$r4755 expect f06_modes_are_exact 'outcome=success stdout=555\040555\n' -- /bin/sh -c 'echo $(stat -c %a /source /source/tool.sh)'

# --- f06: a private source, as root: what its owner owns is read, whoever that is, where the file system can show it so
# private FOLDER OWNER: a source nobody but its owner may look into.
private() {
  mkdir -p "$1/sub" && echo secret >"$1/file" && echo deep >"$1/sub/deep"
  chmod 600 "$1/file" && chmod 400 "$1/sub/deep" && chmod 700 "$1" "$1/sub" && chown -R "$2:$2" "$1"
}
# imported FOLDER: what the import says and, run, the source says.
imported() {
  local said
  if ! said=$(bailiff --json source import "$1" 2>"$scratch/stderr"); then
    grep -o 'snapshot.source.unreadable' "$scratch/stderr" || cat "$scratch/stderr"
    return
  fi
  revision=$(member revision <<<"$said") cell -- /bin/cat /source/file /source/sub/deep | bytes_of stdout
}
mkdir "$scratch/ext4" "$scratch/tmpfs" "$scratch/ramfs"
truncate -s 16M "$scratch/ext4.image" && mkfs.ext4 -q "$scratch/ext4.image" && mount -o loop "$scratch/ext4.image" "$scratch/ext4"
mount -t tmpfs tmpfs "$scratch/tmpfs" && mount -t ramfs ramfs "$scratch/ramfs"
read_=$(printf 'secret\ndeep')
for owner in 0 4321; do
  private "$scratch/ext4/of$owner" "$owner"
  same "f06_private_on_ext4_of_$owner" "$(imported "$scratch/ext4/of$owner")" "$read_"
  private "$scratch/tmpfs/of$owner" "$owner"
  kernel=$(uname -r) minor=${kernel#*.}
  if ((${kernel%%.*} > 6 || (${kernel%%.*} == 6 && ${minor%%[!0-9]*} >= 3))); then expected=$read_; else expected=snapshot.source.unreadable; fi
  same "f06_private_on_tmpfs_of_$owner" "$(imported "$scratch/tmpfs/of$owner")" "$expected"
  private "$scratch/ramfs/of$owner" "$owner"
  same "f06_private_without_id_mapped_mounts_of_$owner" "$(imported "$scratch/ramfs/of$owner")" snapshot.source.unreadable
done
# What that id sees: the importer, held at its first write, has this one mount beside its own new directory; anybody else with the id has
# nothing, since it is the mount that shows another owner and not the files.
BAILIFF_HELPER_FAULT=HelperWrite=stop "$BAILIFF_BUILD/testing/bin/bailiff" --data-dir "$data" source import "$scratch/ext4/of0" >/dev/null 2>&1 &
importing=$!
importer=
for ((i = 0; i < 100; i++)); do
  importer=$(pgrep -P "$importing" -f importer | head -n 1)
  [[ -n $importer && $(cut -d' ' -f5 "/proc/$importer/mountinfo" 2>/dev/null | sort | tr '\n' ' ') == "/ /in /out " ]] && break
  sleep 0.1
done
same f06_the_importer_sees_that_source_alone "$(cut -d' ' -f5 "/proc/$importer/mountinfo" | sort | tr '\n' ' ')$(ls "/proc/$importer/root/" | tr '\n' ' ')" "/ /in /out in out "
same f06_and_reads_it_only "$(awk '$5 == "/in" { print substr($6, 1, 3) }' "/proc/$importer/mountinfo") $(ls "/proc/$importer/root/in" | tr '\n' ' ')" "ro, file sub "
reader=$(awk '/^Uid/ { print $2 }' "/proc/$importer/status")
setpriv --reuid "$reader" --regid "$reader" --clear-groups cat "$scratch/ext4/of0/file" >/dev/null 2>&1
same f06_its_id_reads_nothing_of_it_elsewhere "$? $((reader > 1000))" "1 1"
kill -9 "$importing"
wait "$importing" 2>/dev/null
chown 4322:4322 "$scratch/ext4/of4321/sub/deep"
bailiff source import "$scratch/ext4/of4321" >/dev/null 2>"$scratch/stderr"
same f06_what_a_third_user_keeps_private_is_named "$? $(grep -c 'sub/deep.*snapshot.source.unreadable' "$scratch/stderr") $(grep -c 'fix: make it readable for others' "$scratch/stderr")" "77 1 1"
same f06_the_source_is_as_it_was "$(stat -c '%u %a' "$scratch/ext4/of0/file" "$scratch/ext4/of0")" "$(printf '0 600\n0 700')"
mkdir "$scratch/ordinary" && chown 4321:4321 "$scratch/ordinary" && chmod 711 "$scratch" && private "$scratch/of0" 0 && chmod 755 "$scratch/of0"
as_user() { setpriv --reuid 4321 --regid 4321 --clear-groups env -i HOME="$scratch/ordinary" PATH="$PATH" "$BAILIFF_BUILD/bin/bailiff" "$@"; }
as_user init >/dev/null 2>&1
as_user source import "$scratch/of0" >/dev/null 2>"$scratch/stderr"
same f06_an_ordinary_user_is_refused_what_it_may_not_read "$? $(grep -c 'snapshot.source.unreadable' "$scratch/stderr") $(grep -c 'fix: make it readable for others' "$scratch/stderr")" "77 1 1"
umount "$scratch/ext4" "$scratch/tmpfs" "$scratch/ramfs"

# --- f07: a writer while the source is read
mkdir "$scratch/moving" && echo stays >"$scratch/moving/fixed"
head -c 100000 /dev/urandom >"$scratch/moving/big"
(while :; do
  head -c 100000 /dev/urandom >"$scratch/moving/big"
  cp "$scratch/moving/big" "$scratch/moving/.next" && mv -f "$scratch/moving/.next" "$scratch/moving/big2"
  ln -sfn "$RANDOM" "$scratch/moving/link"
done) 2>/dev/null &
writer=$!
imported=0 changed=0 bad=
for ((i = 0; i < (slow > 4 ? 3 : 10); i++)); do
  bailiff --json source import "$scratch/moving" >"$scratch/moving.json" 2>"$scratch/stderr"
  case $? in
    0)
      imported=$((imported + 1))
      moved=$(member revision <"$scratch/moving.json")
      revision=$moved cell -- /bin/sh -c 'cd /source; for f in $(find . -type f | sort); do sha256sum $f; done; sleep 0.1; sha256sum ./big' >"$scratch/moved"
      holds outcome=success <"$scratch/moved" >/dev/null 2>&1 || bad+="$(head -c 400 "$scratch/moved") "
      bytes_of stdout <"$scratch/moved" >"$scratch/hashes"
      rm -rf "$scratch/exported" && bailiff source export "$moved" "$scratch/exported" >/dev/null 2>"$scratch/stderr" || bad+="$(cat "$scratch/stderr") "
      (cd "$scratch/exported" && for f in $(find . -type f | sort); do sha256sum "$f"; done; sha256sum ./big) | diff - "$scratch/hashes" >"$scratch/differs" || bad+="$(cat "$scratch/differs") "
      ;;
    75) changed=$((changed + 1)); grep -q 'snapshot.source.changed' "$scratch/stderr" || bad+="$(cat "$scratch/stderr") " ;;
    *) bad+="import: $(cat "$scratch/stderr") " ;;
  esac
done
kill "$writer"
wait "$writer" 2>/dev/null
same "f07_writer_during_import ($imported imported, $changed refused as changed)" "$bad" ""
exec {held}>>"$scratch/moving/fixed"
moved=$(bailiff --json source import "$scratch/moving" 2>/dev/null | member revision)
if revision=$moved start -- /bin/sh -c 'cat /source/fixed; sleep 0.3; cat /source/fixed'; then
  echo tampered >&"$held"
  ended
  same f07_held_descriptor_reaches_no_snapshot "$(cat "$scratch/rest")" stays
fi
exec {held}>&-
left_nothing "sources leave nothing behind"
finish
