"""Looks, a few times a second, at what the training thread does while no hook counts it.

A script that reads, decodes or waits in its loop, without a loader, shows nowhere else. A look
counts only where the innermost Python frame, or the call that it is in, is known to belong to the
host: to a reader, a decoder, a queue. A tensor's work looks the same from Python on a CPU and on an
accelerator, so all that is unknown counts as computing.
"""

from __future__ import annotations

import linecache
import os
import re
import sys
import sysconfig
import threading
from collections import Counter
from random import Random
from time import monotonic, sleep
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from .cells import DOING, HOST_WORK, LOOKS
from .pinning import Pinning

if TYPE_CHECKING:
    from .meter import Meter

_SECONDS = 0.25
_WRITE_SECONDS = 5.0
_ARITHMETIC_SECONDS = 60.0
"""Between two steps whose arithmetic is observed."""
_PIN_SECONDS = 1.0
_MOST_LINES = 200
_DEEPEST = 60

_LIBRARY = os.path.dirname(os.__file__) + os.sep
_PACKAGES = tuple(
    {sysconfig.get_path(name) + os.sep for name in ("purelib", "platlib")}
    | {os.sep + folder + os.sep for folder in ("site-packages", "dist-packages")}
)
_ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
_AGENT = tuple(
    os.path.join(_ROOT, each, "")
    for each in ("instrument", "for_scripts", "automatic", "tidewheel_agent")
)
_CODE = os.getcwd() + os.sep
"""Where the script starts: lines are shown relative to it."""
_HOST_PACKAGES = frozenset(
    re.findall(
        r"\S+",
        """
        PIL cv2 imageio skimage torchvision.transforms albumentations av decord rasterio nibabel
        pydicom soundfile librosa torchaudio numpy pandas polars pyarrow h5py zarr lmdb datasets
        webdataset tokenizers torch.utils.data boto3 botocore s3fs fsspec urllib3 requests aiohttp
        smart_open zstandard lz4 wandb mlflow matplotlib tensorboard torch.utils.tensorboard
        """,
    )
)
_HOST_MODULES = frozenset(
    re.findall(
        r"\S+",
        """
        queue threading concurrent multiprocessing asyncio selectors socket ssl subprocess urllib
        http csv json xml html pickle codecs base64 gzip bz2 lzma zipfile tarfile shutil pathlib
        tempfile glob fnmatch logging sqlite3 dbm
        """,
    )
)
_HOST_CALL = re.compile(
    r"\b(open|time\.sleep|sleep|os\.(read|pread|listdir|scandir|stat)|np\.\w+|numpy\.\w+|pickle\.\w+|json\.\w+)\("
    r"|\.(read|readline|readlines|readinto|fetchall|decompress)\("
)
_TENSOR_CALL = re.compile(r"\.(item|cpu|cuda|to|backward|tolist|synchronize)\(")
"""These wait for an accelerator, which computes meanwhile."""

_DISTRIBUTE = os.sep.join(("", "tensorflow", "python", "distribute", ""))
"""The chief of parameter servers waits in a thread for workers, which compute meanwhile."""


def place_of(filename: str) -> tuple[str, str]:
    """`script`, `package`, `library` or `none`, and the dotted name of the module there."""
    if filename.startswith("<"):
        return "none", ""
    if filename.startswith(_AGENT):
        return "package", ""
    for mark in _PACKAGES:
        start = filename.find(mark)
        if start >= 0:
            return "package", _dotted(filename[start + len(mark) :])
    if filename.startswith(_LIBRARY):
        return "library", _dotted(filename[len(_LIBRARY) :])
    return "script", ""


def _dotted(path: str) -> str:
    return path.rsplit(".", 1)[0].replace(os.sep, ".")


class Places:
    """What a code object belongs to, found once for each."""

    def __init__(self) -> None:
        self._known: dict[CodeType, tuple[str, bool]] = {}

    def of(self, code: CodeType) -> tuple[str, bool]:
        """The place, and whether the module does the host's work."""
        found = self._known.get(code)
        if found is None:
            place, module = place_of(code.co_filename)
            found = self._known[code] = (place, _is_host(place, module))
        return found


def _is_host(place: str, module: str) -> bool:
    first, _, rest = module.partition(".")
    if place == "library":
        return first in _HOST_MODULES
    if place != "package":
        return False
    parts = [first, *rest.split(".")]
    return any(".".join(parts[:count]) in _HOST_PACKAGES for count in range(1, 4))


def host_work(frame: FrameType | None, places: Places) -> str | None:
    """The script's line that has the host work, as `train.py:12 load`; None where it computes."""
    is_host = False
    for _ in range(_DEEPEST):
        if frame is None:
            return None
        place, host = places.of(frame.f_code)
        if _DISTRIBUTE in frame.f_code.co_filename:
            return None
        if not is_host:
            is_host = host or (place == "script" and _calls_host(frame))
            # Of what the standard library does for others, such as contextlib, the caller decides.
            if not is_host and place in ("script", "package"):
                return None
        if is_host and place == "script":
            return _line_of(frame)
        frame = frame.f_back
    return None


def _calls_host(frame: FrameType) -> bool:
    """A call into C leaves no frame of its own; the source has its name."""
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    return _HOST_CALL.search(line) is not None and _TENSOR_CALL.search(line) is None


def calling_line(frame: FrameType | None, places: Places) -> str | None:
    """The script's line that calls a framework: of the outermost call that the script makes."""
    found = None
    was_package = True
    while frame is not None:
        place, _ = places.of(frame.f_code)
        if place == "script" and was_package:
            found = frame
        was_package = place == "package" if place in ("script", "package") else was_package
        frame = frame.f_back
    return None if found is None else _line_of(found)


def _line_of(frame: FrameType) -> str:
    return f"{_name_of(frame.f_code.co_filename)}:{frame.f_lineno} {frame.f_code.co_name}"


def short_line(frame: FrameType) -> str:
    """As `train.py:12 load`, or `train.py:12` outside of functions."""
    return _line_of(frame).removesuffix(" <module>")


def _name_of(path: str) -> str:
    """Of a file outside of the code folder, its name alone: the rest is private."""
    if path.startswith(_CODE):
        return path[len(_CODE) :]
    return os.path.basename(path)


class Looker:
    """A thread that looks until the process ends or the hooks are removed."""

    def __init__(self, meter: Meter, folder: str) -> None:
        self._meter = meter
        self._path = os.path.join(folder, f"{os.getpid()}.lines")
        self._lines: Counter[str] = Counter()
        self._places = Places()
        self._written_at = monotonic()
        self._observe_at = self._pin_at = 0.0
        self._pinning = Pinning()
        # The script's own random numbers stay as they are.
        self._random = Random()

    def start(self) -> None:
        threading.Thread(target=self._run, name="tidewheel-looks", daemon=True).start()

    def _run(self) -> None:
        meter = self._meter
        values = meter.values
        try:
            while meter.is_on and meter.values is values:
                # A training that steps in time with the looks would show one moment alone.
                sleep(_SECONDS * (0.5 + self._random.random()))
                self._look(values)
                if monotonic() >= self._pin_at:
                    self._pin_at = monotonic() + _PIN_SECONDS
                    self._pinning.look(values)
                if meter.observe_arithmetic is not None and monotonic() >= self._observe_at:
                    self._observe_at = monotonic() + _ARITHMETIC_SECONDS
                    meter.observe_arithmetic()
        except Exception as error:
            meter.remove("the looks", error)

    def _look(self, values: Any) -> None:
        values[LOOKS] += 1.0
        if values[DOING] == 0.0:
            frame = sys._current_frames().get(self._meter.thread)
            line = host_work(frame, self._places)
            del frame
            if line is not None:
                values[HOST_WORK] += 1.0
                if line in self._lines or len(self._lines) < _MOST_LINES:
                    self._lines[line] += 1
        if self._lines and monotonic() - self._written_at > _WRITE_SECONDS:
            self._written_at = monotonic()
            self._write()

    def _write(self) -> None:
        ((line, _),) = self._lines.most_common(1)
        draft = f"{self._path}.draft"
        with open(draft, "w", encoding="utf-8") as file:
            file.write(line[:200])
        os.replace(draft, self._path)
