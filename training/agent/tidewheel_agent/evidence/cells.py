"""Reads what the hooks in the script's processes count (tidewheel_instrument/cells.py).

Every process has a file of its own, which outlives it until the agent has counted it.
"""

import contextlib
import itertools
import json
import os
import struct
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

_HEAD = struct.Struct("=29d")
_RING = 32
_RING_LENGTH = 4096
_TRAINER, _WORKER = 1, 2
_WAIT, _SAVE, _EXCHANGE, _FETCH = 1, 2, 3, 4
_STEPS, _INPUT_WAIT, _WAIT_BEFORE_STEP = 8, 23, 28


@dataclass(frozen=True)
class ProcessCounts:
    """One process since its start. Seconds include what goes on at the moment of reading."""

    pid: int
    is_trainer: bool
    wait: float = 0.0
    save: float = 0.0
    exchange: float = 0.0
    fetch: float = 0.0
    """Of a loader worker."""
    worker_cpu: float = 0.0
    decode_cpu: float = 0.0
    """Of `worker_cpu`."""
    steps: int = 0
    samples: float = 0.0
    knows_samples: bool = False
    workers: int = 0
    batch_size: int = 0
    rank: int = -1
    asked_first_batch: float = 0.0
    """Moments of the monotonic clock; 0.0 before they come."""
    got_first_batch: float = 0.0
    first_step: float = 0.0
    looks: float = 0.0
    """At the training thread; `host_work`: how many of them found it reading, decoding, waiting."""
    host_work: float = 0.0
    float32_work: float = 0.0
    """Floating-point operations of one step; all 0.0 where none was observed."""
    tf32_work: float = 0.0
    bits16_work: float = 0.0
    threads: int = 0
    """With which the process computes; 0: unknown."""
    pin_cpu: float = 0.0
    """Seconds of the thread that pins batches."""
    restart: float = 0.0
    """Seconds from the start of loader processes to their first batch; `restarts`: how often. The
    first start of all is left out."""
    restarts: float = 0.0
    batches_before_step: float = 0.0
    """Seconds of waits between the first batch and the first step."""
    events: float = 0.0
    """Changes with each step, and with the end of each wait, save, exchange and fetch."""


def read_counts(folder: Path, now: float) -> list[ProcessCounts]:
    """Of all processes, living or ended, in the order of their pids."""
    found = []
    for path in folder.glob("*.cells"):
        with contextlib.suppress(OSError, struct.error, ValueError), path.open("rb") as file:
            found.append(_counts(int(path.stem), file.read(_HEAD.size), now))
    return sorted(found, key=lambda each: each.pid)


def _counts(pid: int, data: bytes, now: float) -> ProcessCounts:
    head = _HEAD.unpack(data)
    doing = int(head[6])
    seconds = {kind: head[kind] for kind in (_WAIT, _SAVE, _EXCHANGE, _FETCH)}
    if doing in seconds:
        seconds[doing] += max(0.0, now - head[7])
    # Until then, all that it waited.
    waited = head[_WAIT_BEFORE_STEP] if head[16] else seconds[_WAIT]
    return ProcessCounts(
        pid=pid,
        batches_before_step=max(0.0, waited - (head[15] - head[14])) if head[15] else 0.0,
        is_trainer=head[0] == _TRAINER,
        wait=seconds[_WAIT] + head[23],
        save=seconds[_SAVE],
        exchange=seconds[_EXCHANGE],
        fetch=seconds[_FETCH],
        worker_cpu=head[5],
        steps=int(head[8]),
        samples=head[9],
        knows_samples=head[10] > 0,
        workers=int(head[11]),
        batch_size=int(head[12]),
        rank=int(head[13]),
        asked_first_batch=head[14],
        got_first_batch=head[15],
        first_step=head[16],
        decode_cpu=head[17],
        looks=head[18],
        host_work=head[19],
        float32_work=head[20],
        tf32_work=head[21],
        bits16_work=head[22],
        threads=int(head[24]),
        pin_cpu=head[25],
        restart=head[26],
        restarts=head[27],
        events=sum(head[kind] for kind in (*seconds, _STEPS, _INPUT_WAIT)),
    )


def step_seconds(folder: Path, pid: int, before: int, after: int) -> list[float]:
    """How long each step took whose number is past `before`, up to `after`; the last ones only,
    where there were more than the process keeps. The first step of all has no length."""
    ends = step_ends(folder, pid, before, after)
    return [max(0.0, later - earlier) for earlier, later in itertools.pairwise(ends)]


def step_ends(folder: Path, pid: int, before: int, after: int) -> list[float]:
    """The moments between which these steps lie, on the monotonic clock."""
    first = max(before, after - _RING_LENGTH + 1, 1)
    if after <= first:
        return []
    try:
        data = (folder / f"{pid}.cells").read_bytes()
        ring = memoryview(data)[8 * _RING :].cast("d")
        return [ring[number % _RING_LENGTH] for number in range(first - 1, after)]
    except (OSError, ValueError, IndexError, TypeError):
        return []


def busiest_line(folder: Path, pids: Collection[int]) -> str | None:
    """The script's line that most looks found at host work, of the first process that has one."""
    return _line_in(folder, pids, "lines")


def forward_line(folder: Path, pids: Collection[int]) -> str | None:
    """The script's line that calls the forward pass, or the framework that does."""
    return _line_in(folder, pids, "forward")


_CALLS = ("loader", "save", "exchange", "shard", "fit", "pyDataset", "map")


def remedy_lines(folder: Path, pids: Collection[int]) -> dict[str, str]:
    """The script's lines where it makes its loader, saves, wraps its model, prepares for Keras."""
    found = {call: _line_in(folder, pids, call) for call in _CALLS}
    return {call: line for call, line in found.items() if line is not None}


def _line_in(folder: Path, pids: Collection[int], ending: str) -> str | None:
    for pid in sorted(pids):
        with contextlib.suppress(OSError):
            text = (folder / f"{pid}.{ending}").read_text(encoding="utf-8", errors="replace")
            return "".join(each for each in text if each.isprintable())[:200]
    return None


def remove_ended(folder: Path, counts: list[ProcessCounts]) -> None:
    """Of processes that have been counted to their end."""
    for each in counts:
        if not is_alive(each.pid):
            with contextlib.suppress(OSError):
                (folder / f"{each.pid}.cells").unlink()


def is_alive(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}")


def awaits_first_step(folder: Path) -> bool:
    """A process whose steps are counted is alive, and none has made one."""
    pids = [int(path.stem) for path in folder.glob("*.counts")]
    if not any(map(is_alive, pids)) or removed_hook(folder) is not None:
        return False
    return not any(each.steps for each in read_counts(folder, time.monotonic()))


def removed_hook(folder: Path) -> dict[str, str] | None:
    """`hook` and `reason` of the first hook that failed; None while all of them count."""
    for path in sorted(folder.glob("*.removed")):
        with contextlib.suppress(OSError, ValueError):
            note = json.loads(path.read_text(encoding="utf-8"))
            if isinstance(note, dict):
                return {name: str(note.get(name, ""))[:300] for name in ("hook", "reason")}
    return None


def note_removed(folder: Path, hook: str, reason: str) -> None:
    """As the hooks note it themselves."""
    with contextlib.suppress(OSError):
        path = folder / "0.removed"
        path.write_text(json.dumps({"hook": hook, "reason": reason}), encoding="utf-8")
