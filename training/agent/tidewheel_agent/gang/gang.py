"""What the agents of one job tell each other: told to leave, ended, still there.

Frameworks notice a lost peer late (a hung collective may wait half an hour) and never pass a stop
on. A star of plain TCP connections does both in seconds: every agent connects to the leader's,
which repeats to all what one of them says. The gang is a help, not a condition: where a connection
cannot be made, training goes on without it.
"""

from __future__ import annotations

import contextlib
import json
import selectors
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from ..checkpoints.checkpoint import Checkpoint, numbers
from ..log import say
from ..supervision.failure import REASON_CHARACTERS

_BEAT_SECONDS = 2.0
_RETRY_SECONDS = 1.0
_TICK_SECONDS = 0.1
_FAREWELL_SECONDS = 1.0
_LONGEST_MESSAGE = 16 * 1024
_OF_THE_MOMENT = ("beat", "save", "checkpoint")
"""What is not told to who connects later."""


@dataclass(frozen=True)
class Trouble:
    """The first host of the gang that failed or vanished."""

    host: str
    code: int | None
    """Its exit code; None when it went silent without a word."""
    text: str = ""
    """Its failure text."""

    @property
    def is_lost(self) -> bool:
        return self.code is None


@dataclass
class GangView:
    """What is known of the others; fed by messages, pure."""

    trouble: Trouble | None = None
    stop_reason: str = ""
    ended: dict[str, int] = field(default_factory=dict)
    """Exit codes of the hosts that ended."""
    proxies: dict[int, list[str]] = field(default_factory=dict)
    """Options of the MPI proxies that the leader asks the hosts to run, by the host's index."""
    saved: Checkpoint | None = None
    """The newest checkpoint that another host has in its folder."""

    def take(self, host: str, message: dict[str, object]) -> None:
        said = message.get("say")
        if said == "stop" and not self.stop_reason:
            self.stop_reason = f"host {host} was told to leave ({_short(message.get('reason'))})"
        elif said == "ended":
            code = message.get("code")
            self.ended[host] = code if isinstance(code, int) else 1
            # After a stop everyone leaves in the way it can; that is no trouble.
            if self.ended[host] != 0 and not self.stop_reason and self.trouble is None:
                text = message.get("text")
                self.trouble = Trouble(
                    host, self.ended[host], text[:2048] if isinstance(text, str) else ""
                )

    def take_proxy(self, message: dict[str, object]) -> None:
        index, options = message.get("index"), message.get("options")
        if isinstance(index, int) and isinstance(options, list):
            self.proxies.setdefault(index, [str(option) for option in options[:64]])

    def take_checkpoint(self, message: dict[str, object]) -> None:
        step, name, total = message.get("step"), message.get("name"), message.get("total")
        if isinstance(step, int) and isinstance(name, str):
            told = numbers(message)
            self.saved = Checkpoint(
                step=step,
                name=name,
                total_steps=total if isinstance(total, int) else None,
                training_seconds=told.get("trainingSeconds"),
                metrics=numbers(message.get("metrics")),
                saved_at=told.get("savedAt", 0.0),
            )

    def lose(self, host: str) -> None:
        """The connection to a host broke although it has not ended."""
        if host not in self.ended and not self.stop_reason and self.trouble is None:
            self.trouble = Trouble(host, None)


def _short(value: object) -> str:
    return "".join(c for c in str(value)[:80] if c.isprintable())


class _Line:
    """One connection: messages are lines of JSON."""

    def __init__(self, connection: socket.socket, host: str = "") -> None:
        connection.setblocking(False)
        self.connection = connection
        self.host = host
        """Who is at the other end; empty until it has said hello."""
        self.heard_at = time.monotonic()
        self._unread = b""
        self._unsent = b""

    def put(self, message: dict[str, object]) -> None:
        self._unsent += json.dumps(message).encode() + b"\n"

    def flush(self) -> bool:
        """False when the line is broken."""
        try:
            while self._unsent:
                self._unsent = self._unsent[self.connection.send(self._unsent) :]
        except (BlockingIOError, InterruptedError):
            return len(self._unsent) < 64 * _LONGEST_MESSAGE
        except OSError:
            return False
        return True

    def read(self) -> list[dict[str, object]] | None:
        """Whole messages; None when the line is broken or speaks another language."""
        try:
            chunk = self.connection.recv(65536)
        except (BlockingIOError, InterruptedError):
            return []
        except OSError:
            return None
        if not chunk:
            return None
        self.heard_at = time.monotonic()
        *lines, self._unread = (self._unread + chunk).split(b"\n")
        if len(self._unread) > _LONGEST_MESSAGE:
            return None
        try:
            messages = [json.loads(line) for line in lines]
        except (ValueError, RecursionError):
            return None
        return messages if all(isinstance(m, dict) for m in messages) else None

    def finish(self, until: float) -> None:
        """Lets the other end read all that was said. Closing with a beat of its unread would reset
        the connection, and a reset throws away what is on its way."""
        with contextlib.suppress(OSError):
            self.flush()
            self.connection.shutdown(socket.SHUT_WR)
            while (left := until - time.monotonic()) > 0:
                self.connection.settimeout(left)
                if not self.connection.recv(65536):
                    break
        self.close()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.connection.close()


class Gang:
    """Runs on a thread of its own; `view` and `tell` may be used from any thread."""

    def __init__(
        self,
        job_id: str,
        hosts: tuple[str, ...],
        current: str,
        leader: str,
        *,
        port: int,
        silence_seconds: float,
        on_stop: Callable[[str], None],
        on_save: Callable[[], None] = lambda: None,
    ) -> None:
        self._job_id = job_id
        self._hosts = hosts
        self._current = current
        self._leader = leader
        self._port = port
        self._silence_seconds = silence_seconds
        self._on_stop = on_stop
        self._on_save = on_save
        self.view = GangView()
        self._lock = threading.Lock()
        self._outbox: list[dict[str, object]] = []
        self._history: list[dict[str, object]] = []
        self._lines: list[_Line] = []
        self._met: set[str] = set()
        self._selector = selectors.DefaultSelector()
        self._server: socket.socket | None = None
        self._closing = threading.Event()
        self._next_try = self._next_beat = 0.0
        self._thread = threading.Thread(target=self._run, daemon=True, name="gang")
        self.is_alone = len(hosts) < 2
        self.has_met = False
        """Whether this host has ever been connected to another."""

    def start(self) -> None:
        if not self.is_alone:
            self._thread.start()

    def tell_stop(self, reason: str) -> None:
        self.view.stop_reason = self.view.stop_reason or reason
        self._tell({"say": "stop", "reason": reason})

    def tell_save(self) -> None:
        """Asks all for a checkpoint: the script on whichever host that saves is to hear it."""
        self._tell({"say": "save"})

    def tell_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Tells the leader, whose agent reports, of a checkpoint in this host's folder."""
        message: dict[str, object] = {
            "say": "checkpoint",
            "step": checkpoint.step,
            "name": checkpoint.name,
            "total": checkpoint.total_steps,
            "trainingSeconds": checkpoint.training_seconds,
            "metrics": checkpoint.metrics,
            "savedAt": checkpoint.saved_at,
        }
        if len(json.dumps(message)) < _LONGEST_MESSAGE // 2:
            self._tell(message)

    def tell_ended(self, code: int, text: str = "") -> None:
        self._tell({"say": "ended", "code": code, "text": text[:REASON_CHARACTERS]})

    def tell_proxy(self, index: int, options: list[str]) -> None:
        """Asks the host of that index to run an MPI proxy; only the leader is believed."""
        self._tell({"say": "proxy", "index": index, "options": options})

    def close(self) -> None:
        """Says what is still unsaid, within a few seconds."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(2 * _FAREWELL_SECONDS + 2 * _RETRY_SECONDS)

    def _tell(self, message: dict[str, object]) -> None:
        with self._lock:
            self._outbox.append({"host": self._current, **message})

    def _run(self) -> None:
        try:
            if self._current == self._leader:
                self._listen()
            while not self._closing.is_set():
                self._turn()
            self._turn()
            self._await_latecomers()
        except Exception as error:  # the gang must never take the training down
            say(f"the agents can no longer talk to each other: {error!r}")
        finally:
            until = time.monotonic() + _FAREWELL_SECONDS
            for line in self._lines:
                line.finish(until)
            if self._server is not None:
                self._server.close()

    def _await_latecomers(self) -> None:
        """A script may end before every agent has come: the leader stays a moment longer, or it
        would be taken for lost by those that are just connecting."""
        until = time.monotonic() + _FAREWELL_SECONDS + _RETRY_SECONDS
        others = set(self._hosts) - {self._current}
        while self._server is not None and self._met < others and time.monotonic() < until:
            self._turn()

    def _listen(self) -> None:
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(
                self._current, self._port, type=socket.SOCK_STREAM
            )[0]
            server = socket.socket(family, kind, protocol)
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind(address)
            server.listen(len(self._hosts) + 8)
            server.setblocking(False)
        except OSError as error:
            say(
                f"agents cannot meet at {self._current}:{self._port} ({error}); "
                "going on without: set TIDEWHEEL_GANG_PORT to a free port"
            )
            return
        self._server = server
        self._selector.register(server, selectors.EVENT_READ, None)

    def _turn(self) -> None:
        if self._current != self._leader and not self._lines:
            self._connect()
        for key, _ in self._selector.select(_TICK_SECONDS):
            if key.data is None:
                self._accept()
            else:
                self._hear(key.data)
        with self._lock:
            outbox, self._outbox = self._outbox, []
        for message in outbox:
            self._repeat(message, None)
        now = time.monotonic()
        if now >= self._next_beat:
            self._next_beat = now + _BEAT_SECONDS
            self._repeat({"say": "beat", "host": self._current}, None)
        for line in list(self._lines):
            if not line.flush() or now - line.heard_at > self._silence_seconds:
                self._drop(line)

    def _connect(self) -> None:
        now = time.monotonic()
        # A leader that ended or vanished is not waited for.
        if now < self._next_try or self._leader in self.view.ended or self.view.trouble:
            time.sleep(_TICK_SECONDS)
            return
        self._next_try = now + _RETRY_SECONDS
        try:
            connection = socket.create_connection((self._leader, self._port), timeout=2.0)
        except OSError:
            return
        # Connecting a socket to its own port on one machine succeeds now and then.
        if connection.getsockname() == connection.getpeername():
            connection.close()
            return
        line = _Line(connection, self._leader)
        line.put({"say": "hello", "host": self._current, "job": self._job_id})
        for message in self._history:
            line.put(message)
        self._add(line)
        self.has_met = True

    def _accept(self) -> None:
        assert self._server is not None
        with contextlib.suppress(OSError):
            connection, _ = self._server.accept()
            if len(self._lines) > 2 * len(self._hosts) + 8:
                connection.close()
                return
            self._add(_Line(connection))

    def _add(self, line: _Line) -> None:
        self._lines.append(line)
        self._selector.register(line.connection, selectors.EVENT_READ, line)

    def _drop(self, line: _Line) -> None:
        self._lines.remove(line)
        self._selector.unregister(line.connection)
        line.close()
        if line.host and not any(other.host == line.host for other in self._lines):
            self.view.lose(line.host)
            self._repeat({"say": "lost", "host": line.host}, line)

    def _hear(self, line: _Line) -> None:
        messages = line.read()
        if messages is None:
            self._drop(line)
            return
        for message in messages:
            if not self._take(line, message):
                line.host = ""
                self._drop(line)
                return

    def _take(self, line: _Line, message: dict[str, object]) -> bool:
        """False when the other end does not belong to this job."""
        host = message.get("host")
        if not isinstance(host, str) or host not in self._hosts:
            return False
        if not line.host:
            if message.get("say") != "hello" or message.get("job") != self._job_id:
                return False
            line.host = host
            self._met.add(host)
            self.has_met = True
            for earlier in self._history:
                line.put(earlier)
            return True
        self._take_request(line, message, is_leaders=host == line.host == self._leader)
        is_own_word = self._current != self._leader or host == line.host
        if (
            message.get("say") in ("stop", "ended", "lost")
            and host != self._current
            and is_own_word
        ):
            was_told = bool(self.view.stop_reason)
            if message["say"] == "lost":
                self.view.lose(host)
            else:
                self.view.take(host, message)
            if self.view.stop_reason and not was_told:
                self._on_stop(self.view.stop_reason)
            if self._current == self._leader:
                self._repeat(message, line)
        return True

    def _take_request(self, line: _Line, message: dict[str, object], *, is_leaders: bool) -> None:
        said, leads = message.get("say"), self._current == self._leader
        if said == "save":
            self._on_save()
            if leads:
                self._repeat(message, line)
        elif said == "proxy" and is_leaders:
            self.view.take_proxy(message)
        elif said == "checkpoint" and leads:
            self.view.take_checkpoint(message)

    def _repeat(self, message: dict[str, object], source: _Line | None) -> None:
        """To everyone connected but the source; who connects later hears it then."""
        if message["say"] not in _OF_THE_MOMENT:
            self._history.append(message)
        for line in self._lines:
            if line is not source and line.host:
                line.put(message)
