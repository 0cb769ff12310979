"""What a checkpoint holds beside the journal: tensors, optimizers and generators by their paths."""

from __future__ import annotations

import weakref
from collections.abc import Collection
from typing import Any

import torch

from ..fake_tensors import is_fake, without_modes
from ..journal import RefusedError
from ..loaders import live_loaders
from . import optimizers, randomness
from .objects import Path, visit
from .replicated import Replicated, whole
from .tensors import SavedTensor

Versions = dict[int, tuple[weakref.ref[torch.Tensor], int]]
_LARGE_BYTES = 1 << 20
_SPREAD = (
    "its weights are spread over ranks (FSDP or tensor parallelism): "
    "save them by torch.distributed.checkpoint"
)


def versions() -> Versions:
    """The version counter of each large tensor before the first step."""
    found: Versions = {}

    def note(_path: Path, value: Any, owned: bool) -> Any:
        is_large = isinstance(value, torch.Tensor) and value.nbytes > _LARGE_BYTES
        if is_large and not owned and not value.is_inference():
            found[id(value)] = weakref.ref(value), value._version
        return value

    visit(note, live_loaders())
    return found


def capture(unchanged: Versions, replicated: Collection[int] = ()) -> dict[Path, Any]:
    """`unchanged`: what `versions` gave; such data is left out where no step has written it.

    `replicated`: the ids of parameters that all ranks share; they come as `Replicated`.
    """
    found: dict[Path, Any] = {}

    def note(path: Path, value: Any, owned: bool) -> Any:
        if _is_part(value):
            raise RefusedError(_SPREAD)
        if isinstance(value, torch.optim.Optimizer):
            found[path] = optimizers.state_of(value, replicated)
        elif id(value) in replicated:
            found[path] = Replicated(SavedTensor(value))
        elif not isinstance(value, torch.Tensor):
            found[path] = randomness.generator_state(value)
        elif is_fake(value):
            raise RefusedError(f"{name_of(path)} holds a tensor that was not restored")
        elif owned or value.is_inference() or not _is_unchanged(value, unchanged):
            found[path] = SavedTensor(value)
        return value

    visit(note, live_loaders())
    return found


def _is_unchanged(value: torch.Tensor, unchanged: Versions) -> bool:
    """The next epoch's tensor may lie where that of the first one was."""
    reference, version = unchanged.get(id(value), (None, 0))
    return reference is not None and reference() is value and version == value._version


def restore(saved: dict[Path, Any]) -> None:
    """Raises RefusedError for a parameter or optimizer that is not where it was."""
    left = dict(saved)
    found: list[tuple[torch.optim.Optimizer, Any]] = []

    def put(path: Path, value: Any, _owned: bool) -> Any:
        if path not in left:
            return value
        old = whole(left.pop(path))
        if isinstance(value, torch.optim.Optimizer):
            found.append((value, old))
        elif isinstance(value, torch.Tensor):
            return old.into(value)
        else:
            randomness.set_generator_state(value, old)
        return value

    with without_modes():
        visit(put, live_loaders())
        # Its state belongs to the parameters, of which those made in the replay are others now.
        for optimizer, old in found:
            optimizers.restore(optimizer, old)
    missing = [path for path, old in left.items() if _must_be_there(whole(old))]
    if missing:
        raise RefusedError(f"{name_of(missing[0])} is not there when the script starts again")


def _is_part(value: Any) -> bool:
    """A DTensor, or the parameter in which FullyShardedDataParallel holds a rank's part.

    Known by their attributes, since a script without them has not loaded their classes.
    """
    return hasattr(value, "device_mesh") or bool(getattr(value, "_is_flat_param", False))


def _must_be_there(old: Any) -> bool:
    return not isinstance(old, SavedTensor) or bool(old.trains)


def name_of(path: Path) -> str:
    """As a person writes it: `train.model.fc1.weight`."""
    shown = [str(part) for part in path[2:] if part not in (".", "_modules", "_parameters")]
    return ".".join(shown) or str(path)
