"""How the script ended, and the exit code that follows."""

from __future__ import annotations

from dataclasses import dataclass

from ..checkpoints.checkpoint import Checkpoint
from ..gang.state import PeerFailure

EXIT_STOPPED = 143
"""128 + SIGTERM, the code of any container without a handler that is stopped: the platform takes
it for a stop. 0 would say that training has finished, 1 that the script is at fault."""


@dataclass(frozen=True)
class ScriptEnd:
    script_code: int
    """The script's own exit code."""
    was_stopped: bool
    """A stop was requested before the script ended."""
    newest: Checkpoint | None
    was_killed: bool = False
    """The agent had to end the script."""
    heard_nothing: bool = False
    """No process got the signal, and the script does not ask for the stop file."""
    peer_failure: PeerFailure | None = None
    """Another host failed or was lost before the script ended."""

    has_trained_enough: bool = False
    """The job is limited to a number of steps, which were made."""

    left_unsaved: bool = False
    """It left by itself after SIGTERM, and saved nothing on the way."""

    @property
    def has_finished_unaware(self) -> bool:
        """It ended well by itself, and had no other reason to end than its own end."""
        ended_well = self.script_code == 0 and not self.was_killed and self.peer_failure is None
        return self.was_stopped and self.heard_nothing and ended_well

    @property
    def exit_code(self) -> int:
        """The script's own; 143 after a stop, unless it has finished: a checkpoint proves the last
        step done, or it heard nothing of the stop and ended well."""
        if self.has_trained_enough:
            return 0
        if not self.was_stopped or self.has_finished_unaware:
            return self.script_code
        total = self.newest.total_steps if self.newest else None
        is_finished = total is not None and self.newest is not None and self.newest.step >= total
        return 0 if is_finished and self.script_code == 0 else EXIT_STOPPED
