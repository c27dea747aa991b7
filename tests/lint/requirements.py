# SPDX-License-Identifier: Apache-2.0
"""tests/requirements.md says of every requirement where it is shown. Each row is

    | R2.01 | test | tests/unit/policy/recipe_test.cc:refuses_a_tag, tests/live/bounds_test.sh:timeout | what is shown |
    | R1.08 | document | policy/THREATS.md:Who can forge | |
    | R4.02 | superseded | | by what, and why |
    | R5.01 | later | | with which part of the work |

`path:words` means that the file is there and holds the words; those of a test stand in what runs, not in a comment about it. `--missing`
prints the rows that are missing, to be filled in."""
import sys
import re

import lint

TABLE = "tests/requirements.md"
GROUPS = {1: 9, 2: 21, 3: 12, 4: 18, 5: 16, 6: 11, 7: 25, 8: 8, 9: 24, 10: 28, 11: 23, 12: 46, 13: 28, 14: 21, 15: 38, 16: 44}
IDS = [f"R{group}.{number:02d}" for group, last in GROUPS.items() for number in range(1, last + 1)]
assert len(IDS) == 372
KINDS = ("test", "document", "superseded", "later")
MENTION = re.compile(r"\bR(\d{1,2})\.(\d{2})\b")


def rows(text):
    for number, line in enumerate(text.split("\n"), 1):
        if re.match(r"^\|\s*R\d", line):
            yield number, [c.strip() for c in line.strip().strip("|").split("|")]


def running(path, text):
    """A test's text without the lines that are comments, and without what a Python program says of itself."""
    if not path.endswith((".cc", ".h")):
        text = re.sub(r'^""".*?"""', "", text, flags=re.S | re.M)
    comment = "//" if path.endswith((".cc", ".h")) else "#"
    return "\n".join(line for line in text.split("\n") if not line.lstrip().startswith(comment))


def place(tree, where, kind):
    path, _, words = where.strip().strip("`").partition(":")
    if path not in tree.paths:
        return f"{path}: no such file"
    if not words:
        return f"{path}: say which test or words, after a colon"
    text = tree.text(path)
    if words.strip() not in text:
        return f"{path}: does not hold {words.strip()!r}"
    if kind == "test" and words.strip() not in running(path, text):
        return f"{path}: holds {words.strip()!r} in a comment alone, which cannot fail"
    return None


def check(tree):
    found, seen = [], {}
    if TABLE not in tree.paths:
        return [f"{TABLE}:1: missing: {len(IDS)} requirements have no row"]
    for number, cells in rows(tree.text(TABLE)):
        at = f"{TABLE}:{number}: {cells[0]}"
        if len(cells) != 4:
            found.append(f"{at}: {len(cells)} cells, not 4")
            continue
        identity, kind, where, what = cells
        if identity not in IDS:
            found.append(f"{at}: no such requirement")
        if identity in seen:
            found.append(f"{at}: also in line {seen[identity]}")
        seen[identity] = number
        if kind not in KINDS:
            found.append(f"{at}: {kind}: not one of {' '.join(KINDS)}")
        elif kind in ("test", "document"):
            if not where:
                found.append(f"{at}: a {kind} without its place")
            for one in filter(None, (w.strip() for w in where.split(","))):
                problem = place(tree, one, kind)
                if problem:
                    found.append(f"{at}: {problem}")
                elif kind == "test" and not one.strip("`").startswith("tests/"):
                    found.append(f"{at}: {one}: a test lives under tests/")
        elif len(what) < 8:
            found.append(f"{at}: {kind}: say why")
    missing = [i for i in IDS if i not in seen]
    if missing:
        found.append(f"{TABLE}:1: {len(missing)} requirements have no row: {' '.join(missing[:12])}{' …' if len(missing) > 12 else ''}")
    for path in tree.having(".cc", ".h", ".def", ".md", ".sh", ".proto", under=lint.ROOMS + ("tests",)):
        if path == TABLE or path.startswith("tests/lint/"):
            continue
        for line, text in enumerate(tree.lines(path), 1):
            for match in MENTION.finditer(text):
                if match.group(0) not in IDS:
                    found.append(f"{path}:{line}: {match.group(0)}: no such requirement")
    return found


def example(first="", others="superseded | | by the other examples"):
    return "".join(f"| {i} | {others} |\n" for i in IDS[1:]) + first


TEST = {"tests/unit/a_test.cc": "TEST(A, holds) {}\n"}
BAD = (
    {},
    {TABLE: example()},
    {TABLE: example("| R1.01 | test | tests/unit/a_test.cc:absent | |\n"), **TEST},
    {TABLE: example("| R1.01 | test | tests/unit/b_test.cc:holds | |\n"), **TEST},
    {TABLE: example("| R1.01 | test | tests/unit/a_test.cc:R1.01 | |\n"), "tests/unit/a_test.cc": "  // R1.01 holds\nTEST(A, holds) {}\n"},
    {TABLE: example("| R1.01 | test | tests/live/a_test.sh:R1.01 | |\n"), "tests/live/a_test.sh": "# --- R1.01\npass a\n"},
    {TABLE: example("| R1.01 | test | tests/faults/a:R1.01 | |\n"), "tests/faults/a": '#!/usr/bin/env python3\n"""Cases\nR1.01."""\n'},
    {TABLE: example("| R1.01 | test | | |\n")},
    {TABLE: example("| R1.01 | later | | |\n")},
    {TABLE: example("| R1.01 | perhaps | | some reason |\n")},
    {TABLE: example("| R1.02 | later | | some reason |\n| R1.01 | later | | some reason |\n")},
    {TABLE: example("| R1.01 | later | | some reason |\n"), "ipc/a.h": "// R99.01\n"},
)
GOOD = ({TABLE: example("| R1.01 | test | tests/unit/a_test.cc:holds | |\n"), **TEST},
        {TABLE: example("| R1.01 | document | ipc/a.h:R1.01 | |\n"), "ipc/a.h": "// R1.01: said here\n"})
if __name__ == "__main__":
    if sys.argv[1:] == ["--missing"]:
        real = lint.Tree(root=lint.TOP)
        known = {c[0] for _, c in rows(real.text(TABLE))} if TABLE in real.paths else set()
        print("".join(f"| {i} | | | |\n" for i in IDS if i not in known), end="")
        sys.exit(0)
    lint.main(check, BAD, GOOD)
