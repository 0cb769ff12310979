"""Points in the files that loggers write while the script runs."""

import csv
import json
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from ..log import log
from .event_file import EVENT_FILES, EventFile
from .point import Point, Unit, number, placed
from .wandb_file import WandbFile

_SECONDS = 5.0
_DEPTH = 6
_MOST_FOLDERS = 1000
_MOST_FILES = 50
_LARGEST_JSON = 4 * 1024 * 1024
_CSV = re.compile(
    r"metrics\.csv|summary\.csv|results\.csv|(?:train|training)?_?log\.csv|progress\.csv"
)
_SKIPPED = re.compile(r"\..*|__pycache__|node_modules|site-packages|tidewheel-series")
_POSITION_COLUMNS: tuple[tuple[str, Unit], ...] = (
    ("step", "step"),
    ("global_step", "step"),
    ("iteration", "step"),
    ("epoch", "epoch"),
)


class CsvFile:
    """Lightning's metrics.csv, timm's summary.csv, Keras' CSVLogger: a header, then a row each."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows = 0

    def read(self) -> Iterator[Point]:
        """Lightning writes the whole file at each flush, so rows are counted, not bytes."""
        with self._path.open(encoding="utf-8", errors="replace", newline="") as file:
            text = file.read(_LARGEST_JSON)
        whole = text[: text.rfind("\n") + 1]
        rows = list(csv.DictReader(whole.splitlines()))
        for row in rows[self._rows :]:
            point = _row(row)
            if point is not None:
                yield point
        self._rows = len(rows)


def _row(row: dict[str, str]) -> Point | None:
    values = {}
    for name, text in row.items():
        # Cells beyond the header have the name None, and missing ones are None.
        amount = number(text) if isinstance(name, str) and isinstance(text, str) else None
        if amount is not None:
            values[name.strip()] = amount
    return placed(values, _POSITION_COLUMNS)


class TrainerState:
    """Hugging Face's trainer_state.json, which each checkpoint holds with the whole history."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = 0

    def read(self) -> Iterator[Point]:
        if self._path.stat().st_size > _LARGEST_JSON:
            return
        history = json.loads(self._path.read_text(encoding="utf-8")).get("log_history", [])
        for entry in history[self._seen :]:
            numbers = entry.items() if isinstance(entry, dict) else ()
            values = {k: float(v) for k, v in numbers if type(v) in (int, float)}
            point = placed(values, _POSITION_COLUMNS)
            if point is not None:
                yield point
        self._seen = len(history)


class MlflowMetric:
    """`metrics/<name>` of MLflow's file store: `<milliseconds> <value> <step>` a line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def read(self) -> Iterator[Point]:
        with self._path.open("rb") as file:
            file.seek(self._offset)
            *lines, rest = file.read().split(b"\n")
            self._offset = file.tell() - len(rest)
        for line in lines:
            parts = line.decode("utf-8", "replace").split()
            at, value, step = (number(part) for part in [*parts, "", "", ""][:3])
            if at is not None and value is not None and step is not None:
                yield Point(step, {self._path.name: value}, at=at / 1000)


LogFile = EventFile | WandbFile | CsvFile | TrainerState | MlflowMetric


def _open(path: Path) -> tuple[str, LogFile] | None:
    """The reader of a file, and the name of its source."""
    if path.name.startswith(EVENT_FILES):
        return "tensorboard", EventFile(path)
    if path.suffix == ".wandb":
        return "wandb", WandbFile(path)
    if path.name == "trainer_state.json":
        return "trainer_state", TrainerState(path)
    if path.parent.name == "metrics" and "mlruns" in path.parts:
        return "mlflow", MlflowMetric(path)
    return ("csv", CsvFile(path)) if _CSV.fullmatch(path.name) else None


class LogFiles:
    """A thread that looks for such files under the given folders and reads what they gain."""

    def __init__(self, folders: Iterable[Path], add: Callable[[str, Point], object]) -> None:
        """What the files hold now belongs to earlier attempts."""
        self._folders = list(dict.fromkeys(folders))
        self._add = add
        self._files: dict[Path, tuple[str, LogFile]] = {}
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="series")
        self._lock = threading.Lock()
        self.pass_over()

    def start(self) -> None:
        self._thread.start()

    def pass_over(self) -> None:
        """What the files have gained since the last look is no point."""
        self._read(lambda source, point: None)

    def close(self) -> None:
        """Reads what has come since the last look."""
        self._closing.set()
        self._thread.join(10.0)
        if not self._thread.is_alive():
            self._read(self._add)

    def _run(self) -> None:
        while not self._closing.wait(_SECONDS):
            self._read(self._add)

    def _read(self, add: Callable[[str, Point], object]) -> None:
        with self._lock:
            self._read_alone(add)

    def _read_alone(self, add: Callable[[str, Point], object]) -> None:
        try:
            for path in _find(self._folders):
                if path not in self._files and len(self._files) < _MOST_FILES:
                    opened = _open(path)
                    if opened is not None:
                        self._files[path] = opened
        except OSError as error:
            log(f"cannot look for files of loggers: {error}")
        for path, (source, file) in list(self._files.items()):
            try:
                # For rows without a time of their own: they may be read seconds later.
                written_at = path.stat().st_mtime
                for point in file.read():
                    add(source, point if point.at else replace(point, at=written_at))
            except Exception as error:  # A script may write anything, and training goes on.
                log(f"cannot read {path.name}: {error!r}")
                del self._files[path]


def _find(folders: Iterable[Path]) -> Iterator[Path]:
    seen = 0
    for top in folders:
        for name, below, files in os.walk(top):
            seen += 1
            if seen > _MOST_FOLDERS:
                return
            current = Path(name)
            below[:] = sorted(each for each in below if not _SKIPPED.fullmatch(each))
            if len(current.parts) - len(top.parts) >= _DEPTH:
                below.clear()
            yield from (current / each for each in sorted(files))
