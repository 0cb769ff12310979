"""An accelerator that needs no CPU while it works: a model whose step lasts so many seconds."""

from __future__ import annotations

import threading

import torch
from torch import nn


class OnDevice(nn.Module):
    """A small classifier whose forward pass also waits, as a script waits for a GPU."""

    def __init__(self, inputs: int, classes: int, seconds: float) -> None:
        super().__init__()
        self.layer = nn.Linear(inputs, classes)
        self.seconds = seconds

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        done: torch.futures.Future[None] = torch.futures.Future()
        threading.Timer(self.seconds, done.set_result, [None]).start()
        scores = self.layer(batch.flatten(1).float())
        done.wait()
        return scores
