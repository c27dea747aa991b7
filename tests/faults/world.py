# SPDX-License-Identifier: Apache-2.0
"""A data directory with an image and a source, calls of the test build of `bailiff` on it, and what is in its store afterwards."""
import glob
import hashlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import tempfile

import host

TREE = os.environ.get("BAILIFF_TREE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BAILIFF_BUILD") or TREE + "/build/release"
PROGRAM = BUILD + "/testing/bin/bailiff"
LONG = ["/bin/sh", "-c", "echo start; sleep 30"]
SHORT = ["/bin/sh", "-c", "echo start; exit 7"]
GOOD = ["/bin/sh", "-c", "echo start"]


def points():
    """Every fault point of the code, from the one list of them."""
    found = []
    with open(TREE + "/ipc/fault_points.def", encoding="utf-8") as file:
        for line in file:
            if line.startswith("BAILIFF_FAULT_POINT("):
                found.append(line.split("(", 1)[1].split(",", 1)[0])
    return found


class Tap:
    """Lines `ok NAME` / `not ok NAME`, as packaging/count reads them."""

    def __init__(self):
        self.failed = self.passed = 0

    def __call__(self, name, faults=()):
        faults = [f for f in ([faults] if isinstance(faults, str) else faults) if f]
        print(("not ok " if faults else "ok ") + name, flush=True)
        for fault in faults:
            print("  # " + str(fault).replace("\n", "\n  # ")[:3000], flush=True)
        self.failed += bool(faults)
        self.passed += not faults
        return not faults


class Call:
    """One call of bailiff, in the background. `trace` becomes the fault points it passed, in order."""

    def __init__(self, world, arguments, fault=None, helper_fault=None, trace=False):
        self.out, self.err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        environment = dict(os.environ)
        environment.pop("BAILIFF_FAULT", None)
        if fault:
            environment["BAILIFF_FAULT"] = fault
        if helper_fault:
            environment["BAILIFF_HELPER_FAULT"] = helper_fault
        self._trace = tempfile.TemporaryFile() if trace else None
        if trace:
            environment["BAILIFF_FAULT_TRACE"] = str(self._trace.fileno())
        self.process = subprocess.Popen(world.argv + arguments, stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err,
                                        env=environment, pass_fds=[self._trace.fileno()] if trace else [])
        self.pid = self.process.pid

    def stopped(self):
        """Waits for it to stop at its point; False when it ended without reaching it."""
        def settled():
            self.process.poll()
            found = host.look(self.pid)
            return found is None or self.process.returncode is not None or found.state == "T"
        if host.wait_for(settled, host.PATIENCE) is None:
            self.process.kill()
            raise RuntimeError("a call neither stopped nor ended: " + self.text())
        return self.process.returncode is None

    def resume(self):
        os.kill(self.pid, signal.SIGCONT)

    def end(self, bound=host.PATIENCE):
        try:
            return self.process.wait(bound)
        except subprocess.TimeoutExpired:
            host.kill([p for group in host.roles(self.pid).values() for p in group], self.pid)
            self.process.wait()
            raise RuntimeError("a call did not end: " + self.text()) from None

    @staticmethod
    def _read(file):
        file.seek(0)
        return file.read().decode("utf-8", "replace")

    def stdout(self):
        return self._read(self.out)

    def text(self):
        return self._read(self.out) + self._read(self.err)

    def trace(self):
        seen = {}
        for name in self._read(self._trace).split():
            seen[name] = seen.get(name, 0) + 1
            yield name, seen[name]


class World:
    def __init__(self):
        self.scratch = tempfile.mkdtemp(prefix="bailiff-test.", dir=os.environ.get("TMPDIR", "/tmp"))
        os.chmod(self.scratch, 0o755)
        self.use(self.scratch + "/data")
        self.count = 0
        root = self.scratch + "/root"
        os.makedirs(root + "/bin")
        shutil.copy(shutil.which("busybox"), root + "/bin/busybox")
        for applet in ("sh", "echo", "sleep", "cat", "head", "true"):
            os.symlink("busybox", f"{root}/bin/{applet}")
        self.tar(root, "root.tar")
        self.must("init")
        self.must("image", "import", self.scratch + "/root.tar", "--name", "bb")
        self.revision = json.loads(self.must("--json", "source", "import", self.source()))["revision"]
        self.cgroups = []
        self.must(*self.run(GOOD))
        self.learn_cgroups()

    def use(self, data):
        self.data = data
        parent = os.environ.get("BAILIFF_TEST_CGROUP_PARENT")
        self.argv = [PROGRAM, "--data-dir", data] + (["--cgroup-parent", parent] if parent else [])

    def close(self):
        subprocess.run(["chmod", "-R", "u+w", self.scratch], check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(self.scratch, ignore_errors=True)

    def tar(self, folder, name):
        subprocess.run(["tar", "-C", folder, "--owner=0", "--group=0", "-cf", f"{self.scratch}/{name}", "."], check=True)
        return f"{self.scratch}/{name}"

    def source(self):
        """A directory nobody imported before."""
        self.count += 1
        folder = f"{self.scratch}/source{self.count}"
        os.mkdir(folder)
        with open(folder + "/file", "w", encoding="ascii") as file:
            file.write(f"number {self.count}\n")
        return folder

    def repository(self):
        """A git repository nobody imported before, with one commit."""
        folder = self.source()
        who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        for words in (["init", "-q"], ["add", "file"], [*who, "commit", "-qm", "x"]):
            subprocess.run(["git", "-C", folder, *words], check=True, stdin=subprocess.DEVNULL)
        return folder

    def image(self):
        """An archive nobody imported before."""
        self.count += 1
        folder = f"{self.scratch}/image{self.count}"
        os.makedirs(folder + "/etc")
        with open(folder + "/etc/number", "w", encoding="ascii") as file:
            file.write(f"number {self.count}\n")
        return self.tar(folder, f"image{self.count}.tar")

    def run(self, command, source=None, timeout="2s", json_output=False):
        return (["--json"] if json_output else []) + ["run", "--exit=outcome", "--image", "bb", "--source", source or self.revision,
                                                      "--timeout", timeout, "--", *command]

    def call(self, *arguments, **how):
        """One whole call: (exit status, everything it said)."""
        call = Call(self, list(arguments), **how)
        status = call.end()
        return status, call.text()

    def must(self, *arguments):
        call = Call(self, list(arguments))
        if call.end() != 0:
            raise RuntimeError(f"{arguments}: {call.text()}")
        return call.stdout()

    # --- the store, read from a copy: opened by us, its files would be ours

    def database(self):
        folder = tempfile.mkdtemp(dir=self.scratch)
        for path in glob.glob(self.data + "/state.sqlite*"):
            if not path.endswith("-shm"):
                shutil.copy(path, folder)
        connection = sqlite3.connect(folder + "/state.sqlite")
        connection.row_factory = sqlite3.Row
        return connection, folder

    def look(self):
        """Attempts by id, evidence by id, the whole content as text, and what is wrong with it."""
        if not os.path.exists(self.data + "/state.sqlite"):
            return {}, {}, "", []
        connection, folder = self.database()
        try:
            faults = [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
            faults += ["foreign key: " + str(tuple(row)) for row in connection.execute("PRAGMA foreign_key_check")]
            try:
                attempts = {row["id"]: dict(row) for row in connection.execute("SELECT * FROM attempts")}
            except sqlite3.OperationalError:
                return {}, {}, "", faults  # its first transaction did not come to its end
            evidence = {row["evidence_id"]: bytes(row["bytes"]) for row in connection.execute("SELECT * FROM evidence")}
            # Nothing is ever changed without a line in the audit, nor a line of it (SCHEMA.md).
            audit = [tuple(row) for row in connection.execute("SELECT * FROM audit")]
            return attempts, evidence, repr((attempts, sorted(evidence), audit)), faults
        finally:
            connection.close()
            shutil.rmtree(folder, ignore_errors=True)

    def alter(self, attempt, change):
        """Rewrites the custody of an attempt as the data directory's owner would; None: takes it away."""
        connection = sqlite3.connect(self.data + "/state.sqlite")
        if change is None:
            connection.execute("UPDATE attempts SET custody_json = NULL WHERE id = ?", (attempt,))
        else:
            text, = connection.execute("SELECT custody_json FROM attempts WHERE id = ?", (attempt,)).fetchone()
            custody = json.loads(text)
            change(custody)
            text = json.dumps(custody, separators=(",", ":"), sort_keys=True)
            connection.execute("UPDATE attempts SET custody_json = ? WHERE id = ?", (text.encode(), attempt))
        connection.commit()
        connection.close()
        owner = os.stat(self.data)
        for path in glob.glob(self.data + "/state.sqlite*"):
            os.chown(path, owner.st_uid, owner.st_gid)

    def learn_cgroups(self):
        attempts = self.look()[0]
        for row in attempts.values():
            for place in json.loads(row["custody_json"] or "{}").get("cgroups", []):
                path = place["path"].split("/")
                at = next(i for i, part in enumerate(path) if part.startswith("bailiff.") and part != "bailiff-tests")
                base = "/".join(path[:at + 1])
                if base not in self.cgroups:
                    self.cgroups.append(base)

    # --- what may not be left

    def leavings(self, namespaces=frozenset()):
        left = []
        for base in self.cgroups:
            left += [f"cgroup {folder}" for folder in glob.glob(base + "/*/") if not folder.endswith("/controller/")]
        for place, spared in (("execution", ("owners.lock", "instance")), ("staging", ())):
            for name in os.listdir(f"{self.data}/{place}"):
                if name not in spared:
                    left.append(f"file {place}/{name}")
        left += [f"file {name}" for name in os.listdir(self.data) if name.endswith(".new")]
        for name in os.listdir(self.data + "/images"):
            if not os.path.exists(f"{self.data}/images/{name}/complete"):
                left.append(f"image {name} is not complete")
        with open("/proc/self/mountinfo", encoding="utf-8") as file:
            left += ["mount " + line.strip() for line in file if self.data in line]
        for process in host.all_processes():
            if process.state not in "ZX" and self.data in host.arguments(process.pid):
                left.append(f"process {process.pid} {' '.join(host.arguments(process.pid))}")
        left += host.in_namespaces(set(namespaces)) if namespaces else []
        return left

    def record_faults(self, row, evidence):
        """Is the record of a finished attempt what it is kept as?"""
        raw = evidence.get(row["evidence_id"])
        if raw is None:
            return ["finished without evidence"], {}
        record = json.loads(raw)
        faults = []
        if hashlib.sha256(b"bailiff.evidence.v1\0" + raw).hexdigest() != row["evidence_id"]:
            faults.append("evidence has another digest than its id")
        if record["outcome"] != row["outcome"]:
            faults.append(f"row says {row['outcome']}, record says {record['outcome']}")
        if not record["cleanup"]["confirmed"]:
            faults.append("finished while cleanup is unconfirmed")
        whole = (record["process"].get("state") == "exited" and record["isolation"]["observed"] and record["runtime"]["unchanged"] and
                 all(stream["eof"] for stream in record.get("streams", {"none": {"eof": False}}).values()))
        if record["outcome"] in ("success", "failed") and not whole:
            faults.append(f"{record['outcome']} without every fact of it: {raw.decode()}")
        return faults, record
