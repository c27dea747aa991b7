# SPDX-License-Identifier: Apache-2.0
"""The catalogue of errors: every row well formed, said once, complete, and used; every use has a row."""
import re

import lint

DEFINITIONS = "ipc/errors.def"
ROW = re.compile(r'^BAILIFF_ERROR\((k\w+),\s*"([^"]*)",\s*(\d+),\s*"((?:[^"\\]|\\.)*)",\s*"((?:[^"\\]|\\.)*)",\s*"([^"]*)"\)$')
CODE = re.compile(r"^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*$")
EXITS = {"1", "2", "64", "65", "66", "69", "70", "73", "74", "75", "77", "78", "125", "130", "143"}
RULE = re.compile(r"^(R([1-9]|1[0-6])\.\d\d|RFC \d+|[a-z_]+\([1-8]\)|contracts \d+)(, (R([1-9]|1[0-6])\.\d\d))*$")
USE = re.compile(r"\b(?:Code|ErrorCode)::(k[A-Z]\w*)")


def check(tree):
    found, names, codes = [], {}, {}
    if DEFINITIONS not in tree.paths:
        return [f"{DEFINITIONS}:1: missing"]
    text = re.sub(r'"\s*\n\s*"', "", tree.text(DEFINITIONS))
    text = re.sub(r",\s*\n\s*", ", ", text)
    for number, line in enumerate(text.split("\n"), 1):
        if not line.startswith("BAILIFF_ERROR"):
            if line.strip() and not line.startswith("//"):
                found.append(f"{DEFINITIONS}:{number}: neither a row nor a comment: {line[:60]}")
            continue
        row = ROW.match(line)
        if not row:
            found.append(f"{DEFINITIONS}:{number}: not of the form of a row: {line[:70]}")
            continue
        name, code, status, what, fix, rule = row.groups()
        where = f"{DEFINITIONS}:{number}: {code}"
        if not CODE.match(code):
            found.append(f"{where}: not area.thing.fault")
        if status not in EXITS:
            found.append(f"{where}: exit {status} is not in the table of exits")
        if not what or not fix:
            found.append(f"{where}: says not what, or no fix")
        if fix.endswith("."):
            found.append(f"{where}: a fix is one action, without a full stop")
        if rule and not RULE.match(rule):
            found.append(f"{where}: {rule}: not a requirement, RFC or man page")
        for table, key in ((names, name), (codes, code)):
            if key in table:
                found.append(f"{where}: {key}: also in line {table[key]}")
            table[key] = number
    used = set()
    for path in tree.having(".cc", ".h", under=lint.ROOMS + ("tests",)):
        plain = lint.without_comments(tree.text(path))
        for match in USE.finditer(plain):
            if path.startswith(lint.ROOMS):
                used.add(match.group(1))
            if match.group(1) not in names and names:
                found.append(f"{path}:{lint.line_of(plain, match.start())}: {match.group(1)}: no row")
    for path in tree.having(".def", under=lint.ROOMS):
        if path != DEFINITIONS:  # other tables may map their own numbers to errors
            used |= set(re.findall(r"\bk[A-Z]\w*", tree.text(path)))
    found += [f"{DEFINITIONS}:{number}: {name}: never raised" for name, number in names.items() if name not in used]
    return found


ROW_A = 'BAILIFF_ERROR(kA, "a.b.c", 64, "thing", "mend it", "R2.01")\n'
USE_A = "int f() { return Code::kA; }\n"
BAD = (
    {DEFINITIONS: ROW_A.replace("a.b.c", "a.b"), "ipc/a.cc": USE_A},
    {DEFINITIONS: ROW_A.replace("64", "3"), "ipc/a.cc": USE_A},
    {DEFINITIONS: ROW_A.replace("mend it", ""), "ipc/a.cc": USE_A},
    {DEFINITIONS: ROW_A + ROW_A.replace("kA", "kB"), "ipc/a.cc": USE_A + "int g() { return Code::kB; }\n"},
    {DEFINITIONS: ROW_A, "ipc/a.cc": USE_A + "int g() { return Code::kB; }\n"},
    {DEFINITIONS: ROW_A, "ipc/a.cc": "int a;\n"},
    {DEFINITIONS: ROW_A.replace("R2.01", "R99.01"), "ipc/a.cc": USE_A},
    {DEFINITIONS: "int x;\n"},
)
GOOD = ({DEFINITIONS: "// rows\n" + ROW_A, "ipc/a.cc": USE_A},)
if __name__ == "__main__":
    lint.main(check, BAD, GOOD)
