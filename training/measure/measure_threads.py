"""What more threads than cores cost a training on CPUs: seconds a step by processes and threads.

    .venv/bin/python training/measure/measure_threads.py [--over 0.5,1,2,4] [--seconds N] [--json]

Each process trains the same small model, as the ranks of a host do; the fastest of them is not
waited for. `over`: threads of all processes for each core. Cores that other programs hold count as
if more threads were there, so only a quiet machine tells this apart.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time

_WARM_STEPS = 3


def train(kind: str, threads: int, seconds: float) -> float:
    """Seconds a step."""
    os.environ["OMP_NUM_THREADS"] = str(threads)
    import torch
    from torch import nn

    torch.manual_seed(0)
    if kind == "perceptron":
        model = nn.Sequential(*[nn.Linear(512, 512) for _ in range(8)])
        inputs = torch.randn(128, 512)
    else:
        model = nn.Sequential(
            nn.Conv2d(3, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1)
        )
        inputs = torch.randn(32, 3, 64, 64)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)

    def step() -> None:
        optimizer.zero_grad()
        model(inputs).square().mean().backward()
        optimizer.step()

    for _ in range(_WARM_STEPS):
        step()
    began, steps = time.monotonic(), 0
    while time.monotonic() - began < seconds:
        step()
        steps += 1
    return (time.monotonic() - began) / steps


def together(kind: str, processes: int, threads: int, seconds: float) -> float:
    """Seconds a step of the slowest."""
    argv = [sys.executable, __file__, "--one", kind, str(threads), str(seconds)]
    running = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    return max(float(each.communicate()[0]) for each in running)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--over", default="0.5,1,2,4", help="threads for each core, by comma")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        kind, threads, seconds = options.one
        print(train(kind, int(threads), float(seconds)))
        return 0
    cores = len(os.sched_getaffinity(0))
    rows = []
    for kind in ("perceptron", "convolutions"):
        for processes in sorted({1, min(4, cores)}):
            for over in map(float, options.over.split(",")):
                threads = max(1, round(over * cores / processes))
                step = together(kind, processes, threads, options.seconds)
                row = {
                    "model": kind,
                    "processes": processes,
                    "threads": threads,
                    "over": threads * processes / cores,
                    "stepSeconds": round(step, 5),
                }
                rows.append(row)
                if not options.json:
                    print(row, flush=True)
    if options.json:
        print(json.dumps({"cores": cores, "rows": rows}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
