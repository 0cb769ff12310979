"""`measure_saving.py --sizes 10,100,500 --seconds 40`: what saving and what a kill cost a training,
by four ways to save; prints one JSON line for each.

Each training repeats a step: an accelerator that the host waits for (a wait by the clock), then an
update of the whole state. `lost` is the mean age of the newest whole checkpoint, over all moments
at which a kill may come.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

FOR_SCRIPTS = Path(__file__).resolve().parents[1] / "agent" / "for_scripts"
WAYS = ("none", "torch.save", "dcp.async_save", "tidewheel.save")
_ACCELERATOR_SECONDS = 0.05
_MEGABYTE = 1_000_000

Moments = list[tuple[float, float]]
"""For each whole checkpoint: when its state was taken, and when it had become whole."""
Save = Callable[[int, dict[str, Any]], None]


def main() -> None:
    arguments = _parse()
    if arguments.way:
        print(json.dumps(_train(arguments.way, arguments.size, arguments.seconds, arguments.every)))
        return
    for size in (int(text) for text in arguments.sizes.split(",")):
        rows = {way: _run(way, size, arguments) for way in WAYS}
        for way in WAYS:
            row = {"megabytes": size, "way": way, **rows[way]}
            row["slowerPercent"] = round(100 * (1 - row["steps"] / rows["none"]["steps"]), 2)
            print(json.dumps(row), flush=True)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="10,100,500", help="megabytes of state")
    parser.add_argument("--seconds", type=float, default=40, help="of each training")
    parser.add_argument("--every", type=float, default=8, help="seconds between two saves")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def _run(way: str, size: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """A process of its own, so that no way leaves threads or memory to the next."""
    command = [sys.executable, __file__, "--way", way, "--size", str(size)]
    command += ["--seconds", str(arguments.seconds), "--every", str(arguments.every)]
    environment = {**os.environ, "PYTHONPATH": str(FOR_SCRIPTS), "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        environment["TIDEWHEEL_CHECKPOINT_DIR"] = folder
        ended = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    row: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return row


def _train(way: str, size: int, seconds: float, every: float) -> dict[str, Any]:
    import torch

    folder = Path(os.environ["TIDEWHEEL_CHECKPOINT_DIR"])
    state = {f"layer{n}": torch.randn(size * _MEGABYTE // 40) for n in range(10)}
    whole: Moments = []
    save = _saver(way, folder, whole)
    save(0, state)  # The first copy takes its memory from the system, and is not counted.
    time.sleep(size / 50)
    whole.clear()
    stalls, steps = [], 0
    began = saved_at = time.monotonic()
    while time.monotonic() - began < seconds:
        time.sleep(_ACCELERATOR_SECONDS)
        for tensor in state.values():
            tensor[:1000].add_(1)
        steps += 1
        now = time.monotonic()
        if now - saved_at >= every:
            save(steps, state)
            stalls.append(time.monotonic() - now)
            saved_at = now
    return {
        "steps": steps,
        "saves": len(stalls),
        "stallMs": round(1000 * sum(stalls) / max(1, len(stalls)), 1),
        "lostSeconds": _mean_age(whole),
    }


def _mean_age(whole: Moments) -> float | None:
    """Between the first checkpoint that became whole and the last."""
    if len(whole) < 2:
        return None
    area = 0.0
    for (taken, at), (_, next_at) in itertools.pairwise(whole):
        area += ((next_at - taken) ** 2 - (at - taken) ** 2) / 2
    return round(area / (whole[-1][1] - whole[0][1]), 2)


def _saver(way: str, folder: Path, whole: Moments) -> Save:
    if way == "none":
        return lambda _step, _state: None
    return {"torch.save": _blocking, "dcp.async_save": _dcp, "tidewheel.save": _tidewheel}[way](
        folder, whole
    )


def _blocking(folder: Path, whole: Moments) -> Save:
    """Whole on disk, as with the others: synced and renamed."""
    import torch

    def save(_step: int, state: dict[str, Any]) -> None:
        taken = time.monotonic()
        temporary = folder / "state.tmp"
        with temporary.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(folder / "state.pt")
        whole.append((taken, time.monotonic()))

    return save


def _dcp(folder: Path, whole: Moments) -> Save:
    from torch.distributed.checkpoint.state_dict_saver import async_save

    pending: list[Any] = []

    def save(step: int, state: dict[str, Any]) -> None:
        taken = time.monotonic()
        # A second save while one is being written is an error, so the script has to wait.
        for earlier in pending:
            earlier.result()
        pending.clear()
        future = async_save(state, checkpoint_id=str(folder / f"step-{step}"))
        assert isinstance(future, Future)
        future.add_done_callback(lambda _: whole.append((taken, time.monotonic())))
        pending.append(future)

    return save


def _tidewheel(_folder: Path, whole: Moments) -> Save:
    import torch

    import tidewheel
    from tidewheel._background_saves import BackgroundSaves, Job

    write = BackgroundSaves._write
    taken: dict[int, float] = {}

    def note(saves: BackgroundSaves, job: Job) -> None:
        write(saves, job)
        whole.append((taken[job.checkpoint.step], time.monotonic()))

    BackgroundSaves._write = note  # type: ignore[assignment, method-assign]

    def save(step: int, state: dict[str, Any]) -> None:
        taken[step] = time.monotonic()
        tidewheel.save(step, lambda target, copy: torch.save(copy, target / "state.pt"), state)

    return save


if __name__ == "__main__":
    main()
