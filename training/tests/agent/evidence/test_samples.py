"""How many samples the hooks count, from loaders of all kinds."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from hooked_programs import hooked
from tidewheel_agent.evidence.cells import read_counts

pytestmark = pytest.mark.slow

TRAINING = """
import threading
import torch
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

data = TensorDataset(torch.zeros(22, 4))
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)

def train(batches):
    for batch in batches:
        optimizer.zero_grad()
        model(batch[0]).sum().backward()
        optimizer.step()

class Stream(IterableDataset):
    def __iter__(self):
        return iter([[torch.zeros(4)]] * 22)

calls = []

def shrinking(samples):
    calls.append(1)
    return [torch.stack([each[0] for each in samples[: max(1, len(samples) // len(calls))]])]
"""

LOADERS = {
    "a last batch of two": ("train(DataLoader(data, 4))", 6, 22),
    "three epochs": (
        "\nloader = DataLoader(data, 4, shuffle=True, num_workers=1, persistent_workers=True)"
        "\nfor _ in range(3): train(loader)",
        18,
        66,
    ),
    "an iterable": ("train(DataLoader(Stream(), 4))", 6, 22),
    "a function of the script": (
        "train(DataLoader(data, 4, collate_fn=shrinking))",
        6,
        4 + 2 + 1 + 1 + 1 + 1,
    ),
    "a validation in between": (
        "\nfor epoch in range(2):"
        "\n    train(DataLoader(data, 4))"
        "\n    for _ in DataLoader(data, 11): pass",
        12,
        44,
    ),
}


@pytest.mark.parametrize(("program", "steps", "samples"), LOADERS.values(), ids=LOADERS)
def test_every_sample_counts_once(tmp_path: Path, program: str, steps: int, samples: int) -> None:
    text = TRAINING + program
    assert hooked(tmp_path / "cells", "-c", text) == ""
    counts = read_counts(tmp_path / "cells", time.monotonic())
    (trainer,) = [each for each in counts if each.is_trainer]
    assert (trainer.steps, trainer.samples, trainer.knows_samples) == (steps, samples, True)


def test_batches_of_another_thread_are_no_waits(tmp_path: Path) -> None:
    program = """
import queue, threading, time
taken = queue.Queue(2)

class Slow(TensorDataset):
    def __getitem__(self, index):
        time.sleep(0.005)
        return super().__getitem__(index)

def prefetch():
    for batch in DataLoader(Slow(torch.zeros(80, 4)), 4):
        taken.put(batch)
    taken.put(None)

threading.Thread(target=prefetch).start()
train(iter(taken.get, None))
"""
    assert hooked(tmp_path / "cells", "-c", TRAINING + program) == ""
    counts = read_counts(tmp_path / "cells", time.monotonic())
    (trainer,) = [each for each in counts if each.is_trainer]
    assert trainer.steps == 20
    # Until the first step, the thread that waits for a batch may be the one that trains.
    assert trainer.wait < 0.2
