"""The model that a training begins from: `init` names its folder.

The optimizer and the schedule of the learning rate begin afresh. What the model's outputs mean, its
classes or its tokens, is kept: an attempt that goes on from a checkpoint has no `init`, and finds
that beside the checkpoints.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

import tidewheel
from common.world import World

_KEPT = "first-model.json"


@dataclass(frozen=True)
class FirstModel:
    described: dict[str, Any]
    """Its `model.json`."""
    weights: dict[str, torch.Tensor] | None
    """None where the training goes on from a checkpoint."""

    def load_into(self, network: nn.Module, rows: int = 0) -> None:
        """Copies the weights. Of an output that has grown from `rows` rows the others stay.

        Raises ValueError for a model of another size.
        """
        if self.weights is None:
            return
        state = network.state_dict()
        for name, weight in state.items():
            old = self.weights.get(name)
            if old is None or old.shape[1:] != weight.shape[1:] or old.ndim != weight.ndim:
                raise ValueError(_other(name, old, weight))
            if old.shape != weight.shape and not (old.ndim > 0 and len(old) == rows < len(weight)):
                raise ValueError(_other(name, old, weight))
            with torch.no_grad():
                weight[: len(old)].copy_(old) if old.ndim else weight.copy_(old)

    def keep(self) -> None:
        """Writes what the outputs mean beside the first checkpoint. Rank 0 alone calls it."""
        folder = tidewheel.checkpoint_dir()
        if folder is None or (path := Path(folder) / _KEPT).exists():
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        half = path.with_suffix(".half")
        half.write_text(json.dumps(self.described) + "\n")
        half.replace(path)


def _other(name: str, old: torch.Tensor | None, new: torch.Tensor) -> str:
    had = "no such weights" if old is None else f"the shape {tuple(old.shape)}"
    return (
        f"init: {name} has the shape {tuple(new.shape)}, and {had} in the model: "
        "give the settings that the model was trained with, or leave init out"
    )


def read_first_model(folder: str, world: World, needs: str) -> FirstModel | None:
    """Read the model in `folder`; with none, what a checkpoint's training has begun from.

    Its description `needs` this field, which other recipes do not write.
    """
    described = _described(folder) if world.is_rank0 else None
    described = world.broadcast(described)
    if isinstance(described, str):
        raise ValueError(described)
    if described is None:
        return None
    if needs not in described:
        raise ValueError(
            f"init: model.json of {folder} has no {needs}: name a model of this recipe's own"
        )
    if not folder:
        return FirstModel(described, None)
    weights = torch.load(Path(folder) / "model.pt", map_location="cpu", weights_only=True)
    return FirstModel(described, weights)


def _described(folder: str) -> dict[str, Any] | str | None:
    """Returns a text where the folder has no model: every rank has to fail."""
    root = tidewheel.checkpoint_dir()
    path = Path(folder) / "model.json" if folder else Path(root or ".") / _KEPT
    if not path.exists():
        return f"init: {path} is not there: name the folder of a recipe's model" if folder else None
    described: dict[str, Any] = json.loads(path.read_text())
    return described
