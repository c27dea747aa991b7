#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Helpers that break every rule, and helpers that keep every rule and lie (design, section 9). The controller is the test build: it
# takes its helpers from the directory this script fills, and tells a hostile one which lie to tell. What must hold: a violation ends
# the attempt as incomplete, a candidate that failed is never a success, a lie changes the recorded output and nothing else, and the
# controller never crashes.
set -u
. "$(dirname "$0")/../support/live.sh"

hostile=$BAILIFF_BUILD/testing
libexec=$scratch/libexec

# use ROLE: a libexec directory with the hostile ROLE beside the honest others.
use() {
  rm -rf "$libexec"
  mkdir -p "$libexec"
  local role
  for role in warden collector snapshotter importer; do
    cp "$hostile/bin/bailiff-$role" "$libexec/"
  done
  [[ $1 == none ]] || cp -f "$hostile/hostile/$1/bailiff-$1" "$libexec/"
}

# lying MODE ARG…: the test build with its hostile helper in MODE.
lying() {
  local mode=$1
  shift
  BAILIFF_TEST_LIBEXEC=$libexec BAILIFF_HELPER_FAULT=$mode "$hostile/bin/bailiff" --data-dir "$data" \
    ${BAILIFF_TEST_CGROUP_PARENT:+--cgroup-parent "$BAILIFF_TEST_CGROUP_PARENT"} "$@"
}

# ends ROLE MODE OUTCOME REASON COMMAND…: a run whose ROLE is in MODE ends in OUTCOME with REASON first, leaving nothing.
ends() {
  local name="$1/$2" mode=$2 outcome=$3 reason=$4 code
  shift 4
  remember
  said=$(lying "$mode" --json run --image busybox --source "$revision" --timeout 20s --memory 64M -- "$@" 2>"$scratch/err")
  code=$?
  local got_outcome got_reason
  got_outcome=$(member outcome <<<"$said" 2>/dev/null)
  got_reason=$(member reasons <<<"$said" 2>/dev/null | python3 -c 'import json,sys; r=json.load(sys.stdin); print(r[0] if r else "")' 2>/dev/null)
  if ((code >= 132 && code != 137 && code != 143)); then
    fail "$name" "the controller crashed: $code" "$(cat "$scratch/err")"
  elif [[ $got_outcome != "$outcome" || $got_reason != "$reason" ]]; then
    fail "$name" "wanted $outcome $reason, got $got_outcome $got_reason (exit $code)" "${said:0:300}" "$(cat "$scratch/err")"
  else
    pass "$name"
  fi
  leaves_nothing "$name leaves nothing"
}

use none
lying "" init >/dev/null || { fail setup "init"; finish; }
busybox_rootfs "$scratch/busybox.tar"
lying "" image import "$scratch/busybox.tar" --format rootfs --name busybox >/dev/null || { fail setup "image"; finish; }
mkdir -p "$scratch/src"
echo 'the true source' >"$scratch/src/README.md"
revision=$(lying "" --json source import "$scratch/src" | member revision)
[[ -n $revision ]] || { fail setup "source import"; finish; }
ends none honest success "" /bin/sh -c 'cat /source/README.md'

# A cell that is wrong in one place is not released: the controller's own read of the kernel names the place.
# rejects MODE REASON WORDS
rejects() {
  ends warden "$1" unavailable "$2" /bin/true
  check "warden/$1 is told" grep -qF -- "$3" <(printf '%s\n' "$said")
}
use warden
ends warden honest success "" /bin/sh -c 'cat /source/README.md'
rejects cap-inheritable configuration_rejected 'status.CapInh: is 0000000000000001 where 0000000000000000 was asked for'
rejects cap-permitted configuration_rejected 'status.CapPrm: is '
rejects cap-bounding configuration_rejected 'status.CapBnd: is '
rejects no-new-privs configuration_rejected 'status.NoNewPrivs: is 0 where 1 was asked for'
rejects no-filter configuration_rejected 'status.Seccomp: is 0 where 2 was asked for'
rejects two-filters configuration_rejected 'status.Seccomp_filters: is '
rejects thread configuration_rejected 'status.Threads: is 2 where 1 was asked for'
rejects second-process runtime_unavailable 'process'
rejects descriptor configuration_rejected 'descriptors: is 0 1 2 3 4 9 where 0 1 2 3 4 was asked for'
for limit in 'open files' 'stack size' 'locked memory' 'msgqueue size' 'pending signals' 'cpu time' 'file size' 'data size' 'address space'; do
  rejects "limit Max $limit" configuration_rejected "limits.Max $limit: is "
done
rejects scratch-size configuration_rejected 'scratch.size: is '
rejects scratch-devices configuration_rejected 'mounts: is /scratch is rw,nosuid where complete was asked for'
rejects scratch-setuid configuration_rejected 'mounts: is /scratch is rw,nodev where'
rejects scratch-of-proc configuration_rejected 'mounts: is /scratch is proc where'
rejects source-writable configuration_rejected 'mounts: is /source is rw,nosuid,nodev where'
rejects root-writable configuration_rejected 'mounts: is / is rw,nosuid,nodev where'
rejects proc-exec configuration_rejected 'mounts: is /proc is rw,nosuid,nodev where'
rejects cgroup-writable configuration_rejected 'is rw,nosuid,nodev,noexec where'
rejects unmasked configuration_rejected 'mounts: is /proc/sys is not mounted where'
rejects masked-otherwise configuration_rejected 'mounts: is /proc/sys shows /fs where'
rejects mounted-twice configuration_rejected 'mounts: is /scratch is mounted twice where'
rejects foreign-mount configuration_rejected 'mounts: is /sys/fs is not in the profile where'

use collector
for mode in open-view open-capabilities open-bounding open-no-new-privs open-seccomp open-second-filter open-thread open-descriptor \
  never-lock start-output start-end start-two-hellos start-garbage start-oversize start-short start-unknown-field start-wrong-role \
  start-wrong-build start-wrong-protocol start-no-build; do
  ends collector "$mode" incomplete protocol_violation /bin/true
done
ends collector start-exit incomplete collector_died /bin/true
for mode in work-hello work-gap work-back work-no-stream work-empty work-over-bound work-end-below work-end-above work-end-twice \
  work-output-after-end work-output-when-done work-garbage work-flood; do
  ends collector "$mode" incomplete protocol_violation /bin/sh -c 'sleep 1; exit 0'
done
ends collector work-die incomplete collector_died /bin/sh -c 'sleep 1; exit 0'
ends collector work-forbidden incomplete collector_died /bin/sh -c 'sleep 1; exit 0' # h05
ends collector work-silent incomplete controller_backstop /bin/sh -c 'exit 0'

# Within the protocol: whatever the collector says, exit 1 is failed and never success.
for mode in lie-early-eof lie-invent lie-hide-all; do
  ends collector "$mode" failed "" /bin/sh -c 'echo real; exit 1'
  ends collector "$mode" success "" /bin/sh -c 'echo real; exit 0'
done
ends collector lie-overflow output_limit "" /bin/sh -c 'sleep 1; exit 1'
ends collector lie-cut-short incomplete capture_incomplete /bin/sh -c 'exit 1'
ends collector lie-cut-short incomplete capture_incomplete /bin/sh -c 'exit 0'

use snapshotter
for mode in open-view open-capabilities open-bounding open-no-new-privs open-seccomp open-second-filter open-thread open-descriptor \
  start-done start-garbage start-exit start-wrong-role start-wrong-build start-two-hellos work-hello work-garbage work-oversize \
  work-bad-kind work-many-objects work-entry work-short-digest work-die work-vanish work-forbidden tree-empty tree-other tree-extra verify-false; do
  rm -rf "$data"/trees/*
  ends snapshotter "$mode" incomplete snapshot_failed /bin/true
done

# A listing that is not the tree's own is not printed, not even in part.
for mode in list-empty list-other work-entry work-die work-garbage start-done; do
  said=$(lying "$mode" source show "$revision" --tree 2>"$scratch/err")
  code=$?
  if ((code == 0 || code >= 128)) || [[ -n $said ]]; then fail "snapshotter/$mode is not shown" "exit $code" "$said" "$(cat "$scratch/err")"; else pass "snapshotter/$mode is not shown"; fi
done
use none
check "an honest listing is shown" grep -q README.md <(lying "" source show "$revision" --tree)

use importer
objects() { find "$data/objects" -type f | sort | sha256sum; }
before=$(objects)
mkdir -p "$scratch/other"
echo other >"$scratch/other/file"
for mode in open-view open-seccomp open-descriptor start-done start-garbage start-exit start-wrong-role work-hello work-garbage work-oversize \
  work-two-ends work-bad-kind work-entry work-many-objects work-short-digest work-die work-vanish work-forbidden \
  stage-false-name stage-false-size stage-missing stage-link stage-hard-link stage-directory \
  claim-other-revision claim-other-tree; do
  said=$(lying "$mode" source import "$scratch/other" 2>&1)
  code=$?
  case $code in
    0) fail "importer/$mode" "was believed" "$said" ;;
    1[3-9][0-9]) fail "importer/$mode" "the controller crashed: $code" "$said" ;;
    *) pass "importer/$mode" ;;
  esac
  check "importer/$mode publishes nothing" test "$before" = "$(objects)"
  check "importer/$mode leaves no staging" test -z "$(ls -A "$data/staging" | grep -v '^boot$')"
done
# An object nobody claimed is no part of what is published, however well it is named.
lying stage-unclaimed source import "$scratch/other" >/dev/null 2>&1
check "importer/stage-unclaimed is left out" test -z "$(find "$data/objects" -name "$(printf 'a blob' | sha256sum | cut -c3-64)")"
use none
check "an honest import still works" lying "" source import "$scratch/other"

# --- every job of the importer, hijacked: what it reads and makes stays what it was, and it leaves nothing (issue: outside bytes)
authority() { (cd "$data" && find objects images trees -type f ! -path 'trees/boot' -printf '%p %m %s ' -exec sha256sum {} \; | sort | sha256sum); }
rows() { lying "" --json source list | member revisions; lying "" --json image list | member images; }
staged() { ls -A "$data/staging" | grep -v '^boot$'; }
git init -q "$scratch/repo"
echo f >"$scratch/repo/f"
git -C "$scratch/repo" add f
git -C "$scratch/repo" -c user.name=t -c user.email=t@invalid commit -qm 1
commit=$(git -C "$scratch/repo" rev-parse HEAD)
lying "" image export busybox "$scratch/oci.tar" >/dev/null || fail setup "image export"
mkdir "$scratch/oci" && tar -C "$scratch/oci" -xf "$scratch/oci.tar"
# Two archives of one file each, so that none has an id that is there already.
for n in 1 2; do
  mkdir -p "$scratch/image$n/bin"
  echo "$n" >"$scratch/image$n/bin/busybox"
  tar --sort=name --mtime=@0 --owner=0 --group=0 -C "$scratch/image$n" -cf "$scratch/image$n.tar" bin
done
lying "" image import "$scratch/image2.tar" --name two >/dev/null && lying "" image export two "$scratch/oci2.tar" >/dev/null || fail setup "a second image"
lying "" image remove two >/dev/null; lying "" gc >/dev/null

# job NAME ARG…: one verb for each job.
job() {
  case $1 in
    directory) lying "$2" source import "$scratch/other" ;;
    git) lying "$2" source import --git "$scratch/repo" "$commit" ;;
    rootfs) lying "$2" image import "$scratch/image1.tar" --format rootfs --name one ;;
    archive) lying "$2" image import "$scratch/oci2.tar" --name archive ;;
    layout) lying "$2" image import "$scratch/oci" --name layout ;;
    export-git) rm -rf "$scratch/out" && lying "$2" source export "$revision" "$scratch/out" --git commit ;;
    export-image) rm -f "$scratch/out.tar" && lying "$2" image export busybox "$scratch/out.tar" ;;
  esac
}
use importer
for name in directory git rootfs archive layout export-git export-image; do
  before=$(authority)
  said=$(job "$name" escape 2>&1)
  code=$?
  # It does its work as it should when nothing it tried was let through.
  if ((code == 0)) && [[ $said != *ESCAPED* ]]; then pass "importer/escape $name"; else fail "importer/escape $name" "exit $code" "$said"; fi
  [[ $name != export-* ]] || check "importer/escape $name changes nothing" test "$before" = "$(authority)"
  check "importer/escape $name leaves no staging" test -z "$(staged)"
done
check "importer/escape what it exported is the tree" test "$(git -C "$scratch/out" rev-parse 'HEAD^{tree}')" = "$(cd "$scratch/src" && git init -q . && git add README.md && git write-tree)"
rm -rf "$scratch/src/.git"
use none
for image in one archive layout; do lying "" image remove "$image" >/dev/null; done
lying "" gc >/dev/null

# refused MODE JOB CODE: the verb fails with CODE, and nothing is stored, published or left.
refused() {
  local before after said code
  before="$(authority) $(rows)"
  use importer
  said=$(job "$2" "$1" 2>&1)
  code=$?
  use none
  after="$(authority) $(rows)"
  if ((code == 0 || code >= 130)) || [[ $said != *"[$3]"* ]]; then fail "importer/$1 $2" "exit $code, wanted $3" "$said"; else pass "importer/$1 $2"; fi
  check "importer/$1 $2 publishes nothing" test "$before" = "$after"
  check "importer/$1 $2 leaves no staging" test -z "$(staged)"
}
for name in directory git; do
  for mode in flood-entries flood-bytes flood-nameless; do refused "$mode" "$name" snapshot.staging.mismatch; done
  refused flood-memory "$name" snapshot.memory.exhausted
  refused flood-deep "$name" snapshot.io.failed
done
refused flood-memory rootfs snapshot.memory.exhausted
refused flood-entries export-image snapshot.staging.mismatch
for name in directory git rootfs archive; do refused send-descriptor "$name" ipc.frame.control; done
refused git-other-commit git snapshot.staging.mismatch
refused git-other-tree git snapshot.staging.mismatch
for mode in image-other-id image-other-config image-no-config image-extra-layer image-extra-file image-verified; do
  refused "$mode" archive snapshot.staging.mismatch
done
refused layer-other export-image snapshot.staging.mismatch
check "nothing of a false layer is written out" test ! -s "$scratch/out.tar"
for name in directory git rootfs archive export-git export-image; do check "honest again: $name" job "$name" ""; done
ends none honest success "" /bin/sh -c 'cat /source/README.md'
finish
