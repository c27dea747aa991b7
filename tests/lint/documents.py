# SPDX-License-Identifier: Apache-2.0
"""What the documents name exists: files that are linked or started, and the verbs of bailiff in blocks of commands. With $BAILIFF_BUILD
set the verbs are asked of the program itself (`bailiff NOUN VERB --help` must end with 0)."""
import os
import re
import subprocess

import lint

LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
BLOCK = re.compile(r"^```.*?$(.*?)^```", re.S | re.M)
COMMAND = re.compile(r"^\s*(?:\$|#)\s+(?:sudo\s+)?(packaging/\S+|tests/\S+|build/\S+)", re.M)
GROUPS = ("image", "source", "recipe", "check", "evidence")


def program():
    build = os.environ.get("BAILIFF_BUILD")
    path = os.path.join(build, "bin", "bailiff") if build else None
    return path if path and os.path.exists(path) else None


def known(words, cache):
    if words not in cache:
        done = subprocess.run([program(), *words, "--help"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              check=False)
        cache[words] = done.returncode == 0
    return cache[words]


def check(tree):
    found, cache = [], {}
    for path in tree.having(".md"):
        text, folder = tree.text(path), os.path.dirname(path)
        for match in LINK.finditer(text):
            target = match.group(1)
            if "://" not in target and not target.startswith("mailto:"):
                name = os.path.normpath(os.path.join(folder, target))
                if name not in tree.paths and not any(p.startswith(name + "/") for p in tree.paths):
                    found.append(f"{path}:{lint.line_of(text, match.start())}: {target}: no such file")
        for block in BLOCK.finditer(text):
            body, start = block.group(1), block.start(1)
            for match in COMMAND.finditer(body):
                name = match.group(1)
                if not name.startswith("build/") and name not in tree.paths:
                    found.append(f"{path}:{lint.line_of(text, start + match.start())}: {name}: no such command")
            if tree.root is None or program() is None:
                continue
            for match in re.finditer(r"^\s*\$\s+(?:sudo\s+)?bailiff ([a-z][a-z-]*)(?: ([a-z][a-z-]*))?", body, re.M):
                words = (match.group(1),) if match.group(1) not in GROUPS or not match.group(2) else match.groups()
                if not known(words, cache):
                    found.append(f"{path}:{lint.line_of(text, start + match.start())}: bailiff {' '.join(words)}: no such verb")
    return found


BAD = (
    {"README.md": "see [threats](policy/THREATS.md)\n"},
    {"README.md": "```\n$ sudo packaging/absent\n```\n"},
)
GOOD = ({"README.md": "see [threats](policy/THREATS.md#who) and [web](https://example.org)\n```\n$ packaging/test\n```\n",
         "policy/THREATS.md": "x\n", "packaging/test": "#!/bin/bash\n"},)
if __name__ == "__main__":
    lint.main(check, BAD, GOOD)
