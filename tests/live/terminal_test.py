#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program on a terminal: the progress line, colour, escaping of what a command writes, typed input left alone, Ctrl-C once and
twice. Arguments: the program, its data directory, an image, a revision, and perhaps a cgroup parent. Prints `ok NAME` lines."""
import os
import pty
import re
import select
import signal
import sys
import termios
import time

PROGRAM, DATA, IMAGE, REVISION = sys.argv[1:5]
PARENT = ["--cgroup-parent", sys.argv[5]] if len(sys.argv) > 5 and sys.argv[5] else []
failed = 0


def show(name, good, said):
    global failed
    print(("ok " if good else "not ok ") + name)
    if not good:
        failed += 1
        print("  # " + repr(said)[:3000])


def run(command, *flags, environment=None, steps=(), before=()):
    """Runs `bailiff run` on a pty. `steps`: (bytes to wait for, what to do then). Returns what the terminal got and the exit status."""
    pid, terminal = pty.fork()
    if pid == 0:
        env = {"TERM": "xterm", "PATH": "/usr/bin:/bin"}
        env.update(environment or {})
        os.execve(PROGRAM, [PROGRAM, "--data-dir", DATA, *PARENT, *before, "run", "--image", IMAGE, "--source", REVISION, *flags, "--", *command], env)
    said, todo, end = b"", list(steps), time.monotonic() + 60
    while time.monotonic() < end:
        if todo and todo[0][0] in said:
            todo.pop(0)[1](pid, terminal)
        if not select.select([terminal], [], [], 0.05)[0]:
            continue
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        said += piece
    else:
        os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    os.close(terminal)
    return said, os.waitstatus_to_exitcode(status)


def typed(text):
    return lambda pid, terminal: os.write(terminal, text)


said, code = run(["/bin/sh", "-c", "sleep 2; echo done"])
show("a progress line is drawn and taken away", re.search(rb"running 00:0\d.*memory \d+/512 MiB.*output 0 B/1 MiB", said)
     and said.rstrip().rfind(b"\x1b[K") < said.rfind(b"success") and code == 0, said)
show("the outcome is coloured", b"\x1b[32msuccess\x1b[0m" in said, said)

said, code = run(["/bin/sh", "-c", "sleep 1; echo done"], environment={"NO_COLOR": "1"})
show("NO_COLOR is honoured", b"\x1b[32m" not in said and b"success" in said, said)

said, code = run(["/bin/sh", "-c", "sleep 1; echo done"], before=["--no-progress", "--color=never"])
show("--no-progress and --color=never leave no control at all", b"\x1b" not in said and b"done" in said, said)

said, code = run(["/bin/printf", "\\033]0;title\\007\\033[2J\\rover\\n\\302\\233x\\n"], before=["--no-progress", "--color=never"])
show("a12 what a terminal would obey is spelt out", b"\x1b" not in said and b"\\x1b]0;title\\x07\\x1b[2J\\rover" in said and b"\\xc2\\x9bx" in said, said)

said, code = run(["/bin/printf", "\\033[1mbold\\n"], "--raw", before=["--no-progress", "--color=never"])
show("--raw passes it on", b"\x1b[1mbold" in said, said)

said, code = run(["/bin/sh", "-c", "read x; echo rc=$?; cat; echo end; : < /dev/tty"], steps=[(b"running", typed(b"typed\n"))])
show("a13 typed input never reaches the command", b"rc=1" in said and b"end" in said and b"/dev/tty" in said, said)

said, code = run(["/bin/sh", "-c", "echo ready; sleep 30"], "--exit=outcome", steps=[(b"ready", typed(b"\x03"))])
show("Ctrl-C once: cancelled, cleaned up, recorded", code == 2 and b"cancelled" in said and b"cleanup confirmed" in said and b"evidence" in said, said)


def twice(pid, terminal):
    # Stopped, so that both are there when it looks.
    os.kill(pid, signal.SIGSTOP)
    os.kill(pid, signal.SIGINT)
    os.kill(pid, signal.SIGTERM)
    os.kill(pid, signal.SIGCONT)


said, code = run(["/bin/sh", "-c", "echo ready; sleep 30"], "--exit=outcome", steps=[(b"ready", twice)])
show("twice: still cleaned up and recorded", code == 2 and b"cancelled" in said and b"cleanup confirmed" in said, said)
show("twice: says why it must still clean up", b"would leave it unconfirmed" in said, said)
sys.exit(1 if failed else 0)
