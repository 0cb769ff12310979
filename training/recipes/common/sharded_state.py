"""Checkpoints of a training whose state is spread over the ranks: each rank saves its part.

Each is a folder of torch.distributed.checkpoint, `sharded-step-00000120-attempt-1/`. Any number of
ranks can load it. With several hosts each host's folder holds the parts of its own ranks; the
bucket holds all of them, and a resumed host gets them all from there.
"""

import json
import os
import re
import shutil
import time
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.filesystem import FileSystemReader
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import async_save

import tidewheel
from common.torch_state import random_state, state_from_bytes, state_to_bytes
from common.training_state import Facts, Restored, Stateful
from common.world import World, gloo_group

_FOLDER = re.compile(r"sharded-step-(\d{8,12})-attempt-(\d{1,9})")
_METADATA = ".metadata"


class ShardedState:
    """A `Checkpoints` of the training loop. Ranks write in the background, together."""

    def __init__(self, world: World, keep: int) -> None:
        self._world, self._keep = world, keep
        root = tidewheel.checkpoint_dir()
        self._root = None if root is None else Path(root)
        # Background saves have collectives of their own, which must not meet those of the steps.
        self._group = gloo_group()
        self._saving: tuple[_Save, Future[Any]] | None = None
        self._attempt = int(os.environ.get("TIDEWHEEL_ATTEMPT", "1"))
        self._whole: list[_Save] = []
        """Newest last. One host cannot see from its files which ones are whole."""
        self._saved_at = time.monotonic()

    def restore(self, task: Stateful) -> Restored | None:
        if self._root is None:
            return None
        root = self._root
        own_whole = {save for save in _saves(root) if _is_whole(root / save.name)}
        # A host may lack what another host's last upload left out.
        whole_everywhere = set.intersection(*self._world.all_gather(own_whole))
        if not whole_everywhere:
            return None
        newest = max(whole_everywhere)
        folder = root / newest.name
        names = FileSystemReader(folder).read_metadata().state_dict_metadata
        ranks = sum(name.startswith("random.") for name in names)
        own = f"random.{self._world.rank}" if ranks == self._world.size else None
        sizes = {name: names[name].size[0] for name in ("facts", own) if name}  # type: ignore[union-attr]
        state: dict[str, Any] = {
            "task": task.state_dict(),
            **{name: torch.empty(size, dtype=torch.uint8) for name, size in sizes.items()},
        }
        facts = self._facts(folder, state["facts"])
        facts.check(task)
        load(state, checkpoint_id=folder, process_group=self._group)
        task.load_state_dict(state["task"])
        self._whole = [newest]
        return Restored(facts, ranks, _unpack(state[own]) if own else None)

    def _facts(self, folder: Path, buffer: torch.Tensor) -> Facts:
        """They come before the rest, whose shapes may be those of another training."""
        state = {"facts": buffer}
        load(state, checkpoint_id=folder, process_group=self._group)
        return Facts(**json.loads(state["facts"].numpy().tobytes()))

    def save(self, task: Stateful, facts: Facts) -> None:
        if self._root is None:
            return
        self._saved_at = time.monotonic()
        with tidewheel.saving():
            self.flush()
            save = _Save(facts.step, self._attempt)
            state = {
                "task": task.state_dict(),
                "facts": _tensor_of(json.dumps(vars(facts)).encode()),
                f"random.{self._world.rank}": _pack(random_state()),
            }
            saving = async_save(
                state, checkpoint_id=self._root / save.name, process_group=self._group
            )
            written = saving if isinstance(saving, Future) else saving.upload_completion
            self._saving = save, written

    def is_due(self) -> bool:
        if self._saving is not None and not self._saving[1].done():
            return False  # It would wait for the one before.
        interval = tidewheel.checkpoint_seconds() or float("inf")
        return time.monotonic() - self._saved_at >= interval or tidewheel.save_soon()

    def flush(self) -> None:
        if self._saving is None:
            return
        save, written = self._saving
        self._saving = None
        written.result()
        self._whole = [*self._whole, save][-self._keep :]
        self._remove_spent()

    def _remove_spent(self) -> None:
        """One rank of each host removes the folders that are neither whole nor among the newest."""
        if self._root is not None and self._world.local_rank == 0:
            for save in set(_saves(self._root)).difference(self._whole):
                folder = self._root / save.name
                # The metadata goes first: half a folder must not look like a checkpoint.
                (folder / _METADATA).unlink(missing_ok=True)
                shutil.rmtree(folder, ignore_errors=True)
        dist.barrier(group=self._world.control)


@dataclass(frozen=True, order=True)
class _Save:
    """Two attempts may save the same step. Their files must not meet in one folder."""

    step: int
    attempt: int

    @property
    def name(self) -> str:
        return f"sharded-step-{self.step:08d}-attempt-{self.attempt}"


def _saves(root: Path) -> list[_Save]:
    if not root.is_dir():
        return []
    matches = (_FOLDER.fullmatch(entry.name) for entry in root.iterdir())
    return [_Save(int(match[1]), int(match[2])) for match in matches if match]


def _is_whole(folder: Path) -> bool:
    """The metadata is written last and says where each part ends. S3 copies files in no order."""
    if not (folder / _METADATA).exists():
        return False
    stored = FileSystemReader(folder).read_metadata().storage_data or {}
    ends: dict[str, int] = {}
    for part in stored.values():
        end = part.offset + part.length
        ends[part.relative_path] = max(end, ends.get(part.relative_path, 0))
    try:
        return all((folder / name).stat().st_size >= end for name, end in ends.items())
    except OSError:
        return False


def _pack(value: dict[str, Any]) -> torch.Tensor:
    return _tensor_of(state_to_bytes(value))


def _unpack(packed: torch.Tensor) -> dict[str, Any]:
    return state_from_bytes(packed.numpy().tobytes())


def _tensor_of(content: bytes) -> torch.Tensor:
    return torch.frombuffer(bytearray(content), dtype=torch.uint8)
