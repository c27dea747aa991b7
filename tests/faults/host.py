# SPDX-License-Identifier: Apache-2.0
"""What the kernel says about processes, namespaces and cgroups: nothing here asks Bailiff."""
import os
import signal
import subprocess
import time

# A point below which waiting is a failure of the host, not of what is tested; more where code runs under emulation.
SLOWNESS = float(os.environ.get("BAILIFF_TEST_SLOWNESS", "1"))
PATIENCE = 30 * SLOWNESS
PROGRAMS = {"bailiff-warden": "warden", "bailiff-collector": "collector", "bailiff-snapshotter": "snapshotter",
            "bailiff-importer": "importer"}


class Process:
    """One process, told from a later one of the same number by its start time."""

    def __init__(self, pid, parent, state, start):
        self.pid, self.parent, self.state, self.start = pid, parent, state, start

    def now(self):
        found = look(self.pid)
        return found if found and found.start == self.start else None

    def alive(self):
        found = self.now()
        return found is not None and found.state not in "ZX"

    def namespaces(self):
        """Its own user and pid namespaces; empty where this user may not look."""
        found = set()
        for kind in ("user", "mnt", "pid", "net"):
            try:
                found.add(os.readlink(f"/proc/{self.pid}/ns/{kind}"))
            except OSError:
                pass
        return found


def look(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return None
    fields = text[text.rindex(")") + 2:].split()
    return Process(int(pid), int(fields[1]), fields[0], int(fields[19]))


def all_processes():
    return [p for p in (look(name) for name in os.listdir("/proc") if name.isdigit()) if p]


def descendants(pid, processes):
    children = {}
    for process in processes:
        children.setdefault(process.parent, []).append(process)
    found, queue = [], [pid]
    while queue:
        for child in children.get(queue.pop(), []):
            found.append(child)
            queue.append(child.pid)
    return found


def arguments(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return [a.decode("utf-8", "replace") for a in file.read().split(b"\0")[:-1]]
    except OSError:
        return []


def roles(controller):
    """The processes of one call of Bailiff by role; whatever lives below a warden is the candidate's."""
    own = look(controller)
    found = {"controller": [own]} if own else {}
    wardens = set()
    rest = []
    processes = all_processes()
    for process in descendants(controller, processes):
        name = PROGRAMS.get((arguments(process.pid) or [""])[0])
        if process.state in "ZX":
            continue
        if name == "warden" and process.parent == controller:
            wardens.add(process.pid)
            found.setdefault("warden", []).append(process)
        elif name and process.parent == controller:
            found.setdefault(name, []).append(process)
        else:
            rest.append(process)
    inside = {p.pid for w in wardens for p in descendants(w, processes)}
    for process in rest:
        # A fork of the controller that is no helper yet, or the process that keeps the caller's rights.
        found.setdefault("candidate" if process.pid in inside else "fork", []).append(process)
    return found


def kill(processes, through=None, name="KILL"):
    """SIGKILL, or another signal. Helpers have ids of their own, so an ordinary user goes through the controller's user namespace."""
    denied = []
    for process in processes:
        try:
            if process.alive():
                os.kill(process.pid, getattr(signal, "SIG" + name))
        except ProcessLookupError:
            pass
        except PermissionError:
            denied.append(str(process.pid))
    if denied:
        subprocess.run(["nsenter", "--preserve-credentials", "-U", "-t", str(through), "kill", "-" + name, *denied], check=False,
                       stderr=subprocess.DEVNULL)


def wait_for(condition, bound):
    """Seconds until it held, or None. /proc has no event for the states looked at here."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > bound:
            return None
        time.sleep(0.002)
    return time.monotonic() - began


def call(pid):
    """The number and the arguments of the call a process waits in, as the kernel writes them."""
    try:
        with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
            return file.read().split()
    except OSError:
        return []


def write(path, value):
    """Into a file of the kernel, in one call."""
    with open(path, "w", encoding="ascii") as file:
        file.write(str(value))


def waits_for_ever(pid):
    """A helper at a fault point with `stop`: poll(NULL, 0, -1)."""
    words = call(pid)
    return len(words) > 3 and words[0] in ("7", "73", "271") and words[1] == "0x0" and words[2] == "0x0"


def in_namespaces(wanted):
    found = []
    for process in all_processes():
        if process.state not in "ZX" and process.namespaces() & wanted:
            found.append(f"process {process.pid} {' '.join(arguments(process.pid))} in a namespace of the run")
    return found


def members(bases):
    """Processes in any cgroup below these directories, but for the leaf the controller itself is in on v2."""
    pids = set()
    for base in bases:
        for folder, _, _ in os.walk(base):
            if folder.endswith("/controller"):
                continue
            try:
                with open(folder + "/cgroup.procs", encoding="ascii") as file:
                    pids.update(int(line) for line in file)
            except OSError:
                pass
    return [p for p in map(look, pids) if p and p.state not in "ZX"]
