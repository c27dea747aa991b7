# SPDX-License-Identifier: Apache-2.0
"""Every C++ source is as clang-format writes it with the tree's .clang-format."""
import os
import subprocess
import sys
import tempfile

import lint


def check(tree):
    files = tree.having(".cc", ".h", ".c", under=lint.ROOMS + ("tests",))
    if tree.root is None:
        with tempfile.TemporaryDirectory() as scratch:
            with open(os.path.join(lint.TOP, ".clang-format"), encoding="utf-8") as style, \
                 open(os.path.join(scratch, ".clang-format"), "w", encoding="utf-8") as copy:
                copy.write(style.read())
            names = [os.path.join(scratch, os.path.basename(f)) for f in files]
            for name, path in zip(names, files):
                with open(name, "w", encoding="utf-8") as file:
                    file.write(tree.text(path))
            return run(names, scratch)
    return run(files, tree.root)


def run(files, where):
    if not files:
        return []
    done = subprocess.run(["clang-format", "--dry-run", "-Werror", "--style=file", *files], cwd=where, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0 and "error:" not in done.stderr:
        sys.exit(f"clang-format failed: {done.stderr}")
    return [l for l in done.stderr.splitlines() if "error:" in l]


BAD = ({"ipc/a.cc": "int  f( ){return 1;}\n"},)
GOOD = ({"ipc/a.cc": "int f() { return 1; }\n"},)
if __name__ == "__main__":
    lint.main(check, BAD, GOOD)
