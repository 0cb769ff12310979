"""Keeps W&B's rows that its own process has not written, and logs them again after a resume.

`run.log(values, step=n)` sends the row to wandb-core, another process. It holds the row until
another step is logged, and then writes it a moment later. A kill that follows a checkpoint of step
n would lose the row of step n, and the resumed script begins with n + 1. So each request is
appended to a file as well. Before the next attempt starts, the agent writes into `<id>.again` what
W&B's files lack up to the checkpoint (tidewheel_agent/trackers/wandb_rows.py). An offline run
counts its steps from there too, and not from 0.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from tidewheel_contract.wandb_rows import Row, file_name, read_rows

_FILE_BYTES = 1024 * 1024
_FILE_SECONDS = 60.0
"""Far more than wandb-core is behind."""


class Request(Protocol):
    """PartialHistoryRequest of wandb/proto/wandb_internal.proto, as far as it is used here."""

    step: Any
    action: Any

    def HasField(self, name: str) -> bool: ...
    def CopyFrom(self, other: Request) -> None: ...
    def SerializeToString(self) -> bytes: ...


class Run(Protocol):
    """`wandb.Run`, as far as it is used here."""

    id: str
    offline: bool
    _interface: Any
    _local_step: int


def keep_rows_of(wandb: ModuleType) -> None:
    """Wraps `wandb.init`: every run that it returns keeps its rows."""
    init = wandb.init

    @functools.wraps(init)
    def keeping(*arguments: object, **named: object) -> object:
        run: Run = init(*arguments, **named)
        try:
            _keep(run)
        except Exception as error:  # W&B's internals may change; the script comes first.
            print(f"tidewheel: W&B's last rows may be lost: {error!r}", file=sys.stderr, flush=True)
        return run

    wandb.init = wandb.sdk.init = keeping  # type: ignore[attr-defined]


def _keep(run: Run) -> None:
    interface = run._interface
    if interface is None or hasattr(interface, "_tidewheel_rows"):  # disabled, or `reinit`
        return
    folder = Path(os.environ["TIDEWHEEL_WANDB_ROWS"])
    name = file_name(run.id)
    send = interface._publish_partial_history
    rows = _Rows(run, send, _Journal(folder / f"{name}.{os.getpid()}"))
    again: list[Row] = []
    with contextlib.suppress(OSError):
        again = list(read_rows(folder / f"{name}.again"))
    interface._tidewheel_rows = rows
    interface._publish_partial_history = rows.publish
    if again:
        rows.log_again(again)


class _Rows:
    """Between a run and wandb-core."""

    def __init__(self, run: Run, send: Callable[[Request], None], journal: _Journal) -> None:
        self._run, self._send, self._journal = run, send, journal
        self._next: int | None = None
        """The step of the first request that names none; None where wandb-core knows it."""

    def publish(self, request: Request) -> None:
        if self._next is not None and not request.HasField("step"):
            self._start_at(type(request), self._next)
        self._next = None
        self._send(request)
        kept = type(request)()
        kept.CopyFrom(request)
        if not request.HasField("step"):
            kept.step.num = self._run._local_step
            if not request.HasField("action"):
                kept.action.flush = True
        self._journal.append(Row(kept.step.num, time.time(), kept.SerializeToString()))

    def log_again(self, rows: list[Row]) -> None:
        from wandb.proto.wandb_internal_pb2 import PartialHistoryRequest

        first = self._run._local_step  # Of a resumed run, the server's; offline 0.
        for row in rows:
            if row.message and row.step >= first:
                self._send(PartialHistoryRequest.FromString(row.message))
                self._journal.append(row)
        last = rows[-1].step
        if self._run.offline and last > first:
            self._run._local_step = self._next = last

    def _start_at(self, request: Callable[[], Request], step: int) -> None:
        """wandb-core takes the step of an unfinished row for its own."""
        begin = request()
        begin.step.num = step
        begin.action.flush = False
        self._send(begin)


class _Journal:
    """Two files in turns, so that they stay small."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._turn = 0
        self._open()

    def _open(self) -> None:
        name = f"{self._path.name}.{self._turn % 2}.rows"
        self._file = self._path.with_name(name).open("wb", buffering=0)
        self._opened_at = time.monotonic()

    def append(self, row: Row) -> None:
        """One write, which outlives a kill of this process."""
        try:
            if (
                self._file.tell() > _FILE_BYTES
                and self._opened_at < time.monotonic() - _FILE_SECONDS
            ):
                self._file.close()
                self._turn += 1
                self._open()
            self._file.write(row.frame())
        except OSError:
            pass  # A full disk must not end the training.
