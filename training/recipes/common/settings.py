"""Settings of the recipes; each is a hyperparameter of the same name."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar, TypeVar

_Settings = TypeVar("_Settings", bound="Settings")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Every field has a default that is an integer, a number or a string."""

    LIMITS: ClassVar[Mapping[str, tuple[float, float]]] = {}
    """The smallest and largest value of every number."""

    def problems(self) -> list[str]:
        """Everything that is wrong with these settings, with the remedies."""
        return [
            f"{name}={getattr(self, name)}: give a value from {least:g} to {most:g}"
            for name, (least, most) in self.LIMITS.items()
            if not least <= getattr(self, name) <= most
        ]

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

    epochs: int = 20
    """Passes over the training part."""
    batch_size: int = 64
    """Samples per step over all ranks. Every number of ranks that divides it computes the same
    steps."""
    learning_rate: float = 3e-3
    """AdamW's peak rate for this global batch size; the world size does not change it."""
    warmup_steps: int = 20
    """Steps over which the rate rises from zero; afterwards it falls to zero along a cosine."""
    weight_decay: float = 1e-2
    """AdamW's weight decay."""
    dropout: float = 0.1
    """Share of the features that training drops."""
    checkpoint_steps: int = 40
    """Steps between checkpoints; time adds others between them."""
    keep_checkpoints: int = 2
    """Complete checkpoints to keep; with two, one is complete while the next is written."""
    holdout_percent: int = 20
    """Share of the samples held out for evaluation, chosen by a hash of their keys."""
    threads: int = 1
    """CPU threads per rank; 0 takes OMP_NUM_THREADS. The number is fixed because sums over another
    number of threads round differently, and a run may resume on a host with more CPUs."""
    seed: int = 17
    """Seed of every random choice."""

    LIMITS: ClassVar[Mapping[str, tuple[float, float]]] = {
        "epochs": (1, 100_000),
        "batch_size": (1, 1_000_000),
        "learning_rate": (1e-9, 10),
        "warmup_steps": (0, 10_000_000),
        "weight_decay": (0, 1),
        "dropout": (0, 0.95),
        "checkpoint_steps": (1, 10_000_000),
        "keep_checkpoints": (1, 1000),
        "holdout_percent": (1, 90),
        "threads": (0, 1024),
        "seed": (0, 2**31 - 1),
    }


GRADIENT_PRECISIONS = ("float32", "bfloat16", "float16")
AFFINITIES = ("none", "cores")


def unknown(name: str, value: str, choices: Sequence[str]) -> list[str]:
    return [] if value in choices else [f"{name}={value!r}: choose one of {', '.join(choices)}"]


@dataclass(frozen=True, kw_only=True)
class TrainingSettings(LearningSettings):
    """Settings of every training with torchrun's ranks."""

    devices: int = 0
    """Ranks on this host without torchrun (strategy `single`); 0 means one per GPU, or one."""
    gradient_precision: str = "float32"
    """Of gradients between ranks: float32, or bfloat16 or float16, which are half of the bytes."""
    affinity: str = "none"
    """`cores` binds each rank, with its loader workers, to physical cores of its own; `none` leaves
    the choice to the system."""
    timeout_minutes: int = 30
    """How long ranks wait for one that works alone, such as rank 0 while it writes the model."""
    trace_steps: int = 0
    """Steps of rank 0 that PyTorch's profiler traces in each attempt, into the folder `trace` of
    the job's output; 0 traces none."""

    LIMITS: ClassVar[Mapping[str, tuple[float, float]]] = {
        **LearningSettings.LIMITS,
        "devices": (0, 1024),
        "timeout_minutes": (1, 10_000),
        "trace_steps": (0, 1000),
    }

    def problems(self) -> list[str]:
        return [
            *super().problems(),
            *unknown("gradient_precision", self.gradient_precision, GRADIENT_PRECISIONS),
            *unknown("affinity", self.affinity, AFFINITIES),
        ]


@dataclass(frozen=True, kw_only=True)
class PreparationSettings(Settings):
    """What is done to each image, each time that it is read."""

    side: int = 0
    """Height and width to resize to; 0 leaves the packed size."""
    blurs: int = 0
    """Gaussian blurs of 11 x 11 pixels, one after the other: work for CPUs. Needs a side of 6."""

    LIMITS: ClassVar[Mapping[str, tuple[float, float]]] = {
        "side": (0, 4096),
        "blurs": (0, 1000),
    }


PRECISIONS = ("auto", "float32", "bfloat16")
PREPARE_ON = ("host", "accelerator")


@dataclass(frozen=True, kw_only=True)
class ImageSettings(TrainingSettings, PreparationSettings):
    """Settings of every training over packed images."""

    precision: str = "auto"
    """float32 or bfloat16; auto is bfloat16 on a GPU."""
    prepare_on: str = "host"
    """Where `side` and `blurs` work: `host` means the loader's processes, one image at a time, and
    `accelerator` whole batches there, to which the images' bytes move."""

    cache_megabytes: int = 256
    """Memory per rank for decoded images; other images are read from the shards again."""
    loader_workers: int = -1
    """Processes per rank that read and decode ahead; -1 means one per spare CPU."""

    LIMITS: ClassVar[Mapping[str, tuple[float, float]]] = {
        **TrainingSettings.LIMITS,
        **PreparationSettings.LIMITS,
        "cache_megabytes": (0, 1_000_000),
        "loader_workers": (-1, 1024),
    }

    def problems(self) -> list[str]:
        return [
            *super().problems(),
            *unknown("precision", self.precision, PRECISIONS),
            *unknown("prepare_on", self.prepare_on, PREPARE_ON),
        ]

    def uses_bfloat16(self, device: str) -> bool:
        return self.precision == "bfloat16" or (self.precision == "auto" and device == "cuda")


@dataclass(frozen=True, kw_only=True)
class AttentionSettings(Settings):
    """The size of a transformer."""

    width: int = 32
    """Length of a token's vector."""
    depth: int = 2
    """Layers."""
    heads: int = 4
    """Heads of attention."""
    dropout: float = 0.1
    """Share of the features that training drops."""

    LIMITS: ClassVar[Mapping[str, tuple[float, float]]] = {
        "width": (1, 65_536),
        "depth": (1, 1000),
        "heads": (1, 1024),
        "dropout": (0, 0.95),
    }


@dataclass(frozen=True, kw_only=True)
class TransformerSettings(AttentionSettings):
    """The size of a vision transformer."""

    model: str = ""
    """timm's name of a vision transformer, such as vit_small_patch16_224, adapted to the images'
    size. Without a name, width, depth, heads and patch give the size."""
    patch: int = 2
    """Side of a patch in pixels."""

    LIMITS: ClassVar[Mapping[str, tuple[float, float]]] = {
        **AttentionSettings.LIMITS,
        "patch": (1, 1024),
    }
