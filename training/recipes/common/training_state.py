"""What a checkpoint of the training loop holds, however it is stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol


class Stateful(Protocol):
    """The part of a task that checkpoints see."""

    total_steps: int
    data: str

    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any]) -> None: ...


@dataclass(frozen=True)
class Facts:
    """Where a training was when it saved."""

    step: int
    total_steps: int = 0
    data: str = ""
    metrics: dict[str, float] = field(default_factory=dict)

    def check(self, task: Stateful) -> None:
        """Raises ValueError where the checkpoint belongs to another training than `task`."""
        if self.data != task.data or self.total_steps != task.total_steps:
            raise ValueError(
                f"checkpoint of step {self.step} belongs to other data or another length of "
                "training: name another checkpoint prefix, or bring the old settings back"
            )


@dataclass(frozen=True)
class Restored:
    facts: Facts
    ranks: int
    """How many ranks saved it."""
    random: dict[str, Any] | None
    """This rank's random state; None after another number of ranks."""


class Checkpoints(Protocol):
    """Every rank calls every method, at the same steps."""

    def restore(self, task: Stateful) -> Restored | None:
        """Loads the newest whole checkpoint into `task`.

        Returns None where there is none. Raises ValueError for one of another training.
        """
        ...

    def save(self, task: Stateful, facts: Facts) -> None:
        """Returns once the state is copied."""
        ...

    def is_due(self) -> bool:
        """Whether it is time to save. Rank 0 alone calls this one."""
        ...

    def flush(self) -> None:
        """Waits until everything is written."""
        ...
