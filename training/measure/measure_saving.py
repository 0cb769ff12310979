"""`measure_saving.py --sizes 10,100,500 --seconds 40`: what saving and what a kill cost a training,
by each way to save; prints one JSON line for each.

Each training repeats a step: an accelerator that the host waits for (a wait by the clock), then an
update of the whole state. `lost` is the mean age of the newest whole checkpoint, over all moments
at which a kill may come.

The clock is that of lockstep.py: a host of `--cores`, however busy this machine is. A wait for the
disk is time on it. `automatic` is a training that saves nothing, under the hooks.
"""

from __future__ import annotations

import argparse
import itertools
import json
import mmap
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from lockstep import Lockstep

AGENT = Path(__file__).resolve().parents[1] / "agent"
WAYS = ("none", "torch.save", "dcp.async_save", "tidewheel.save", "automatic")
_ACCELERATOR_SECONDS = 0.05
_LEAST_SLEEP_SECONDS = 0.006
_MEGABYTE = 1_000_000

Moments = list[tuple[float, float]]
"""For each whole checkpoint: when its state was taken, and when it had become whole."""
Save = Callable[[int, dict[str, Any]], None]
Clock = Callable[[], float]


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
    parser.add_argument("--cores", type=float, default=1, help="of the host that trains")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def _run(way: str, size: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """A process of its own, so that no way leaves threads or memory to the next."""
    command = [sys.executable, __file__, "--way", way, "--size", str(size)]
    command += ["--seconds", str(arguments.seconds), "--every", str(arguments.every)]
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        line = f"MEASURED_HOST={folder}"
        clock, ready = folder / "clock", folder / "ready"
        lockstep = Lockstep({"host": line}, clock, cores=arguments.cores, is_disk_time_counted=True)
        process = subprocess.Popen(
            command, env=_environment(way, folder, arguments.every), stdout=subprocess.PIPE
        )

        def ended() -> bool:
            return process.poll() is not None

        lockstep.run_free(lambda: ready.exists() or ended())
        lockstep.run_fair(ended)
        output, _ = process.communicate()
    if process.returncode != 0:
        raise SystemExit(f"{way} ended with exit code {process.returncode}")
    row: dict[str, Any] = json.loads(output.splitlines()[-1])
    return row


def _environment(way: str, folder: Path, every: float) -> dict[str, str]:
    paths = [AGENT / "for_scripts", Path(__file__).parent]
    environment = {
        **os.environ,
        "MEASURED_HOST": str(folder),
        "OMP_NUM_THREADS": "1",
        "TIDEWHEEL_CHECKPOINT_DIR": str(folder / "checkpoints"),
        "TIDEWHEEL_CHECKPOINT_SECONDS": str(every),
    }
    (folder / "checkpoints").mkdir()
    if way == "automatic":
        paths.insert(0, AGENT / "automatic")
        environment["TIDEWHEEL_AUTOMATIC_DIR"] = str(folder / "checkpoints")
    environment["PYTHONPATH"] = os.pathsep.join(map(str, paths))
    return environment


class _Clock:
    """The one that all hosts of a measurement share."""

    def __init__(self, folder: Path) -> None:
        with (folder / "clock").open("rb") as file:
            self._map = mmap.mmap(file.fileno(), 8, access=mmap.ACCESS_READ)

    def __call__(self) -> float:
        seconds: float = struct.unpack_from("<d", self._map)[0]
        return seconds

    def sleep(self, seconds: float) -> None:
        until = self() + seconds
        # A process that looks too often is never idle, and the clock waits for it.
        while (left := until - self()) > 0:
            time.sleep(max(_LEAST_SLEEP_SECONDS, left))


def _train(way: str, size: int, seconds: float, every: float) -> dict[str, Any]:
    import torch

    folder = Path(os.environ["MEASURED_HOST"])
    clock = _Clock(folder)
    model = torch.nn.Linear(8, 1)
    for number in range(10):
        model.register_buffer(f"layer{number}", torch.randn(size * _MEGABYTE // 40))
    large = [*model.buffers()]
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    whole: Moments = []
    stalls: list[float] = []
    save = _saver(way, folder / "checkpoints", whole, clock)
    if way == "automatic":
        _watch_hooks(whole, stalls, clock)
    save(0, model.state_dict())  # The first copy takes its memory from the system.
    time.sleep(size / 50)
    (folder / "ready").touch()
    whole.clear()
    steps = 0
    began = saved_at = clock()
    while clock() - began < seconds:
        clock.sleep(_ACCELERATOR_SECONDS)
        for tensor in large:
            tensor[:1000].add_(1)
        optimizer.zero_grad()
        model(torch.ones(4, 8)).square().mean().backward()
        optimizer.step()
        steps += 1
        now = clock()
        if way in _BY_THE_SCRIPT and now - saved_at >= every:
            save(steps, model.state_dict())
            stalls.append(clock() - now)
            saved_at = now
    return {
        "steps": steps,
        "saves": len(stalls),
        "stallMs": round(1000 * sum(stalls) / max(1, len(stalls)), 1),
        "stalledPercent": round(100 * sum(stalls) / seconds, 2),
        "lostSeconds": _mean_age(whole),
    }


def _watch_hooks(whole: Moments, stalls: list[float], clock: _Clock) -> None:
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

    def noted_complete(root: Path, step: int, files: dict[str, Any]) -> list[int]:
        kept = complete(root, step, files)
        whole.append((taken[step], clock()))
        return kept

    Saver.look = noted_look  # type: ignore[method-assign]
    Writer.start = noted_start  # type: ignore[method-assign]
    storage.complete = noted_complete


def _mean_age(whole: Moments) -> float | None:
    """Between the first checkpoint that became whole and the last."""
    if len(whole) < 2:
        return None
    area = 0.0
    for (taken, at), (_, next_at) in itertools.pairwise(whole):
        area += ((next_at - taken) ** 2 - (at - taken) ** 2) / 2
    return round(area / (whole[-1][1] - whole[0][1]), 2)


def _saver(way: str, folder: Path, whole: Moments, clock: Clock) -> Save:
    if way not in _BY_THE_SCRIPT:
        return lambda _step, _state: None
    return _BY_THE_SCRIPT[way](folder, whole, clock)


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


_BY_THE_SCRIPT = {"torch.save": _blocking, "dcp.async_save": _dcp, "tidewheel.save": _tidewheel}

if __name__ == "__main__":
    main()
