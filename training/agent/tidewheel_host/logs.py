"""Sends everything that the host prints to CloudWatch Logs, through the AWS CLI.

Without a log the host trains on and prints that once.
Limits of a call: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutLogEvents.html
"""

import json
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from .aws_cli import AwsCli, AwsCliError

_EVENT_OVERHEAD = 26
_LARGEST_CALL = 1_000_000
_MOST_EVENTS = 10_000
_LONGEST_LINE = 200_000
_LARGEST_BACKLOG = 8_000_000
"""Bytes kept while the log cannot be reached; beyond it the oldest lines are dropped."""


class HostLog:
    """Passes each line to `echo` at once, and to the log group in batches."""

    def __init__(
        self,
        aws: AwsCli,
        group: str,
        stream: str,
        *,
        every_seconds: float = 10.0,
        echo: Callable[[str], None] = lambda line: print(line, flush=True),
    ) -> None:
        self._aws = aws
        self._group = group
        self._stream = stream
        self._every_seconds = every_seconds
        self._echo = echo
        self._backlog: deque[tuple[int, str]] = deque()
        self._bytes = 0
        self._dropped = 0
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._has_stream = False
        self._has_warned = False
        self._thread = threading.Thread(target=self._run, daemon=True, name="log")
        if group:
            self._thread.start()

    def write(self, line: str) -> None:
        self._echo(line)
        if not self._group:
            return
        # CloudWatch refuses an empty event.
        event = (int(time.time() * 1000), line[:_LONGEST_LINE] or " ")
        with self._lock:
            self._backlog.append(event)
            self._bytes += _size(event)
            while self._bytes > _LARGEST_BACKLOG:
                self._bytes -= _size(self._backlog.popleft())
                self._dropped += 1

    def close(self, limit_seconds: float = 15.0) -> None:
        """Sends the remaining lines within the limit."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(limit_seconds)

    def _run(self) -> None:
        while not self._closing.wait(self._every_seconds):
            self._flush()
        self._flush()

    def _flush(self) -> None:
        while batch := self._take():
            try:
                self._send(batch)
            except AwsCliError as error:
                if not self._has_warned:
                    self._has_warned = True
                    self._echo(f"[tidewheel] log lines do not reach {self._group}: {error}")
                with self._lock:
                    self._backlog.extendleft(reversed(batch))
                    self._bytes += sum(map(_size, batch))
                return

    def _take(self) -> list[tuple[int, str]]:
        batch: list[tuple[int, str]] = []
        size = 0
        with self._lock:
            if self._dropped and self._backlog:
                notice = f"[tidewheel] {self._dropped} older lines were dropped"
                batch.append((self._backlog[0][0], notice))
                self._dropped = 0
            while self._backlog and len(batch) < _MOST_EVENTS:
                size += _size(self._backlog[0])
                if size > _LARGEST_CALL and batch:
                    break
                event = self._backlog.popleft()
                self._bytes -= _size(event)
                batch.append(event)
        return batch

    def _send(self, batch: list[tuple[int, str]]) -> None:
        if not self._has_stream:
            self._aws.create_log_stream(self._group, self._stream)
            self._has_stream = True
        events = [{"timestamp": at, "message": line} for at, line in batch]
        with tempfile.TemporaryDirectory() as folder:
            # An argument holds at most 128 KiB, a file any number of lines.
            path = Path(folder) / "events.json"
            path.write_text(json.dumps(events), encoding="utf-8")
            self._aws.put_log_events(self._group, self._stream, path)


def _size(event: tuple[int, str]) -> int:
    return len(event[1].encode("utf-8", "replace")) + _EVENT_OVERHEAD
