"""After https://lightning.ai/docs/pytorch/stable/data/datamodule.html: a module whose `collate_fn`
pads and shuffles in plain Python."""

from __future__ import annotations

import argparse
import random

import lightning
import torch
from device import OnDevice
from torch.utils.data import DataLoader


def collate(samples: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    longest = max(map(len, samples))
    rows = []
    for sample in samples:
        row = sample + [0] * (longest - len(sample))
        for _ in range(3):
            row = [value for _, value in sorted((random.random(), value) for value in row)]
        rows.append((row + [0] * 1_200)[:1_200])
    return torch.tensor(rows), torch.tensor([row[0] % 10 for row in rows])


class Classifier(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.net = OnDevice(1_200, 10, 0.05)

    def training_step(self, batch: tuple[torch.Tensor, torch.Tensor], _index: int) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.01)


parser = argparse.ArgumentParser()
parser.add_argument("--workers", type=int, default=0)
arguments = parser.parse_args()
torch.set_num_threads(1)
draw = random.Random(4)
data = [[draw.randrange(1_000) for _ in range(draw.randrange(600, 1_200))] for _ in range(2_000)]
loader = DataLoader(data, 16, shuffle=True, num_workers=arguments.workers, collate_fn=collate)
lightning.Trainer(
    max_epochs=-1,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
).fit(Classifier(), loader)
