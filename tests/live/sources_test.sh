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
