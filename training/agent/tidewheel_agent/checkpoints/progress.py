"""The progress note: work that a checkpoint proves done. The service judges attempts by it."""

import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from tidewheel_contract import documents
from tidewheel_contract.reading import UnreadableError, path_in, plain, read

from ..configuration.settings import CheckpointRules
from ..files import write_document
from ..log import iso, iso_now, log
from .checkpoint import Checkpoint, find_last_checkpoint
from .checksums import Checksums
from .declared import remove
from .frameworks import UNKNOWN_STEP, FrameworkCheckpoints, checkpoint_of
from .kept.copier import GenerationKeeper
from .kept.generation import KEPT_FOLDER, Generation
from .links import note_links
from .log_progress import LogProgress
from .note import files_given, read_note
from .save_duration import save_duration

_WEIGHT_OF_LAST_SAVE = 0.3
_COLD_SAVES = 1
"""They count only until a later save is measured."""
_MOST_FILES_IN_NOTE = 500
_SHARE_OF_TIME = 0.05
"""Of the agent's time that looking may take in a folder with very many files."""


class ProgressReporter:
    """Watches the checkpoint folder; the leader's reporter writes the note for each new checkpoint.

    The script of another host may be the one that saves. There `send` tells the leader of each
    checkpoint, and on the leader `peer_checkpoint` returns the newest of those.
    """

    def __init__(
        self,
        folder: Path | None,
        *,
        leader: bool,
        log_progress: LogProgress,
        rules: CheckpointRules | None = None,
        has_peers: bool = False,
        peer_checkpoint: Callable[[], Checkpoint | None] = lambda: None,
        send: Callable[[Checkpoint], None] = lambda checkpoint: None,
        now: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._monotonic = monotonic
        self._peer_checkpoint = peer_checkpoint
        self._is_automatic = rules is not None and rules.automatic
        self._send = send
        self._folder = folder
        self._leader = leader
        self._log_progress = log_progress
        self._started_at: float | None = None
        self._usage_means: Callable[[], dict[str, float]] = dict
        self._take_pace: Callable[[], dict[str, float]] = dict
        self._skipped_seconds: Callable[[], float] = float
        self._pace: dict[str, float] = {}
        note = read_note(folder)
        self._noted = note.checkpoint
        self._earlier_seconds, self._earlier_step = note.training_seconds, note.step
        self._frameworks: FrameworkCheckpoints | None = None
        if folder is not None:
            given = files_given(folder, noted_checkpoint=note.checkpoint, writes=leader)
            self._frameworks = FrameworkCheckpoints(
                folder, given, rules, has_peers=has_peers, now=now
            )
        keeps = folder is not None and leader
        self._keeper = GenerationKeeper(folder) if folder is not None and keeps else None
        self._checksums = Checksums(folder) if folder is not None else None
        self._noted_generations: list[Generation] = []
        self._note: dict[str, object] = {}
        self._first_own: Checkpoint | None = None
        self._next_look = self._next_links = 0.0
        self._links: Mapping[str, str] | None = None
        self._told: set[str] = set()
        self._counted_step = self._earlier_step or 0
        """The step given to checkpoints whose own step is unknown."""
        self._reported: Checkpoint | None = None
        self.newest: Checkpoint | None = None
        self._measured_saves = 0
        self.save_seconds: float | None = None
        """Mean duration of a save, weighted towards the last ones; None before the first."""
        self.newest = self._find(is_first_look=True)
        if self.newest:
            known = "" if self.newest.unit == "saves" else f", {self.newest.position}"
            log(f"resumable from {self.newest.name}{known}")

    def keep_before_start(self) -> None:
        """Call right before the script starts: it may overwrite what it resumes from at once."""
        if self._keeper is None or self._frameworks is None or self.newest is None:
            return
        self._note = plain(self._note_of(self.newest))
        self._keeper.keep_before_start(self._frameworks.whole, self._note)

    def script_started(
        self,
        unix_seconds: float,
        usage_means: Callable[[], dict[str, float]],
        take_pace: Callable[[], dict[str, float]] = dict,
        awaits_step: Callable[[], bool] = lambda: False,
        skipped_seconds: Callable[[], float] = float,
    ) -> None:
        """`usage_means`: how busy this host is; the service forecasts other topologies from it.
        `take_pace`: means since its last call. `skipped_seconds`: of reading again what was read
        before the checkpoint."""
        self._started_at = unix_seconds
        if self._frameworks is not None:
            self._frameworks.script_started(unix_seconds, awaits_step)
        self._usage_means = usage_means
        self._take_pace = take_pace
        self._skipped_seconds = skipped_seconds

    @property
    def has_trained(self) -> bool:
        """This script has printed a step or saved a checkpoint."""
        is_new = self.newest is not None and self.newest.saved_at > (self._started_at or 0.0)
        return self._log_progress.step is not None or is_new

    @property
    def first_new(self) -> Checkpoint | None:
        """The first checkpoint that this script has saved."""
        if self._first_own is not None:
            return self._first_own
        return self._frameworks.first_new if self._frameworks is not None else None

    @property
    def whole(self) -> list[Checkpoint]:
        """All that count, where frameworks saved them."""
        return [checkpoint_of(f) for f in self._frameworks.whole] if self._frameworks else []

    @property
    def uncounted(self) -> str:
        """Why nothing that is there counts."""
        is_open = self.newest is None and not self._is_automatic
        return self._frameworks.uncounted() if self._frameworks is not None and is_open else ""

    def check(self) -> Checkpoint | None:
        """Looks for a new complete checkpoint and reports it; returns the newest one known."""
        newest = self._find()
        self._note_links()
        self._remove_superseded()
        peer = self._peer_checkpoint() if self._leader and self._folder is not None else None
        if peer is not None and (newest is None or newest.step < peer.step):
            newest = peer
        if newest is None or newest == self._reported:
            self._keep_generation()
            return self.newest
        is_new_step = self.newest is None or newest.step != self.newest.step
        if newest is not peer:
            self._measure_save(newest)
        self.newest = self._reported = newest
        if self._leader:
            self._write_note(newest)
        elif is_new_step:
            self._send(newest)
        if is_new_step:
            total = f" of {newest.total_steps}" if newest.total_steps else ""
            log(f"checkpoint {newest.name} is complete: {newest.position}{total} is safe")
            self._tell_guess(newest)
        self._keep_generation()
        return newest

    def _note_links(self) -> None:
        """After the look: a script turns its link once the checkpoint is whole."""
        started = self._monotonic()
        if self._folder is None or self._started_at is None or started < self._next_links:
            return
        self._links = note_links(self._folder, self._links)
        ended = self._monotonic()
        self._next_links = ended + (ended - started) / _SHARE_OF_TIME - 1.0

    def _remove_superseded(self) -> None:
        """Once after each look: what `training.checkpoint.keep` does not cover."""
        frameworks = self._frameworks
        if self._folder is not None and frameworks is not None and frameworks.superseded:
            remove(self._folder, frameworks.superseded)
            frameworks.superseded = []

    def _keep_generation(self) -> None:
        """The note lists what is kept, so that the service can believe it where the newest is not
        whole in the bucket."""
        if self._keeper is None or self._frameworks is None or not self._note:
            return
        self._keeper.offer(self._frameworks.whole, self._note, bool(self._frameworks.damaged))
        if self._keeper.generations != self._noted_generations and self._reported is not None:
            self._write_note(self._reported)

    def _tell_guess(self, newest: Checkpoint) -> None:
        """Once for each family: what was taken for a checkpoint, and for its step."""
        if not newest.family:
            return
        units = {"step": "its step", "epoch": "its epoch as step", "saves": "the number of saves"}
        weak = "; nothing but its quiet shows that it is whole" if newest.is_weak else ""
        self._tell_once(
            f"taken for a checkpoint: {newest.family}, by {units[newest.unit]}{weak} "
            "(training.checkpoint overrules this)"
        )

    def _tell_once(self, line: str) -> None:
        if line not in self._told:
            self._told.add(line)
            log(line)

    def _measure_save(self, newest: Checkpoint) -> None:
        """The script's own measurement counts; the files' timestamps stand in where it has none."""
        if self._folder is None or self._started_at is None:
            return
        if newest.saved_at < self._started_at:
            return
        since = max(self._started_at, self._reported.saved_at if self._reported else 0.0)
        seconds = self._log_progress.save_seconds
        began = self._frameworks.rewrites.began(newest.name) if self._frameworks else None
        if seconds is None:
            seconds = save_duration(self._folder, newest, since)
        if seconds is None and began is not None:
            seconds = max(0.0, newest.saved_at - began)
        if seconds is None:
            return
        # The first save is a cold one: libraries load, and the file system allocates.
        weight = 1.0 if self._measured_saves < _COLD_SAVES + 1 else _WEIGHT_OF_LAST_SAVE
        self._measured_saves += 1
        self.save_seconds = (1 - weight) * (self.save_seconds or 0.0) + weight * seconds

    def _find(self, *, is_first_look: bool = False) -> Checkpoint | None:
        """Tidewheel's own layout proves itself; frameworks' checkpoints count where it has none."""
        if self._folder is None or self._frameworks is None:
            return None
        own = self._find_own(self._folder)
        # Under the hooks a rank's file proves nothing before the marker.
        if own is not None or self._is_automatic:
            return own
        started = self._monotonic()
        if started < self._next_look:
            return self._reported
        other = self._frameworks.find_last(self._noted if is_first_look else None)
        ended = self._monotonic()
        self._next_look = ended + (ended - started) / _SHARE_OF_TIME - 1.0
        if self._frameworks.left_out:
            self._tell_once(f"not looked at for checkpoints: {self._frameworks.left_out}")
        if is_first_look:
            for damaged in self._frameworks.damaged:
                log(f"not whole, so it does not count: {damaged.name}: {damaged.problem}")
        if other is None or other.step != UNKNOWN_STEP:
            return other
        if is_first_look:
            return replace(other, step=self._counted_step)
        return self._count(other)

    def _find_own(self, folder: Path) -> Checkpoint | None:
        own = find_last_checkpoint(folder)
        if own is not None and self._first_own is None and self._started_at is not None:
            self._first_own = own if own.saved_at >= self._started_at else None
        return own

    def _count(self, checkpoint: Checkpoint) -> Checkpoint:
        """Gives a step to a checkpoint that names none, since it still proves that work was done.

        It is the step in the log, or one more than the last.
        """
        last = self._reported or self.newest
        version = (checkpoint.name, checkpoint.saved_at)
        if last is not None and (last.name, last.saved_at) == version:
            return last
        # Ultralytics takes the epoch out of its files at the end: they are not behind the last one.
        known = last.step if last is not None and last.unit != "saves" else 0
        self._counted_step = self._log_progress.step or max(self._counted_step + 1, known)
        return replace(checkpoint, step=self._counted_step)

    def _training_seconds(self, checkpoint: Checkpoint) -> float:
        if checkpoint.training_seconds is not None:
            return checkpoint.training_seconds
        if self._started_at is None or checkpoint.step == self._earlier_step:
            return self._earlier_seconds
        # To replay, or to skip data by reading it again, is no training.
        lost = self._log_progress.replay_seconds + self._skipped_seconds()
        return self._earlier_seconds + max(0.0, checkpoint.saved_at - self._started_at - lost)

    def _note_of(self, checkpoint: Checkpoint) -> documents.ProgressNote:
        usage = self._usage_means()
        # A note that comes before the next ten seconds are measured keeps the last pace.
        self._pace = self._take_pace() or self._pace
        is_framework = checkpoint.family != ""
        return documents.ProgressNote(
            step=checkpoint.step,
            total_steps=checkpoint.total_steps or self._log_progress.total or 0,
            training_seconds=round(self._training_seconds(checkpoint), 3),
            save_seconds=None if self.save_seconds is None else round(self.save_seconds, 3),
            usage=read(documents.ProgressNoteUsage, usage) if usage else None,
            pace=read(documents.ProgressNotePace, self._pace) if self._pace else None,
            metrics={**self._log_progress.metrics, **checkpoint.metrics},
            checkpoint=checkpoint.name,
            unit=checkpoint.unit if is_framework else None,
            proof=("quiet" if checkpoint.is_weak else "whole") if is_framework else None,
            files=_files_of(checkpoint, self._checksums),
            updated_at=iso(checkpoint.saved_at) if checkpoint.saved_at else iso_now(),
        )

    def _write_note(self, checkpoint: Checkpoint) -> None:
        assert self._folder is not None
        note = self._note_of(checkpoint)
        self._note = plain(note)
        if self._keeper is not None and self._keeper.generations:
            self._noted_generations = self._keeper.generations
            kept = [g for g in self._noted_generations if len(g.files) <= _MOST_FILES_IN_NOTE]
            note = replace(note, kept=[each for g in kept if (each := _kept(g)) is not None])
        write_document(path_in(self._folder, documents.ProgressNote), note)


def _kept(generation: Generation) -> documents.ProgressNoteKept | None:
    """The note of a generation, with its parts in place of the files; None for one of a script."""
    parts = {f"{KEPT_FOLDER}/{file.part}": file for file in generation.files.values()}
    files = {name: {"bytes": file.bytes} for name, file in parts.items()}
    with contextlib.suppress(UnreadableError):
        return read(documents.ProgressNoteKept, {**generation.note, "files": files})
    return None


def _files_of(
    checkpoint: Checkpoint, checksums: Checksums | None
) -> dict[str, documents.ProgressNoteFile] | None:
    """What the service compares with the bucket."""
    if not checkpoint.files or len(checkpoint.files) > _MOST_FILES_IN_NOTE:
        return None
    etags = checksums.of([*checkpoint.files]) if checksums is not None else {}
    return {
        name: documents.ProgressNoteFile(bytes=size, etag=etags.get(name))
        for name, size in checkpoint.files.items()
    }
