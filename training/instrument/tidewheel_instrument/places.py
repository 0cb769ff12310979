"""What a frame belongs to: the script, a package or the standard library; and the script's lines.

A script that reads, decodes or waits in its loop, without a loader, shows nowhere else. A frame
counts as host work only where it, or the call that it is in, is known to belong to the host: to a
reader, a decoder, a queue. A tensor's work looks the same from Python on a CPU and on an
accelerator, so all that is unknown counts as computing.
"""

from __future__ import annotations

import linecache
import os
import re
import sysconfig
from types import CodeType, FrameType

_DEEPEST = 60

_LIBRARY = os.path.dirname(os.__file__) + os.sep
_PACKAGES = tuple(
    {sysconfig.get_path(name) + os.sep for name in ("purelib", "platlib")}
    | {os.sep + folder + os.sep for folder in ("site-packages", "dist-packages")}
)
_TIDEWHEEL = re.compile(r"/(for_scripts|tidewheel_(agent|automatic|instrument))/")
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
    if _TIDEWHEEL.search(filename):
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
    """The script's line that has the host work, as `train.py:12 load`; empty where a framework has
    it, whose call the script cannot move; None where it computes."""
    is_host = is_of_framework = False
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
            return "" if is_of_framework else _line_of(frame)
        is_of_framework |= is_host and place == "package" and not host
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
