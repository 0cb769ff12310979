"""The ways to save that `measure_saving.py` compares, and when their checkpoints became whole."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

Moments = list[tuple[float, float]]
"""For each whole checkpoint: when its state was taken, and when it had become whole."""
Save = Callable[[int, dict[str, Any]], None]
Clock = Callable[[], float]


def watch_hooks(whole: Moments, stalls: list[float], clock: Clock) -> None:
    """Notes when the hooks copy a state, and when its marker is written."""
    from tidewheel_automatic import storage
    from tidewheel_automatic.saver import Saver
    from tidewheel_automatic.writer import Writer

    look, start, complete = Saver.look, Writer.start, storage.complete
    taken: dict[int, float] = {}

    def noted_look(
        self: Saver, step: int, state: Callable[[], dict[str, object]], *, is_held: bool
    ) -> None:
        began, before = clock(), len(taken)
        look(self, step, state, is_held=is_held)
        if len(taken) > before:
            stalls.append(clock() - began)

    def noted_start(
        self: Writer, state: dict[str, Any], write: Callable[[dict[str, Any]], None]
    ) -> None:
        taken[state["step"]] = clock()
        start(self, state, write)

    def noted_complete(
        root: Path, step: int, files: dict[str, Any], taken_at: float | None = None
    ) -> list[int]:
        kept = complete(root, step, files, taken_at)
        whole.append((taken[step], clock()))
        return kept

    Saver.look = noted_look  # type: ignore[method-assign]
    Writer.start = noted_start  # type: ignore[method-assign]
    storage.complete = noted_complete


def mean_age(whole: Moments) -> float | None:
    """Between the first checkpoint that became whole and the last."""
    if len(whole) < 2:
        return None
    area = 0.0
    for (taken, at), (_, next_at) in itertools.pairwise(whole):
        area += ((next_at - taken) ** 2 - (at - taken) ** 2) / 2
    return round(area / (whole[-1][1] - whole[0][1]), 2)


def saver(way: str, folder: Path, whole: Moments, clock: Clock) -> Save:
    if way not in BY_THE_SCRIPT:
        return lambda _step, _state: None
    return BY_THE_SCRIPT[way](folder, whole, clock)


def _blocking(folder: Path, whole: Moments, clock: Clock) -> Save:
    """Whole on disk, as with the others: synced and renamed."""
    import torch

    def save(_step: int, state: dict[str, Any]) -> None:
        taken = clock()
        temporary = folder / "state.tmp"
        with temporary.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(folder / "state.pt")
        whole.append((taken, clock()))

    return save


def _dcp(folder: Path, whole: Moments, clock: Clock) -> Save:
    from torch.distributed.checkpoint.state_dict_saver import async_save

    pending: list[Any] = []

    def save(step: int, state: dict[str, Any]) -> None:
        taken = clock()
        # A second save while one is being written is an error, so the script has to wait.
        for earlier in pending:
            earlier.result()
        pending.clear()
        future = async_save(state, checkpoint_id=str(folder / f"step-{step}"))
        assert isinstance(future, Future)
        future.add_done_callback(lambda _: whole.append((taken, clock())))
        pending.append(future)

    return save


def _tidewheel(_folder: Path, whole: Moments, clock: Clock) -> Save:
    import torch

    import tidewheel
    from tidewheel._background_saves import BackgroundSaves, Job

    write = BackgroundSaves._write
    taken: dict[int, float] = {}

    def note(saves: BackgroundSaves, job: Job) -> None:
        write(saves, job)
        whole.append((taken[job.checkpoint.step], clock()))

    BackgroundSaves._write = note  # type: ignore[assignment, method-assign]

    def save(step: int, state: dict[str, Any]) -> None:
        taken[step] = clock()
        tidewheel.save(step, lambda target, copy: torch.save(copy, target / "state.pt"), state)

    return save


BY_THE_SCRIPT = {"torch.save": _blocking, "dcp.async_save": _dcp, "tidewheel.save": _tidewheel}
