"""The agents of one job tell each other of a stop request, of their end, and that they live.

Frameworks notice a lost peer late (a collective may hang for half an hour) and never pass a stop
on. A star of plain TCP connections does both in seconds: every agent connects to the leader's
agent, which repeats to all what one of them reports. Training does not depend on the gang: where
no connection can be made, it goes on without.
"""

import contextlib
import json
import selectors
import socket
import threading
import time
from collections.abc import Callable

from ..checkpoints.checkpoint import Checkpoint
from ..failure_file import REASON_CHARACTERS
from ..log import log
from .connection import LONGEST_MESSAGE, Connection
from .state import GangState, Message

_HEARTBEAT_SECONDS = 2.0
_RETRY_SECONDS = 1.0
_TICK_SECONDS = 0.1
_CLOSE_SECONDS = 1.0
_NOT_REPLAYED = ("heartbeat", "save", "checkpoint", "trial-report", "trial-order")
"""Types of messages that a host which connects later does not need."""


class Gang:
    """Runs on its own thread; `state` and the `send_` methods are safe from any thread."""

    def __init__(
        self,
        job_id: str,
        hosts: tuple[str, ...],
        current_host: str,
        leader: str,
        *,
        port: int,
        silence_seconds: float,
        on_stop: Callable[[str], None],
        on_save: Callable[[], None] = lambda: None,
    ) -> None:
        self._job_id = job_id
        self._hosts = hosts
        self._current_host = current_host
        self._leader = leader
        self._port = port
        self._silence_seconds = silence_seconds
        self._on_stop = on_stop
        self._on_save = on_save
        self.state = GangState()
        self._lock = threading.Lock()
        self._outbox: list[Message] = []
        self._history: list[Message] = []
        self._connections: list[Connection] = []
        self._seen_hosts: set[str] = set()
        self._selector = selectors.DefaultSelector()
        self._server: socket.socket | None = None
        self._closing = threading.Event()
        self._next_try = self._next_heartbeat = 0.0
        self._is_idle = True
        self._thread = threading.Thread(target=self._run, daemon=True, name="gang")
        self.has_one_host = len(hosts) < 2
        self.has_connected = False
        """Whether this host has ever been connected to another."""

    def start(self) -> None:
        if not self.has_one_host:
            self._thread.start()

    def send_stop(self, reason: str) -> None:
        self.state.stop_reason = self.state.stop_reason or reason
        self._send({"type": "stop", "reason": reason})

    def send_enough(self) -> None:
        """Tells every host that the job has made the steps that it is limited to."""
        self.state.has_trained_enough = True
        self._send({"type": "enough"})

    def set_idle(self, is_idle: bool) -> None:
        """Tells the leader by heartbeats. A host without a script of its own does nothing."""
        if is_idle != self._is_idle:
            self._is_idle, self._next_heartbeat = is_idle, 0.0

    @property
    def others_idle(self) -> bool:
        """Whether no other host that goes on does anything. Only the leader knows.

        After a failure hosts wait for the one that is gone: that is no hang.
        """
        if not self._leads or self.state.peer_failure is not None:
            return False
        others = {*self._hosts} - {self._current_host, *self.state.exit_codes}
        return others <= self.state.idle_hosts

    def send_hung(self) -> None:
        """Has every host end its script. Hosts obey the leader alone."""
        self.state.has_hung = True
        self._send({"type": "hung"})

    def send_save_request(self) -> None:
        """Asks every host for a checkpoint: any of them may run the process that saves."""
        self._send({"type": "save"})

    def send_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Tells the leader, which writes the progress note, of a checkpoint in this folder."""
        message: Message = {
            "type": "checkpoint",
            "step": checkpoint.step,
            "name": checkpoint.name,
            "total": checkpoint.total_steps,
            "trainingSeconds": checkpoint.training_seconds,
            "metrics": checkpoint.metrics,
            "savedAt": checkpoint.saved_at,
        }
        if len(json.dumps(message)) < LONGEST_MESSAGE // 2:
            self._send(message)

    def send_end(self, exit_code: int, failure_text: str = "") -> None:
        text = failure_text[:REASON_CHARACTERS]
        self._send({"type": "ended", "exitCode": exit_code, "failureText": text})

    def send_launch(self, index: int, options: list[str]) -> None:
        """Asks the host of that index to start its program. Hosts obey the leader alone."""
        self._send({"type": "launch", "index": index, "options": options})

    def send_trial_report(self, report: Message) -> None:
        """Tells the leader what the trial of automatic checkpoints has come to on this host."""
        self._send({**report, "type": "trial-report"})

    def send_trial_order(self, order: Message) -> None:
        """Hosts obey the leader alone."""
        self._send({**order, "type": "trial-order"})

    def close(self) -> None:
        """Sends what is still unsent, within a few seconds."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(2 * _CLOSE_SECONDS + 2 * _RETRY_SECONDS)

    def _send(self, message: Message) -> None:
        with self._lock:
            self._outbox.append({"host": self._current_host, **message})

    @property
    def _leads(self) -> bool:
        return self._current_host == self._leader

    def _run(self) -> None:
        try:
            if self._leads:
                self._listen()
            while not self._closing.is_set():
                self._tick()
            self._tick()
            self._wait_for_late_hosts()
        except Exception as error:  # Training must never end because of the gang.
            log(f"the agents can no longer reach each other: {error!r}")
        finally:
            until = time.monotonic() + _CLOSE_SECONDS
            for connection in self._connections:
                connection.finish(until)
            if self._server is not None:
                self._server.close()

    def _wait_for_late_hosts(self) -> None:
        """Keeps the leader a moment longer for hosts that have not connected yet.

        A script may end before every agent has come; those would take the leader for lost.
        """
        until = time.monotonic() + _CLOSE_SECONDS + _RETRY_SECONDS
        others = set(self._hosts) - {self._current_host}
        while self._server is not None and self._seen_hosts < others and time.monotonic() < until:
            self._tick()

    def _listen(self) -> None:
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(
                self._current_host, self._port, type=socket.SOCK_STREAM
            )[0]
            server = socket.socket(family, kind, protocol)
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            server.bind(address)
            server.listen(len(self._hosts) + 8)
            server.setblocking(False)
        except OSError as error:
            log(
                f"the agents cannot connect at {self._current_host}:{self._port} ({error}); "
                "training goes on without: set TIDEWHEEL_GANG_PORT to a free port"
            )
            return
        self._server = server
        self._selector.register(server, selectors.EVENT_READ, None)

    def _tick(self) -> None:
        if not self._leads and not self._connections:
            self._connect()
        for key, _ in self._selector.select(_TICK_SECONDS):
            if key.data is None:
                self._accept()
            else:
                self._read(key.data)
        with self._lock:
            outbox, self._outbox = self._outbox, []
        for message in outbox:
            self._broadcast(message, None)
        now = time.monotonic()
        if now >= self._next_heartbeat:
            self._next_heartbeat = now + _HEARTBEAT_SECONDS
            heartbeat: Message = {"type": "heartbeat", "host": self._current_host}
            self._broadcast({**heartbeat, "idle": self._is_idle}, None)
        for connection in list(self._connections):
            if not connection.flush() or now - connection.heard_at > self._silence_seconds:
                self._drop(connection)

    def _connect(self) -> None:
        now = time.monotonic()
        # A leader that has ended or is lost will not answer.
        is_gone = self._leader in self.state.exit_codes or self.state.peer_failure is not None
        if now < self._next_try or is_gone:
            time.sleep(_TICK_SECONDS)
            return
        self._next_try = now + _RETRY_SECONDS
        try:
            connected = socket.create_connection((self._leader, self._port), timeout=2.0)
        except OSError:
            return
        # On one machine a socket now and then connects to its own port.
        if connected.getsockname() == connected.getpeername():
            connected.close()
            return
        connection = Connection(connected, self._leader)
        connection.put({"type": "hello", "host": self._current_host, "job": self._job_id})
        for message in self._history:
            connection.put(message)
        self._add(connection)
        self.has_connected = True

    def _accept(self) -> None:
        assert self._server is not None
        with contextlib.suppress(OSError):
            accepted, _ = self._server.accept()
            if len(self._connections) > 2 * len(self._hosts) + 8:
                accepted.close()
                return
            self._add(Connection(accepted))

    def _add(self, connection: Connection) -> None:
        self._connections.append(connection)
        self._selector.register(connection.socket, selectors.EVENT_READ, connection)

    def _drop(self, connection: Connection) -> None:
        self._connections.remove(connection)
        self._selector.unregister(connection.socket)
        connection.close()
        host = connection.host
        if host and not any(other.host == host for other in self._connections):
            self.state.record_loss(host)
            self._broadcast({"type": "lost", "host": host}, connection)

    def _read(self, connection: Connection) -> None:
        messages = connection.read()
        if messages is None:
            self._drop(connection)
            return
        for message in messages:
            if not self._take(connection, message):
                connection.host = ""
                self._drop(connection)
                return

    def _take(self, connection: Connection, message: Message) -> bool:
        """False when the other end does not belong to this job."""
        host = message.get("host")
        if not isinstance(host, str) or host not in self._hosts:
            return False
        if not connection.host:
            return self._take_hello(connection, host, message)
        from_leader = host == connection.host == self._leader
        self._take_request(connection, message, from_leader=from_leader)
        # The leader repeats other hosts' messages; every other host speaks for itself alone.
        speaks_for_itself = not self._leads or host == connection.host
        is_report = message.get("type") in ("stop", "ended", "lost", "enough")
        if is_report and speaks_for_itself and host != self._current_host:
            self._take_report(connection, host, message)
        return True

    def _take_hello(self, connection: Connection, host: str, message: Message) -> bool:
        if message.get("type") != "hello" or message.get("job") != self._job_id:
            return False
        connection.host = host
        self._seen_hosts.add(host)
        self.has_connected = True
        for earlier in self._history:
            connection.put(earlier)
        return True

    def _take_report(self, connection: Connection, host: str, message: Message) -> None:
        was_stopped = bool(self.state.stop_reason)
        if message["type"] == "lost":
            self.state.record_loss(host)
        else:
            self.state.record(host, message)
        if self.state.stop_reason and not was_stopped:
            self._on_stop(self.state.stop_reason)
        if self._leads:
            self._broadcast(message, connection)

    def _take_request(self, connection: Connection, message: Message, *, from_leader: bool) -> None:
        kind = message.get("type")
        if kind == "save":
            self._on_save()
            if self._leads:
                self._broadcast(message, connection)
        elif kind == "heartbeat":
            self.state.record_heartbeat(connection.host, message)
        elif kind == "hung" and from_leader:
            self.state.record(connection.host, message)
        elif kind == "launch" and from_leader:
            self.state.record_launch(message)
        elif kind == "checkpoint" and self._leads:
            self.state.record_checkpoint(message)
        elif kind == "trial-report" and self._leads:
            self.state.trial_reports[connection.host] = message
        elif kind == "trial-order" and from_leader:
            self.state.trial_order = message

    def _broadcast(self, message: Message, source: Connection | None) -> None:
        """Sends to every connected host but the source; hosts that come later get the history."""
        if message["type"] not in _NOT_REPLAYED:
            self._history.append(message)
        for connection in self._connections:
            if connection is not source and connection.host:
                connection.put(message)
