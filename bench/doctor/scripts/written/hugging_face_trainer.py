"""After https://huggingface.co/docs/datasets/use_with_pytorch: a Trainer whose images are
transformed on the fly by `with_transform`."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from datasets import Dataset
from device import OnDevice
from images import make, open_image, rows_of
from transformers import Trainer, TrainingArguments


class Classifier(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = OnDevice(3 * 64 * 64, 10, 0.06)

    def forward(self, pixel_values: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        logits = self.net(pixel_values)
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}


def transform(examples: dict[str, list]) -> dict[str, list]:
    images = [open_image(folder / name).resize((64, 64)) for name in examples["file"]]
    pixels = [torch.from_numpy(np.array(image)).permute(2, 0, 1) / 255 for image in images]
    return {"pixel_values": pixels, "labels": examples["label"]}


parser = argparse.ArgumentParser()
parser.add_argument("--workers", type=int, default=0)
arguments = parser.parse_args()
torch.set_num_threads(1)
folder = make(Path("images").absolute())
names, labels = zip(*rows_of(folder), strict=True)
data = Dataset.from_dict({"file": list(names), "label": list(labels)}).with_transform(transform)
Trainer(
    model=Classifier(),
    args=TrainingArguments(
        output_dir="out",
        per_device_train_batch_size=16,
        num_train_epochs=1_000,
        dataloader_num_workers=arguments.workers,
        remove_unused_columns=False,
        save_strategy="no",
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
    ),
    train_dataset=data,
).train()
