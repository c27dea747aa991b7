# SPDX-License-Identifier: Apache-2.0
"""What is built: position independent, full RELRO, no executable stack, no text relocations, stack protector, fortified; helpers
static; of libgit2 only what reads objects; no fault point and no test switch in what is installed, but both in the test variants. The build tree is $BAILIFF_BUILD."""
import os
import re
import subprocess
import sys
import tempfile

DYNAMIC = {"bailiff", "bailiff-importer"}  # may be dynamic; every other program is static-PIE
EXPECTED = {"bailiff", "bailiff-warden", "bailiff-collector", "bailiff-snapshotter", "bailiff-importer"}
# What reading packs and loose objects never needs of libgit2 and the libraries behind it, and what it must have: SHA-1 that detects
# collision attacks. A name of the first kind means that the cut of snapshotter/importer/git_cut.cc is not where it was.
GIT_CUT = re.compile(r"^(git_(config|remote|checkout|refdb|smart_[a-z]+_|clone|repository_(open|init|odb)|filter_list_(load|apply)|"
                     r"transport_(new|http|smart))\w*|(mbedtls|libssh2|http_parser|gss|SSL|pcre2)_\w+|getaddrinfo)$")
GIT_HAS = "SHA1DCFinal"
TEST_WORDS = (b"BAILIFF_FAULT", b"BAILIFF_HELPER_FAULT", b"BAILIFF_TEST_LIBEXEC")


def readelf(path, *options):
    return subprocess.run(["readelf", "-W", *options, path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=True).stdout


def hardening(path, static):
    """Findings about one program."""
    found = []
    header, segments, dynamic = readelf(path, "-h"), readelf(path, "-l"), readelf(path, "-d")
    symbols = readelf(path, "--dyn-syms") + readelf(path, "-s")
    if not re.search(r"Type:\s+DYN", header):
        found.append("not position independent")
    if "GNU_RELRO" not in segments:
        found.append("no RELRO")
    if not re.search(r"\((FLAGS|FLAGS_1|BIND_NOW)\).*\b(BIND_NOW|NOW)\b", dynamic) and "(BIND_NOW)" not in dynamic:
        found.append("not bound at start (BIND_NOW)")
    stack = re.search(r"GNU_STACK.*?\b(RWE|RW)\b", segments)
    if not stack or stack.group(1) != "RW":
        found.append("executable stack")
    if "(TEXTREL)" in dynamic or re.search(r"FLAGS.*TEXTREL", dynamic):
        found.append("text relocations")
    if re.search(r"^\s+LOAD.*\bRWE\b", segments, re.M):
        found.append("a segment both writable and executable")
    if re.search(r"\((RPATH|RUNPATH)\)", dynamic):
        found.append("a run path")
    if static and ("INTERP" in segments or "(NEEDED)" in dynamic):
        found.append("dynamic, but a helper is static")
    if "__stack_chk_fail" not in symbols:
        found.append("no stack protector")
    if not re.search(r"__\w+_chk(@|\s|$)", symbols.replace("__stack_chk_fail", "")):
        found.append("not fortified")
    return found


def git_cut(names):
    """Findings about the importer, by the names in its symbol table."""
    found = [f"holds {name}: libgit2 is not cut" for name in sorted(names) if GIT_CUT.match(name)]
    return found + ([] if GIT_HAS in names else [f"no {GIT_HAS}: SHA-1 without detection of collisions"])


def names_of(path):
    return {line.split()[7].split("@")[0] for line in readelf(path, "-s").splitlines() if len(line.split()) > 7}


def words(path, wanted):
    with open(path, "rb") as file:
        data = file.read()
    return [w.decode() for w in TEST_WORDS if (w in data) != wanted]


def self_test():
    """Programs made badly on purpose: each fault must be seen."""
    source = "#include <stdio.h>\n#include <string.h>\nint main(int c, char** v) { char b[64]; strcpy(b, v[c - 1]); puts(b); return 0; }\n"
    fine = ["-O2", "-D_FORTIFY_SOURCE=2", "-fstack-protector-strong", "-fPIE", "-pie", "-Wl,-z,relro,-z,now"]
    cases = ((fine, None), (fine + ["-no-pie"], "not position independent"), (fine + ["-Wl,-z,norelro"], "no RELRO"),
             (fine + ["-Wl,-z,lazy"], "not bound at start (BIND_NOW)"), (fine + ["-z", "execstack"], "executable stack"),
             (fine + ["-fno-stack-protector"], "no stack protector"), (fine + ["-U_FORTIFY_SOURCE"], "not fortified"),
             (fine + ["-Wl,-rpath,/opt"], "a run path"))
    problems = []
    with tempfile.TemporaryDirectory() as scratch:
        program = os.path.join(scratch, "a")
        for flags, expected in cases:
            subprocess.run(["gcc", "-xc", "-", "-w", "-o", program, *flags], input=source, text=True, check=True)
            found = hardening(program, False)
            if (expected is None and found) or (expected is not None and expected not in found):
                problems.append(f"self-test: {' '.join(flags[6:]) or 'fine'}: expected {expected}, found {found}")
        if "dynamic, but a helper is static" not in hardening(program, True):
            problems.append("self-test: a dynamic helper was not seen")
    for names, expected in (({GIT_HAS, "git_odb_read"}, 0), ({GIT_HAS, "git_config_get_string"}, 1), ({GIT_HAS, "mbedtls_ssl_init"}, 1),
                            ({"git_odb_read"}, 1)):
        if len(git_cut(names)) != expected:
            problems.append(f"self-test: {sorted(names)}: not {expected} findings")
    return problems, len(cases) + 5


def main():
    build = os.environ.get("BAILIFF_BUILD") or sys.exit("BAILIFF_BUILD is not set")
    findings, tried = self_test()
    programs = sorted(p for p in os.listdir(os.path.join(build, "bin")) if os.access(os.path.join(build, "bin", p), os.X_OK)
                      and re.fullmatch(r"bailiff(-\w+)?", p))
    findings += [f"bin/{p}: not built" for p in sorted(EXPECTED - set(programs))]
    for name in programs:
        path, twin = os.path.join(build, "bin", name), os.path.join(build, "testing", "bin", name)
        findings += [f"bin/{name}: {f}" for f in hardening(path, name not in DYNAMIC)]
        findings += [f"bin/{name}: holds {w}" for w in words(path, False)]
        if name == "bailiff-importer":
            findings += [f"bin/{name}: {f}" for f in git_cut(names_of(path))]
        if not os.path.exists(twin):
            findings.append(f"testing/bin/{name}: not built")
        elif "BAILIFF_FAULT" in words(twin, True):
            findings.append(f"testing/bin/{name}: has no fault points: the test variant is the same program")
    print("\n".join(findings + [f"{tried} programs made to be found; {len(programs)} programs looked at; {len(findings)} findings"]))
    sys.exit(1 if findings else 0)


main()
