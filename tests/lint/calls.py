# SPDX-License-Identifier: Apache-2.0
"""Calls that the product does not make, or makes in one way only."""
import re

import lint

# call -> why not, and the files that may (paths that start so)
FORBIDDEN = {
    r"system|popen|wordexp": ("no shell", ()),
    r"execlp|execvp|execvpe|posix_spawnp": ("no PATH lookup", ()),
    r"getenv|secure_getenv": ("the environment decides nothing but colour, and in test builds faults and helpers",
                              ("ipc/fault.cc", "controller/cli/", "controller/supervisor/programs.cc", "ipc/spawn.cc")),
    r"setenv|putenv|clearenv": ("no environment of ours is changed", ()),
    r"strcpy|strcat|sprintf|vsprintf|gets|alloca|mktemp|tmpnam|tempnam": ("unbounded", ()),
    r"atoi|atol|atoll|strtok": ("unchecked: only for the kernel's own text", ("ipc/fault.cc", "controller/supervisor/")),
    r"fopen|freopen|fdopen": ("files are descriptors here", ("controller/cli/",)),
    r"gethostbyname|getaddrinfo|dlopen": ("nothing is looked up or loaded", ()),
    r"pipe|creat|accept|epoll_create|inotify_init|dup": ("its descriptor is not close-on-exec from the start", ()),
    r"dup2": ("only a child about to exec gives numbers to descriptors", ("ipc/spawn.cc", "collector/warden/")),
    r"sleep|usleep": ("wait for an event", ()),
    r"vfork|daemon|setlocale": ("not here", ()),
    r"euidaccess|eaccess": ("asks about another moment than the one of use", ()),
}
# call -> what its arguments must name
CLOEXEC = {
    r"open|openat": r"O_CLOEXEC|O_PATH\b.*O_CLOEXEC",
    r"open_tree": r"OPEN_TREE_CLOEXEC",
    r"fsopen": r"FSOPEN_CLOEXEC", r"fsmount": r"FSMOUNT_CLOEXEC",
    r"socket|socketpair": r"SOCK_CLOEXEC", r"accept4": r"SOCK_CLOEXEC",
    r"pipe2|dup3": r"O_CLOEXEC", r"memfd_create": r"MFD_CLOEXEC", r"epoll_create1": r"EPOLL_CLOEXEC",
    r"inotify_init1": r"IN_CLOEXEC", r"eventfd": r"EFD_CLOEXEC", r"signalfd": r"SFD_CLOEXEC", r"timerfd_create": r"TFD_CLOEXEC",
    r"recvmsg": r"MSG_CMSG_CLOEXEC|MSG_DONTWAIT|0",
}
ALLOWED = re.compile(r"//.*\blint: (.+)$")
CALL = r"(?<![\w.>:])(?:::|std::)?({})\s*\("


def calls(text, names):
    """(name, position, arguments) of every call of a plain or ::-qualified function; not members, not definitions of ours."""
    for match in re.finditer(CALL.format(names), text):
        before = text[:match.start()].rstrip()
        if re.search(r"\b(return|else|co_return|case)$", before) or not re.search(r"[\w>*&]$", before):
            yield match.group(1), match.start(), lint.arguments(text, match.end() - 1)


def excused(line):
    return ALLOWED.search(line)


def check(tree):
    found = []
    for path in tree.product():
        raw, text = tree.lines(path), lint.without_comments(tree.text(path))
        for names, (why, places) in FORBIDDEN.items():
            if places and path.startswith(places):
                continue
            for name, position, _ in calls(text, names):
                line = lint.line_of(text, position)
                if not excused(raw[line - 1]):
                    found.append(f"{path}:{line}: {name}: {why}")
        for names, flag in CLOEXEC.items():
            for name, position, given in calls(text, names):
                line = lint.line_of(text, position)
                if given.strip() and not re.search(flag, given, re.S) and not excused(raw[line - 1]):
                    found.append(f"{path}:{line}: {name} without {flag.split('|', maxsplit=1)[0]}")
        for match in re.finditer(r"\b__(DATE|TIME|TIMESTAMP)__\b|\bthrow\b|\bstd::(thread|jthread|async|system)\b|\bgoto\b", text):
            found.append(f"{path}:{lint.line_of(text, match.start())}: {match.group(0)}: not in this house")
    return found


def one(body):
    return {"ipc/a.cc": "int f() {\n" + body + "\n}\n"}


BAD = (
    one('  system("x");'), one('  return ::popen("x", "r");'), one('  execvp("x", a);'), one('  auto* v = getenv("X");'),
    one('  int fd = open("x", O_RDONLY);'), one("  int fd = openat(a,\n  b, O_RDONLY);"), one("  pipe(ends);"),
    one("  if (socket(AF_UNIX, SOCK_STREAM, 0) < 0) return 1;"), one("  throw 1;"), one("  usleep(5);"), one("  strcpy(a, b);"), one("  const char* built = __DATE__;"),
    {"controller/store/a.cc": 'void f() { open("a", O_RDWR); }\n'},
)
GOOD = (
    one('  int fd = open("x", O_RDONLY | O_CLOEXEC);'), one("  // system(x) is never called\n  x.open(1);\n  database->open(2);"),
    {"ipc/a.h": "Result<Fd> open(int a);\n"}, one('  Log("system(1)");'), {"ipc/fault.cc": 'int f() { return getenv("A") != 0; }\n'},
)
if __name__ == "__main__":
    lint.main(check, BAD, GOOD)
