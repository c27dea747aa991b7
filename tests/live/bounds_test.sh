#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every bound of R2 and R6 (but R6.07 to R6.09, the daemon's) at its smallest, its largest and one beyond: as documents, as options of
# `run`, and as real runs that show the bound at work.
set -uo pipefail
# shellcheck source=tests/support/cell.sh
source "$(dirname "${BASH_SOURCE[0]}")/../support/cell.sh"
world

# --- documents: one file a case, named by what `recipe check` must answer
mkdir "$scratch/recipes"
python3 - "$scratch/recipes" <<'PYTHON'
import copy, json, os, sys
base = {"version": 1, "image": "sha256:" + "a" * 64, "executable": "/bin/sh", "arguments": ["-c", "x"], "environment": {},
        "toolchain": "b" * 64, "limits": {"timeout_ms": 30000, "max_output_bytes": 65536, "memory_bytes": 67108864,
                                          "scratch_bytes": 16777216, "pids": 64, "cpu_millis": 1000}}
def case(name, answer, change):
    recipe = copy.deepcopy(base)
    change(recipe)
    with open(os.path.join(sys.argv[1], f"{name} {answer}"), "w") as out:
        json.dump(recipe, out)
def put(member, value):
    return lambda recipe: recipe.__setitem__(member, value)
def limit(member, value):
    return lambda recipe: recipe["limits"].__setitem__(member, value)
MiB = 1 << 20
for requirement, member, word, low, high in (
        ("r6_01", "timeout_ms", "timeout", 1, 300000), ("r6_02", "max_output_bytes", "output", 256, MiB),
        ("r6_03", "memory_bytes", "memory", 16 * MiB, 4096 * MiB), ("r6_04", "scratch_bytes", "scratch", MiB, 1024 * MiB),
        ("r6_05", "pids", "pids", 1, 256), ("r6_06", "cpu_millis", "cpu", 100, 4000)):
    case(f"{requirement}_{word}_smallest", "ok", limit(member, low))
    case(f"{requirement}_{word}_largest", "ok", limit(member, high))
    case(f"{requirement}_{word}_below", f"recipe.{word}.low", limit(member, low - 1))
    case(f"{requirement}_{word}_above", f"recipe.{word}.high", limit(member, high + 1))
    case(f"{requirement}_{word}_negative", "json.member.type|json.number.range|recipe." + word + ".low", limit(member, -1))
    case(f"{requirement}_{word}_text", "json.member.type", limit(member, str(low)))
    case(f"{requirement}_{word}_fraction", "json.number.form", limit(member, low + 0.5))
    case(f"{requirement}_{word}_absent", "json.member.missing", lambda recipe, member=member: recipe["limits"].pop(member))
case("r2_02_image_tag", "recipe.image.form", put("image", "busybox:latest"))
case("r2_02_image_short", "recipe.image.form", put("image", "sha256:" + "a" * 63))
case("r2_02_image_upper", "recipe.image.form", put("image", "sha256:" + "A" * 64))
case("r2_03_executable_relative", "path.entry.relative", put("executable", "bin/sh"))
case("r2_03_executable_longest", "ok", put("executable", "/" + "/".join(["a" * 255] * 15 + ["a" * 254])))
case("r2_03_executable_longer", "path.entry.long", put("executable", "/" + "/".join(["a" * 255] * 16)))
case("r2_03_executable_dotdot", "path.component.dotdot", put("executable", "/bin/../sh"))
case("r2_13_arguments_none", "ok", put("arguments", []))
case("r2_13_arguments_64", "ok", put("arguments", ["x"] * 64))
case("r2_13_arguments_65", "recipe.arguments.many", put("arguments", ["x"] * 65))
case("r2_14_arguments_16384_bytes", "ok", put("arguments", ["x" * 16384]))
case("r2_14_arguments_16385_bytes", "recipe.arguments.long", put("arguments", ["x" * 16384, "x"]))
case("r2_15_environment_32", "ok", put("environment", {f"A{i}": "" for i in range(32)}))
case("r2_15_environment_33", "recipe.environment.many", put("environment", {f"A{i}": "" for i in range(33)}))
case("r2_16_environment_16384_bytes", "ok", put("environment", {"A": "x" * 16383}))
case("r2_16_environment_16385_bytes", "recipe.environment.long", put("environment", {"A": "x" * 16384}))
for kind, requirement, names in (
        ("profile", "r2_10", "HOME TMPDIR HOSTNAME"),
        ("loader", "r2_17", "LD_PRELOAD LD_LIBRARY_PATH LD_ GLIBC_TUNABLES GCONV_PATH LOCPATH NLSPATH MALLOC_PERTURB_ GETCONF_DIR HOSTALIASES RES_OPTIONS"),
        ("shell", "r2_18", "ENV BASH_ENV BASH_FUNC_x SHELLOPTS BASHOPTS PS4 IFS CDPATH PROMPT_COMMAND ZDOTDIR"),
        ("control", "r2_19", "DOCKER_HOST BUILDKIT_HOST COMPOSE_FILE CONTAINERD_ADDRESS")):
    for name in names.split():
        case(f"{requirement}_{name}", f"recipe.environment.{kind}", put("environment", {name: "x"}))
for name in ("1A", "", "A-B", "A B", "\u00e9"):
    case(f"r2_name_{name.encode().hex() or 'empty'}", "recipe.environment.name", put("environment", {name: "x"}))
case("r2_PATH_may_be_set", "ok", put("environment", {"PATH": "/bin"}))
case("r5_03_network", "recipe.network.refused", put("network", "host"))
case("r10_01_artifacts", "recipe.artifacts.refused", put("artifacts", {"paths": ["x"]}))
case("r10_04_unknown_member", "json.member.unknown", put("privileged", True))
PYTHON
documents=0
for file in "$scratch"/recipes/*; do
  name=${file##*/} wanted=${name#* } name=${name%% *}
  text=$(bailiff --json recipe check "$file" 2>&1)
  got=$?
  if [[ $wanted == ok ]]; then ((got == 0)) || fail "recipe_$name" "exit $got" "$text"
  else
    ((got == 65)) && grep -qE "\"code\":\"(${wanted//./\\.})\"" <<<"$text" || fail "recipe_$name" "exit $got, expected 65 with $wanted" "$text"
  fi
  documents=$((documents + 1))
done
((tests_failed > 0)) || pass "r2_r6_recipes ($documents documents)"

# --- options: the nearest value that can be written beyond each bound is refused, before anything runs
for row in "timeout 0ms low" "timeout 300001ms high" "output 255 low" "output 1048577 high" "memory 16777215 low" "memory 4294967297 high" \
  "scratch 1048575 low" "scratch 1073741825 high" "pids 0 low" "pids 257 high" "cpu 0.099 low" "cpu 4.001 high"; do
  read -r option value side <<<"$row"
  refused "run_${option}_$value" 65 "recipe.$option.$side" bailiff run --image bb --source "$revision" "--$option" "$value" -- /bin/true
done
for row in "timeout x" "memory -1" "memory 16MM" "pids 1.5" "cpu 1e3" "timeout 99999999999999999999s" "memory 18446744073709551616"; do
  read -r option value <<<"$row"
  bailiff run --image bb --source "$revision" "--$option=$value" -- /bin/true >/dev/null 2>"$scratch/stderr"
  got=$?
  if [[ $got == 64 || $got == 65 ]] && grep -q 'fix: ' "$scratch/stderr"; then pass "run_${option}_not_a_value_$value"; else fail "run_${option}_not_a_value_$value" "exit $got" "$(cat "$scratch/stderr")"; fi
done
same nothing_ran_yet "$(bailiff --json check list | member attempts)" "[]"

# --- real runs
readback() {  # readback NAME REQUIRED: what the controller read before release and after the end
  python3 -c '
import json, sys
rows = {row["name"]: row for row in json.load(sys.stdin)["record"]["isolation"]["readback"]}
names = [name for name in sys.argv[1].split("|") if name in rows]
print(" ".join(sorted({f"{rows[n]['"'required'"']} {rows[n]['"'before'"']} {rows[n].get('"'after'"', '"'-'"')}" for n in names})))' "$1" <<<"$said"
}
at() {  # at NAME ROWS VALUE: the last run's limit was required, and read before and after
  same "$1" "$(readback "$2")" "$3 $3 $3"
}
slow=$BAILIFF_TEST_SLOWNESS
expect r6_01_timeout_smallest 'outcome=timed_out stopped_by=wall_clock' --timeout 1ms -- /bin/sleep 5
expect r6_01_timeout_largest 'outcome=success' --timeout 300s -- /bin/true
expect r6_02_output_smallest_full 'outcome=success streams.stdout.retained=256' --output 256 -- /bin/head -c 256 /dev/zero
expect r6_02_output_smallest_and_one 'outcome=output_limit streams.stdout.retained=256' --output 256 -- /bin/head -c 257 /dev/zero
expect r6_02_output_largest_full 'outcome=success streams.stdout.retained=1048576' --output 1M -- /bin/head -c 1048576 /dev/zero
expect r6_02_output_largest_and_one 'outcome=output_limit streams.stdout.retained=1048576' --output 1M -- /bin/head -c 1048577 /dev/zero
expect r6_03_memory_smallest 'outcome=success' --memory 16M -- /bin/sh -c 'dd if=/dev/zero of=/dev/null bs=8M count=1'
at r6_03_memory_smallest_is_read_back 'memory.max|memory.limit_in_bytes|memory.memsw.limit_in_bytes' 16777216
expect r6_03_memory_smallest_and_more 'outcome=incomplete reasons.0="oom_local"' --memory 16M -- /bin/sh -c 'dd if=/dev/zero of=/dev/null bs=20M count=1'
expect r6_03_memory_largest 'outcome=success' --memory 4G -- /bin/true
at r6_03_memory_largest_is_read_back 'memory.max|memory.limit_in_bytes|memory.memsw.limit_in_bytes' 4294967296
expect r6_04_scratch_smallest_full 'outcome=success' --scratch 1M -- /bin/sh -c 'dd if=/dev/zero of=/scratch/f bs=4k count=255'
expect r6_04_scratch_smallest_and_more 'outcome=failed stderr~No\040space\040left\040on\040device process.code=1' --scratch 1M -- /bin/dd if=/dev/zero of=/scratch/f bs=4k count=257
expect r6_04_scratch_largest 'outcome=success stdout=1048576\n' --scratch 1G -- /bin/sh -c 'df -k /scratch | tail -n 1 | awk "{print \$2}"'
expect r6_05_pids_smallest 'outcome=success usage.pids_peak=1 reasons=[]' --pids 1 -- /bin/true
expect r6_05_pids_smallest_and_one 'outcome=failed reasons=["pids_limit_hit"] usage.pids_peak=1' --pids 1 -- /bin/sh -c 'sleep 0 | cat'
expect r6_05_pids_largest 'outcome=success usage.pids_peak=256 reasons=["pids_limit_hit"] stdout~fork_count\040254' --pids 256 -- /bin/probe fork_flood
# 100 of 1000: what one busy second may cost. Throttling is by periods of 100 ms, so a little more is legal.
expect r6_06_cpu_smallest "outcome=timed_out usage.user_us<$((350000 * (slow > 4 ? 3 : 1)))" --cpu 0.1 --timeout 1s -- /bin/sh -c 'while :; do :; done'
expect r6_06_cpu_one 'outcome=timed_out usage.user_us>100000' --cpu 1 --timeout 1s -- /bin/sh -c 'while :; do :; done'
expect r6_06_cpu_largest 'outcome=success' --cpu 4 -- /bin/true
case $(readback 'cpu.max|cpu.cfs_quota_us') in "400000 400000 400000" | "400000 100000 400000 100000 400000 100000") pass r6_06_cpu_largest_is_read_back ;;
  *) fail r6_06_cpu_largest_is_read_back "$(readback 'cpu.max|cpu.cfs_quota_us')" ;; esac
many=() ; for ((i = 1; i <= 63; i++)); do many+=("$i"); done
expect r2_13_arguments_64_run 'outcome=success stdout=61\n' -- /bin/sh -c 'echo $#' sh "${many[@]:2}"
refused r2_13_arguments_65_run 65 recipe.arguments.many bailiff run --image bb --source "$revision" -- /bin/true "${many[@]}" 64 65
long=$(head -c 16380 /dev/zero | tr '\0' x)
script='echo ${#1}' fill=$(head -c $((16384 - 2 - ${#script} - 2)) /dev/zero | tr '\0' x)
expect r2_14_arguments_16384_bytes_run "outcome=success stdout=${#fill}\\n" -- /bin/sh -c "$script" sh "$fill"
refused r2_14_arguments_16385_bytes_run 65 recipe.arguments.long bailiff run --image bb --source "$revision" -- /bin/sh -c "$script" sh "${fill}x"
env32=() ; for ((i = 0; i < 32; i++)); do env32+=(--env "A$i=x"); done
expect r2_15_environment_32_run 'outcome=success stdout=32\n' "${env32[@]}" -- /bin/sh -c 'env | grep -c "^A[0-9]*=x$"'
refused r2_15_environment_33_run 65 recipe.environment.many bailiff run --image bb --source "$revision" "${env32[@]}" --env B=x -- /bin/true
expect r2_16_environment_16384_bytes_run 'outcome=success stdout=16383\n' --env "A=${long}xxx" -- /bin/sh -c 'echo ${#A}'
refused r2_16_environment_16385_bytes_run 65 recipe.environment.long bailiff run --image bb --source "$revision" --env "A=${long}xxxx" -- /bin/true
left_nothing "bounds leave nothing behind"
finish
