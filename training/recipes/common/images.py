"""Image classification over packed images, the task of the recipes `ddp` and `vit`.

Which samples each rank computes at each step is a pure function of seed, step and world size. The
step number is the whole position in the data. A run that resumes at step n therefore sees the same
samples as one that was never interrupted.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, Sampler

from common.first_model import read_first_model
from common.gradients import compress_gradients
from common.precision import Precision
from common.preparation import Preparation
from common.schedule import count_parameters, rate_at, settle_buckets
from common.settings import ImageSettings
from common.shards import ImageReader, Sample, fingerprint, is_held_out, read_index
from common.world import Share, World, is_sharded_by_host, share_of

Row = tuple[torch.Tensor, int]
"""An image with its class."""
Rows = tuple[torch.Tensor, torch.Tensor]
"""Images with their classes."""


def steps_per_epoch(samples: int, share: Share) -> int:
    """Whole batches only: with unequal numbers of batches a collective would hang."""
    return samples // share.batch_size


@lru_cache(maxsize=2)
def _order(samples: int, seed: int, epoch: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
    return torch.randperm(samples, generator=generator)


def sample_indices(
    step: int, *, samples: int, per_epoch: int, seed: int, share: Share
) -> list[int]:
    """The pool's samples that this rank computes at a step."""
    epoch, position = divmod(step, per_epoch)
    start = position * share.batch_size + share.rank * share.own
    return [int(index) for index in _order(samples, seed, epoch)[start : start + share.own]]


@dataclass(frozen=True)
class _Steps(Sampler[list[int]]):
    """The samples of each step from `first` on. With whole batches the loader tells their size."""

    batches: Batches
    first: int
    end: int

    @property
    def batch_size(self) -> int:
        return self.batches.share.own

    def __len__(self) -> int:
        return self.end - self.first

    def __iter__(self) -> Iterator[list[int]]:
        for step in range(self.first, self.end):
            yield self.batches.indices(step)


@dataclass(frozen=True)
class Batches(Dataset[Row]):
    """The training data of this rank: its items are the samples of the pool."""

    samples: Sequence[Sample]
    labels: Sequence[str]
    reader: ImageReader
    per_epoch: int
    seed: int
    share: Share
    workers: int = 0
    """Processes that read ahead; with 0 this process reads each batch when it needs it."""

    def indices(self, step: int) -> list[int]:
        return sample_indices(
            step,
            samples=len(self.samples),
            per_epoch=self.per_epoch,
            seed=self.seed,
            share=self.share,
        )

    def __getitem__(self, index: int) -> Row:
        sample = self.samples[index]
        return self.reader.read(sample), self.labels.index(sample.label)

    def from_step(self, step: int, end: int) -> Iterator[Rows]:
        loader = DataLoader(
            self,
            # Batches come in the order of the steps, whichever process reads them.
            batch_sampler=_Steps(self, step, end),
            num_workers=self.workers,
            pin_memory=torch.cuda.is_available(),
            # The default generator would advance, and with it the training's random numbers.
            generator=torch.Generator(),
        )
        yield from loader


def spare_cpus(ranks_here: int) -> int:
    """Loader workers for each rank of this host: the CPUs that are not needed for computing."""
    cpus = int(os.environ.get("SM_NUM_CPUS") or os.cpu_count() or 1)
    return max(0, min(16, cpus // ranks_here - 1))


def load_rows(samples: Sequence[Sample], labels: Sequence[str], reader: ImageReader) -> Rows:
    images = torch.stack([reader.read(sample) for sample in samples])
    return images, torch.tensor([labels.index(sample.label) for sample in samples])


_EVALUATION_BATCH = 256

MakeModel = Callable[[tuple[int, ...], int], nn.Module]
"""Makes the model for images of (channels, height, width) and a number of classes."""


class ImageTask:
    """A `Task` of the training loop. `described`: the settings that rebuild the model."""

    is_sharded = False

    def __init__(
        self,
        config: ImageSettings,
        world: World,
        make_model: MakeModel,
        described: Mapping[str, object],
    ) -> None:
        self.config, self.world, self._described = config, world, described
        self._measured_from = (0, time.monotonic())
        self._read_data()
        self._build(make_model)

    def _read_data(self) -> None:
        config, world = self.config, self.world
        samples = read_index(Path(os.environ["SM_CHANNEL_TRAIN"]))
        self._share = share = share_of(world, config.batch_size)
        # Hosts may hold different shards, so the classes are those of all hosts.
        seen = {label for some in world.all_gather({s.label for s in samples}) for label in some}
        self.first = read_first_model(config.init, world, "labels")
        known = self.first.described["labels"] if self.first else []
        self.labels = [*known, *sorted(seen.difference(known))]
        self._known = len(known)
        self._held_out = [s for s in samples if is_held_out(s.key, config.holdout_percent)]
        training = [s for s in samples if not is_held_out(s.key, config.holdout_percent)]
        per_epoch = world.all_reduce_min(steps_per_epoch(len(training), share))
        if per_epoch == 0 or not self._held_out:
            raise ValueError(
                f"{len(training)} training and {len(self._held_out)} held-out samples are too few "
                f"for batches of {config.batch_size}: drop more data or lower batch_size"
            )
        self.total_steps = per_epoch * config.epochs
        self.data = "" if is_sharded_by_host() else fingerprint(samples)
        workers = config.loader_workers
        workers = spare_cpus(world.local_size) if workers < 0 else workers
        # Each worker keeps images of its own in memory.
        self._reader = ImageReader(
            samples[0],
            config.cache_megabytes // max(1, workers),
            Preparation(config.side, config.blurs),
            prepares=config.prepare_on == "host",
        )
        self._batches = Batches(
            training, self.labels, self._reader, per_epoch, config.seed, share, workers
        )
        world.print0(
            f"{len(training)} samples to train on, {len(self._held_out)} held out, "
            f"{len(self.labels)} classes, {per_epoch} steps an epoch, {world.size} ranks, "
            f"{workers} loader workers each"
        )

    def _build(self, make_model: MakeModel) -> None:
        config, device = self.config, self.world.device
        self.network = make_model(self._reader.shape, len(self.labels)).to(device)
        if self.first is not None:
            self.first.load_into(self.network, self._known)
        example = torch.zeros(2, *self._reader.shape, device=device)
        self.precision = Precision.choose(config.precision, self.network, example, self._share.own)
        replicas = DistributedDataParallel(
            self.network, device_ids=[device.index] if device.type == "cuda" else None
        )
        compress_gradients(replicas, config.gradient_precision)
        self._model: nn.Module = replicas
        self._optimizer = torch.optim.AdamW(
            self.network.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
        )
        settle_buckets(self._model, example)
        size, kind = count_parameters(self.network), self.precision.name
        self.world.print0(f"{size} parameters on {device.type} in {kind}")

    def batches(self, step: int) -> Iterator[Rows]:
        self._measured_from = (step, time.monotonic())
        return self._batches.from_step(step, self.total_steps)

    def train_step(self, batch: Rows, step: int) -> torch.Tensor:
        for group in self._optimizer.param_groups:
            group["lr"] = rate_at(
                step,
                peak=self.config.learning_rate,
                warmup=self.config.warmup_steps,
                total=self.total_steps,
            )
        self._optimizer.zero_grad(set_to_none=True)
        images, targets = self._on_device(batch)
        with self.precision.autocast():
            loss = nn.functional.cross_entropy(self._model(images), targets)
        self.precision.backward(loss)
        self.precision.step(self._optimizer)
        return loss.detach()

    def _on_device(self, batch: Rows) -> Rows:
        """With `prepare_on` the bytes of the images move, and become numbers there."""
        images, targets = (rows.to(self.world.device, non_blocking=True) for rows in batch)
        if self.config.prepare_on == "accelerator":
            images = self._reader.prepare(images)
        return images, targets

    @torch.no_grad()
    def evaluate(self, step: int, loss: torch.Tensor) -> dict[str, float] | None:
        """After each epoch: accuracy on the held-out part, each rank computing its share."""
        if step % self._batches.per_epoch:
            every = self.config.rate_steps
            if every and step % every == 0:
                self._print_rate(step)
                self._measured_from = (step, time.monotonic())
            return None
        self._print_rate(step)
        self._model.eval()
        own = self._held_out[self._share.rank :: self._share.ranks]
        correct = 0
        for start in range(0, len(own), _EVALUATION_BATCH):
            some = own[start : start + _EVALUATION_BATCH]
            images, targets = self._on_device(load_rows(some, self.labels, self._reader))
            correct += int((self.network(images).argmax(1) == targets).sum())
        self._model.train()
        self._measured_from = (step, time.monotonic())
        all_correct, seen, losses = self.world.all_reduce_sum(correct, len(own), float(loss))
        return {"loss": losses / self.world.size, "accuracy": all_correct / seen}

    def _print_rate(self, step: int) -> None:
        """Prints the rate of all ranks since the last line. A resumed run would repeat a metric."""
        begun, began = self._measured_from
        seconds = time.monotonic() - began
        if step > begun:
            rate = (step - begun) * self._share.batch_size / seconds
            self.world.print0(f"{rate:.1f} samples/s")

    def state_dict(self) -> dict[str, Any]:
        return {
            "model": self.network.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "scaler": self.precision.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.network.load_state_dict(state["model"])
        self._optimizer.load_state_dict(state["optimizer"])
        # Checkpoints of earlier releases have none.
        self.precision.load_state_dict(state.get("scaler", {}))

    def gather_weights(self) -> dict[str, Any]:
        return self.network.state_dict()

    def write_model(self, folder: Path, weights: dict[str, Any]) -> None:
        torch.save(weights, folder / "model.pt")
        description = {"labels": self.labels, "shape": self._reader.shape, **self._described}
        (folder / "model.json").write_text(json.dumps(description, indent=2) + "\n")
