"""Ranks that save and resume one step together.

The first rank chooses a step a little ahead and tells the others through the process group's store.
DDP's gradients keep the ranks together, so all of them learn of it before they come there; a choice
that one of them has missed is dropped, and the next one is further ahead. No rank waits: each one
tells the store what it has written, and the first one writes the marker when all are through.
"""

from __future__ import annotations

import contextlib
import json
import time
from typing import Any

_LEAST_AHEAD = 1
_MOST_AHEAD = 64
_ABANDONED_SECONDS = 60.0
_END_SECONDS = 15.0
_TRIAL_AHEAD = 2
_TRIAL_END_SECONDS = 20.0


class TrialStore:
    """How the ranks of a gang take part in one trial; see trial.py."""

    def __init__(self, store: Any, ranks: int) -> None:
        self._store = store
        self._ranks = ranks
        self._target: int | None = None

    def choose(self, step: int) -> None:
        """On the first rank: the step of the trial's checkpoint."""
        self._target = step
        self._store.set("trial", str(step))

    def choose_after(self, step: int) -> int:
        """On the first rank, at the end of `step`: a step that the others have not passed."""
        if self._target is None:
            self.choose(step + _TRIAL_AHEAD)
        assert self._target is not None
        return self._target

    def chosen(self) -> int | None:
        """On the others."""
        if self._target is None and self._store.check(["trial"]):
            self._target = int(self._store.get("trial"))
        return self._target

    def tell_verdict(self, verdict: dict[str, Any]) -> None:
        self._store.set("trial-verdict", json.dumps(verdict))

    def verdict(self) -> dict[str, Any] | None:
        if not self._store.check(["trial-verdict"]):
            return None
        verdict: dict[str, Any] = json.loads(self._store.get("trial-verdict"))
        return verdict

    def end_together(self, rank: int) -> None:
        """In the trial's second process: waits until all ranks have noted where they stand."""
        deadline = time.monotonic() + _TRIAL_END_SECONDS
        with contextlib.suppress(Exception):
            self._store.set(f"trial-ended-{rank}", "")
            keys = [f"trial-ended-{each}" for each in range(self._ranks)]
            while not self._store.check(keys) and time.monotonic() < deadline:
                time.sleep(0.05)


class Gang:
    """`store`: a torch.distributed store of this job alone, which all ranks see."""

    def __init__(self, store: Any, rank: int, ranks: int) -> None:
        self._store = store
        self.rank = rank
        self._ranks = ranks
        self._choice = 0
        self._target: int | None = None
        self._ahead = _LEAST_AHEAD
        self._open: dict[int, float] = {}
        """Steps that the first rank has saved and whose marker is missing; monotonic seconds."""
        self.saves_everything = False
        """Ranks whose weights differ save all of their own."""

    def agree(self, steps: list[int]) -> int | None:
        """The last step of which every rank has its checkpoint whole; None without one."""
        self._store.set(f"have-{self.rank}", json.dumps(steps))
        common = set(steps)
        for rank in range(self._ranks):
            # `get` waits for the key.
            common &= set(json.loads(self._store.get(f"have-{rank}")))
        return max(common, default=None)

    def choose(self, step: int) -> None:
        """On the first rank, at the end of `step`: all save soon."""
        if self._target is None:
            self._target = step + self._ahead
            self._store.set(f"choice-{self._choice}", str(self._target))

    def tell_given_up(self, reason: str) -> None:
        """Without this rank's files no save of the others becomes whole."""
        self._store.set("given-up", f"rank {self.rank}: {reason}")

    def given_up(self) -> str | None:
        """On the first rank: why another one saves no more."""
        is_told = self._store.check(["given-up"])
        return self._store.get("given-up").decode() if is_told else None

    def is_chosen(self, step: int) -> bool:
        """At the end of each step: whether this rank saves now."""
        if self._target is None:
            key = f"choice-{self._choice}"
            if self.rank == 0 or not self._store.check([key]):
                return False
            self._target = int(self._store.get(key))
        if step < self._target:
            return False
        is_now = step == self._target
        if not is_now:
            self._store.set(f"missed-{self._target}", str(self.rank))
        self._target = None
        self._choice += 1
        return is_now

    def tell(self, step: int, described: dict[str, Any]) -> None:
        """This rank has written its file of `step`."""
        self._store.set(f"saved-{step}-{self.rank}", json.dumps(described))
        if self.rank == 0:
            self._open[step] = time.monotonic()

    def completed(self) -> dict[int, dict[str, dict[str, Any]]]:
        """On the first rank: what all ranks have written since the last call, by step and file."""
        done = {}
        for step, since in list(self._open.items()):
            keys = [f"saved-{step}-{rank}" for rank in range(self._ranks)]
            if self._store.check(keys):
                del self._open[step]
                described = [json.loads(self._store.get(key)) for key in keys]
                done[step] = {f"rank-{rank}.pt": each for rank, each in enumerate(described)}
            elif self._has_missed(step) or time.monotonic() - since > _ABANDONED_SECONDS:
                del self._open[step]
                self._ahead = min(_MOST_AHEAD, 2 * self._ahead)
        return done

    def wait(self) -> dict[int, dict[str, dict[str, Any]]]:
        """At the script's end: a save that was chosen before."""
        deadline = time.monotonic() + _END_SECONDS
        done = self.completed()
        while self._open and time.monotonic() < deadline:
            time.sleep(0.02)
            done |= self.completed()
        return done

    def save_everything(self) -> None:
        """On the first rank: what should be equal is not."""
        self.saves_everything = True
        self._store.set("everything", "1")

    def hear(self) -> None:
        """On the others, before each save."""
        if not self.saves_everything and self.rank > 0:
            self.saves_everything = bool(self._store.check(["everything"]))

    def keep(self, steps: list[int]) -> None:
        """On the first rank: the whole checkpoints that stay."""
        self._store.set("kept", json.dumps(steps))

    def kept(self) -> list[int] | None:
        """None before the first whole checkpoint."""
        if not self._store.check(["kept"]):
            return None
        steps: list[int] = json.loads(self._store.get("kept"))
        return steps

    def _has_missed(self, step: int) -> bool:
        return bool(self._store.check([f"missed-{step}"]))
