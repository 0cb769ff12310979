"""Runs one host's program and makes sure that nothing of it outlives the host.

Started by the local SageMaker with pipes. Standard input carries one line of JSON ({"command",
"environment", "directory", "optMl"}) and then the lines TERM, KILL and FAULT with a kind
(host_faults.py); its end means that the server is gone, and then everything dies. File descriptor
3 carries lines of JSON back: {"started": pid}, {"usage": {...}}, {"exit": {"code", "signal"}} or
{"refused": why}. Standard output and error belong to the program.

Dependency-free; Python 3.10 or newer. Linux for the full promise; elsewhere the program's process
group is what is killed.
"""

import contextlib
import ctypes
import json
import os
import re
import select
import signal
import sys
import time
from typing import NoReturn, TypedDict, cast

import opt_ml

REPORT_FD = 3
SAMPLE_SECONDS = 2.0
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
NOT_FOUND = 127
NOT_EXECUTABLE = 126
# As a whole path or at the beginning of one; not inside a longer one such as /data/opt/ml.
CONTAINER_PATH = re.compile(r"(?<![\w.\-/])/opt/ml(?![\w.-])")
# Only the server decides when a host ends.
DEAF_TO = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Spec(TypedDict):
    command: list[str]
    environment: dict[str, str]
    directory: str
    optMl: str | None


class Outcome(TypedDict):
    code: int
    signal: str | None


def prctl(option: int, value: int) -> None:
    """Linux only; a machine without it goes without the promise."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def report(message: dict[str, object]) -> None:
    # When the server is gone, the end of standard input says the same.
    with contextlib.suppress(OSError):
        os.write(REPORT_FD, (json.dumps(message) + "\n").encode())


def run_program(spec: Spec, refusal_fd: int) -> NoReturn:
    """In the child: becomes the program, in a process group of its own."""
    try:
        os.setsid()
        if spec["optMl"]:
            # First, because a change of rights takes the next line's promise back.
            opt_ml.show(spec["optMl"], spec["environment"]["TMPDIR"])
        # The program's first process dies with this supervisor, even after a kill -9.
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.set_wakeup_fd(-1)
        for number in (*DEAF_TO, signal.SIGCHLD, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(REPORT_FD)
        os.chdir(spec["directory"])
        os.execvpe(spec["command"][0], spec["command"], spec["environment"])
    except OSError as error:
        os.write(refusal_fd, f"{spec['command'][0]}: {error.strerror}".encode())
        os._exit(NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE)


def as_seen(spec: Spec) -> Spec:
    """Where hosts cannot see their folder as /opt/ml, its own path stands in the place of that."""
    base = spec["optMl"]
    if not base or opt_ml.can_show(base, spec["environment"]["TMPDIR"], spec["directory"]):
        return spec
    command = [CONTAINER_PATH.sub(lambda _: base, part) for part in spec["command"]]
    environment = {**spec["environment"], "SAGEMAKER_BASE_DIR": base}
    return {**spec, "command": command, "environment": environment, "optMl": None}


def start(spec: Spec) -> tuple[int, str]:
    """The process id, and why the program could not be started (empty when it could)."""
    spec = as_seen(spec)
    read_fd, write_fd = os.pipe()  # Not inherited over exec: its end means that the program runs.
    pid = os.fork()
    if pid == 0:
        os.close(read_fd)
        run_program(spec, write_fd)
    os.close(write_fd)
    refusal = b""
    while chunk := os.read(read_fd, 4096):
        refusal += chunk
    os.close(read_fd)
    return pid, refusal.decode(errors="replace")


def processes() -> dict[int, tuple[int, float, int]]:
    """Every process: parent, CPU seconds of itself, resident bytes. Empty without /proc."""
    ticks = os.sysconf("SC_CLK_TCK")
    page = os.sysconf("SC_PAGE_SIZE")
    found: dict[int, tuple[int, float, int]] = {}
    try:
        names = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return found
    for name in names:
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                # The command's name may hold anything, but nothing after its last bracket does.
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        cpu = (int(fields[11]) + int(fields[12])) / ticks
        found[int(name)] = (int(fields[1]), cpu, int(fields[21]) * page)
    return found


def descendants(table: dict[int, tuple[int, float, int]]) -> list[int]:
    children: dict[int, list[int]] = {}
    for pid, (parent, _, _) in table.items():
        children.setdefault(parent, []).append(pid)
    waiting = list(children.get(os.getpid(), []))
    found: list[int] = []
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting.extend(children.get(pid, []))
    return found


def send(pid: int, number: signal.Signals, *, group: bool = False) -> None:
    try:
        if group:
            os.killpg(pid, number)
        else:
            os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def outcome_of(status: int) -> Outcome:
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return {"code": code, "signal": None}
    # As a shell and docker count it.
    return {"code": 128 - code, "signal": signal.Signals(-code).name}


class Supervisor:
    def __init__(self, leader: int) -> None:
        self.leader = leader
        self.outcome: Outcome | None = None
        self.pending = b""
        self.gone_cpu = 0.0
        self.last_cpu: dict[int, float] = {}

    def reap(self) -> bool:
        """Collects what has died; whether anything is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.leader:
                self.outcome = outcome_of(status)

    def kill_everything(self) -> None:
        """Until nothing is left: orphans are ours (subreaper), so leaving the group saves none."""
        send(self.leader, signal.SIGKILL, group=True)
        while self.reap():
            for pid in descendants(processes()) or [self.leader]:
                send(pid, signal.SIGKILL)
            time.sleep(0.01)

    def obey(self, chunk: bytes) -> None:
        """Commands may come in pieces."""
        *lines, self.pending = (self.pending + chunk).split(b"\n")
        for line in lines:
            if line == b"TERM":
                # As `docker stop` does: only the first process hears of it.
                send(self.leader, signal.SIGTERM)
            elif line == b"KILL":
                self.kill_everything()
            elif line.startswith(b"FAULT "):
                # Only now: every host starts sooner without it.
                import host_faults

                kind = line.removeprefix(b"FAULT ").decode()
                host_faults.begin(kind, self.leader, lambda: descendants(processes()))

    def sample(self) -> None:
        table = processes()
        ours = descendants(table)
        now = {pid: table[pid][1] for pid in ours}
        # CPU time of a process that ended must not be lost: the sum may never fall.
        self.gone_cpu += sum(cpu for pid, cpu in self.last_cpu.items() if pid not in now)
        self.last_cpu = now
        report(
            {
                "usage": {
                    "cpuSeconds": round(self.gone_cpu + sum(now.values()), 3),
                    "residentBytes": sum(table[pid][2] for pid in ours),
                }
            }
        )

    def run(self, wakeup_fd: int) -> None:
        next_sample = time.monotonic() + SAMPLE_SECONDS
        while self.outcome is None:
            wait = max(0.0, next_sample - time.monotonic())
            ready, _, _ = select.select([0, wakeup_fd], [], [], wait)
            if wakeup_fd in ready:
                os.read(wakeup_fd, 4096)
            if 0 in ready:
                chunk = os.read(0, 4096)
                if not chunk:
                    break  # The server is gone.
                self.obey(chunk)
            self.reap()
            if time.monotonic() >= next_sample:
                self.sample()
                next_sample = time.monotonic() + SAMPLE_SECONDS
        self.kill_everything()


def read_spec() -> tuple[Spec, bytes]:
    data = b""
    while b"\n" not in data:
        chunk = os.read(0, 65536)
        if not chunk:
            sys.exit(0)
        data += chunk
    line, _, rest = data.partition(b"\n")
    return cast(Spec, json.loads(line)), rest


def main() -> None:
    for number in DEAF_TO:
        signal.signal(number, signal.SIG_IGN)
    os.set_inheritable(REPORT_FD, False)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    wakeup_read, wakeup_write = os.pipe()
    os.set_blocking(wakeup_write, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakeup_write, warn_on_full_buffer=False)
    spec, rest = read_spec()
    leader, refusal = start(spec)
    if refusal:
        report({"refused": refusal})
    else:
        report({"started": leader})
    supervisor = Supervisor(leader)
    supervisor.obey(rest)
    supervisor.run(wakeup_read)
    outcome = supervisor.outcome or {"code": 128 + signal.SIGKILL, "signal": "SIGKILL"}
    report({"exit": {"code": outcome["code"], "signal": outcome["signal"]}})


if __name__ == "__main__":
    main()
