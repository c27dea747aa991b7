# SPDX-License-Identifier: Apache-2.0
"""What every lint shares. A lint is a module with

    check(tree)  -> list of findings, each `path:line: what is wrong`
    BAD          -> small trees (path -> text), in each of which check must find something
    GOOD         -> small trees in which it must find nothing

and ends with lint.main(check, BAD, GOOD). Its own examples are tried before the real tree, every time: a lint that cannot fail
would fail here."""
import os
import re
import subprocess
import sys

ROOMS = ("ipc", "policy", "controller", "collector", "snapshotter")
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SKIPPED = ("build/", ".git/", ".cache/")


class Tree:
    """Paths from the top of the tree, and their text."""

    def __init__(self, files=None, root=None):
        self._files, self.root = files, root
        self._read = {}
        self.paths = sorted(files) if files is not None else self._list()

    def _list(self):
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=self.root,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        if listed.returncode == 0 and listed.stdout:
            names = [os.fsdecode(n) for n in listed.stdout.split(b"\0") if n]
        else:  # an export without its repository
            names = [os.path.relpath(os.path.join(d, f), self.root) for d, _, fs in os.walk(self.root) for f in fs]
        return sorted({n for n in names if not n.startswith(SKIPPED) and os.path.isfile(os.path.join(self.root, n))})

    def text(self, path):
        if self._files is not None:
            return self._files[path]
        if path not in self._read:
            with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as file:
                self._read[path] = file.read()
        return self._read[path]

    def lines(self, path):
        return self.text(path).split("\n")

    def having(self, *endings, under=()):
        """The paths that end so, in the folders named (everywhere when none is)."""
        return [p for p in self.paths if p.endswith(endings) and (not under or p.startswith(tuple(u + "/" for u in under)))]

    def product(self):
        return self.having(".cc", ".h", under=ROOMS)

    def scripts(self):
        """Files without an ending whose first line names an interpreter, and those with .sh or .py."""
        return [p for p in self.paths if p.endswith((".sh", ".py")) or
                ("." not in os.path.basename(p) and self.text(p).startswith("#!"))]


def without_comments(text):
    """C++ text of the same length and lines, with comments and the insides of string literals blanked."""
    def blank(match):
        word = match.group(0)
        if word.startswith("/"):
            return re.sub(r"[^\n]", " ", word)
        return word[0] + re.sub(r"[^\n]", " ", word[1:-1]) + word[-1] if len(word) > 1 else word
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', blank, text, flags=re.S)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def arguments(text, opening):
    """The text between the parenthesis at `opening` and its match."""
    depth = 0
    for i in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return text[opening + 1:i]
    return text[opening + 1:]


def main(check, bad, good=({},)):
    broken = []
    for i, files in enumerate(bad):
        if not check(Tree(files)):
            broken.append(f"self-test: nothing found in bad example {i}: {sorted(files)}")
    for i, files in enumerate(good):
        for finding in check(Tree(files)):
            broken.append(f"self-test: found in good example {i}: {finding}")
    findings = broken or check(Tree(root=TOP))
    for finding in findings:
        print(finding)
    print(f"{len(bad)} bad and {len(good)} good examples tried; {len(findings)} findings")
    sys.exit(1 if findings else 0)
