"""Loops that resume in the middle of an epoch, in the shapes that public scripts have.

`skipping.py SHAPE`: trains an epoch and a tenth, and saves at nine tenths of the first. Started
again, it resumes there. Appends a line for each batch that it trains on: the time, CPU seconds with
those of loader workers, and a digest of the batch. With FIRST it ends after its first step.
"""

import hashlib
import io
import itertools
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset, DistributedSampler, IterableDataset

SAMPLES, BATCH, PIXELS = 2_000, 8, 256
STEPS = SAMPLES // BATCH
SAVED_AT, END = STEPS * 9 // 10, STEPS * 11 // 10
Sample = tuple[torch.Tensor, int]
STATE = Path(os.environ["TIDEWHEEL_CHECKPOINT_DIR"], "state.pt")


def encoded(index: int) -> bytes:
    pixels = numpy.random.default_rng(index % 50).integers(0, 255, (PIXELS, PIXELS, 3), "uint8")
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "jpeg")
    return file.getvalue()


FILES = [encoded(index) for index in range(50)]


def decoded(index: int) -> Sample:
    """As a folder of photos is read: the pixels, made small."""
    image = Image.open(io.BytesIO(FILES[index % 50])).convert("RGB").resize((8, 8))
    pixels = torch.from_numpy(numpy.asarray(image).copy()).float().flatten()
    return pixels / 255 + index, index % 10


class Photos(Dataset):
    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> Any:
        return decoded(index)


class NamedPhotos(Photos):
    def __getitem__(self, index: int) -> Any:
        pixels, label = decoded(index)
        return {"pixels": pixels, "labels": label}


class AugmentedPhotos(Photos):
    def __getitem__(self, index: int) -> Any:
        pixels, label = decoded(index)
        return pixels + torch.rand(1), label


class Stream(IterableDataset):
    def __iter__(self) -> Iterator[Sample]:
        return map(decoded, range(SAMPLES))

    def __len__(self) -> int:
        return SAMPLES


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(192, 10)

    def forward(self, pixels: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"loss": nn.functional.cross_entropy(self.layer(pixels), labels)}


def note(pixels: torch.Tensor) -> None:
    digest = hashlib.sha256(pixels.detach().numpy().tobytes()).hexdigest()[:16]
    cpu = time.process_time() + sum(map(cpu_seconds, multiprocessing.active_children()))
    with open(os.environ["NOTES"], "a") as file:
        file.write(f"{time.time()} {cpu} {digest}\n")


def cpu_seconds(worker: multiprocessing.process.BaseProcess) -> float:
    fields = Path(f"/proc/{worker.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Training:
    """The script's own state, which it saves and reads."""

    def __init__(self) -> None:
        torch.manual_seed(1)
        self.model = Model()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-5)
        self.step, self.loader_state = 0, None
        if STATE.exists():
            state = torch.load(STATE)
            self.model.load_state_dict(state["model"])
            self.step, self.loader_state = state["step"], state.get("loader")

    def train(self, pixels: torch.Tensor, labels: torch.Tensor, loader: Any = None) -> None:
        note(pixels)
        self.optimizer.zero_grad()
        self.model(pixels, labels)["loss"].backward()
        self.optimizer.step()
        self.step += 1
        if self.step == SAVED_AT and not STATE.exists():
            state = {"model": self.model.state_dict(), "step": self.step}
            torch.save({**state, "loader": loader and loader.state_dict()}, STATE)
        if self.step == END or "FIRST" in os.environ:
            sys.exit()


def loader_of(data: Dataset, **options: Any) -> DataLoader:
    options = {"shuffle": True, "generator": torch.Generator().manual_seed(2), **options}
    return DataLoader(data, BATCH, **options)


def skipping_pairs(loader: DataLoader) -> None:
    """`if step < start: continue`, as most loops by hand have it."""
    training = Training()
    start, step = training.step, 0
    for _epoch in range(2):
        for pixels, labels in loader:
            step += 1
            if step <= start:
                continue
            training.train(pixels, labels)


def pairs() -> None:
    skipping_pairs(loader_of(Photos()))


def pairs_in_workers() -> None:
    skipping_pairs(loader_of(Photos(), num_workers=2, persistent_workers=True))


def augmented() -> None:
    skipping_pairs(loader_of(AugmentedPhotos()))


def stream() -> None:
    skipping_pairs(DataLoader(Stream(), BATCH))


def dictionaries() -> None:
    """As many examples of transformers: the whole batch moves to its device first."""
    training = Training()
    loader = loader_of(NamedPhotos(), num_workers=2)
    for epoch in range(2):
        for step, batch in enumerate(loader):
            batch = {name: each.to("cpu", non_blocking=True) for name, each in batch.items()}
            if epoch * STEPS + step < training.step:
                continue
            training.train(batch["pixels"], batch["labels"])


def sliced() -> None:
    training = Training()
    loader = loader_of(Photos())
    for epoch in range(2):
        for pixels, labels in itertools.islice(loader, max(0, training.step - epoch * STEPS), None):
            training.train(pixels, labels)


def drawn() -> None:
    training = Training()
    for epoch in range(2):
        batches = iter(loader_of(Photos(), generator=torch.Generator().manual_seed(epoch)))
        for _ in range(max(0, training.step - epoch * STEPS)):
            next(batches)
        for pixels, labels in batches:
            training.train(pixels, labels)


def distributed() -> None:
    """As ImageNet's: a sampler of each rank, which knows the epoch."""
    sampler = DistributedSampler(Photos(), num_replicas=1, rank=0, seed=4)
    loader = loader_of(Photos(), shuffle=False, sampler=sampler)
    training = Training()
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for step, (pixels, labels) in enumerate(loader, epoch * STEPS):
            if step < training.step:
                continue
            training.train(pixels, labels)


def stateful() -> None:
    from torchdata.stateful_dataloader import StatefulDataLoader

    training = Training()
    sampler = DistributedSampler(Photos(), num_replicas=1, rank=0, seed=4)
    loader = StatefulDataLoader(Photos(), BATCH, sampler=sampler)
    if training.loader_state is not None:
        loader.load_state_dict(training.loader_state)
    for epoch in range(training.step // STEPS, 2):
        sampler.set_epoch(epoch)
        for pixels, labels in loader:
            training.train(pixels, labels, loader)


def accelerated(skip: Callable[[Any, Any, int], Any]) -> None:
    """As `run_glue_no_trainer.py`. `skip`: an epoch's loader, without its first batches."""
    from accelerate import Accelerator

    training = Training()
    accelerator = Accelerator(cpu=True)
    training.model, training.optimizer, loader = accelerator.prepare(
        training.model, training.optimizer, loader_of(NamedPhotos())
    )
    for epoch in range(2):
        loader.set_epoch(epoch)
        for batch in skip(accelerator, loader, max(0, training.step - epoch * STEPS)):
            training.train(batch["pixels"], batch["labels"])


def accelerated_skip() -> None:
    def skip(accelerator: Any, loader: Any, count: int) -> Any:
        return accelerator.skip_first_batches(loader, count) if count else loader

    accelerated(skip)


def accelerated_continue() -> None:
    def skip(_accelerator: Any, loader: Any, count: int) -> Iterator[Any]:
        for step, batch in enumerate(loader):
            if step < count:
                continue
            yield batch

    accelerated(skip)


def trainer() -> None:
    from transformers import Trainer, TrainerCallback, TrainingArguments, default_data_collator

    class Noted(Trainer):
        def training_step(self, model: Any, inputs: Any, *rest: Any) -> Any:
            note(inputs["pixels"])
            return super().training_step(model, inputs, *rest)

    class Ends(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            control.should_save = state.global_step == SAVED_AT
            if state.global_step == END or "FIRST" in os.environ:
                sys.exit()

    arguments = TrainingArguments(
        os.environ["TIDEWHEEL_CHECKPOINT_DIR"],
        per_device_train_batch_size=BATCH,
        num_train_epochs=2,
        save_strategy="no",
        report_to=[],
        remove_unused_columns=False,
        disable_tqdm=True,
        use_cpu=True,
    )
    made = Noted(Model(), arguments, default_data_collator, NamedPhotos(), callbacks=[Ends()])
    made.train(resume_from_checkpoint=any(STATE.parent.glob("checkpoint-*")))


globals()[sys.argv[1]]()
