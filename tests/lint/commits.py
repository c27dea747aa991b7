# SPDX-License-Identifier: Apache-2.0
"""Messages of commits: `room: imperative subject`, 72 characters wanted and 80 at most, why where the subject does not say it, a line `Tested: …`.

Every commit after the one in tests/lint/commits.since is looked at: the rule has been checked from there on."""
import os
import re
import subprocess
import sys

import lint

SUBJECT = re.compile(r"^[A-Za-z][a-zA-Z0-9_./, -]*: [a-z0-9`-]\S*( \S+)*[^.\s]$")
MOST_SUBJECT, MOST_BODY = 80, 100
PAST = re.compile(r"^[^:]+: (added|fixed|changed|removed|updated|adds|fixes|changes|removes|updates)\b")
PLACES = re.compile("/(" + "|".join(("wo" + "rk/", "fa" + "rm/", "tm" + "p/wt")) + ")")


def check_message(text):
    found, lines = [], text.rstrip("\n").split("\n")
    subject = lines[0]
    if len(subject) > MOST_SUBJECT:
        found.append(f"subject of {len(subject)} characters, at most {MOST_SUBJECT}")
    if not SUBJECT.match(subject):
        found.append("subject is not `room: imperative`")
    if PAST.match(subject):
        found.append("subject is not in the imperative")
    if len(lines) > 1 and lines[1]:
        found.append("no empty line after the subject")
    body = [l for l in lines[2:] if l]
    if not any(l.startswith("Tested:") for l in body):
        found.append("no line `Tested: …`")
    found += [f"line of {len(l)} characters, at most {MOST_BODY}" for l in body if len(l) > MOST_BODY and " " in l]
    if PLACES.search(text):
        found.append("a path of one machine")
    return found


def since():
    with open(os.path.join(lint.TOP, "tests/lint/commits.since"), encoding="utf-8") as file:
        return file.read().split()[0]


def git(tree, *words):
    return subprocess.run(["git", *words], cwd=tree.root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)


def check(tree):
    if tree.root is None:
        return [f"{path}: {f}" for path in tree.paths for f in check_message(tree.text(path))]
    # A shallow clone has not the commit to start from: then its last one is looked at. An export has no messages at all.
    start = since()
    known = git(tree, "merge-base", "--is-ancestor", start, "HEAD").returncode == 0
    log = git(tree, "log", "--no-merges", "--format=%H%x00%B%x01", f"{start}..HEAD" if known else "-1")
    if log.returncode != 0:
        print("no repository here: no messages looked at")
        return []
    found = []
    for entry in filter(str.strip, log.stdout.split("\x01")):
        commit, text = entry.strip("\n").split("\x00", 1)
        found += [f"{commit[:12]} {text.splitlines()[0][:50] if text.strip() else ''}: {f}" for f in check_message(text)]
    return found


FINE = "ipc: refuse frames of another length\n\nA peer may lie about it.\n\nTested: ipc_test.\n"
BAD = (
    {"m": "wip\n"},
    {"m": FINE.replace("refuse", "refused and also " + "x" * 70)},
    {"m": FINE.replace("Tested", "Seen")},
    {"m": "ipc: refuse frames\n"},
    {"m": FINE.replace("length\n", "length.\n")},
    {"m": FINE.replace("refuse", "fixes")},
    {"m": FINE.replace("A peer", "/wo" + "rk/main: a peer")},
)
GOOD = ({"m": FINE},)
if __name__ == "__main__":
    if len(sys.argv) == 2:  # as a commit-msg hook
        with open(sys.argv[1], encoding="utf-8") as message:
            problems = check_message("".join(l for l in message if not l.startswith("#")))
        print("\n".join(problems), end="\n" if problems else "")
        sys.exit(1 if problems else 0)
    lint.main(check, BAD, GOOD)
