# SPDX-License-Identifier: Apache-2.0
"""Every act that a crash may cut in two has a fault point, so that tests can kill there.

The rule that is checked: a function of the product that calls one of ACTS holds a BAILIFF_FAULT of its own, or the line (or the one
above it) says `no fault point: ` and why. Every row of ipc/fault_points.def is used, and every use has a row."""
import re

import lint

ACTS = r"rename|renameat|renameat2|link|linkat|fsync|fdatasync|syncfs|sync_file_range|sendmsg|recvmsg|mount|move_mount|open_tree|" \
       r"clone3|pwrite|pwritev|pwrite64|sqlite3_step|sqlite3_exec|ftruncate|copy_file_range"
RAW = r"__NR_|SYS_"
CALL = re.compile(rf"(?<![\w.>])(?:::|ipc::)?({ACTS})\s*\(")
SYSCALL = re.compile(rf"\bsyscall\s*\(\s*(?:{RAW})(renameat2|move_mount|open_tree|clone3|fsync|mount)\b")
USE = re.compile(r"\bBAILIFF_FAULT\s*\(\s*(\w+)\s*\)")
ROW = re.compile(r"^BAILIFF_FAULT_POINT\((\w+),\s*\"[^\"]+\"\)", re.M)
EXCUSE = re.compile(r"no fault point: \S")
# Programs that only a build uses, and the definitions of fault points themselves.
APART = re.compile(r"_generator\.cc$|^ipc/fault\.")


def function_around(text, position):
    """From the last line that begins a definition in column 0 to the brace in column 0 that ends it."""
    begin = 0
    for match in re.finditer(r"^\}|^(?!namespace\b)[A-Za-z~].*$", text[:position], re.M):
        begin = match.start() if match.group(0) != "}" else match.end()
    end = re.compile(r"^\}", re.M).search(text, position)
    return text[begin:end.end() if end else len(text)]


def check(tree):
    found, used = [], {}
    for path in tree.product():
        if APART.search(path):
            continue
        raw, text = tree.lines(path), lint.without_comments(tree.text(path))
        for match in USE.finditer(text):
            used.setdefault(match.group(1), f"{path}:{lint.line_of(text, match.start())}")
        for pattern in (CALL, SYSCALL):
            for match in pattern.finditer(text):
                line = lint.line_of(text, match.start())
                before = raw[line - 1][:match.start() - text.rfind("\n", 0, match.start()) - 1]
                if re.search(r"^[\w:<>*&\s]+$", before) and re.search(r"[\w>*&]\s*$", before) and not re.search(r"\breturn\s*$", before):
                    continue  # a declaration
                if USE.search(function_around(text, match.start())):
                    continue
                if match.group(1) == "mount" and "MS_PRIVATE" in lint.arguments(text, match.end() - 1):
                    continue  # changes how mounts travel, mounts nothing
                if any(EXCUSE.search(l) for l in raw[max(0, line - 3):line]):
                    continue
                found.append(f"{path}:{line}: {match.group(1)} in a function without a fault point")
    definitions = next((p for p in tree.paths if p == "ipc/fault_points.def"), None)
    if definitions is None:
        return found + [f"{w}: {n}: ipc/fault_points.def is missing" for n, w in used.items()]
    rows = ROW.findall(tree.text(definitions))
    found += [f"{definitions}:1: {name}: two rows" for name in sorted({r for r in rows if rows.count(r) > 1})]
    found += [f"{where}: {name}: no row in {definitions}" for name, where in used.items() if name not in rows]
    found += [f"{definitions}:1: {name}: named, never used" for name in rows if name not in used]
    return found


ROWS = 'BAILIFF_FAULT_POINT(DataSync, "before a sync")\n'
USES = "int f(int fd) {\n  if (int e = BAILIFF_FAULT(DataSync)) return e;\n  return fsync(fd);\n}\n"
BAD = (
    {"ipc/fault_points.def": ROWS, "ipc/a.cc": USES + "int g(int fd) {\n  return fsync(fd);\n}\n"},
    {"ipc/fault_points.def": ROWS, "ipc/a.cc": USES + "int g() { return ::renameat2(1, a, 2, b, 0); }\n"},
    {"ipc/fault_points.def": ROWS, "ipc/a.cc": USES + "int g() {\n  return syscall(SYS_move_mount, 1);\n}\n"},
    {"ipc/fault_points.def": ROWS, "ipc/a.cc": "int a;\n"},
    {"ipc/fault_points.def": "", "ipc/a.cc": USES},
    {"ipc/fault_points.def": ROWS + ROWS, "ipc/a.cc": USES},
)
GOOD = (
    {"ipc/fault_points.def": ROWS, "ipc/a.cc": USES},
    {"ipc/fault_points.def": ROWS, "ipc/a.cc": USES + "void h() {\n  // no fault point: nothing durable\n  sendmsg(1, m, 0);\n}\n"},
)
if __name__ == "__main__":
    lint.main(check, BAD, GOOD)
