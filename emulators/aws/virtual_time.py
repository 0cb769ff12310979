"""Puts MiniStack on a virtual clock: the date is read from a file that the clock's owner writes,
and what MiniStack waits for is waited for on that clock.

`install` runs before MiniStack is imported, `Follower` is made after. The owner calls `PATH` in a
loop, see emulators/clock/virtual-clock.ts: it tells that the time has changed, and is answered when
nothing is at work any more.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as datetime_module
import json
import math
import os
import struct
import threading
import time
from pathlib import Path
from typing import Any

from activity import Activity
from asgi import Receive, Scope, Send, answer
from moments import message_moments, schedule_moments, take_messages, tick

PATH = "/_tidewheel/clock"
_ANSWER_SECONDS = 10.0
"""A longer answer names who works, and the clock requests it again."""
_LOOK_SECONDS = 0.01
_RealDatetime = datetime_module.datetime
_real_time = time.time
_real_gmtime = time.gmtime


def install(path: Path) -> None:
    """Replaces the date of this process. Intervals (time.monotonic) stay real: they bound work."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def now() -> float:
        milliseconds: float = struct.unpack("<d", os.pread(descriptor, 8, 0))[0]
        return milliseconds / 1000

    class AnyDatetime(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, _RealDatetime)

    class VirtualDatetime(_RealDatetime, metaclass=AnyDatetime):
        @classmethod
        def now(cls, tz: datetime_module.tzinfo | None = None) -> VirtualDatetime:
            return cls.fromtimestamp(now(), tz)

        @classmethod
        def utcnow(cls) -> VirtualDatetime:
            return cls.fromtimestamp(now(), datetime_module.timezone.utc).replace(tzinfo=None)

    def gmtime(seconds: float | None = None) -> time.struct_time:
        return _real_gmtime(now() if seconds is None else seconds)

    time.time = now
    # MiniStack dates the launch of an instance by it.
    setattr(time, "gmtime", gmtime)  # noqa: B010
    setattr(datetime_module, "datetime", VirtualDatetime)  # noqa: B010


def worker_prelude(path: Path) -> str:
    """JavaScript that puts a Lambda worker's Date on the clock, before anything else of it runs."""
    return _WORKER_PRELUDE.replace("FILE", json.dumps(str(path)))


_WORKER_PRELUDE = """
{
  const fs = require("node:fs");
  const file = fs.openSync(FILE, "r");
  const bytes = Buffer.alloc(8);
  const now = () => {
    fs.readSync(file, bytes, 0, 8, 0);
    return Math.floor(bytes.readDoubleLE(0));
  };
  const RealDate = Date;
  RealDate.now = now;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, given, self) => Reflect.construct(target, given.length ? given : [now()],
      self),
    apply: () => new RealDate(now()).toString(),
  });
  RealDate.prototype.constructor = globalThis.Date;
}
"""


class _Wait:
    def __init__(self, moment: float, event: VirtualEvent) -> None:
        self.moment = moment
        self.event = event
        self.thread = threading.current_thread()
        self.woken = threading.Event()


class VirtualEvent:
    """threading.Event whose waits end by the virtual clock, and let it go on."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        self._is_set = False

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        with self._follower.lock:
            self._is_set = True
            self._follower.wake([w for w in self._follower.waits if w.event is self])

    def wait(self, timeout: float | None = None) -> bool:
        follower = self._follower
        wait = _Wait(math.inf if timeout is None else time.time() + timeout, self)
        with follower.lock:
            if self._is_set:
                return True
            follower.waits.append(wait)
            # A pool's thread is not counted, but who waits for it is: the clock stands, and its
            # wait must end in real time.
            counts = follower.activity.counts(wait.thread)
            follower.activity.rest(wait.thread)
        wait.woken.wait(None if counts else timeout)
        with follower.lock, contextlib.suppress(ValueError):
            follower.waits.remove(wait)
        return self._is_set


class Follower:
    """What MiniStack waits for, and whether anything is at work in it."""

    def __init__(self) -> None:
        self.activity = Activity()
        self.lock = threading.RLock()
        self.waits: list[_Wait] = []
        self._ticked = 0.0

    def attach(self) -> None:
        """Takes MiniStack's waits, polls and schedules over."""
        import invocations
        from ministack.core import lambda_runtime
        from ministack.services import eventbridge, lambda_svc, scheduler, stepfunctions

        self.activity.count_threads()
        follower = self

        class VirtualThreading:
            """Stands in for the module `threading` in MiniStack's Step Functions."""

            Event = staticmethod(lambda: VirtualEvent(follower))

            def __getattr__(self, name: str) -> Any:
                return getattr(threading, name)

        class RealTime:
            """Stands in for the module `time` where the date measures how long a worker takes."""

            time = staticmethod(_real_time)

            def __getattr__(self, name: str) -> Any:
                return getattr(time, name)

        measured: Any = RealTime()
        lambda_runtime.time = measured
        replaced: Any = VirtualThreading()
        stepfunctions.threading = replaced

        def sleep(seconds: float) -> bool:
            return VirtualEvent(follower).wait(seconds)

        stepfunctions._scaled_sleep = sleep
        invocations.waits.sleep = sleep
        # Schedules come due when the clock is moved, not every so many real seconds.
        eventbridge.start_scheduler = lambda: None
        scheduler.start_scheduler = lambda: None
        poll = lambda_svc._poll_sqs

        def poll_counted() -> Any:
            with follower.activity.at_work("poll of queues"):
                return poll()

        lambda_svc._poll_sqs = poll_counted

    def wake(self, waits: list[_Wait]) -> None:
        for wait in waits:
            if wait in self.waits:
                self.waits.remove(wait)
                if self.activity.counts(wait.thread):
                    self.activity.work(wait.thread, "execution")
                wait.woken.set()

    def settle(self) -> dict[str, Any]:
        """Wakes what is due, and waits until nothing is at work."""
        with self.activity.at_work("clock"):
            now = time.time()
            with self.lock:
                self.wake([w for w in self.waits if w.moment <= now])
            if now != self._ticked:
                self._ticked = now
                tick()
        give_up = time.monotonic() + _ANSWER_SECONDS
        while time.monotonic() < give_up:
            if self.activity.wait_until_quiet(_LOOK_SECONDS, take_messages):
                return {"next": self._next_moment()}
        return {"busy": self.activity.who_works()}

    def _next_moment(self) -> float | None:
        with self.lock:
            waits = [w.moment for w in self.waits if w.moment < math.inf]
        now = time.time()
        later = [m for m in (*message_moments(), *schedule_moments(now)) if m > now]
        return min([*waits, *later], default=None)


class ServeClock:
    """Answers the clock's owner, and counts all other requests as work."""

    def __init__(self, app: Any, follower: Follower) -> None:
        self._app = app
        self._follower = follower

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["path"] == PATH:
            settled = await asyncio.to_thread(self._follower.settle)
            headers = {"content-type": "application/json"}
            await answer(send, 200, headers, json.dumps(settled).encode())
        else:
            with self._follower.activity.at_work(f"request {scope['path']}"):
                await self._app(scope, receive, send)
