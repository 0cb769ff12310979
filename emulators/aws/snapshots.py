"""Saves MiniStack's state every few seconds, all services as of one instant; MiniStack itself
saves only on SIGTERM.

A snapshot is a folder of its own under `snapshots/`; the link `snapshots/current` is moved to it
when it is complete, so a kill at any line leaves the older or the newer one. The work is done by
a forked child, which sees the memory as it was at the fork: the server is held up for the fork
only. S3 objects are written through by MiniStack at once and are therefore up to one interval
newer than everything else. Written for kill -9, not for a power cut.
"""

import asyncio
import contextlib
import filecmp
import logging
import os
import shutil
import signal
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ministack import app
from ministack.core import persistence
from ministack.services import lambda_svc

logger = logging.getLogger("tidewheel.snapshots")

CHILD_LIMIT_SECONDS = 60.0
LONGEST_REST_SECONDS = 30.0
COOLDOWNS = 5
"""So many times the length of a snapshot pass before the next one: that of thousands of runs takes
seconds, and hosts train on the same cores."""

StateOf = Callable[[], Any]


class Snapshots:
    """`folder` is this emulator's alone: the caller holds the lock whose descriptor is
    `lock_fd`."""

    def __init__(self, folder: Path, lock_fd: int) -> None:
        self.folder = folder
        self.current = folder / "current"
        self.lock_fd = lock_fd
        self.requests = 0
        folder.mkdir(parents=True, exist_ok=True)
        self._prune_blobs = lambda_svc._prune_orphan_code_blobs
        self._referenced: set[str] | None = None
        # Code that the published snapshot names must outlive the making of the next one.
        lambda_svc._prune_orphan_code_blobs = self._note_referenced
        self._load_state = persistence.load_state
        app.load_state = self.load
        app.save_all = self.save_last
        self._closing = False
        self._child: int | None = None
        self._forked = threading.Event()
        self._no_child = threading.Event()
        self._no_child.set()

    def _note_referenced(self, referenced: set[str]) -> None:
        self._referenced = set(referenced)

    def load(self, service: str) -> Any:
        """Stands in for MiniStack's load_state."""
        usual = persistence.STATE_DIR
        persistence.STATE_DIR = str(self.current)
        try:
            return self._load_state(service)
        finally:
            persistence.STATE_DIR = usual

    def save(self, services: dict[str, StateOf]) -> None:
        """Stands in for MiniStack's save_all: writes a complete snapshot and publishes it, or
        leaves the old one."""
        previous = self.current.resolve() if self.current.exists() else None
        fresh = self.folder / f"{time.time_ns():020d}"
        fresh.mkdir()
        usual = persistence.STATE_DIR
        persistence.STATE_DIR = str(fresh)
        try:
            for name, state_of in services.items():
                state = state_of()
                if state is None:
                    continue
                persistence.save_state(name, state)
                if not (fresh / f"{name}.json").exists():
                    raise RuntimeError(f"the state of {name} could not be written")
            if previous:
                _keep_what_is_equal(previous, fresh)
            self._publish(fresh)
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise
        finally:
            persistence.STATE_DIR = usual
        if self._referenced is not None:
            self._prune_blobs(self._referenced)

    def _publish(self, fresh: Path) -> None:
        link = self.folder / "next"
        link.unlink(missing_ok=True)
        link.symlink_to(fresh.name)
        link.replace(self.current)
        for entry in self.folder.iterdir():
            if entry.is_dir() and not entry.is_symlink() and entry.name != fresh.name:
                shutil.rmtree(entry, ignore_errors=True)

    def save_last(self, services: dict[str, StateOf]) -> None:
        """The save at the end, on the loop. A child still at work would publish the older state."""
        self._closing = True
        if self._child is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._child, signal.SIGKILL)
        self._no_child.wait(timeout=5)
        self.save(services)

    def keep(self, interval_seconds: float, loop: asyncio.AbstractEventLoop) -> None:
        """Starts the thread that saves after a request to the server, while something runs, or
        now and then."""
        threading.Thread(
            target=self._keep, args=(interval_seconds, loop), daemon=True, name="snapshots"
        ).start()

    def _keep(self, interval_seconds: float, loop: asyncio.AbstractEventLoop) -> None:
        seen, idle, rest = -1, 0.0, interval_seconds
        while not self._closing:
            time.sleep(rest)
            idle += rest
            if self.requests == seen and idle < LONGEST_REST_SECONDS and not _something_runs():
                continue
            seen, idle = self.requests, 0.0
            self._forked.clear()
            # On the loop no request is being handled at this moment, so none is caught half done.
            loop.call_soon_threadsafe(self._fork_on_loop)
            self._forked.wait()
            if self._child is not None:
                took = _await_child(self._child)
                rest = max(interval_seconds, min(COOLDOWNS * took, LONGEST_REST_SECONDS))
                self._child = None
            self._no_child.set()

    def _fork_on_loop(self) -> None:
        if not self._closing:
            self._no_child.clear()
            try:
                self._child = self._fork()
            except OSError as error:
                logger.warning("no snapshot this time: %s", error)
        self._forked.set()

    def _fork(self) -> int:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child:
            return child
        status = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.nice(10)
            _close_all_but(self.lock_fd)
            # The lock stays held until this child is done: no successor can be overwritten by it.
            logging.getLogger("persistence").setLevel(logging.WARNING)
            self.save(app._build_persistence_save_dict())
            status = 0
        except BaseException as error:
            logger.error("no snapshot this time, the one before stays: %s", error)
        finally:
            os._exit(status)


def _keep_what_is_equal(previous: Path, fresh: Path) -> None:
    """Shares unchanged files with the snapshot before, and takes over those of services that had
    nothing to say."""
    for old in previous.glob("*.json"):
        new = fresh / old.name
        if not new.exists():
            os.link(old, new)
        elif filecmp.cmp(old, new, shallow=False):
            new.unlink()
            os.link(old, new)


def _something_runs() -> bool:
    """Executions and asynchronous invocations go on without a request."""
    try:
        from ministack.services import stepfunctions

        return any(
            e.get("status") == "RUNNING" for e in list(stepfunctions._executions.all_values())
        )
    except RuntimeError:  # changed while it was being read: so something runs
        return True


def _close_all_but(kept: int) -> None:
    """The child must not hold the server's sockets: a successor may want the port."""
    os.closerange(3, kept)
    os.closerange(kept + 1, 65_536)


def _await_child(child: int) -> float:
    """How many seconds it took. A lock that another thread held at the fork is never released in
    the child; such a child is given up."""
    began = time.monotonic()
    while (took := time.monotonic() - began) < CHILD_LIMIT_SECONDS:
        if os.waitpid(child, os.WNOHANG)[0]:
            return took
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    logger.warning("a snapshot took too long and was given up; the one before stays")
    return took
