"""The samples in training order, decoded by Ray Data on all CPUs that training does not need.

Those are the helper hosts' CPUs and the spare ones of the hosts that train. The order over all
epochs, and each worker's share of each batch, are functions of the seed: the number of steps done
is the whole position in the data, with any number of workers.
"""

import json
import os
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import ray
import torch

from common.preparation import Preparation
from common.shards import ImageReader, Sample, is_held_out, read_index
from config import Config
from cpus import divide_cpus

_BLOCK_ROWS = 256


def data_folder() -> Path:
    return Path(os.environ["SM_CHANNEL_TRAIN"])


@dataclass(frozen=True)
class Samples:
    """The samples for training, and those held out for evaluation."""

    training: list[Sample]
    held_out: list[Sample]
    labels: list[str]


def read_samples(percent: int) -> Samples:
    samples = read_index(data_folder())
    return Samples(
        training=[s for s in samples if not is_held_out(s.key, percent)],
        held_out=[s for s in samples if is_held_out(s.key, percent)],
        labels=sorted({sample.label for sample in samples}),
    )


def steps_per_epoch(samples: Samples, config: Config) -> int:
    steps = len(samples.training) // config.batch_size
    if steps == 0 or not samples.held_out:
        raise ValueError(
            f"{len(samples.training)} training and {len(samples.held_out)} held-out samples are "
            f"too few for batches of {config.batch_size}: drop more data or lower batch_size"
        )
    return steps


def rows_from(
    samples: Samples, config: Config, *, steps_done: int, rank: int, workers: int
) -> list[dict[str, Any]]:
    """This worker's share of every remaining batch, batch after batch."""
    if config.batch_size % workers:
        raise ValueError(f"batch_size={config.batch_size}: choose a multiple of {workers} workers")
    own = config.batch_size // workers
    per_epoch = steps_per_epoch(samples, config)
    rows: list[dict[str, Any]] = []
    order: list[int] = []
    for step in range(steps_done, per_epoch * config.epochs):
        epoch, position = divmod(step, per_epoch)
        if not order or position == 0:
            order = list(range(len(samples.training)))
            random.Random(config.seed * 1_000_003 + epoch).shuffle(order)
        start = position * config.batch_size + rank * own
        rows += [_row(samples, index) for index in order[start : start + own]]
    return rows


def _row(samples: Samples, index: int) -> dict[str, Any]:
    sample = samples.training[index]
    return {
        "path": sample.shard.relative_to(data_folder()).as_posix(),
        "offset": sample.offset,
        "size": sample.size,
        "target": samples.labels.index(sample.label),
    }


class Decoder:
    """Decodes images on any spare CPU, and says the number of the host that it ran on. `prepares`:
    the accelerator does not."""

    def __init__(self, prepare: Preparation, prepares: bool) -> None:
        torch.set_num_threads(1)
        self._prepare, self._prepares = prepare, prepares
        self._reader: ImageReader | None = None

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        images = []
        for path, offset, size in zip(batch["path"], batch["offset"], batch["size"], strict=True):
            # Each host reads its own copy of the channel.
            sample = Sample("", "", data_folder() / str(path), int(offset), int(size))
            self._reader = self._reader or ImageReader(
                sample, 64, self._prepare, prepares=self._prepares
            )
            images.append(self._reader.read(sample).numpy())
        hosts = json.loads(os.environ["SM_HOSTS"])
        host = hosts.index(os.environ["SM_CURRENT_HOST"])
        return {
            "image": np.stack(images),
            "target": batch["target"],
            "host": np.full(len(images), host),
        }


def dataset(rows: list[dict[str, Any]], config: Config, workers: int) -> Any:  # noqa: ANN401 (Ray is untyped)
    """One worker's rows, decoded on any host and returned in their order."""
    context = ray.data.DataContext.get_current()
    context.execution_options.preserve_order = True
    context.enable_progress_bars = False
    cpus = sum(int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"])
    most, cpus_each = divide_cpus(cpus, workers=workers, threads=config.threads)
    return ray.data.from_items(rows, override_num_blocks=-(-len(rows) // _BLOCK_ROWS)).map_batches(
        Decoder,
        fn_constructor_args=(
            Preparation(config.side, config.blurs),
            config.prepare_on == "host",
        ),
        batch_size=config.batch_size // workers,
        concurrency=(1, most),
        num_cpus=cpus_each,
    )
