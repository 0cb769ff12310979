"""Keeps the last whole generation while the script trains, in a thread of its own."""

import re
import shutil
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tidewheel_contract.documents import KeptManifestFile

from ...log import log
from ..families.found import Found
from ..formats.files import FileState
from .generation import (
    KEPT_FOLDER,
    SLOTS,
    Generation,
    copy_file,
    part_name,
    read_generations,
    sha256_of,
    write_generation,
)

_SHARE_OF_TIME = 0.05
_MOST_CHECKPOINTS = 8
_SPACE_FACTOR = 2
_SETTLED_SECONDS = 1.0
"""Several files of one save follow one another; a single one needs no such wait."""
_START_SECONDS = 20.0
"""That a script's start may wait for the copy of what it resumes from."""
_NUMBER = re.compile(r"\d")


class GenerationKeeper:
    """Copies checkpoints that the script writes over its own earlier ones.

    A checkpoint under a new name each time needs no copy, since the one before stays.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.generations = read_generations(folder)
        """Newest first."""
        self._versions: dict[str, Mapping[str, FileState]] = {}
        self._thread: threading.Thread | None = None
        self._next_copy = 0.0
        self._has_told = False

    def offer(self, whole: Sequence[Found], note: Mapping[str, object], has_damaged: bool) -> None:
        """`whole`: the checkpoints that are whole now; `has_damaged`: a save may be under way."""
        chosen = self._overwritten_in_place(whole)
        if not chosen or (self._thread is not None and self._thread.is_alive()):
            return
        if time.monotonic() < self._next_copy or self._is_kept(chosen):
            return
        newest = max(found.saved_at for found in chosen)
        if len(chosen) > 1 and (has_damaged or time.time() - newest < _SETTLED_SECONDS):
            return
        if self._has_space(chosen):
            self._start(chosen, note)

    def keep_before_start(self, whole: Sequence[Found], note: Mapping[str, object]) -> None:
        """Copies what no copy is kept of: a resumed script may write over its file at once.

        Nothing changes the files yet. Waits until the copy is made, for `_START_SECONDS` at most;
        a longer one goes on beside the script, as those of `offer` do.
        """
        chosen = self._overwritten_in_place(whole)
        if not chosen or self._is_kept(chosen) or not self._has_space(chosen):
            return
        thread = self._start(chosen, note)
        thread.join(_START_SECONDS)
        if not thread.is_alive():
            # It took nothing of the script's time.
            self._next_copy = 0.0

    def _start(self, chosen: Sequence[Found], note: Mapping[str, object]) -> threading.Thread:
        arguments = (chosen, dict(note))
        self._thread = threading.Thread(
            target=self._keep, args=arguments, daemon=True, name="keep-generation"
        )
        self._thread.start()
        return self._thread

    def _overwritten_in_place(self, whole: Sequence[Found]) -> list[Found]:
        """A name without a number will be written again; another one may have been already."""
        kept = {f.checkpoint for g in self.generations for f in g.files.values()}
        chosen = []
        for found in whole:
            earlier = self._versions.setdefault(found.name, found.files)
            if found.name in kept or earlier != found.files or not _NUMBER.search(found.name):
                chosen.append(found)
        return sorted(chosen, key=lambda found: -found.saved_at)[:_MOST_CHECKPOINTS]

    def _is_kept(self, chosen: Sequence[Found]) -> bool:
        kept = self.generations[0].files if self.generations else {}
        return all(
            name in kept and _version(kept[name]) == state
            for found in chosen
            for name, state in found.files.items()
        )

    def _has_space(self, chosen: Sequence[Found]) -> bool:
        needed = _SPACE_FACTOR * sum(found.size_bytes for found in chosen)
        try:
            has_space = shutil.disk_usage(self._folder).free > needed
        except OSError:
            return False
        if not has_space and not self._has_told:
            self._has_told = True
            log(
                "the disk has no space to keep the checkpoint before: a damaged one is not replaced"
            )
        return has_space

    def _keep(self, chosen: Sequence[Found], note: Mapping[str, object]) -> None:
        started = time.monotonic()
        try:
            generation = self._copy(chosen, note)
        except OSError as error:
            # Most often the script has replaced the file meanwhile.
            generation = None
            if not isinstance(error, FileNotFoundError):
                log(f"the checkpoint before is not kept: {error}")
        ended = time.monotonic()
        self._next_copy = ended + (ended - started) / _SHARE_OF_TIME
        if generation is not None:
            write_generation(self._folder, generation)
            self.generations = [generation, *self.generations][: len(SLOTS)]

    def _copy(self, chosen: Sequence[Found], note: Mapping[str, object]) -> Generation | None:
        last = self.generations[0] if self.generations else None
        files: dict[str, KeptManifestFile] = {}
        for found in chosen:
            for name, state in found.files.items():
                before = last.files.get(name) if last is not None else None
                if before is not None and _version(before) == state:
                    files[name] = before
                    continue
                part = self._copy_part(name, state, before)
                if part is None:
                    return None
                path = self._folder / KEPT_FOLDER / part
                has_position = found.position is not None
                files[name] = KeptManifestFile(
                    part=part,
                    bytes=state.size_bytes,
                    sha256=sha256_of(path),
                    modified_ns=state.modified_ns,
                    checkpoint=found.name,
                    has_position=has_position,
                    is_weak=found.needs_quiet,
                )
        slot = SLOTS[1] if last is not None and last.slot == SLOTS[0] else SLOTS[0]
        return Generation((last.sequence if last else 0) + 1, slot, files, note)

    def _copy_part(
        self, name: str, state: FileState, before: KeptManifestFile | None
    ) -> str | None:
        """None when the script has changed the file meanwhile."""
        slot = SLOTS[1] if before is not None and before.part.endswith(SLOTS[0]) else SLOTS[0]
        part = part_name(name, slot)
        source = self._folder / name
        copy_file(source, self._folder / KEPT_FOLDER / part)
        status = source.stat()
        is_same = (status.st_size, status.st_mtime_ns) == (state.size_bytes, state.modified_ns)
        return part if is_same else None


def _version(file: KeptManifestFile) -> FileState:
    return FileState(file.bytes, file.modified_ns)
