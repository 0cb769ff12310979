"""After https://docs.pytorch.org/tutorials/beginner/data_loading_tutorial.html: a Dataset that
reads an image for each row of a CSV file, and a DataLoader with its defaults."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from device import OnDevice
from images import make, open_image, rows_of
from torch.utils.data import DataLoader, Dataset


class AnnotatedImages(Dataset):
    def __init__(self, folder: Path) -> None:
        self.folder, self.rows = folder, rows_of(folder)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        name, label = self.rows[index]
        image = open_image(self.folder / name).resize((64, 64))
        return torch.from_numpy(np.array(image)).permute(2, 0, 1) / 255, label


parser = argparse.ArgumentParser()
parser.add_argument("--workers", type=int, default=0)
arguments = parser.parse_args()
torch.set_num_threads(1)
loader = DataLoader(
    AnnotatedImages(make(Path("images"))), 16, shuffle=True, num_workers=arguments.workers
)
model = OnDevice(3 * 64 * 64, 10, 0.06)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
while True:
    for images, labels in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
