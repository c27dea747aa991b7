# SPDX-License-Identifier: Apache-2.0
"""Messages of commits: `room: imperative subject` of at most 72 characters, why where the subject does not say it, a line `Tested: …`.

Every commit since the first is looked at, but those of tests/lint/commits.known, which were there before the rule."""
import os
import re
import subprocess
import sys

import lint

SUBJECT = re.compile(r"^[a-z][a-z0-9_./, -]*: [a-z0-9`-]\S*( \S+)*[^.\s]$")
MOST_SUBJECT, MOST_BODY = 72, 100
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


def known():
    with open(os.path.join(lint.TOP, "tests/lint/commits.known"), encoding="utf-8") as file:
        return {line.split()[0] for line in file if line.strip() and not line.startswith("#")}


def check(tree):
    if tree.root is None:
        return [f"{path}: {f}" for path in tree.paths for f in check_message(tree.text(path))]
    log = subprocess.run(["git", "log", "--no-merges", "--format=%H%x00%B%x01"], cwd=tree.root, stdout=subprocess.PIPE, text=True, check=False)
    if log.returncode != 0:  # an export without its repository has no messages to look at
        print("no repository here: no messages looked at")
        return []
    found, exempt = [], known()
    for entry in filter(str.strip, log.stdout.split("\x01")):
        commit, text = entry.strip("\n").split("\x00", 1)
        if commit not in exempt and "shallow" not in commit:
            found += [f"{commit[:12]} {text.splitlines()[0][:50] if text.strip() else ''}: {f}" for f in check_message(text)]
    return found


FINE = "ipc: refuse frames of another length\n\nA peer may lie about it.\n\nTested: ipc_test.\n"
BAD = (
    {"m": "wip\n"},
    {"m": FINE.replace("refuse", "refused and also " + "x" * 60)},
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
