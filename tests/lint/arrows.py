# SPDX-License-Identifier: Apache-2.0
"""Who may include whom, and which header from outside belongs to which files: the arrows of the house."""
import re

import lint

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.M)
MAY = {
    "ipc": {"ipc"},
    "policy": {"policy", "ipc"},
    "controller": {"controller", "policy", "ipc"},
    "collector": {"collector", "policy", "ipc"},
    "snapshotter": {"snapshotter", "policy", "ipc"},
}
# Header from outside -> where it may be included (paths that start so), and in at most how many files.
OUTSIDE = (
    (re.compile(r"^sqlite3\.h$"), ("controller/store/",), None),
    (re.compile(r"^nlohmann/"), ("policy/",), 1),
    (re.compile(r"^CLI/"), ("controller/cli/",), 1),
    (re.compile(r"^archive(_entry)?\.h$"), ("snapshotter/importer/", "controller/supervisor/archive_writer.cc"), None),
    (re.compile(r"^git2(\.h|/)"), ("snapshotter/importer/git_store.cc",), 1),
    (re.compile(r"^zlib\.h$"), ("snapshotter/importer/git_writer.cc",), 1),
    (re.compile(r"^openssl/"), ("policy/digest.cc",), 1),
    (re.compile(r"^fmt/"), ("controller/",), None),
    (re.compile(r"^google/protobuf/"), ("ipc/codec",), None),
)
# Generated messages come in through ipc/codec.h alone, which only those who speak to a peer include.
MESSAGES = re.compile(r"\.pb\.h$")
SPEAKERS = ("ipc/codec", "controller/supervisor/", "collector/session", "collector/warden/", "collector/main.cc",
            "snapshotter/session", "snapshotter/importer/session", "snapshotter/main.cc", "snapshotter/importer/main.cc")
TARGET = re.compile(r"\b(bailiff_library|bailiff_program)\s*\(\s*(\w+)([^)]*)\)", re.S)


def room(path):
    return path.split("/", 1)[0]


def headers(tree):
    found, counts = [], {}
    for path in tree.product():
        text = tree.text(path)
        for match in INCLUDE.finditer(text):
            name, where = match.group(2), f"{path}:{lint.line_of(text, match.start())}"
            if match.group(1) == '"':
                if "/" not in name:
                    found.append(f'{where}: "{name}": includes are written from the top of the tree')
                elif room(name) in MAY and room(name) not in MAY[room(path)]:
                    found.append(f"{where}: {room(path)} may not include {name}")
            if MESSAGES.search(name) and not path.startswith("ipc/codec"):
                found.append(f"{where}: {name}: messages come through ipc/codec.h")
            if name == "ipc/codec.h" and not path.startswith(SPEAKERS):
                found.append(f"{where}: ipc/codec.h is for those who speak to a peer")
            for pattern, places, most in OUTSIDE:
                if not pattern.search(name):
                    continue
                if not path.startswith(places):
                    found.append(f"{where}: {name} belongs to {' '.join(places)}")
                counts.setdefault(pattern.pattern, (most, set()))[1].add(path)
    for pattern, (most, paths) in counts.items():
        if most is not None and len(paths) > most:
            found.append(f"{sorted(paths)[1]}:1: {pattern}: included by {len(paths)} files, at most {most} may")
    return found


def targets(tree):
    """The same arrows, as CMake links them."""
    calls, home, found = [], {}, []
    for path in tree.having("CMakeLists.txt", under=lint.ROOMS):
        text = tree.text(path)
        for match in TARGET.finditer(text):
            home[match.group(2)] = room(path)
            words = match.group(3).split()
            if "ROOMS" in words:
                rest = words[words.index("ROOMS") + 1:]
                rooms = [w for w in rest[:next((i for i, w in enumerate(rest) if w.isupper()), len(rest))]]
                calls.append((f"{path}:{lint.line_of(text, match.start())}", room(path), rooms))
    for where, source, rooms in calls:
        for target in rooms:
            if target in home and home[target] not in MAY[source]:
                found.append(f"{where}: {source} may not link {target} of {home[target]}")
    return found


def check(tree):
    return headers(tree) + targets(tree)


BAD = (
    {"policy/a.cc": '#include "controller/store/store.h"\n'},
    {"collector/a.cc": '#include "snapshotter/objects.h"\n'},
    {"ipc/a.h": '#include "policy/role.h"\n'},
    {"controller/cli/a.cc": "#include <sqlite3.h>\n"},
    {"policy/a.cc": "#include <nlohmann/json.hpp>\n", "policy/b.cc": "#include <nlohmann/json.hpp>\n"},
    {"controller/store/a.cc": '#include "ipc/collector.pb.h"\n'},
    {"controller/store/a.cc": '#include "ipc/codec.h"\n'},
    {"snapshotter/a.cc": "#include <archive.h>\n"},
    {"policy/a.cc": '#include "role.h"\n'},
    {"controller/CMakeLists.txt": "bailiff_library(bailiff_store SOURCES a.cc ROOMS bailiff_ipc)",
     "ipc/CMakeLists.txt": "bailiff_library(bailiff_ipc SOURCES a.cc ROOMS bailiff_store LIBRARIES z)"},
)
GOOD = (
    {"controller/store/a.cc": '#include <sqlite3.h>\n#include "policy/role.h"\n#include "ipc/fd.h"\n',
     "ipc/codec.h": '#include "ipc/collector.pb.h"\n', "controller/supervisor/intake.cc": '#include "ipc/codec.h"\n',
     "tests/unit/a.cc": '#include "controller/store/store.h"\n#include "snapshotter/a.h"\n'},
)
if __name__ == "__main__":
    lint.main(check, BAD, GOOD)
