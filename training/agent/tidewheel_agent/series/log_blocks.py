"""Points that a script prints over several lines: below a heading, in a table, in a box, by a bar.

A heading is a line with a position alone (`Epoch 3`, `Epoch 3/10`, `STEP: 3`), as in PyTorch's
tutorials. A table has a head with `epoch` first (fastai, skorch, Ultralytics), or spaCy's `E` and
`#`. A box has a name and a value in each line and a rule below (Stable-Baselines3). A progress bar
of tqdm is the only position of some scripts.
"""

import re

from .point import MOST_VALUES, Point, Unit, is_metric, metrics_in, number

_HEADING = re.compile(
    r"(?:.{0,60}[\]:|-]\s+)?[-=#*|\[\s]{0,40}(epoch|step|iter(?:ation)?)\b\s*[:=#]?\s*\[?"
    r"(\d{1,9})(?:\s*(?:/|of)\s*\d{1,9})?[-\]=#*|:.\s]{0,90}",
    re.IGNORECASE,
)
_SHARE = re.compile(r"(?:\[|^)\s*(\d{1,12})/\s*(\d{1,12})\b")
_EPOCH_OF = re.compile(r"(\d{1,9})(?:/(\d{1,9}))?")
_BAR = re.compile(r"\s(\d{1,9})/(\d{1,9})\b")
_HEADS: dict[str, Unit] = {"epoch": "epoch", "step": "step", "iter": "step", "iteration": "step"}
_MOST_COLUMNS = 40
_CELLS = re.compile(r"\|\s*([A-Za-z][\w./ -]{0,60}?)\s*\|\s*(\S{0,24})\s*\|")
_RULE = re.compile(r"[-+]{10,}")
_SPACY_HEAD = re.compile(r"E\s+#\s+\S.*")
_SPACY_RULE = re.compile(r"-{3,}(?:  -{3,}){2,39}")
_BOX_POSITIONS = ("time/total_timesteps", "total_timesteps", "timesteps", "step", "iterations")
_NO_METRICS = re.compile(r"time/|fps$|time_elapsed$|n_updates$")


class LogBlocks:
    """Reads lines that are no points by themselves, in their order."""

    def __init__(self) -> None:
        self._heading: tuple[int, Unit] | None = None
        self._columns: list[str] = []
        self._box: dict[str, float] = {}
        self._section = ""
        self._spacy_head = ""
        self._spacy_columns: list[str] = []

    def read(self, line: str) -> Point | None:
        heading = _HEADING.fullmatch(line)
        if heading:
            self._heading = int(heading[2]), _HEADS[heading[1].lower()]
            return None
        return self._boxed(line) or self._spacy(line) or self._row(line) or self._headed(line)

    def _headed(self, line: str) -> Point | None:
        if self._heading is None:
            return None
        values = metrics_in(line, with_sign=True)
        position, unit = self._heading
        share = _SHARE.search(line) if unit == "epoch" else None
        part = min(1.0, int(share[1]) / max(1, int(share[2]))) if share else 0.0
        return Point(round(position + part, 6), values, unit=unit) if values else None

    def _row(self, line: str) -> Point | None:
        words = [word for word in line[:1000].replace("|", " ").split() if word != "+"]
        if len(words) < 2:
            return None
        if words[0].lower() in _HEADS and any(map(is_metric, words[1:])):
            is_head = not any(mark in line for mark in ":=") and len(words) <= _MOST_COLUMNS
            # skorch marks its checkpoints in a column that is empty in most rows.
            self._columns = [word for word in words if word != "cp"] if is_head else []
            return None
        count = len(self._columns)
        first = _EPOCH_OF.fullmatch(words[0])
        if count == 0 or first is None or len(words) < count:
            return None
        if len(words) > count and not words[count - 1].endswith(":"):
            return None
        values = _cells(self._columns, words)
        bar = _BAR.search(line, line.find(words[count - 1]))
        position = float(first[1])
        if first[2] and bar:
            position = round(position - 1 + min(1.0, int(bar[1]) / max(1, int(bar[2]))), 6)
        unit = _HEADS[self._columns[0].lower()]
        return Point(position, values, unit=unit) if values else None

    def _spacy(self, line: str) -> Point | None:
        """Its names have spaces, and the rule below them says where they end."""
        head, self._spacy_head = self._spacy_head, ""
        if _SPACY_HEAD.fullmatch(line):
            self._spacy_head, self._spacy_columns = line, []
        elif head and _SPACY_RULE.fullmatch(line):
            spans = [match.span() for match in re.finditer("-+", line)]
            names = [head[start:end].strip() for start, end in spans]
            self._spacy_columns = names if all(names) else []
        elif self._spacy_columns:
            cells = [number(word) for word in line[:1000].split()]
            if len(cells) == len(self._spacy_columns):
                pairs = list(zip(self._spacy_columns, cells, strict=True))[1:]
                values = {n.replace(" ", "_"): v for n, v in pairs if v is not None}
                step = values.pop("#", None)
                return Point(step, values) if step is not None and values else None
        return None

    def _boxed(self, line: str) -> Point | None:
        if _RULE.fullmatch(line):
            box, self._box, self._section = self._box, {}, ""
            return _box_point(box)
        cells = _CELLS.fullmatch(line)
        if cells is None:
            return None
        name, text = cells[1], cells[2]
        if not text:
            self._section = name if name.endswith("/") else ""
        elif (value := number(text)) is not None and len(self._box) < MOST_VALUES:
            self._box[self._section + name] = value
        return None


def _cells(columns: list[str], words: list[str]) -> dict[str, float]:
    values = {}
    for name, word in zip(columns[1:], words[1:], strict=False):
        value = number(word.rstrip(":"))
        if value is not None and is_metric(name):
            values[name] = value
    return values


def _box_point(box: dict[str, float]) -> Point | None:
    for key in _BOX_POSITIONS:
        if key in box:
            position = box[key]
            values = {
                name: value
                for name, value in box.items()
                if name not in _BOX_POSITIONS and not _NO_METRICS.search(name)
            }
            return Point(position, values) if values else None
    return None


_TQDM = re.compile(r"(?:^|(.{1,120}?):?\s)\s*\d{1,3}%\|[^|]{0,200}\|\s*(\d{1,9})/(\d{1,9})\s\[(.*)")
_NUMBERS = re.compile(r"[-+]?[\d.]+(?:[eE][-+]?\d+)?")
_ASIDE = re.compile(
    r"eval|val|test|predict|infer|sampl|generat|load|fetch|map|filter|token|prepar|proce",
    re.IGNORECASE,
)
_PAIR = (
    r"(?:(?:train(?:ing)?|val(?:id(?:ation)?)?|test|eval|mean|avg|running) )?"
    r"[A-Za-z_][\w@./-]{0,40}"
    r"(?:\s*[:=]\s*[-+]?(?:nan|inf|[\d.]+(?:e[-+]?\d+)?%?)"
    # print("accuracy", 0.98); a whole number may count anything.
    r"|\s+[-+]?(?:nan|inf|\d*\.\d+(?:e[-+]?\d+)?%?))"
)
PAIRS = re.compile(rf"{_PAIR}(?:[\s,;|]+{_PAIR})*", re.IGNORECASE)
"""A whole line of names and values."""


class Bars:
    """Points of scripts whose only position is a progress bar of tqdm.

    `training:  12%|#2  | 12/100 [00:10<01:15, loss=0.4]`, or lines below it (`training loss: 0.4`).
    A bar moves seldom: a line belongs to its position as long as no name has come twice below it.
    Gives nothing where bars are nested or begin again: those do not count the run's steps.
    """

    def __init__(self, from_step: float) -> None:
        """`from_step`: of the checkpoint that was there. A bar that begins below it does not count
        the run's steps."""
        self._from_step = from_step
        self._is_off = False
        self._bar: tuple[str, int] | None = None
        self._position = -1
        self._below: set[str] = set()
        """Names that have come since the bar moved."""
        self._is_stale = True
        self._has_points = False

    def read(self, line: str) -> Point | None:
        if self._is_off:
            return None
        match = _TQDM.match(line)
        if match is not None:
            values = self._moved(match)
        elif self._is_stale or not PAIRS.fullmatch(line):
            return None
        else:
            values = metrics_in(line)
            self._is_stale = not self._below.isdisjoint(values)
            self._below.update(values)
        if not values or self._is_off or self._is_stale:
            return None
        self._has_points = True
        return Point(self._position, values)

    def _moved(self, match: re.Match[str]) -> dict[str, float]:
        name, done, total = match[1] or "", int(match[2]), int(match[3])
        if _ASIDE.search(name):
            return {}
        bar = _NUMBERS.sub("", name), total
        is_new = bar != self._bar
        if is_new:
            self._is_off = self._has_points or done < self._from_step - 1
            self._bar, self._position = bar, -1
        self._is_off |= done < self._position or "epoch" in name.lower()
        if done > self._position:
            # A bar that is full at first sight may be anything.
            self._position, self._is_stale = done, is_new and done == total
            self._below.clear()
        return metrics_in(f"{name}, {match[4]}", with_sign=True)
