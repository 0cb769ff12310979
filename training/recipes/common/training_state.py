"""What a checkpoint of the training loop holds, and how one of whole state is stored."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import tidewheel
from common.torch_state import random_state, state_from_bytes, state_to_bytes
from common.world import World


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


_STATE = "state.bin"


class WholeState:
    """A `Checkpoints` of the training loop. Saves with `tidewheel.save`, beside training."""

    def __init__(self, world: World, keep: int) -> None:
        self._world, self._keep = world, keep

    def restore(self, task: Stateful) -> Restored | None:
        """Loads rank 0's newest whole checkpoint on every rank."""
        world, found = self._world, None
        if world.is_rank0 and (newest := tidewheel.newest()) is not None:
            facts = Facts(newest.step, metrics=dict(newest.metrics))
            found = facts, (newest.folder / _STATE).read_bytes()
        # Other ranks may run on hosts without the file.
        found = world.broadcast(found)
        if found is None:
            return None
        facts, content = found
        state = state_from_bytes(content)
        facts = Facts(facts.step, state["totalSteps"], state["data"], facts.metrics)
        facts.check(task)
        task.load_state_dict(state)
        states = state["random"]
        own = states[world.rank] if len(states) == world.size else None
        return Restored(facts, len(states), own)

    def save(self, task: Stateful, facts: Facts) -> None:
        random_states = self._world.all_gather(random_state())
        if not self._world.is_rank0:
            return
        tidewheel.save(
            facts.step,
            _write_state,
            {
                **task.state_dict(),
                "random": random_states,
                "data": facts.data,
                "totalSteps": facts.total_steps,
            },
            total=facts.total_steps,
            metrics=facts.metrics,
            keep=self._keep,
        )

    def is_due(self) -> bool:
        """Sooner than the service asks where a save costs next to nothing."""
        return tidewheel.save_due()

    def flush(self) -> None:
        tidewheel.flush()


def _write_state(folder: Path, copy: dict[str, Any]) -> None:
    """In another thread, while training continues with the state behind `copy`."""
    (folder / _STATE).write_bytes(state_to_bytes(copy))
