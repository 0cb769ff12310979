"""What a host knows of the other hosts of its job."""

from dataclasses import dataclass, field

from ..checkpoints.checkpoint import Checkpoint, finite_numbers

Message = dict[str, object]
"""One JSON object between two agents; `type` says which kind, `host` who sent it first."""

_LONGEST_FAILURE_TEXT = 2048
_MOST_OPTIONS = 64


@dataclass(frozen=True)
class PeerFailure:
    """The first other host that failed or was lost."""

    host: str
    exit_code: int | None
    """None when the host went silent without reporting its end."""
    failure_text: str = ""

    @property
    def is_lost(self) -> bool:
        return self.exit_code is None


@dataclass
class GangState:
    """Everything that this host knows from the messages of others. Pure: no socket, no clock."""

    peer_failure: PeerFailure | None = None
    stop_reason: str = ""
    exit_codes: dict[str, int] = field(default_factory=dict)
    """Of the hosts that have ended."""
    launch_options: dict[int, list[str]] = field(default_factory=dict)
    """Options of the program that the leader asks a host to start, by the host's index."""
    peer_checkpoint: Checkpoint | None = None
    """The newest checkpoint in the folder of another host."""
    trial_reports: dict[str, Message] = field(default_factory=dict)
    """On the leader: the last report of each host on the trial of automatic checkpoints."""
    trial_order: Message = field(default_factory=dict)
    """On the others: what the leader last asked of them for it."""
    has_trained_enough: bool = False
    """A host has made the steps that the job is limited to: all end as finished."""
    idle_hosts: set[str] = field(default_factory=set)
    """On the leader: the hosts whose last heartbeat said that they do nothing."""
    has_hung: bool = False
    """No host computes or prints, and the job wants its script ended then: all end it."""

    def record(self, host: str, message: Message) -> None:
        """Records why all hosts are to end, or how `host` ended."""
        kind = message.get("type")
        if kind == "enough":
            self.has_trained_enough = True
        elif kind == "hung":
            self.has_hung = True
        elif kind == "stop" and not self.stop_reason:
            reason = _printable(message.get("reason"))
            self.stop_reason = f"host {host} got a stop request ({reason})"
        elif kind == "ended":
            code, text = message.get("exitCode"), message.get("failureText")
            self.exit_codes[host] = code if isinstance(code, int) else 1
            # After a stop or the last step every host leaves in the way it can: no failure.
            if self.exit_codes[host] != 0 and not self._leaves and self.peer_failure is None:
                failure_text = text[:_LONGEST_FAILURE_TEXT] if isinstance(text, str) else ""
                self.peer_failure = PeerFailure(host, self.exit_codes[host], failure_text)

    def record_loss(self, host: str) -> None:
        """Records that the connection to `host` broke; a host that has ended is not lost."""
        if host not in self.exit_codes and not self._leaves and self.peer_failure is None:
            self.peer_failure = PeerFailure(host, None)

    @property
    def _leaves(self) -> bool:
        return bool(self.stop_reason) or self.has_trained_enough or self.has_hung

    def record_heartbeat(self, host: str, message: Message) -> None:
        if message.get("idle") is True:
            self.idle_hosts.add(host)
        else:
            self.idle_hosts.discard(host)

    def record_launch(self, message: Message) -> None:
        index, options = message.get("index"), message.get("options")
        if isinstance(index, int) and isinstance(options, list):
            known = [str(option) for option in options[:_MOST_OPTIONS]]
            self.launch_options.setdefault(index, known)

    def record_checkpoint(self, message: Message) -> None:
        step, name, total = message.get("step"), message.get("name"), message.get("total")
        if isinstance(step, int) and isinstance(name, str):
            numbers = finite_numbers(message)
            self.peer_checkpoint = Checkpoint(
                step=step,
                name=name,
                total_steps=total if isinstance(total, int) else None,
                training_seconds=numbers.get("trainingSeconds"),
                metrics=finite_numbers(message.get("metrics")),
                saved_at=numbers.get("savedAt", 0.0),
            )


def _printable(value: object) -> str:
    return "".join(c for c in str(value)[:80] if c.isprintable())
