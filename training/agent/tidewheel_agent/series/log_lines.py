"""Points in the lines that training scripts print.

The formats: `tidewheel step=…` and a declared pattern; Hugging Face's Trainer ({'loss': …}) and
lines of JSON, Keras, Lightning and other tqdm bars, XGBoost, LightGBM, CatBoost, timm, MMEngine,
the scripts of pytorch/examples, and any line that names a position (epoch 3, iter 80, round 9)
and a metric (loss 0.12). What takes several lines is in log_blocks.py.
"""

import ast
import json
import math
import re
from dataclasses import replace

from ..declared_pattern import DeclaredPattern
from .log_blocks import PAIRS, Bars, LogBlocks
from .point import MOST_VALUES, Point, Unit, metrics_in, number, placed

_LONGEST_LINE = 2000
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x08")
_TIDEWHEEL = re.compile(r"(?:^|\s)tidewheel ((?:[A-Za-z_][A-Za-z0-9_.-]{0,63}=\S{1,40}(?:\s+|$))+)")
_BOOSTING = re.compile(r"(?:\[LightGBM\] \[Info\] )?\[(\d{1,9})\]\s+(?=\S.*:)")
_BOOSTED = re.compile(r"(\S{1,60}?(?:'s \S{1,40}?)?):\s*([-+]?(?:[\d.]+(?:[eE][-+]?\d+)?|nan|inf))")
_CATBOOST = re.compile(r"(\d{1,9}):\s+(?=(?:learn|test\d*): )")
_CATBOOST_VALUE = re.compile(r"\b(learn|test\d*|best): ([-+]?[\d.]+(?:[eE][-+]?\d+)?)")
_AFTER_PREFIX = re.compile(r"[^{}]{0,120}[|:\]-]\s*(\{.*\})")
_COUNT = r"(\d{1,3}(?:[,_]\d{3}){1,3}|\d{1,12})"
_STEP = re.compile(
    # `steps=1000` is a setting, unless a loss follows.
    r"\b(?:global[_ ]?step|step|iter(?:ation|_num)?|round|num_updates)"
    r"(?:s(?!\s*=(?!.*loss)))?\b(?:\(train\))?"
    r"\s*[=:#]?\s*\[?\s*" + _COUNT + r"(?:\s*/\s*" + _COUNT + r")?",
    re.IGNORECASE,
)
_EPISODE = re.compile(r"\bepisode\b\s*[=:#]?\s*\[?\s*" + _COUNT, re.IGNORECASE)
_EPOCH = re.compile(
    r"(?:\bepoch\b(?:\((?:train|val|test)\))?\s*[=:#]?|^\s*(?:train|test|val(?:id)?)\s*:)\s*\[?\s*"
    r"(\d{1,9}(?:\.\d{1,9})?)\]?(?:/(\d{1,9}))?",
    re.IGNORECASE,
)
_SHARE = re.compile(r"(?:\[|\|\s|^\s*)\s*(\d{1,12})/\s*(\d{1,12})\b")
_EPOCH_AND_BATCH = re.compile(r"\[(\d{1,9})/\d{1,9}\]\s*(\[\s*\d{1,9}/\s*\d{1,9}\])")
_KERAS_EPOCH = re.compile(r"Epoch (\d{1,9})/(\d{1,9})\s*$")
_BAR = re.compile(r"\d%\|")
_NOT_FINITE = re.compile(r"(?<=: )(-?)(nan|inf)(?=[,}])")
_KERAS_LINE = re.compile(r"(\d{1,9})/(\d{1,9})\s.*?\b(?:step|ETA)\b(.*)$")
_PADDLE_LINE = re.compile(r"step\s+(\d{1,9})/(\d{1,9})\s(?=.*\dm?s/step)(.*)$")


class LogLines:
    """Reads lines in their order: some take their position from a line before."""

    def __init__(self, pattern: DeclaredPattern | None = None, from_step: float = 0.0) -> None:
        """`from_step`: of the checkpoint from which the script resumes."""
        self._pattern = pattern
        self._keras_epoch: int | None = None
        self._blocks = LogBlocks()
        self._bars = Bars(from_step)
        self._from_step = from_step
        self._boosts_anew: bool | None = None
        self._newest = Point(0.0, {})
        self._alone: dict[str, float] = {}

    def read(self, line: str) -> Point | None:
        """The point in a line, or None. Never raises: a line is whatever the script prints."""
        line = _ANSI.sub("", line[:_LONGEST_LINE]).strip()
        point = self._read(line)
        if point is None:
            if self._pattern is None and PAIRS.fullmatch(line) and len(self._alone) < MOST_VALUES:
                self._alone |= metrics_in(line)
            return None
        if not math.isfinite(point.position):
            return None
        self._newest = point
        for name in point.values:
            self._alone.pop(name, None)
        return replace(point, shows_again=True) if _BAR.search(line) else point

    def last(self) -> Point:
        """Values of lines without a position (`Test accuracy: 0.98`), at the newest position."""
        return replace(self._newest, values=self._alone)

    def _read(self, line: str) -> Point | None:
        match = _TIDEWHEEL.search(line)
        if match:
            return _pairs(dict(pair.split("=", 1) for pair in match[1].split()))
        if self._pattern is not None:
            groups = self._pattern.search(line)
            return _pairs({name: text for name, text in groups.items() if text})
        if line.endswith("}") and (match := _AFTER_PREFIX.fullmatch("|" + line)):
            return _dictionary(match[1])
        match = _BOOSTING.match(line)
        if match:
            return self._boosted(int(match[1]), line[match.end() :])
        match = _CATBOOST.match(line)
        if match:
            found = _CATBOOST_VALUE.findall(line)
            return _pairs({"step": match[1], **dict(found)})
        return self._keras(line) or _words(line) or self._blocks.read(line) or self._bars.read(line)

    def _boosted(self, round_number: int, text: str) -> Point | None:
        """XGBoost counts from 0 in each call, whatever model it goes on from; LightGBM goes on."""
        point = _boosting(round_number, text)
        if self._boosts_anew is None and point is not None:
            self._boosts_anew = round_number == 0 and self._from_step > 0
        if point is None or not self._boosts_anew:
            return point
        before = self._from_step if math.isfinite(self._from_step) else 0.0
        return replace(point, position=round_number + before, is_of_start=True)

    def _keras(self, line: str) -> Point | None:
        match = _KERAS_EPOCH.fullmatch(line)
        if match:
            self._keras_epoch = int(match[1])
            self._blocks.read(line)
            return None
        match = _KERAS_LINE.match(line) or _PADDLE_LINE.match(line)
        if match is None or self._keras_epoch is None or int(match[2]) == 0:
            return None
        values = metrics_in(match[3])
        share = min(1.0, int(match[1]) / int(match[2]))
        position = round(self._keras_epoch - 1 + share, 6)
        return Point(position, values, unit="epoch") if values else None


def _pairs(pairs: dict[str, str]) -> Point | None:
    values = {name: value for name, text in pairs.items() if (value := number(text)) is not None}
    step = values.pop("step", None)
    for name in ("total", "save_seconds", "at"):
        values.pop(name, None)
    return Point(step, values) if step is not None and values else None


def _dictionary(line: str) -> Point | None:
    """Hugging Face's Trainer, whose numbers are texts since version 5; lines of JSON."""
    found = _parsed(_NOT_FINITE.sub(r"'\1\2'", line))
    if not isinstance(found, dict):
        return None
    values = {}
    for name, value in _flat(found)[:MOST_VALUES]:
        amount = None if isinstance(value, bool) else number(str(value))
        if amount is not None:
            values[name] = amount
    return placed(values, _POSITIONS)


def _parsed(line: str) -> object:
    for parse in (json.loads, ast.literal_eval):
        try:
            return parse(line)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            continue
    return None


def _flat(found: dict[object, object]) -> list[tuple[str, object]]:
    """Its entries; those of a dictionary in it by both names, as `val/loss`."""
    entries: list[tuple[str, object]] = []
    for name, value in found.items():
        if isinstance(name, str) and isinstance(value, dict):
            entries.extend((f"{name}/{inner}", deep) for inner, deep in value.items())
        elif isinstance(name, str):
            entries.append((name, value))
    return entries


_POSITIONS: tuple[tuple[str, Unit], ...] = (
    ("step", "step"),
    ("global_step", "step"),
    ("num_updates", "step"),
    ("iteration", "step"),
    ("iter", "step"),
    ("epoch", "epoch"),
)


def _boosting(round_number: int, text: str) -> Point | None:
    values = {}
    for name, amount in _BOOSTED.findall(text)[:MOST_VALUES]:
        value = number(amount)
        if value is not None:
            values[name.replace("'s ", "-")] = value
    return Point(round_number, values) if values else None


def _words(line: str) -> Point | None:
    epoch, step = _EPOCH.search(line), _STEP.search(line) or _EPISODE.search(line)
    if epoch is None and step is None:
        return _epoch_and_batch(line)
    values = metrics_in(line)
    if not values:
        return None
    if epoch is None:
        return Point(_count(step[1]), values) if step else None
    share = _SHARE.search(line, epoch.end())
    if share is None and step is not None:
        if len(step.groups()) < 2 or step[2] is None:
            return Point(_count(step[1]), values)
        share = step
    part = min(1.0, _count(share[1]) / max(1, _count(share[2]))) if share else 0.0
    return Point(round(float(epoch[1]) + part, 6), values, unit="epoch")


def _epoch_and_batch(line: str) -> Point | None:
    """`[3/25][10/100] Loss_D: 1.2`, as DCGAN of pytorch/examples prints it."""
    match = _EPOCH_AND_BATCH.match(line)
    values = metrics_in(line, with_sign=True) if match else {}
    share = _SHARE.search(match[2]) if match else None
    if match is None or share is None or not values:
        return None
    part = min(1.0, int(share[1]) / max(1, int(share[2])))
    return Point(round(int(match[1]) + part, 6), values, unit="epoch")


def _count(text: str) -> int:
    return int(text.replace(",", "").replace("_", ""))
