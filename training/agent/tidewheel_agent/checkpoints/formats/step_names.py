"""Finds the step in a name or in what a script has saved.

A number in a name is a step only behind a word for it, or where the name has no other meaning for
it: `resnet50-v2.pth` and `model_1e-4_bs32.pt` give none.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

Unit = Literal["step", "epoch", "saves"]

STEP_NAMES = (
    "global_step",
    "step",
    "iteration",
    "iter_num",
    "num_updates",
    "completed_steps",
    "steps_done",
    "current_step",
    "cur_step",
    "train_step",
    "total_steps_done",
    "n_iter",
    "num_iter",
    "iters",
    "iter",
    "it",
    "steps",
    "niter",
    "optimizer_step",
)
"""Under these names scripts save their position; the first that is found counts."""
EPOCH_NAMES = ("epoch", "epochs", "current_epoch", "epoch_num", "epochs_run", "last_epoch", "ep")
_INNER_NAMES = (
    "extra_state",
    "trainer_state",
    "train_state",
    "training_state",
    "state",
    "progress",
    "trainer",
    "counters",
    "meta",
    "metadata",
    "info",
)

_STEP = re.compile(
    r"(?<![a-z])(?:global_?step|completed_steps|num_updates|steps?|iter(?:ation|_num)?s?|it|update"
    r"|ep\d{1,9}-ba)"
    r"[=_-]?(\d{1,12})(?![\d]|[a-z])",
    re.IGNORECASE,
)
_STEPS_BEHIND = re.compile(r"[_-](\d{1,12})_steps(?=\.|$)", re.IGNORECASE)
_EPOCH = re.compile(r"(?<![a-z])(?:epochs?|ep)[=_-]?(\d{1,9})(?![\d]|[a-z])", re.IGNORECASE)
_BARE = re.compile(r"(?:([a-z]+(?:[_.-][a-z]+)*)[_.-]?)?(\d{1,12})", re.IGNORECASE)
_WORDS = re.compile(
    r"(?:model|checkpoint|checkpoints|ckpt|chkpt|chkpnt|cp|snapshot|snap|save|saved|net|network"
    r"|weights|params|state|states|train|training|trainer|backup|last|latest|xgb|xgboost|booster"
    r"|gbm|lgb|lgbm|lightgbm|tree|trees|generator|discriminator|g|d|encoder|decoder|policy|actor"
    r"|critic|agent|optimizer|optim)",
    re.IGNORECASE,
)
_SUFFIX = re.compile(
    r"(?:\.(?:pt|pth|ckpt|bin|tar|keras|h5|hdf5|weights|safetensors|index|json|ubj|txt|pkl"
    r"|pickle|joblib|npz|model|deprecated|gz|t7|orbax|params|state|msgpack|flax))+$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Position:
    """How far training was. `saves` counts checkpoints of unknown position."""

    step: int
    unit: Unit


def explicit_position(name: str) -> Position | None:
    """The number beside a word for it: 120 for `epoch=3-step=120.ckpt`, `model_120_steps.zip`."""
    patterns = ((_STEP, "step"), (_STEPS_BEHIND, "step"), (_EPOCH, "epoch"))
    for pattern, unit in patterns:
        match = pattern.search(name)
        if match:
            return Position(int(match[1]), "step" if unit == "step" else "epoch")
    return None


def position_in_name(name: str) -> Position | None:
    """As `explicit_position`, or the only number of a name without another meaning."""
    explicit = explicit_position(name)
    if explicit is not None:
        return explicit
    match = _BARE.fullmatch(_SUFFIX.sub("", name))
    if match is None:
        return None
    words = re.split(r"[_.-]", match[1] or "")
    if words[-1] and not _WORDS.fullmatch(words[-1]):
        return None
    return Position(int(match[2]), "step")


def position_inside(saved: object) -> Position | None:
    """The position among the outer entries of what a script saved, never inside its optimizer."""
    if not isinstance(saved, Mapping):
        return None
    inner = [saved[name] for name in _INNER_NAMES if isinstance(saved.get(name), Mapping)]
    layers: list[Mapping[object, object]] = [saved, *(m for m in inner if isinstance(m, Mapping))]
    history = saved.get("optimizer_history")  # Fairseq counts its updates there.
    if isinstance(history, list) and history and isinstance(history[-1], Mapping):
        layers.append(history[-1])
    for layer in layers:
        step = first_count(layer, STEP_NAMES)
        if step is not None:
            return Position(step, "step")
    for layer in layers:
        epoch = first_count(layer, EPOCH_NAMES)
        if epoch is not None:
            return Position(epoch, "epoch")
    return None


def first_count(saved: Mapping[object, object], names: Iterable[str]) -> int | None:
    """The first of these entries that can be a number of steps or epochs."""
    for name in names:
        value = saved.get(name)
        if isinstance(value, bool):
            continue
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, int) and 0 <= value < 10**12:
            return value
    return None


@dataclass(frozen=True)
class Reading:
    """`problem` says why the file is not whole; empty for a whole one."""

    problem: str = ""
    position: Position | None = None
    is_weights_only: bool = False
    """The file holds tensors and nothing else, as released weights do."""

    @property
    def is_whole(self) -> bool:
        return not self.problem
