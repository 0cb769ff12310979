"""What the hooks that measure cost a script: microseconds a step, and share of a core of the agent.

    .venv/bin/python training/measure/measure_hooks.py [--repetitions N] [--device cuda]

A process trains a tiny model in rounds of some steps, in turn with the hooks laid and taken off.
CPU time of the training thread is measured, since hooks never wait. Other programs on the machine
only add to it, so the cost is the difference between the quiet rounds: the tenth that was quickest,
with hooks and without. The range is that of four parts of the rounds.

With `--device cuda` the training is on a GPU, and PyTorch raises at a hook that waits for it.

The agent's own part is the CPU time of its look at a host, once a second.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hosts import TRAINING

_FOLDERS = ("agent", "agent/for_scripts", "instrument")
sys.path[:0] = [str(TRAINING / folder) for folder in _FOLDERS]

_LOOKS = 200
_PARTS = 4


def hooks_cost(folder: Path, repetitions: int, steps: int, device: str) -> dict[str, float]:
    """Microseconds a step: of the hooks, with their range, and of the training without."""
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    from tidewheel_instrument.looks import Looker
    from tidewheel_instrument.meter import Meter
    from tidewheel_instrument.pytorch import install

    torch.set_num_threads(1)
    data = TensorDataset(
        torch.randn(4 * steps, 4, device=device), torch.randn(4 * steps, device=device)
    )
    model = torch.nn.Linear(4, 1).to(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)

    def seconds_of_step() -> float:
        began = time.thread_time()
        for inputs, targets in DataLoader(data, 4):
            optimizer.zero_grad()
            (model(inputs).squeeze(1) - targets).square().mean().backward()
            optimizer.step()
        return (time.thread_time() - began) / steps

    meter = Meter(str(folder))
    meter.begin_looks = lambda: Looker(meter).start()
    seconds_of_step()
    if device == "cuda":
        torch.cuda.set_sync_debug_mode("error")
    pairs = []
    for _ in range(repetitions):
        install(meter)
        hooked = seconds_of_step()
        meter.uninstall()
        pairs.append((hooked, seconds_of_step()))
    parts = [_difference(pairs[number::_PARTS]) for number in range(_PARTS)]
    return {
        "stepOverheadMicroseconds": round(_difference(pairs), 2),
        "low": round(min(parts), 2),
        "high": round(max(parts), 2),
        "stepMicroseconds": round(1e6 * _quiet([plain for _, plain in pairs]), 2),
    }


def _difference(pairs: list[tuple[float, float]]) -> float:
    hooked, plain = zip(*pairs, strict=True)
    return 1e6 * (_quiet(hooked) - _quiet(plain))


def _quiet(seconds: Sequence[float]) -> float:
    return statistics.quantiles(seconds, n=10)[0]


def agent_cost(folder: Path) -> dict[str, float]:
    """Of one core: looking once a second, with a point every ten looks."""
    from tidewheel_agent.evidence.point import Place
    from tidewheel_agent.evidence.recorder import EvidenceRecorder, Start
    from tidewheel_agent.metrics.counters import MachineCounters

    start = Start(time.time(), time.monotonic(), 0.0, None, "on")
    recorder = EvidenceRecorder(folder, 1, "host", Place(0, 1), folder, start)
    counters = MachineCounters(None)
    begun = time.monotonic()
    before = time.process_time()
    for second in range(_LOOKS):
        recorder.observe(replace(counters.read(), at=begun + second))
    seconds = (time.process_time() - before) / _LOOKS
    return {"agentShareOfCore": round(seconds, 5)}


def look_cost() -> dict[str, float]:
    """Microseconds of CPU time of one look at the training thread; there are four a second."""
    from tidewheel_instrument.places import Places, host_work

    places, me = Places(), threading.get_ident()

    def deep(depth: int) -> float:
        if depth:
            return deep(depth - 1)
        begun = time.thread_time()
        for _ in range(_LOOKS):
            host_work(sys._current_frames().get(me), places)
        return time.thread_time() - begun

    return {"lookMicroseconds": round(1e6 * min(deep(30) for _ in range(20)) / _LOOKS, 2)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=401)
    parser.add_argument("--steps", type=int, default=40, help="of one repetition")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        cost = hooks_cost(Path(name), options.repetitions, options.steps, options.device)
        measured = {**cost, **look_cost(), **agent_cost(Path(name))}
    print(
        f"hooks: {measured['stepOverheadMicroseconds']} us a step "
        f"({measured['low']} to {measured['high']}), "
        f"beside a step of {measured['stepMicroseconds']} us"
    )
    print(f"looks: {measured['lookMicroseconds']} us each, four a second")
    print(f"agent: {100 * measured['agentShareOfCore']:.2f} % of a core")
    return 0


if __name__ == "__main__":
    sys.exit(main())
