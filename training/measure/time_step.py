"""`time_step.py MODEL SIDE PRECISION`: times training steps of one sample and of four.

Prints both in seconds of CPU, then both in seconds by the clock: one JSON list of two lists."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

import timm
import torch
from torch import nn


def main(name: str, side: int, precision: str) -> None:
    torch.set_num_threads(1)
    model: nn.Module = timm.create_model(name, img_size=(side, side), num_classes=2)
    optimizer = torch.optim.AdamW(model.parameters())

    def step(samples: int, now: Callable[[], float]) -> float:
        began = now()
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
            guessed = model(torch.zeros(samples, 3, side, side))
            loss = nn.functional.cross_entropy(guessed, torch.zeros(samples, dtype=torch.long))
        torch.autograd.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        return now() - began

    # The first step makes the optimizer's averages.
    step(1, time.perf_counter)
    clocks = (time.process_time, time.perf_counter)
    print(json.dumps([[step(samples, now) for samples in (1, 4)] for now in clocks]))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
