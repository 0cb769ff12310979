"""Settings of the recipes; each is a hyperparameter of the same name."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

_Settings = TypeVar("_Settings", bound="Settings")


_Number = TypeVar("_Number", int, float)


def limited(default: _Number, least: float, most: float) -> _Number:
    """A number from `least` to `most`."""
    setting: _Number = field(default=default, metadata={"limits": (least, most)})
    return setting


def one_of(*choices: str) -> str:
    """The first one is the default."""
    setting: str = field(default=choices[0], metadata={"choices": choices})
    return setting


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Every field has a default that is an integer, a number or a string.

    A class that gives a field another default keeps its limits.
    """

    def problems(self) -> list[str]:
        """Everything that is wrong with these settings, with the remedies."""
        rules: dict[str, Mapping[str, Any]] = {}
        for kind in reversed(type(self).__mro__):
            for item in vars(kind).get("__dataclass_fields__", {}).values():
                rules[item.name] = item.metadata or rules.get(item.name, {})
        problems = []
        for name, rule in rules.items():
            value = getattr(self, name)
            least, most = rule.get("limits", (value, value))
            if not least <= value <= most:
                problems.append(f"{name}={value}: give a value from {least:g} to {most:g}")
            if "choices" in rule and value not in rule["choices"]:
                problems.append(f"{name}={value!r}: choose one of {', '.join(rule['choices'])}")
        return problems

    def __post_init__(self) -> None:
        if problems := self.problems():
            raise ValueError("; ".join(problems))

    @classmethod
    def from_arguments(cls: type[_Settings], arguments: Sequence[str]) -> _Settings:
        """Reads `--epochs 20 …`; refuses unknown names, so that a typo is no default."""
        parser = argparse.ArgumentParser(allow_abbrev=False)
        for item in fields(cls):
            parser.add_argument(f"--{item.name}", type=type(item.default), default=item.default)
        return cls(**vars(parser.parse_args(arguments)))


@dataclass(frozen=True, kw_only=True)
class LearningSettings(Settings):
    """Settings of every training with AdamW."""

    epochs: int = limited(20, 1, 100_000)
    """Passes over the training part."""
    batch_size: int = limited(64, 1, 1_000_000)
    """Samples per step over all ranks. Every number of ranks that divides it computes the same
    steps."""
    learning_rate: float = limited(3e-3, 1e-9, 10)
    """AdamW's peak rate for this global batch size; the world size does not change it."""
    warmup_steps: int = limited(20, 0, 10_000_000)
    """Steps over which the rate rises from zero; afterwards it falls to zero along a cosine."""
    weight_decay: float = limited(1e-2, 0, 1)
    """AdamW's weight decay."""
    dropout: float = limited(0.1, 0, 0.95)
    """Share of the features that training drops."""
    checkpoint_steps: int = limited(40, 1, 10_000_000)
    """Steps between checkpoints; time adds others between them."""
    precision: str = one_of("auto", "float32", "bfloat16", "float16")
    """Precision of the products. `auto` is bfloat16 on GPUs that compute it, float16 with a scaled
    loss on V100 and T4, and float32 on CPUs, on older GPUs and where products are too small to
    gain."""
    keep_checkpoints: int = limited(2, 1, 1000)
    """Complete checkpoints to keep; with two, one is complete while the next is written."""
    holdout_percent: int = limited(20, 1, 90)
    """Share of the samples held out for evaluation, chosen by a hash of their keys."""
    threads: int = limited(1, 0, 1024)
    """CPU threads per rank; 0 takes OMP_NUM_THREADS. The number is fixed because sums over another
    number of threads round differently, and a run may resume on a host with more CPUs."""
    seed: int = limited(17, 0, 2**31 - 1)
    """Seed of every random choice."""


@dataclass(frozen=True, kw_only=True)
class TrainingSettings(LearningSettings):
    """Settings of every training with torchrun's ranks."""

    init: str = ""
    """Folder of a model of this recipe to begin from, such as ${channel:model}; its optimizer and
    rate begin afresh."""
    devices: int = limited(0, 0, 1024)
    """Ranks on this host without torchrun (strategy `single`); 0 means one per GPU, or one."""
    gradient_precision: str = one_of("float32", "bfloat16", "float16")
    """Of gradients between ranks: float32, or bfloat16 or float16, which are half of the bytes."""
    affinity: str = one_of("none", "cores")
    """`cores` binds each rank, with its loader workers, to physical cores of its own; `none` leaves
    the choice to the system."""
    timeout_minutes: int = limited(30, 1, 10_000)
    """How long ranks wait for one that works alone, such as rank 0 while it writes the model."""
    trace_steps: int = limited(0, 0, 1000)
    """Steps of rank 0 that PyTorch's profiler traces in each attempt, into the folder `trace` of
    the job's output; 0 traces none."""


@dataclass(frozen=True, kw_only=True)
class PreparationSettings(Settings):
    """What is done to each image, each time that it is read."""

    side: int = limited(0, 0, 4096)
    """Height and width to resize to; 0 leaves the packed size."""
    blurs: int = limited(0, 0, 1000)
    """Gaussian blurs of 11 x 11 pixels, one after the other: work for CPUs. Needs a side of 6."""
    prepare_on: str = one_of("host", "accelerator")
    """Where `side` and `blurs` work: `host` means the processes that load, one image at a time, and
    `accelerator` whole batches there, to which the images' bytes move."""


@dataclass(frozen=True, kw_only=True)
class ImageSettings(TrainingSettings, PreparationSettings):
    """Settings of every training over packed images."""

    rate_steps: int = limited(0, 0, 1_000_000)
    """Steps between two lines of `samples/s`, beside the one of each epoch; 0 prints none between
    them."""
    cache_megabytes: int = limited(256, 0, 1_000_000)
    """Memory per rank for decoded images; other images are read from the shards again."""
    loader_workers: int = limited(-1, -1, 1024)
    """Processes per rank that read and decode ahead; -1 means one per spare CPU."""


@dataclass(frozen=True, kw_only=True)
class AttentionSettings(Settings):
    """The size of a transformer."""

    width: int = limited(32, 1, 65_536)
    """Length of a token's vector."""
    depth: int = limited(2, 1, 1000)
    """Layers."""
    heads: int = limited(4, 1, 1024)
    """Heads of attention."""
    dropout: float = limited(0.1, 0, 0.95)
    """Share of the features that training drops."""


@dataclass(frozen=True, kw_only=True)
class TransformerSettings(AttentionSettings):
    """The size of a vision transformer."""

    model: str = ""
    """timm's name of a vision transformer, such as vit_small_patch16_224, adapted to the images'
    size. Without a name, width, depth, heads and patch give the size."""
    patch: int = limited(2, 1, 1024)
    """Side of a patch in pixels."""
