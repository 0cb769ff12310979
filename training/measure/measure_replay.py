"""What a replay costs a loop of many small operations: milliseconds of CPU for one of its steps.

    .venv/bin/python training/measure/measure_replay.py [--rounds N] [--steps N]

The step is one of an environment in reinforcement learning: a policy of three layers, a drawn
action and its probability. It runs `really`, on `fake` as in a replay, and on PyTorch's
`fakeTensors` alone. Other programs on the machine only add to it, so the quickest round counts.

Beside it: bytes that each step adds to the journal where a loader and the script draw from one
generator, one number each.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from hosts import TRAINING

sys.path.insert(0, str(TRAINING / "automatic"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=100, help="of a round")
    arguments = parser.parse_args()
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    from tidewheel_automatic.fake_tensors import ReplayMode

    torch.set_num_threads(1)
    body, action, value = (torch.nn.Linear(*shape) for shape in ((4, 128), (128, 2), (128, 1)))

    def step() -> None:
        hidden = torch.relu(body(torch.zeros(4)))
        probabilities = torch.softmax(action(hidden), dim=-1)
        drawn = torch.multinomial(probabilities, 1)
        loss = -probabilities.log().gather(0, drawn) * 0.5
        torch.nn.functional.smooth_l1_loss(value(hidden), torch.tensor([1.0])).add(loss)

    modes: dict[str, Callable[[], AbstractContextManager[object]]] = {
        "really": nullcontext,
        "fake": ReplayMode,
        "fakeTensors": lambda: FakeTensorMode(allow_non_fake_inputs=True),
    }
    for name, mode in modes.items():
        print(json.dumps({"way": name, "ms": _quickest(step, mode(), arguments)}), flush=True)
    print(json.dumps({"journalBytes": _bytes_of_shared_draws(10 * arguments.steps)}))


def _quickest(
    step: Callable[[], None],
    mode: AbstractContextManager[object],
    arguments: argparse.Namespace,
) -> float:
    rounds: list[float] = []
    with mode:
        for _ in range(arguments.rounds):
            began = time.thread_time()
            for _ in range(arguments.steps):
                step()
            rounds.append((time.thread_time() - began) / arguments.steps)
    return round(1000 * min(rounds), 2)


def _bytes_of_shared_draws(steps: int) -> float:
    import numpy  # noqa: F401 # Most scripts have it, and its state is kept, too.

    from tidewheel_automatic.draws import Draws, Work

    sizes: list[int] = []

    def may_read(size: int) -> bool:
        sizes.append(size)
        return True

    draws = Draws(may_read)
    for _ in range(steps):
        before = draws.before()
        random.random()  # The loader.
        draws.after(before, Work(None))
        random.random()  # The script.
    return round(sum(sizes) / steps, 1)


if __name__ == "__main__":
    main()
