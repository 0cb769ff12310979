"""How the script hears of a stop: by its source, and by what an earlier attempt has shown."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..files import write_atomically

_ASKS = re.compile(rb"TIDEWHEEL_STOP_FILE|\btidewheel\b|stop_soon")
_LIGHTNING = re.compile(rb"^\s*(?:import|from)\s+(?:lightning|pytorch_lightning)\b", re.MULTILINE)
_SAVES_ON_SIGTERM = re.compile(rb"save_on_exception|OnExceptionCheckpoint|SIGTERM|SLURMEnvironment")
_TORCH = re.compile(rb"^\s*(?:import|from)\s+torch\b", re.MULTILINE)
_LOOP = re.compile(rb"\.backward\(")
_OTHER_LOOPS = re.compile(
    rb"^\s*(?:import|from)\s+(?:lightning|pytorch_lightning|transformers|accelerate|deepspeed|ray"
    rb"|tensorflow|keras|jax|horovod|torch_xla)\b|torch\.compile\(|FullyShardedDataParallel"
    rb"|init_process_group",
    re.MULTILINE,
)
_WITHOUT_TORCH = re.compile(
    rb"^\s*(?:import|from)\s+(jax|flax|tensorflow|keras|sklearn|xgboost|lightgbm|catboost|paddle)\b",
    re.MULTILINE,
)
_OF_TORCH = re.compile(
    rb"torch|lightning|transformers|accelerate|diffusers|ultralytics|fastai|stable.baselines|spacy"
    rb"|mmengine|timm"
)
_ASKS_RAY = re.compile(rb"\bget_preemption_info\b")
_SIGNS = {
    _ASKS,
    _LIGHTNING,
    _SAVES_ON_SIGTERM,
    _TORCH,
    _LOOP,
    _OTHER_LOOPS,
    _WITHOUT_TORCH,
    _OF_TORCH,
    _ASKS_RAY,
}
_LARGEST_FILE = 4 * 1024 * 1024
_MOST_FILES = 5000


@dataclass(frozen=True)
class ScriptSource:
    may_ask: bool
    """The source mentions the stop file or Tidewheel's module, so it may leave on its own."""
    leaves_unsaved: bool = False
    """The source uses Lightning, whose Trainer ends at the next batch after SIGTERM and saves only
    where `save_on_exception` or a handler of the script's own says so (lightning 2.6,
    pytorch/loops/training_epoch_loop.py, on_advance_end)."""
    has_plain_loop: bool = False
    """A training loop of plain PyTorch, which `training.checkpoint: automatic` can save."""
    other_framework: str | None = None
    """What it imports where nothing in it, requirements included, speaks of PyTorch."""
    asks_ray: bool = False
    """Ray's own API tells it of a warning (`ray.train.get_preemption_info()`)."""


def read_source(folder: Path) -> ScriptSource:
    """A source that cannot be read may ask for anything."""
    try:
        found: dict[re.Pattern[bytes], str] = {}
        for _, text in texts_of(folder):
            for sign in _SIGNS - found.keys():
                if match := sign.search(text):
                    found[sign] = match[match.lastindex or 0].decode()
        asks = _ASKS in found
        return ScriptSource(
            may_ask=asks,
            leaves_unsaved=_LIGHTNING in found and _SAVES_ON_SIGTERM not in found and not asks,
            has_plain_loop={_TORCH, _LOOP} <= found.keys()
            and not {_OTHER_LOOPS, _ASKS} & found.keys(),
            other_framework=None if _OF_TORCH in found else found.get(_WITHOUT_TORCH),
            asks_ray=_ASKS_RAY in found,
        )
    except OSError:
        return ScriptSource(may_ask=True)


def texts_of(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Raises OSError where a file cannot be read, and for a folder of too many."""
    for number, path in enumerate(folder.rglob("*")):
        if number >= _MOST_FILES:
            raise OSError(f"more than {_MOST_FILES} files")
        if path.is_file() and path.stat().st_size <= _LARGEST_FILE:
            yield path, path.read_bytes()


_FILE = "tidewheel-sigterm.json"


def has_left_unsaved(folder: Path) -> bool:
    """Whether the script of an earlier attempt left on SIGTERM without saving.

    The note lies in the checkpoint folder, beside what the script saves at other times.
    """
    try:
        note = json.loads((folder / _FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(note, dict) and note.get("leftUnsaved") is True


def note_left_unsaved(folder: Path) -> None:
    write_atomically(folder / _FILE, json.dumps({"leftUnsaved": True}) + "\n")
