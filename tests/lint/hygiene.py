# SPDX-License-Identifier: Apache-2.0
"""What every file of the tree has and has not: licence line, size, nothing left for later, no path of one machine, no test that can
pass without running, nothing at the top but what the house allows; scripts parse."""
import ast
import os
import re
import subprocess

import lint

TOP_LEVEL = {"CMakeLists.txt", "CMakePresets.json", "controller", "collector", "snapshotter", "ipc", "policy", "tests", "packaging",
             "README.md", "LICENSE"}
CODE = (".cc", ".h", ".c", ".proto", ".def", ".py", ".sh", ".cmake", "CMakeLists.txt", ".inc")
MOST_LINES = 400
# Written in two halves, so that this file does not find itself.
LATER = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK")) + r")\b|not " + "implemented|un" + "implemented")
MACHINE = re.compile(r"(?<![\w.$}\"])/(" + "|".join(("wo" + "rk/", "fa" + "rm/", "tm" + "p/wt", "home/" + r"\w+/", "Us" + "ers/")) + ")")
SKIPS = re.compile("GTEST_" + "SKIP|DISAB" + "LED_")


def is_code(tree, path):
    return path.endswith(CODE) or path in tree.scripts()


def licence(tree, path):
    head = "\n".join(tree.lines(path)[:3])
    return [] if "SPDX-License-Identifier: Apache-2.0" in head else [f"{path}:1: no SPDX line"]


def words(tree, path):
    found = []
    for number, line in enumerate(tree.lines(path), 1):
        for pattern, what in ((LATER, "left for later"), (MACHINE, "a path of one machine"), (SKIPS, "a test that can pass without running")):
            if pattern.search(line):
                found.append(f"{path}:{number}: {what}: {line.strip()[:80]}")
        if line.rstrip("\n") != line.rstrip() and not path.endswith(".md"):
            found.append(f"{path}:{number}: blank at the end of the line")
    return found


def parses(tree, path):
    text = tree.text(path)
    if path.endswith(".py") or text.startswith("#!/usr/bin/env python3"):
        try:
            ast.parse(text)
        except SyntaxError as error:
            return [f"{path}:{error.lineno}: {error.msg}"]
        return []
    if path.endswith(".sh") or re.match(r"#!\S*(ba)?sh", text):
        shell = "sh" if text.startswith("#!/bin/sh") else "bash"
        done = subprocess.run([shell, "-n"], input=text, text=True, stderr=subprocess.PIPE, check=False)
        return [f"{path}: {line}" for line in done.stderr.splitlines()]
    return []


def check(tree):
    found = []
    scripts = set(tree.scripts())
    for path in tree.paths:
        first = path.split("/", 1)[0]
        if first not in TOP_LEVEL and not first.startswith("."):
            found.append(f"{path}:1: outside the fixed top level")
        if path.endswith((".png", ".gz", ".tar", ".bin")) or "/corpus/" in path or path == "LICENSE":
            continue
        found += words(tree, path)
        if not (path.endswith(CODE) or path in scripts):
            continue
        found += licence(tree, path)
        length = len(tree.lines(path)) - 1
        if length > MOST_LINES and not path.endswith(".def"):
            found.append(f"{path}:{length}: {length} lines, at most {MOST_LINES}")
        if path.endswith(".h") and "#pragma once" not in tree.text(path) and not re.search(r"^// Included more than once", tree.text(path), re.M):
            found.append(f"{path}:1: no #pragma once")
        if path in scripts:
            found += parses(tree, path)
            if tree.root and not path.endswith((".py", ".sh")) and not os.access(os.path.join(tree.root, path), os.X_OK):
                found.append(f"{path}:1: a command that is not executable")
    return found


SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
BAD = (
    {"ipc/a.cc": "int a;\n"},
    {"ipc/a.cc": SPDX + "int a;\n" * 400},
    {"ipc/a.cc": SPDX + "// TO" + "DO: later\n"},
    {"ipc/a.cc": SPDX + '// see /wo' + 'rk/notes\n'},
    {"tests/unit/a.cc": SPDX + "GTEST_" + "SKIP();\n"},
    {"ipc/a.cc": SPDX + "int a; \n"},
    {"ipc/a.h": SPDX + "int a;\n"},
    {"extra/a.txt": "x\n"},
    {"tests/a": "#!/bin/bash\n# SPDX-License-Identifier: Apache-2.0\nif then\n"},
    {"tests/a.py": "# SPDX-License-Identifier: Apache-2.0\ndef (:\n"},
)
GOOD = ({"ipc/a.h": SPDX + "#pragma once\nint a;\n" * 100, ".ci/run": "#!/bin/bash\n# SPDX-License-Identifier: Apache-2.0\ntrue\n"},)
if __name__ == "__main__":
    lint.main(check, BAD, GOOD)
