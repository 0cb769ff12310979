"""`measure_saving.py --sizes 10,100,500 --seconds 40`: what saving and what a kill cost a training,
by each way to save; prints one JSON line for each.

Each training repeats a step: an accelerator that the host waits for (a wait by the clock), then an
update of the whole state. `lost` is the mean age of the newest whole checkpoint, over all moments
at which a kill may come.

The clock is that of lockstep.py: a host of `--cores`, however busy this machine is. A wait for the
disk is time on it. `automatic` is a training that saves nothing, under the hooks.

With `--device cuda` the state is on a GPU, which computes in place of the wait, and the clock is
the machine's own: other work on the machine falsifies the figures.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lockstep import Lockstep
from saving_ways import BY_THE_SCRIPT, Clock, Moments, mean_age, saver, watch_hooks

AGENT = Path(__file__).resolve().parents[1] / "agent"
WAYS = ("none", *BY_THE_SCRIPT, "automatic")
_ACCELERATOR_SECONDS = 0.05
_LEAST_SLEEP_SECONDS = 0.006
_PRODUCTS = 36
"""Of matrices of 8192 x 8192 in bfloat16, an H100 or H200 computes so many in 50 ms."""
_LOG_STEPS = 5
"""A script reads its loss now and then, and waits for the GPU to come there."""
_MEGABYTE = 1_000_000

Rows = dict[str, dict[str, Any]]


def main() -> None:
    arguments = _parse()
    if arguments.way:
        print(json.dumps(_train(arguments)))
        return
    sizes = [int(text) for text in arguments.sizes.split(",")]
    run = _one_by_one if arguments.device == "cpu" else _in_turn
    for size, rows in run(sizes, arguments):
        for way in WAYS:
            row = {"device": arguments.device, "megabytes": size, "way": way, **rows[way]}
            row["slowerPercent"] = round(
                100 * (1 - row["stepsPerSecond"] / rows["none"]["stepsPerSecond"]), 2
            )
            print(json.dumps(row), flush=True)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="10,100,500", help="megabytes of state")
    parser.add_argument("--seconds", type=float, default=40, help="of each training")
    parser.add_argument("--every", type=float, default=8, help="seconds between two saves")
    parser.add_argument("--cores", type=float, default=1, help="of the host that trains")
    parser.add_argument("--device", default="cpu", help="of the state")
    parser.add_argument("--matrix", type=int, default=8192, help="rows of the GPU's products")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, help=argparse.SUPPRESS)
    return parser.parse_args()


def _command(way: str, size: int, arguments: argparse.Namespace) -> list[str]:
    """A process of its own, so that no way leaves threads or memory to the next."""
    command = [sys.executable, __file__, "--way", way, "--size", str(size)]
    command += ["--seconds", str(arguments.seconds), "--every", str(arguments.every)]
    return [*command, "--device", arguments.device, "--matrix", str(arguments.matrix)]


def _one_by_one(sizes: list[int], arguments: argparse.Namespace) -> Iterator[tuple[int, Rows]]:
    for size in sizes:
        yield size, {way: _run(way, size, arguments) for way in WAYS}


def _in_turn(sizes: list[int], arguments: argparse.Namespace) -> Iterator[tuple[int, Rows]]:
    """All processes start together, since a GPU takes seconds to start; each trains alone."""
    with tempfile.TemporaryDirectory() as text:
        started: dict[tuple[int, str], tuple[Path, subprocess.Popen[bytes]]] = {}
        for size in sizes:
            for way in WAYS:
                folder = Path(text) / f"{size}-{way}"
                folder.mkdir()
                environment = _environment(way, folder, arguments.every)
                argv = _command(way, size, arguments)
                process = subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE)
                started[size, way] = folder, process
        for folder, process in started.values():
            while not (folder / "ready").exists() and process.poll() is None:
                time.sleep(0.1)
        for size in sizes:
            rows: Rows = {}
            for way in WAYS:
                folder, process = started[size, way]
                (folder / "turn").touch()
                rows[way] = _last_row(process.communicate()[0])
            yield size, rows


def _run(way: str, size: int, arguments: argparse.Namespace) -> dict[str, Any]:
    command = _command(way, size, arguments)
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        line = f"MEASURED_HOST={folder}"
        clock, ready = folder / "clock", folder / "ready"
        lockstep = Lockstep({"host": line}, clock, cores=arguments.cores, is_disk_time_counted=True)
        environment = _environment(way, folder, arguments.every)
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)

        def has_ended() -> bool:
            return process.poll() is not None

        lockstep.run_free(lambda: ready.exists() or has_ended())
        lockstep.run_fair(has_ended)
        output, _ = process.communicate()
    if process.returncode != 0:
        raise SystemExit(f"{way} ended with exit code {process.returncode}")
    return _last_row(output)


def _last_row(output: bytes) -> dict[str, Any]:
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
        paths.insert(0, AGENT.parent / "automatic")
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


class _Accelerator:
    """What a step is beside its update: a wait by the clock, or matrix products."""

    def __init__(self, device: str, side: int, folder: Path) -> None:
        import torch

        self.clock: Clock = time.monotonic
        if device == "cpu":
            clock = _Clock(folder)
            self.clock = clock
            self.compute: Callable[[], object] = lambda: clock.sleep(_ACCELERATOR_SECONDS)
            return
        matrix = torch.randn(side, side, device=device, dtype=torch.bfloat16)
        out = torch.empty_like(matrix)
        self.compute = lambda: [torch.mm(matrix, matrix, out=out) for _ in range(_PRODUCTS)]


def _train(arguments: argparse.Namespace) -> dict[str, Any]:
    import torch

    way, size = arguments.way, arguments.size
    folder = Path(os.environ["MEASURED_HOST"])
    accelerator = _Accelerator(arguments.device, arguments.matrix, folder)
    clock = accelerator.clock
    model = torch.nn.Linear(8, 1)
    for number in range(10):
        model.register_buffer(f"layer{number}", torch.randn(size * _MEGABYTE // 40))
    model.to(arguments.device)
    large = [*model.buffers()]
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    ones = torch.ones(4, 8, device=arguments.device)
    whole: Moments = []
    stalls: list[float] = []
    save = saver(way, folder / "checkpoints", whole, clock)
    if way == "automatic":
        watch_hooks(whole, stalls, clock)
    steps = 0

    def learn() -> None:
        nonlocal steps
        accelerator.compute()
        for tensor in large:
            tensor[:1000].add_(1)
        optimizer.zero_grad()
        loss = model(ones).square().mean()
        torch.autograd.backward(loss)
        optimizer.step()
        steps += 1
        if steps % _LOG_STEPS == 0:
            loss.item()

    save(0, model.state_dict())  # The first copy takes its memory from the system.
    if arguments.device != "cpu":
        until = clock() + 1.5 * arguments.every
        while clock() < until:
            learn()
            time.sleep(0.2)
    time.sleep(size / 50)
    _await_turn(folder, arguments.device)
    whole.clear()
    stalls.clear()
    steps = 0
    began = saved_at = clock()
    while clock() - began < arguments.seconds:
        learn()
        now = clock()
        if way in BY_THE_SCRIPT and now - saved_at >= arguments.every:
            save(steps, model.state_dict())
            stalls.append(clock() - now)
            saved_at = now
    return {
        "steps": steps,
        "stepsPerSecond": round(steps / (clock() - began), 3),
        "saves": len(stalls),
        "stallMs": round(1000 * sum(stalls) / max(1, len(stalls)), 1),
        "stalledPercent": round(100 * sum(stalls) / arguments.seconds, 2),
        "lostSeconds": mean_age(whole),
    }


def _await_turn(folder: Path, device: str) -> None:
    (folder / "ready").touch()
    while device != "cpu" and not (folder / "turn").exists():
        time.sleep(0.02)


if __name__ == "__main__":
    main()
