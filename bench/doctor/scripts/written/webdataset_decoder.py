"""After https://github.com/webdataset/webdataset: shards, and a decoder in Python in `map`."""

from __future__ import annotations

import argparse
import io
import tarfile
from pathlib import Path

import numpy as np
import torch
import webdataset
from device import OnDevice
from images import make, rows_of
from PIL import Image


def shards(folder: Path) -> list[str]:
    rows, paths = rows_of(folder), []
    for number in range(8):
        path = folder / f"shard-{number}.tar"
        paths.append(str(path))
        if path.exists():
            continue
        with tarfile.open(path, "w") as tar:
            for name, label in rows[number::8]:
                tar.add(folder / name, name)
                text = str(label).encode()
                entry = tarfile.TarInfo(f"{Path(name).stem}.cls")
                entry.size = len(text)
                tar.addfile(entry, io.BytesIO(text))
    return paths


def decode(sample: dict) -> tuple[torch.Tensor, int]:
    image = Image.open(io.BytesIO(sample["jpg"])).convert("RGB").resize((224, 224)).resize((64, 64))
    return torch.from_numpy(np.array(image)).permute(2, 0, 1) / 255, int(sample["cls"])


parser = argparse.ArgumentParser()
parser.add_argument("--workers", type=int, default=0)
arguments = parser.parse_args()
torch.set_num_threads(1)
data = webdataset.WebDataset(
    shards(make(Path("images"))), shardshuffle=8, resampled=True, nodesplitter=None
)
data = data.shuffle(100).map(decode).batched(16).with_epoch(200)
loader = webdataset.WebLoader(data, batch_size=None, num_workers=arguments.workers)
model = OnDevice(3 * 64 * 64, 10, 0.04)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
while True:
    for images, labels in loader:
        optimizer.zero_grad()
        labels = torch.as_tensor(labels)
        torch.nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
