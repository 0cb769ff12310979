"""Points in the lines that training scripts print.

The formats: `tidewheel step=…` and a declared pattern; Hugging Face's Trainer ({'loss': …}),
Keras, Lightning and other tqdm bars, XGBoost, LightGBM, timm, the scripts of pytorch/examples, and
any line that names a position (epoch 3, iter 80) and a metric (loss 0.12).
"""

from __future__ import annotations

import ast
import re

from .point import Point, Unit, number

_LONGEST_LINE = 2000
_MOST_VALUES = 50
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x08")
_TIDEWHEEL = re.compile(r"(?:^|\s)tidewheel ((?:[A-Za-z_][A-Za-z0-9_.-]{0,63}=\S{1,40}(?:\s+|$))+)")
_BOOSTING = re.compile(r"(?:\[LightGBM\] \[Info\] )?\[(\d{1,9})\]\s+(?=\S.*:)")
_BOOSTED = re.compile(r"(\S{1,60}?(?:'s \S{1,40}?)?):\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)")
_STEP = re.compile(
    r"\b(?:global[_ ]?step|step|iter(?:ation|_num)?|num_updates)s?\b\s*[=:#]?\s*\[?\s*"
    r"(\d{1,12})(?:\s*/\s*(\d{1,12}))?",
    re.IGNORECASE,
)
_EPOCH = re.compile(
    r"(?:\bepoch\b\s*[=:#]?|^\s*(?:train|test|val(?:id)?)\s*:)\s*\[?\s*(\d{1,9}(?:\.\d{1,9})?)\]?"
    r"(?:/(\d{1,9}))?",
    re.IGNORECASE,
)
_SHARE = re.compile(r"(?:\[|\|\s|^\s*)\s*(\d{1,12})/\s*(\d{1,12})\b")
_NUMBER = re.compile(r"(?<![\w.@])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]*/|ms|it/s)")
_NAME_BEFORE = re.compile(
    r"(?<![\w.@/-])((?:(?:train(?:ing)?|val(?:id(?:ation)?)?|test|eval|mean|avg|running) )?"
    r"[A-Za-z_][\w@./-]{0,40})['\"]?\s*[:=]?\s*$",
    re.IGNORECASE,
)
_METRIC = re.compile(
    r"loss|acc|auc|ppl|perplexity|f1|mse|mae|rmse|error|(?:^|[_/. ])lr|learning_?rate|grad_?norm|"
    r"reward|bleu|rouge|iou|dice|precision|recall|wer|psnr|map\b|top\d|metric",
    re.IGNORECASE,
)
_KERAS_EPOCH = re.compile(r"Epoch (\d{1,9})/(\d{1,9})\s*$")
_KERAS_LINE = re.compile(r"(\d{1,9})/(\d{1,9})\s.*?\bstep\b(.*)$")


class LogLines:
    """Reads lines in their order: Keras names the epoch on a line of its own."""

    def __init__(self, pattern: re.Pattern[str] | None = None) -> None:
        self._pattern = pattern
        self._keras_epoch: int | None = None

    def read(self, line: str) -> Point | None:
        """The point in a line, or None. Never raises: a line is whatever the script prints."""
        line = _ANSI.sub("", line[:_LONGEST_LINE]).strip()
        match = _TIDEWHEEL.search(line)
        if match:
            return _pairs(dict(pair.split("=", 1) for pair in match[1].split()))
        if self._pattern is not None:
            match = self._pattern.search(line)
            groups = match.groupdict() if match else {}
            return _pairs({name: text for name, text in groups.items() if text})
        if line.startswith("{") and line.endswith("}"):
            return _dictionary(line)
        match = _BOOSTING.match(line)
        if match:
            return _boosting(int(match[1]), line[match.end() :])
        return self._keras(line) or _words(line)

    def _keras(self, line: str) -> Point | None:
        match = _KERAS_EPOCH.fullmatch(line)
        if match:
            self._keras_epoch = int(match[1])
            return None
        match = _KERAS_LINE.match(line)
        if match is None or self._keras_epoch is None or int(match[2]) == 0:
            return None
        values = _metrics(match[3])
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
    """Hugging Face's Trainer; since version 5 its numbers are texts."""
    try:
        found = ast.literal_eval(line)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None
    if not isinstance(found, dict):
        return None
    values = {}
    for name, value in list(found.items())[:_MOST_VALUES]:
        amount = None if isinstance(value, bool) else number(str(value))
        if isinstance(name, str) and amount is not None:
            values[name] = amount
    for key, unit in _POSITIONS:
        if key in values:
            position = values.pop(key)
            values.pop("epoch", None)
            return Point(position, values, unit=unit) if values else None
    return None


_POSITIONS: tuple[tuple[str, Unit], ...] = (
    ("step", "step"),
    ("global_step", "step"),
    ("iteration", "step"),
    ("epoch", "epoch"),
)


def _boosting(round_number: int, text: str) -> Point | None:
    values = {}
    for name, amount in _BOOSTED.findall(text)[:_MOST_VALUES]:
        value = number(amount)
        if value is not None:
            values[name.replace("'s ", "-")] = value
    return Point(round_number, values) if values else None


def _words(line: str) -> Point | None:
    epoch, step = _EPOCH.search(line), _STEP.search(line)
    if epoch is None and step is None:
        return None
    values = _metrics(line)
    if not values:
        return None
    if epoch is None:
        return Point(int(step[1]), values) if step else None
    share = _SHARE.search(line, epoch.end()) or (step if step and step[2] else None)
    if share is None and step is not None:
        return Point(int(step[1]), values)
    part = min(1.0, int(share[1]) / max(1, int(share[2]))) if share else 0.0
    return Point(round(float(epoch[1]) + part, 6), values, unit="epoch")


def _metrics(text: str) -> dict[str, float]:
    """Numbers behind names that are metrics; times, rates and counts are none."""
    values: dict[str, float] = {}
    for match in _NUMBER.finditer(text):
        name = _NAME_BEFORE.search(text, max(0, match.start() - 60), match.start())
        value = number(match[0])
        if name is None or value is None or not _METRIC.search(name[1]):
            continue
        if len(values) < _MOST_VALUES:
            values.setdefault(name[1].replace(" ", "_"), value)
    return values
