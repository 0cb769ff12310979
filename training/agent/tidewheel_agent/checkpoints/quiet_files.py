"""Files that no format explains.

Some are not the script's: they came with its source, or are downloads. Those of unknown formats
have a weak proof: a set of new files that no longer changes.
"""

import re
from collections.abc import Iterator, Mapping

from .families.found import Found
from .formats.files import FileState
from .formats.step_names import explicit_position, position_in_name
from .tree import Folder

QUIET_SECONDS = 10.0
FAMILY = "files of an unknown format"
_NO_STATE = re.compile(
    r"\.(?:log|txt|csv|tsv|json|jsonl|yaml|yml|toml|md|html|xml|py|ipynb|sh|cfg|ini|png|jpg|jpeg|gif|svg"
    r"|webp|mp4|wav|flac|mp3|pdf|lock|pid|out|err|zip|gz)$"
)
_NOISE_FOLDERS = (".git", "wandb", "mlruns", "__pycache__", "tensorboard", "runs")
_OWN = "tidewheel-"


def unknown_sets(
    root: Folder, claimed: set[str], before: Mapping[str, FileState]
) -> Iterator[Found]:
    """One set for each folder at the top, and one for each file there.

    `before`: files from before the script started; `claimed`: names that other readers know.
    """
    for name, state in root.files.items():
        if name not in claimed and before.get(name) != state and _may_be_state(name):
            yield Found(FAMILY, name, {name: state}, position_in_name(name), needs_quiet=True)
    for folder in root.folders.values():
        if folder.base_name in _NOISE_FOLDERS:
            continue
        files = dict(folder.all_files())
        if any(name in claimed for name in files):
            continue
        new = {name for name, state in files.items() if before.get(name) != state}
        if any(_may_be_state(name) for name in new):
            position = position_in_name(folder.base_name)
            yield Found(FAMILY, folder.name, files, position, needs_quiet=True)


def _may_be_state(name: str) -> bool:
    base = name.rpartition("/")[2].lower()
    if base.startswith((_OWN, ".", "events.out.tfevents")) or base == "checkpoint":
        return False
    return _NO_STATE.search(base) is None


_CLOCK_SLACK_SECONDS = 60.0
_CACHE = re.compile(r"(?:^|/)(?:snapshots/[0-9a-f]{40}|hub/checkpoints|models--[^/]+)/")
_HASH_IN_NAME = re.compile(r"-[0-9a-f]{8,}\.[a-z0-9]+$")
_RELEASED = re.compile(
    r"(?:wide_)?(?:resnet|resnext|vgg|alexnet|densenet|inception|googlenet|mobilenet|shufflenet"
    r"|mnasnet|squeezenet|efficientnet|regnet|convnext|vit|swin|deit|beit|bert|roberta|distil"
    r"|gpt2|llama|mistral|qwen|gemma|t5|clip|sam|dino|yolo|xception|nasnet|wav2vec|whisper)"
    r"[\w.-]*\.(?:pt|pth|bin|h5|hdf5|keras|safetensors|npz|ckpt)",
    re.IGNORECASE,
)


class ForeignFiles:
    """`given`: the files that were there before the run's first script started."""

    def __init__(self, given: Mapping[str, FileState]) -> None:
        self._given = dict(given)
        self._first_versions: dict[str, Mapping[str, FileState]] = {}
        self.started_at: float | None = None
        """Unix seconds of the script's start; None before."""

    def holds(self, found: Found, before_start: Mapping[str, FileState]) -> bool:
        """`before_start`: the files that were there before this attempt's script started."""
        if all(self._given.get(name) == state for name, state in found.files.items()):
            return True
        if self._is_older_than_script(found, before_start):
            return True
        return self._is_released(found)

    def _is_older_than_script(self, found: Found, before_start: Mapping[str, FileState]) -> bool:
        """A copy or an unpacked archive keeps its old time; what the script saves is new."""
        if self.started_at is None or any(name in before_start for name in found.files):
            return False
        return found.saved_at < self.started_at - _CLOCK_SLACK_SECONDS

    def _is_released(self, found: Found) -> bool:
        """Weights of a well-known name count from their second version: a download stays
        as it is."""
        if _CACHE.search(found.name):
            return True
        base = found.name.rpartition("/")[2]
        # No release has a word for the step in its name.
        if not found.is_weights_only or explicit_position(base) is not None:
            return False
        if not _HASH_IN_NAME.search(base) and not _RELEASED.fullmatch(base):
            return False
        return self._first_versions.setdefault(found.name, found.files) == found.files
