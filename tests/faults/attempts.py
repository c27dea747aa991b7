# SPDX-License-Identifier: Apache-2.0
"""What tests of single attempts share: runs that go on, runs whose owner is dead, processes that have nothing to do with Bailiff."""
import json
import os
import subprocess
import time

import host
import world as w

FOREVER = ["/bin/sh", "-c", "echo start; sleep 600"]


class Attempts:
    """A world, and the parts of a test: each is one method."""

    PARTS = ()

    def __init__(self):
        self.world, self.tap, self.innocents = w.World(), w.Tap(), []

    # --- tools

    def started(self, command=None, timeout="60s"):
        """A run whose command is seen to run: (call, row of its attempt, processes by role)."""
        known = set(self.world.look()[0])
        call = w.Call(self.world, self.world.run(command or FOREVER, timeout=timeout, json_output=True))

        def running():
            if call.process.poll() is not None:
                raise RuntimeError("a run ended too early: " + call.text())
            return any("sleep" in host.arguments(p.pid) for p in host.roles(call.pid).get("candidate", []))
        if host.wait_for(running, host.PATIENCE) is None:
            raise RuntimeError("a run did not begin: " + call.text())
        attempts = self.world.look()[0]
        (name,) = set(attempts) - known
        return call, attempts[name], host.roles(call.pid)

    def dead(self):
        """A running attempt whose owner is dead: its row."""
        known = set(self.world.look()[0])
        self.world.call(*self.world.run(FOREVER), fault="AfterRelease=kill")
        if host.wait_for(lambda: not host.members(self.world.cgroups), host.PATIENCE) is None:
            raise RuntimeError("processes of a dead attempt live")
        attempts = self.world.look()[0]
        (name,) = set(attempts) - known
        return attempts[name]

    def row(self, name):
        return self.world.look()[0][name]

    def end(self, verb, row, *more):
        return self.world.call("--json", "check", verb, row["id"], str(self.row(row["id"])["generation"]), "the test says so", *more)

    def innocent(self, wanted=None):
        """A process that has nothing to do with Bailiff, with this number if one is wanted."""
        for _ in range(2000):
            if wanted is not None:
                if host.look(wanted):
                    time.sleep(0.005)
                    continue
                with open("/proc/sys/kernel/ns_last_pid", "w", encoding="ascii") as file:
                    file.write(str(wanted - 1))
            process = subprocess.Popen(["sleep", "1000"])
            if wanted in (None, process.pid):
                self.innocents.append(process)
                return process
            process.kill()
            process.wait()
        raise RuntimeError(f"no process got the number {wanted}")

    def finished(self, row, outcome, reason=None):
        """What is wrong with the record of an attempt that has to be finished now."""
        attempts, evidence, _, faults = self.world.look()
        now = attempts[row["id"]]
        if now["state"] != "finished":
            return faults + [f"it is {now['state']} at generation {now['generation']}"]
        found, record = self.world.record_faults(now, evidence)
        faults += found
        if record.get("outcome") != outcome or (reason and reason not in record["reasons"]):
            faults.append(f"{record.get('outcome')} {record.get('reasons')}, expected {outcome} {reason or ''}")
        return faults

    def nothing_left(self):
        left = []

        def nothing():
            left[:] = self.world.leavings()
            return not left
        return [] if host.wait_for(nothing, 2 * host.SLOWNESS) is not None else ["left behind: " + line for line in left]

    @staticmethod
    def said(status, text, wanted, words):
        return [] if status == wanted and words in text else [f"exit {status}, expected {wanted} and {words}: {text}"]

    def main(self):
        began = time.monotonic()
        try:
            for part in self.PARTS:
                try:
                    part(self)
                except (RuntimeError, OSError, KeyError, ValueError) as fault:
                    self.tap(f"{part.__name__} came to its end", repr(fault))
        finally:
            for process in self.innocents:
                process.kill()
                process.wait()
            self.world.close()
        print(f"{time.monotonic() - began:.1f} s")
        return 1 if self.tap.failed else 0
