"""What a reader of a script's output returns, and which numbers of a line are metrics."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Unit: TypeAlias = Literal["step", "epoch"]


@dataclass(frozen=True)
class Point:
    """Values that belong to one position of the training."""

    position: float
    values: dict[str, float]
    """By the name that the script gives them; infinity or NaN where it says so."""
    unit: Unit = "step"
    """What `position` counts; an epoch may be a fraction."""
    at: float | None = None
    """Unix seconds at which the script wrote it; None where its format does not say."""
    shows_again: bool = False
    """From a progress bar, which shows the newest value until another one is measured."""
    is_of_start: bool = False
    """The script counts from 0 at each start, so the position does not tell whether it resumed."""


def placed(values: dict[str, float], positions: Sequence[tuple[str, Unit]]) -> Point | None:
    """At the first of the positions that is among the values."""
    for key, unit in positions:
        if key in values:
            position = values.pop(key)
            values.pop("epoch", None)
            return Point(position, values, unit=unit) if values else None
    return None


def number(text: str) -> float | None:
    """The number that a text is, with a thousands separator or a percent sign or without."""
    try:
        return float(text.strip().rstrip("%").replace(",", ""))
    except ValueError:
        return None


MOST_VALUES = 50
_NUMBER = re.compile(
    r"(?<![\w.@])[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|(?:nan|inf)\b)(?![\w.]*/|ms|it/s)",
    re.IGNORECASE,
)
_NAME = (
    r"(?<![\w.@/-])((?:(?:train(?:ing)?|val(?:id(?:ation)?)?|test|eval|mean|avg|running) )?"
    r"[A-Za-z_][\w@./-]{0,40})['\"]?"
)
_NAME_BEFORE = re.compile(_NAME + r"(?:\s+is)?\s*(?:[:=]\s*\[?)?\s*$", re.IGNORECASE)
_NAME_AND_SIGN_BEFORE = re.compile(_NAME + r"\s*[:=]\s*\[?\s*$", re.IGNORECASE)
_METRIC = re.compile(
    r"loss|acc|auc|ppl|perplexity|f1|mse|mae|rmse|error|(?:^|[_/. ])lr|learning_?rate|grad_?norm|"
    r"reward|_rew_|return|score|elbo|bleu|rouge|iou|dice|precision|recall|wer|psnr|map\b|top\d|"
    r"metric",
    re.IGNORECASE,
)


def is_metric(name: str) -> bool:
    return _METRIC.search(name) is not None


def metrics_in(text: str, *, with_sign: bool = False) -> dict[str, float]:
    """Numbers behind names that are metrics; times, rates and counts are none.

    `with_sign`: only behind a colon or an equals sign.
    """
    before = _NAME_AND_SIGN_BEFORE if with_sign else _NAME_BEFORE
    values: dict[str, float] = {}
    for match in _NUMBER.finditer(text):
        name = before.search(text, max(0, match.start() - 60), match.start())
        value = number(match[0])
        if name is None or value is None or not is_metric(name[1]):
            continue
        if len(values) < MOST_VALUES:
            values.setdefault(name[1].replace(" ", "_"), value)
    return values
