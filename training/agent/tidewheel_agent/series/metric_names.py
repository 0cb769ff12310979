"""Which numbers of a line are metrics, by the names before them."""

from __future__ import annotations

import re

from .point import number

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
