#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Git sources through the installed programs, against git itself: cases b12 b13 f01 f04, round trips, packs of every form, packs that
# git would never write, a history of 50,000 commits, and an import that is interrupted or runs out of room.
set -uo pipefail
# shellcheck source=tests/support/live.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/live.sh"
slow=$BAILIFF_TEST_SLOWNESS
chmod 755 "$scratch"
umask 022

# Git of this host, without this host's or this caller's configuration.
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=A
export GIT_COMMITTER_EMAIL=a@example.org GIT_AUTHOR_DATE='1700000000 +0000' GIT_COMMITTER_DATE='1700000000 +0000'

# imports NAME REPO COMMIT [OPTION…]: an import that must succeed; $said is its JSON, $revision its revision.
imports() {
  local name=$1 repository=$2 commit=$3
  shift 3
  if said=$(bailiff --json source import --git "$repository" "$commit" "$@" 2>"$scratch/stderr"); then
    revision=$(member revision <<<"$said")
    [[ ${#revision} == 64 ]] && { pass "$name"; return; }
  fi
  fail "$name" "$said" "$(cat "$scratch/stderr")"
  return 1
}
# refuses NAME CODE REPO COMMIT [OPTION…]
refuses() {
  local name=$1 code=$2 repository=$3 commit=$4 before got
  shift 4
  before=$(objects)
  if bailiff source import --git "$repository" "$commit" "$@" >"$scratch/stdout" 2>"$scratch/stderr"; then
    fail "$name" "was imported" "$(cat "$scratch/stdout")"
  elif got=$(cat "$scratch/stderr"); [[ $got != *"[$code]"* || $got != *fix:* ]]; then
    fail "$name" "wanted $code" "$got"
  elif [[ $(objects) != "$before" || -n $(ls -A "$data/staging") ]]; then
    fail "$name" "left something behind"
  else
    pass "$name"
  fi
}
objects() { find "$data/objects" -type f | sort | sha256sum; }
same() { if [[ $2 == "$3" ]]; then pass "$1"; else fail "$1" "got: ${2:0:500}" "wanted: ${3:0:500}"; fi; }
# round_trip NAME REPO COMMIT: import, export as tree and as commit, and git's own verdict of both.
round_trip() {
  local name=$1 repository=$2 commit=$3 tree out=$scratch/out
  imports "$name: imported" "$repository" "$commit" || return
  tree=$(git -C "$repository" rev-parse "$commit^{tree}")
  same "$name: the origin names commit and tree" "$(member origin <<<"$said" | member commit) $(member git_tree <<<"$said")" \
    "$(git -C "$repository" rev-parse "$commit^{commit}") $tree"
  rm -rf "$out"
  check "$name: exported as a tree" bailiff source export "$revision" "$out" --git tree
  same "$name: git's own tree id" "$(git -C "$out" rev-parse refs/bailiff/tree)" "$tree"
  same "$name: every entry, by git" "$(git -C "$out" ls-tree -rz refs/bailiff/tree | sha256sum)" "$(git -C "$repository" ls-tree -rz "$commit" | sha256sum)"
  same "$name: fsck of the tree" "$(git -C "$out" fsck --strict --no-dangling 2>&1)" "notice: HEAD points to an unborn branch (main)"
  rm -rf "$out"
  check "$name: exported as a commit" bailiff source export "$revision" "$out" --git commit
  same "$name: tree of the commit" "$(git -C "$out" rev-parse 'HEAD^{tree}')" "$tree"
  same "$name: fsck of the commit" "$(git -C "$out" fsck --strict 2>&1)" ""
}
begun() { git init -q "$1" && git -C "$1" config core.protectNTFS false && git -C "$1" config core.quotePath false; }

check "a data directory" bailiff init

# --- f01: names are bytes; links and modes
r=$scratch/names
begun "$r"
(
  cd "$r" || exit
  for name in $'new\nline' $'\xff\xfe' $'tab\t' '"q"' ' lead' 'trail ' '-rf' '*' '$(id)' 'a\b' $'\u2028' $'\ufeff' $'e\u0301' $'\u00e9' ... \
    "$(head -c 255 /dev/zero | tr '\0' a)"; do
    printf '%s' "$name" >"./$name"
  done
  mkdir -p d d.x && echo 1 >d/1 && echo 2 >d.x/2 && echo 3 >d0
  (cd d && for ((i = 0; i < 90; i++)); do mkdir d && cd d || exit; done; echo bottom >f)
  printf '#!/bin/sh\n' >run && chmod 755 run
  ln -s nowhere dangling; ln -s /etc/passwd absolute; ln -s self self; ln -s $'a\nb' odd
  git add -A && git commit -qm names
) || fail f01_repository
round_trip f01 "$r" HEAD
same f01_text_is_escaped "$({ bailiff source list; bailiff source show "$revision" --tree; } 2>&1 | LC_ALL=C grep -c $'[\x01-\x08\x0b-\x1f\x7f]')" 0

# --- b12: a repository whose configuration would run programs, and whose attributes would change bytes
r=$scratch/hostile canary=$scratch/canary
begun "$r"
(
  cd "$r" || exit
  printf 'crlf\r\nand lf\n$Id$ %s\n' "\$Format:%H\$" >text
  printf '* filter=x eol=crlf ident export-subst working-tree-encoding=UTF-16\n' >attributes
  git add text && git commit -qm plain
  git update-index --add --cacheinfo "100644,$(git hash-object -w attributes),.gitattributes"
  git commit -qm attributes && rm attributes
  git config core.fsmonitor "touch $canary; false"; git config core.hooksPath hooks; git config core.sshCommand "touch $canary"
  git config core.attributesFile /etc/passwd; git config include.path "$scratch/evil.cfg"; git config alias.ls-tree "!touch $canary"
  for step in smudge clean process; do git config "filter.x.$step" "touch $canary"; done
  mkdir -p .git/hooks hooks
  for hook in post-checkout pre-commit reference-transaction; do printf '#!/bin/sh\ntouch %s\n' "$canary" | tee ".git/hooks/$hook" >"hooks/$hook"; done
  chmod 755 .git/hooks/* hooks/*
  printf '[core]\n\tpager = touch %s\n' "$canary" >"$scratch/evil.cfg"
  forged=$(git commit-tree -m forged "$(git mktree </dev/null)")
  mkdir -p .git/refs/replace && echo "$forged" >".git/refs/replace/$(git --no-replace-objects rev-parse HEAD)"
  mkdir -p bare/objects bare/refs && cp .git/HEAD bare/HEAD && printf '[core]\n\tfsmonitor = touch %s\n' "$canary" >bare/config
) 2>/dev/null || fail b12_repository
rm -f "$canary"
tree=$(git --git-dir="$r/.git" --no-replace-objects rev-parse 'HEAD^{tree}' 2>/dev/null); rm -f "$canary"
GIT_DIR=$scratch/names/.git GIT_OBJECT_DIRECTORY=/etc GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.fsmonitor GIT_CONFIG_VALUE_0="touch $canary" \
  imports b12_imported "$r" HEAD
same b12_the_tree_id_is_the_real_one "$(member git_tree <<<"$said")" "$tree"
check b12_exported bailiff source export "$revision" "$scratch/hostile-out"
same b12_bytes_are_those_of_the_database "$(sha256sum <"$scratch/hostile-out/text")" "$(printf 'crlf\r\nand lf\n$Id$ %s\n' "\$Format:%H\$" | sha256sum)"
check b12_nothing_ran test ! -e "$canary"

# --- f04: forms of repositories
r=$scratch/forms
begun "$r"
(
  cd "$r" || exit
  for ((i = 0; i < 30; i++)); do
    seq $((i * 10)) 3000 >numbers; echo "$i" >"file$i"
    git add -A && git commit -qm "$i" && ((i % 10)) || git repack -q -d
  done
  git tag -am words v1.0
) || fail f04_repository
round_trip f04_loose_and_packed "$r" HEAD
git -C "$r" gc -q --aggressive && git -C "$r" pack-refs --all
round_trip f04_packed_only "$r" refs/tags/v1.0
git clone -q --bare --no-hardlinks "$r" "$scratch/bare" && git -C "$scratch/bare" multi-pack-index write
round_trip f04_bare_with_a_multi_pack_index "$scratch/bare" "$(git -C "$r" rev-parse HEAD~7)"
here=$(git -C "$r" rev-parse HEAD) below=$(git -C "$r" rev-parse HEAD~1) abbreviated=$(git -C "$r" rev-parse --short=20 HEAD)
refuses f04_an_abbreviation git.commit.form "$r" "$abbreviated"
refuses f04_a_branch_by_its_short_name git.commit.form "$r" master
refuses f04_a_ref_that_is_not_there git.ref.missing "$r" refs/heads/absent
refuses f04_a_tree_for_a_commit git.object.type "$r" "$(git -C "$r" rev-parse 'HEAD^{tree}')"
refuses f04_a_commit_that_is_not_there git.object.missing "$r" 0123456789abcdef0123456789abcdef01234567
git clone -q --depth 1 "file://$r" "$scratch/shallow"
round_trip f04_shallow_at_the_boundary "$scratch/shallow" "$here"
refuses f04_shallow_below_the_boundary git.object.missing "$scratch/shallow" "$below"
check f04_shallow_is_said grep -q 'shallow clone' "$scratch/stderr"
git -C "$r" config uploadpack.allowFilter true
git clone -q --filter=blob:none --no-checkout "file://$r" "$scratch/partial"
refuses f04_partial_clone git.object.missing "$scratch/partial" HEAD
check f04_partial_is_said grep -q 'partial clone, and nothing is fetched' "$scratch/stderr"
git clone -q --shared "$r" "$scratch/shared"
refuses b12_alternates git.object.missing "$scratch/shared" HEAD
check b12_alternates_are_said grep -q 'alternates' "$scratch/stderr"
git -C "$r" worktree add -q "$scratch/worktree" 2>/dev/null
refuses f04_worktree_with_a_git_file git.repository.pointer "$scratch/worktree" HEAD
refuses f04_linked_git_directory git.repository.pointer "$r/.git/worktrees/worktree" HEAD
git init -q --object-format=sha256 "$scratch/sha256" && (cd "$scratch/sha256" && echo a >a && git add a && git commit -qm x) 2>/dev/null
refuses f04_sha256_by_name git.format.sha256 "$scratch/sha256" HEAD
refuses f04_sha256_by_digits git.format.sha256 "$scratch/sha256" "$here"
refuses f04_no_repository git.repository.missing "$scratch/names/d" HEAD
check f04_no_repository_is_named_as_it_was_typed grep -q " $scratch/names/d: " "$scratch/stderr"
cp -R "$r/.git" "$scratch/reftable" && mkdir "$scratch/reftable/reftable"
refuses f04_reftable git.refs.reftable "$scratch/reftable" HEAD
imports f04_reftable_by_digits "$scratch/reftable" "$here"

# --- submodules and LFS
r=$scratch/modules
begun "$r"
(
  cd "$r" || exit
  git update-index --add --cacheinfo "160000,$here,lib"
  printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 5\n' 0 >large && git add large && git commit -qm modules
) || fail modules_repository
refuses submodule git.entry.submodule "$r" HEAD
imports submodule_left_out "$r" HEAD --skip-submodules
same submodule_and_lfs_are_listed "$(member warnings <<<"$said")" '[{"code":"a pointer of Git LFS, kept as it is: the file it stands for is elsewhere","path":"large"},{"code":"submodule left out: another repository holds it","path":"lib"}]'
check submodule_export bailiff source export "$revision" "$scratch/modules-out" --git tree
bailiff source export "$revision" "$scratch/modules-out2" --git tree 2>"$scratch/stderr" >/dev/null
check submodule_export_says_that_it_differs grep -q 'not the tree id of the commit' "$scratch/stderr"

# --- packs that git would never write: each is refused in seconds, by a code of its own
while read -r name; do
  began=$EPOCHREALTIME
  bailiff source import --git "$scratch/packs/$name" HEAD >/dev/null 2>"$scratch/stderr" && fail "pack: $name" "was imported" && continue
  took=$(((${EPOCHREALTIME/./} - ${began/./}) / 1000))
  if ! grep -qE '\[(git\.object\.(damaged|missing)|snapshot\.(bounds\.file|memory\.exhausted))\]' "$scratch/stderr"; then
    fail "pack: $name" "$(cat "$scratch/stderr")"
  elif ((took > 5000 * slow)); then
    fail "pack: $name" "took $took ms"
  else
    pass "pack: $name ($took ms)"
  fi
done < <("$BAILIFF_TREE/tests/support/git_packs.py" "$scratch/packs")
same "every hostile pack was tried" "$(find "$scratch/packs" -mindepth 1 -maxdepth 1 | wc -l)" 20
same "packs leave no staging" "$(ls -A "$data/staging")" ""

# --- the length of a history costs nothing: 50,000 commits against one, with the same last tree
history() {  # history N: a stream for git fast-import, whose last tree is the same whatever N is
  awk -v n="$1" 'BEGIN {
    for (i = 1; i <= n; i++) {
      printf "commit refs/heads/main\ncommitter A <a@example.org> %d +0000\ndata 1\nx\n", 1000000000 + i
      if (i == 1) for (f = 0; f < 200; f++) printf "M 100644 inline d%d/file%d\ndata %d\n%s\n", f % 20, f, length(f) + 4, "file" f
      text = i == n ? "last" : "number " i
      printf "M 100644 inline counter\ndata %d\n%s\n", length(text), text
    }
  }'
}
for n in 1 50000; do
  git init -q --bare "$scratch/history$n"
  history "$n" | git -C "$scratch/history$n" fast-import --quiet || fail "a history of $n"
  git -C "$scratch/history$n" symbolic-ref HEAD refs/heads/main
done
same "a history of 50,000 commits" "$(git -C "$scratch/history50000" rev-list --count main)" 50000
# Processor time of all its processes: what the disk is busy with meanwhile is not the import's.
best() {  # best REPO: milliseconds of processor time of the cheapest of seven imports
  local cheapest=999999 used user system i TIMEFORMAT='%3U %3S'
  for ((i = 0; i < 7; i++)); do
    used=$({ time bailiff source import --git "$1" HEAD >/dev/null 2>"$scratch/stderr"; } 2>&1) || { cat "$scratch/stderr" >&2; return 1; }
    read -r user system <<<"$used"
    used=$((10#${user/./} + 10#${system/./}))
    ((used >= cheapest)) || cheapest=$used
  done
  echo "$cheapest"
}
short=$(best "$scratch/history1") long=$(best "$scratch/history50000")
if ((short > 0 && long <= 2 * short + 20)); then
  pass "an import does not cost more with its history ($short ms of processor time for 1 commit, $long ms for 50,000)"
else
  fail "an import costs more with its history" "$short ms of processor time for 1 commit, $long ms for 50,000"
fi
round_trip "50,000 commits" "$scratch/history50000" HEAD

# --- 50,000 files in one commit: over the bound, and refused as soon as that is known
for form in flat deep; do
  git init -q --bare "$scratch/$form"
  awk -v deep="$form" 'BEGIN {
    printf "blob\nmark :1\ndata 5\nwords\ncommit refs/heads/main\ncommitter A <a@example.org> 1000000000 +0000\ndata 1\nx\n"
    for (i = 0; i < 50000; i++) printf "M 100644 :1 %sfile%d\n", deep == "deep" ? "d" int(i / 100) "/" : "", i
  }' | git -C "$scratch/$form" fast-import --quiet || fail "50,000 files"
  began=$EPOCHREALTIME
  refuses "R3_09_50000_files_$form" snapshot.bounds.entries "$scratch/$form" refs/heads/main
  took=$(((${EPOCHREALTIME/./} - ${began/./}) / 1000))
  if ((took < 2000 * slow)); then pass "50,000 files, $form: refused in $took ms"; else fail "50,000 files, $form: refused in time" "$took ms"; fi
done

# --- interrupted, and out of room: nothing is half there
r=$scratch/large
begun "$r"
(cd "$r" && for ((i = 0; i < 12; i++)); do head -c 16000000 /dev/urandom >"f$i"; done && git -c core.compression=0 add -A && git commit -qm large)
before=$(objects)
bailiff source import --git "$r" HEAD >/dev/null 2>"$scratch/stderr" &
importing=$!
for ((i = 0; i < 200; i++)); do [[ -n $(ls -A "$data"/staging/*/out 2>/dev/null) ]] && break; read -r -t 0.01 _ <> <(:) || true; done
kill -INT "$(pgrep -P "$importing" -x bailiff || echo "$importing")"
wait "$importing"
same "Ctrl-C ends it with 130" "$?" 130
same "Ctrl-C leaves no object and no staging" "$(objects) $(ls -A "$data/staging")" "$before "
imports "and the next import works" "$r" HEAD

small=$scratch/small
mkdir "$small"
if mount -t tmpfs -o size=340m,mode=0755 none "$small"; then
  if data=$small/data bailiff init >/dev/null; then
    data=$small/data bailiff source import --git "$r" HEAD >/dev/null 2>"$scratch/stderr"
    same "a full disk is said" "$? $(grep -oE '\[[a-z._]+\]' "$scratch/stderr")" "74 [snapshot.space.reserve]"
    same "a full disk leaves nothing" "$(find "$small/data/objects" -type f | wc -l) $(ls -A "$small/data/staging")" "0 "
  else
    fail "a data directory on a small disk"
  fi
  umount "$small"
else
  fail "a small disk can be made" "mount failed: this test needs root"
fi
finish
