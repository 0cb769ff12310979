"""`measure_saving.py [--sizes 10,100,500] [--device cuda]`: what each way to save costs a training.

Each training repeats a step: an accelerator that the host waits for, then an update of its state.
With `--device cuda` the state is on a GPU, which computes in place of the wait. `stallMs` is how
long a save stops the script, `slowerPercent` how many steps fewer it makes than without saves.
`automatic` saves nothing itself, under the hooks. Other work on the machine falsifies the figures.
"""

from __future__ import annotations

import argparse
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

from hosts import TRAINING

_ACCELERATOR_SECONDS = 0.05
_PRODUCTS = 36
"""Of matrices of 8192 x 8192 in bfloat16, an H100 or H200 computes so many in 50 ms."""
_LOG_STEPS = 5
"""A script reads its loss now and then, and waits for the GPU to come there."""
_MEGABYTE = 1_000_000

Save = Callable[[int, dict[str, Any]], None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="10,100,500", help="megabytes of state")
    parser.add_argument("--seconds", type=float, default=34, help="of each training")
    parser.add_argument("--every", type=float, default=8, help="seconds between two saves")
    parser.add_argument("--device", default="cpu", help="of the state")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        way, size = options.one
        print(json.dumps(_train(way, int(size), options)))
        return
    for size in options.sizes.split(","):
        rows = {way: _run(way, size, options) for way in WAYS}
        for way, row in rows.items():
            share = row["stepsPerSecond"] / rows["none"]["stepsPerSecond"]
            slower = {"slowerPercent": round(100 * (1 - share), 2)}
            print(json.dumps({"megabytes": int(size), "way": way, **row, **slower}), flush=True)


def _run(way: str, size: str, options: argparse.Namespace) -> dict[str, Any]:
    """A process of its own, so that no way leaves threads or memory to the next."""
    command = [sys.executable, __file__, "--one", way, size, "--device", options.device]
    command += ["--seconds", str(options.seconds), "--every", str(options.every)]
    paths = [TRAINING / "agent" / "for_scripts", Path(__file__).parent]
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "TIDEWHEEL_CHECKPOINT_DIR": folder,
            "TIDEWHEEL_CHECKPOINT_SECONDS": str(options.every),
        }
        if way == "automatic":
            paths.insert(0, TRAINING / "automatic")
            environment["TIDEWHEEL_AUTOMATIC_DIR"] = folder
        environment["PYTHONPATH"] = os.pathsep.join(map(str, paths))
        output = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout
    row: dict[str, Any] = json.loads(output.splitlines()[-1])
    return row


def _train(way: str, size: int, options: argparse.Namespace) -> dict[str, Any]:
    import torch

    compute = _accelerator(options.device)
    model = torch.nn.Linear(8, 1)
    for number in range(10):
        model.register_buffer(f"layer{number}", torch.randn(size * _MEGABYTE // 40))
    model.to(options.device)
    large = [*model.buffers()]
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    ones = torch.ones(4, 8, device=options.device)
    save = WAYS[way](Path(os.environ["TIDEWHEEL_CHECKPOINT_DIR"]))
    steps = 0

    def learn() -> None:
        nonlocal steps
        compute()
        for tensor in large:
            tensor[:1000].add_(1)
        optimizer.zero_grad()
        loss = model(ones).square().mean()
        torch.autograd.backward(loss)
        optimizer.step()
        steps += 1
        if steps % _LOG_STEPS == 0:
            loss.item()

    # The first copy takes its memory from the system; the hooks make theirs within an interval.
    save(0, model.state_dict())
    warm_until = time.monotonic() + 1.5 * options.every
    while time.monotonic() < warm_until:
        learn()
    stalls: list[float] = []
    steps = 0
    began = saved_at = time.monotonic()
    while time.monotonic() - began < options.seconds:
        learn()
        now = time.monotonic()
        if now - saved_at >= options.every:
            save(steps, model.state_dict())
            stalls.append(time.monotonic() - now)
            saved_at = now
    return {
        "stepsPerSecond": round(steps / (time.monotonic() - began), 3),
        "stallMs": round(1000 * sum(stalls) / max(1, len(stalls)), 1) if way in BY_SCRIPT else None,
    }


def _accelerator(device: str) -> Callable[[], object]:
    """What a step is beside its update: a wait, or matrix products."""
    import torch

    if device == "cpu":
        return lambda: time.sleep(_ACCELERATOR_SECONDS)
    matrix = torch.randn(8192, 8192, device=device, dtype=torch.bfloat16)
    out = torch.empty_like(matrix)
    return lambda: [torch.mm(matrix, matrix, out=out) for _ in range(_PRODUCTS)]


def _nothing(_folder: Path) -> Save:
    return lambda _step, _state: None


def _blocking(folder: Path) -> Save:
    """Whole on disk, as with the others: synced and renamed."""
    import torch

    def save(_step: int, state: dict[str, Any]) -> None:
        temporary = folder / "state.tmp"
        with temporary.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(folder / "state.pt")

    return save


def _dcp(folder: Path) -> Save:
    from torch.distributed.checkpoint.state_dict_saver import async_save

    pending: list[Future[Any]] = []

    def save(step: int, state: dict[str, Any]) -> None:
        # A second save while one is being written is an error, so the script has to wait.
        for earlier in pending:
            earlier.result()
        future = async_save(state, checkpoint_id=str(folder / f"step-{step}"))
        assert isinstance(future, Future)
        pending[:] = [future]

    return save


def _tidewheel(_folder: Path) -> Save:
    import torch

    import tidewheel

    def save(step: int, state: dict[str, Any]) -> None:
        tidewheel.save(step, lambda target, copy: torch.save(copy, target / "state.pt"), state)

    return save


BY_SCRIPT = {"torch.save": _blocking, "dcp.async_save": _dcp, "tidewheel.save": _tidewheel}
WAYS: dict[str, Callable[[Path], Save]] = {"none": _nothing, **BY_SCRIPT, "automatic": _nothing}


if __name__ == "__main__":
    main()
