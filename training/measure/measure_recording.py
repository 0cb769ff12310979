"""What automatic checkpoints cost a step that they record: microseconds of CPU of one step.

    .venv/bin/python training/measure/measure_recording.py [--rounds N] [--steps N] [--width N]

The step trains a classifier on 32 texts of up to 40 words, in packed sequences. It reads its loss,
a mask and a count. Rounds of it run in turn with the kernels that note shapes, numbers and packed
sequences inside PyTorch, and without them: `kernels` is what they add, with its range over parts of
the rounds. `hooks` is what all of the hooks add to the step `alone`. Nothing is saved meanwhile.
Other programs on the machine add to both ways, so the quick rounds count.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

from hosts import TRAINING

sys.path.insert(0, str(TRAINING / "automatic"))
_PARTS = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--steps", type=int, default=5, help="of a round")
    parser.add_argument("--width", type=int, default=128, help="of the recurrent layer")
    arguments = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    step = _classifier(arguments.width)
    rounds = range(arguments.rounds)
    alone = [_seconds(step, arguments.steps) for _ in rounds]
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"TIDEWHEEL_AUTOMATIC_DIR": folder, "TIDEWHEEL_CHECKPOINT_SECONDS": "1e9"}
        pairs = _pairs(step, arguments.steps, rounds)
    parts = [_difference(pairs[number::_PARTS]) for number in range(_PARTS)]
    hooked = _quiet([with_kernels for with_kernels, _ in pairs])
    found = {
        "alone": _quiet(alone),
        "hooks": hooked - _quiet(alone),
        "kernels": _difference(pairs),
        "low": min(parts),
        "high": max(parts),
        "load": os.getloadavg()[0],
    }
    print(json.dumps({name: round(value, 1) for name, value in found.items()}))


def _classifier(width: int) -> Callable[[], None]:
    import torch
    from torch.nn import functional
    from torch.nn.utils import rnn

    torch.manual_seed(1)
    embed, layer = torch.nn.Embedding(500, width), torch.nn.GRU(width, width)
    head = torch.nn.Linear(width, 2)
    model = torch.nn.ModuleList([embed, layer, head])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    words, labels = torch.randint(0, 500, (40, 32)), torch.randint(0, 2, (32,))
    lengths = torch.arange(32) + 9

    def step() -> None:
        packed = rnn.pack_padded_sequence(embed(words), lengths, enforce_sorted=False)
        out = head(layer(packed)[1][0])
        is_sure = out.amax(dim=1) > out.mean()
        loss = functional.cross_entropy(out, labels) + out[is_sure].square().sum()
        loss = loss + out[torch.arange(is_sure.sum())].square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()

    return step


def _pairs(
    step: Callable[[], None], steps: int, rounds: Sequence[int]
) -> list[tuple[float, float]]:
    """Seconds of a step with the kernels and without, in turn."""
    from tidewheel_automatic.hooks import install
    from tidewheel_automatic.journal import Journal
    from tidewheel_automatic.options import read_options
    from tidewheel_automatic.recorded.number_reads import NumberReads
    from tidewheel_automatic.recorded.packed import PackedSequences
    from tidewheel_automatic.recorded.shapes import ShapesByData
    from tidewheel_automatic.session import Session

    session = Session(read_options())
    install(session)
    kernels: list[Any] = [session.shapes, session.numbers, session.packed]
    pairs = []
    for _ in rounds:
        session.journal = Journal()
        with_kernels = _seconds(step, steps)
        for kernel in kernels:
            kernel.kernels.uninstall()
        pairs.append((with_kernels, _seconds(step, steps)))
        shapes = ShapesByData(session)
        kernels = [shapes, NumberReads(session), PackedSequences(session, shapes)]
        for kernel in kernels:
            kernel.hook()
    return pairs


def _seconds(step: Callable[[], None], steps: int) -> float:
    began = time.thread_time()
    for _ in range(steps):
        step()
    return (time.thread_time() - began) / steps


def _difference(pairs: Sequence[tuple[float, float]]) -> float:
    with_kernels, without = zip(*pairs, strict=True)
    return _quiet(with_kernels) - _quiet(without)


def _quiet(seconds: Sequence[float]) -> float:
    """Microseconds."""
    return 1e6 * statistics.quantiles(seconds, n=10)[0]


if __name__ == "__main__":
    main()
