"""Settings of a recipe; each is a hyperparameter of the same name, and a wrong one is said."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar, TypeVar

_Settings = TypeVar("_Settings", bound="Settings")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Fields with a default that is a whole number, a number or a text."""

    LIMITS: ClassVar[Mapping[str, tuple[float, float]]] = {}
    """Least and most of every number."""

    def problems(self) -> list[str]:
        """All that is wrong at once, each with its remedy."""
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
        """`--epochs 20 …`; unknown names are refused, so that a typing error is not a default."""
        parser = argparse.ArgumentParser(allow_abbrev=False)
        for item in fields(cls):
            parser.add_argument(f"--{item.name}", type=type(item.default), default=item.default)
        return cls(**vars(parser.parse_args(arguments)))


@dataclass(frozen=True, kw_only=True)
class LearningSettings(Settings):
    """What every training by AdamW can be told, whoever starts its ranks."""

    epochs: int = 20
    """Passes over the training part; the length of the training."""
    batch_size: int = 64
    """Samples per step over all ranks; any number of them that divides it computes the same steps.
    """
    learning_rate: float = 3e-3
    """Peak of AdamW's rate, for this global batch size: it does not change with the world size."""
    warmup_steps: int = 20
    """Steps over which the rate rises from zero; it falls to zero along a cosine afterwards."""
    weight_decay: float = 1e-2
    """AdamW's weight decay."""
    dropout: float = 0.1
    """Share of the features dropped in training."""
    checkpoint_steps: int = 40
    """Steps between checkpoints; TIDEWHEEL_CHECKPOINT_SECONDS adds one whenever it has passed."""
    keep_checkpoints: int = 2
    """Complete checkpoints kept; two, so that one is whole while the next is being written."""
    holdout_percent: int = 20
    """Share of the samples held out for evaluation, chosen by a hash of their keys."""
    threads: int = 1
    """CPU threads per rank. Fixed, since sums over another number of threads round otherwise, and
    an interrupted run may go on where a host has more CPUs; 0 takes what the host gives."""
    seed: int = 17
    """Start of every random choice."""

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


@dataclass(frozen=True, kw_only=True)
class TrainingSettings(LearningSettings):
    """What every training of torchrun's ranks can be told."""

    devices: int = 0
    """Ranks on this host where torchrun has not started them (strategy `single`): 0 means one for
    each GPU, or one where there is none."""

    LIMITS: ClassVar[Mapping[str, tuple[float, float]]] = {
        **LearningSettings.LIMITS,
        "devices": (0, 1024),
    }


@dataclass(frozen=True, kw_only=True)
class ImageSettings(TrainingSettings):
    """What every training over packed images can be told."""

    cache_megabytes: int = 256
    """Decoded images kept in memory per rank; the rest is read from the shards again."""
    loader_workers: int = -1
    """Processes per rank that read and decode ahead; -1 takes the CPUs that the ranks leave."""

    LIMITS: ClassVar[Mapping[str, tuple[float, float]]] = {
        **TrainingSettings.LIMITS,
        "cache_megabytes": (0, 1_000_000),
        "loader_workers": (-1, 1024),
    }


@dataclass(frozen=True, kw_only=True)
class AttentionSettings(Settings):
    """How large a transformer is, whatever its tokens stand for."""

    width: int = 32
    """Length of a token's vector."""
    depth: int = 2
    """Layers."""
    heads: int = 4
    """Heads of attention."""
    dropout: float = 0.1
    """Share of the features dropped in training."""

    LIMITS: ClassVar[Mapping[str, tuple[float, float]]] = {
        "width": (1, 65_536),
        "depth": (1, 1000),
        "heads": (1, 1024),
        "dropout": (0, 0.95),
    }


@dataclass(frozen=True, kw_only=True)
class TransformerSettings(AttentionSettings):
    """How large a vision transformer is."""

    model: str = ""
    """A vision transformer by timm's name, vit_small_patch16_224 say; its size is then its own, and
    the images' size is put in. Without a name width, depth, heads and patch say how large it is."""
    patch: int = 2
    """Pixels of a patch's side."""

    LIMITS: ClassVar[Mapping[str, tuple[float, float]]] = {
        **AttentionSettings.LIMITS,
        "patch": (1, 1024),
    }
