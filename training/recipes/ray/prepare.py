"""The samples in the order of the training, decoded by Ray Data on the helper hosts.

The whole order, over all epochs, is a function of the seed, so the position in the data is the
number of samples that came before.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import ray

from shards import ImageReader, Sample, is_held_out, read_index


def data_folder() -> Path:
    return Path(os.environ["SM_CHANNEL_TRAIN"])


def describe(percent: int) -> tuple[list[Sample], list[Sample], list[str]]:
    """Samples to train on, samples held out, labels."""
    samples = read_index(data_folder())
    labels = sorted({sample.label for sample in samples})
    training = [s for s in samples if not is_held_out(s.key, percent)]
    return training, [s for s in samples if is_held_out(s.key, percent)], labels


def helper_group() -> str:
    """The instance group that prepares data: the second, or the only one."""
    groups: list[str] = json.loads(os.environ["SM_DISTRIBUTION_INSTANCE_GROUPS"])
    return groups[1] if len(groups) > 1 else groups[0]


def rows_from(
    training: list[Sample], labels: list[str], *, epochs: int, seed: int, whole: int, skip: int
) -> list[dict[str, Any]]:
    """`whole` samples of each epoch, in its own order, without the first `skip` of all."""
    rows: list[dict[str, Any]] = []
    for epoch in range(skip // whole, epochs):
        order = list(range(len(training)))
        random.Random(seed * 1_000_003 + epoch).shuffle(order)
        for index in order[:whole]:
            sample = training[index]
            path = sample.shard.relative_to(data_folder()).as_posix()
            rows.append(
                {
                    "path": path,
                    "offset": sample.offset,
                    "size": sample.size,
                    "target": labels.index(sample.label),
                }
            )
    return rows[skip - (skip // whole) * whole :]


class Decoder:
    """Runs on the helpers; says where it ran."""

    def __init__(self) -> None:
        self._readers: dict[str, ImageReader] = {}

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        images = []
        for path, offset, size in zip(batch["path"], batch["offset"], batch["size"], strict=True):
            sample = Sample("", "", data_folder() / str(path), int(offset), int(size))
            # Each host reads its own copy of the channel.
            reader = self._readers.setdefault("", ImageReader(sample, 64))
            images.append(reader.read(sample).numpy())
        host = os.environ.get("SM_CURRENT_HOST", "")
        return {
            "image": np.stack(images),
            "target": batch["target"],
            "host": np.array([host] * len(images)),
        }


def dataset(rows: list[dict[str, Any]], batch_size: int) -> Any:  # noqa: ANN401 (Ray is untyped)
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    ray.data.DataContext.get_current().enable_progress_bars = False
    # The named resource, which only hosts of that group have, keeps it off the accelerator hosts.
    return ray.data.from_items(rows, override_num_blocks=max(1, len(rows) // 256)).map_batches(
        Decoder,
        batch_size=batch_size,
        concurrency=1,
        num_cpus=1,
        resources={helper_group(): 0.01},
    )
