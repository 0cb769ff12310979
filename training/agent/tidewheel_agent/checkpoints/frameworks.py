"""The checkpoints of scripts that do not know Tidewheel, whatever framework wrote them.

Content decides which one is whole: each family knows its files, each format its own end. Files of
an unknown format count, as a weak proof, once a set of new ones has been quiet.
"""

import contextlib
import glob
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from ..configuration.settings import CheckpointRules
from .checkpoint import Checkpoint, find_last_checkpoint
from .declared import find_declared, superseded_by
from .families import (
    hugging_face,
    orbax,
    skorch,
    spacy,
    stable_baselines3,
    tensorflow,
    torch_distributed,
    weights,
)
from .families.found import Family, Found
from .formats.files import FileReader, FileState
from .formats.step_names import explicit_position, position_in_name
from .links import find_links, followed
from .note import files_given, read_note
from .quiet_files import FAMILY as UNKNOWN_FAMILY
from .quiet_files import QUIET_SECONDS, ForeignFiles, unknown_sets
from .save_duration import Rewrites
from .tree import Folder, look

UNKNOWN_STEP = -1
_FAMILIES: tuple[Family, ...] = (
    hugging_face.find,
    hugging_face.find_accelerate,
    torch_distributed.find,
    orbax.find,
    torch_distributed.find_deepspeed,
    tensorflow.find,
    tensorflow.find_keras,
    skorch.find,
    spacy.find,
    stable_baselines3.find,
    weights.find_sharded_weights,
    weights.find_lone_weights,
)
_OWN_FILES = ("tidewheel-",)
_UNTRAINED_SECONDS = 120.0
_UNITS = {"step": 2, "epoch": 1, "saves": 0}


class FrameworkCheckpoints:
    """Finds checkpoints of all known formats in `folder`; remembers what it has read.

    `given`: files that were there before the run's first script started. They are no checkpoints.
    `rules` with a pattern overrule every guess. `has_peers`: other hosts train, too. The parts that
    they save of a sharded checkpoint stay in their folders; in the bucket all are together.
    `now`: the clock of the files, in Unix seconds.
    """

    def __init__(
        self,
        folder: Path,
        given: Mapping[str, FileState] | None = None,
        rules: CheckpointRules | None = None,
        *,
        has_peers: bool = False,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._folder = folder
        self._now = now
        self._has_peers = has_peers
        self._rules = rules if rules is not None and rules.pattern is not None else None
        self._reader = FileReader()
        self._foreign = ForeignFiles(given or {})
        self._before: Mapping[str, FileState] = {}
        self._awaits_step: Callable[[], bool] = lambda: False
        self._is_awaiting = False
        self._untrained: dict[str, tuple[Mapping[str, FileState], float]] = {}
        """What was saved before the first step, and when it was seen."""
        self.damaged: list[Found] = []
        """The checkpoints of the last look that are not whole."""
        self.whole: list[Found] = []
        """Those that are, and that count."""
        self._passed_over: list[Found] = []
        """Those that are and do not."""
        self.superseded: list[Found] = []
        """Those of the last look that `training.checkpoint.keep` does not cover."""
        self.rewrites = Rewrites()
        self.first_new: Checkpoint | None = None
        """The first that the script saved since its start."""
        self.left_out = ""
        """What the last look did not reach."""

    def script_started(
        self, unix_seconds: float, awaits_step: Callable[[], bool] = lambda: False
    ) -> None:
        """`awaits_step`: whether it is known that the script has made no step yet."""
        self._foreign.started_at = unix_seconds
        self._awaits_step = awaits_step
        self._before = dict(look(self._folder).root.all_files())
        self._reader.checks_everything = False

    def find_last(self, noted: str | None = None) -> Checkpoint | None:
        """The whole checkpoint that is furthest on, or None."""
        found = [self._without_peers(each) for each in self._find_all()]
        self._is_awaiting = self._awaits_step()
        self.damaged = [each for each in found if each.problem]
        whole = [each for each in found if self._counts(each, noted)]
        self.whole = whole
        self._passed_over = [each for each in found if not each.problem and each not in whole]
        self.rewrites.look(found, self._now())
        if self.first_new is None and self._foreign.started_at is not None:
            new = [each for each in whole if self._is_new(each)]
            first = min(new, key=lambda each: each.saved_at, default=None)
            self.first_new = None if first is None else checkpoint_of(first)
        started = self._foreign.started_at is not None
        self.superseded = superseded_by(self._rules, whole) if started else []
        best = furthest(whole, noted)
        return None if best is None else checkpoint_of(best)

    def uncounted(self) -> str:
        """Why the newest find of the last look is none, or what was there instead."""
        if self.damaged:
            worst = max(self.damaged, key=lambda each: each.saved_at)
            return f"{worst.name} is not whole: {worst.problem}"
        if self._passed_over:
            last = max(self._passed_over, key=lambda each: each.saved_at)
            why = "is a download, or was there before the run"
            return f"{last.name} {'was still being written' if last.needs_quiet else why}"
        names = (name for name, _ in look(self._folder).root.all_files())
        name = next((name for name in names if not name.startswith(_OWN_FILES)), None)
        return "no file was there" if name is None else f"{name} is of no known format"

    def _without_peers(self, found: Found) -> Found:
        """Names a missing file as damage, unless another host may have saved it just now."""
        if not found.elsewhere:
            return found
        if self._has_peers and self._foreign.started_at is not None and self._is_new(found):
            return found
        problem = found.problem or f"{next(iter(found.elsewhere))}, which it lists, is missing"
        return replace(found, problem=problem)

    def _is_new(self, found: Found) -> bool:
        """The script has written a part of it since its start."""
        return any(self._before.get(name) != state for name, state in found.files.items())

    def _counts(self, found: Found, noted: str | None) -> bool:
        if found.problem or self._foreign.holds(found, self._before) or self._is_untrained(found):
            return False
        if not found.needs_quiet or found.name == noted:
            return True
        if self._foreign.started_at is None:
            return False
        # A save that a kill has cut off is quiet, too: what another attempt left proves nothing.
        return self._is_new(found) and self._now() - found.saved_at >= QUIET_SECONDS

    def _is_untrained(self, found: Found) -> bool:
        """Such as the model that a script writes before it trains. Time shows that a loop has steps
        where no hook counts them."""
        if found.position is not None or not self._is_new(found):
            return False
        if self._is_awaiting:
            known = self._untrained.get(found.name)
            if known is None or known[0] != found.files:
                known = self._untrained[found.name] = (found.files, self._now())
            if self._now() - known[1] < _UNTRAINED_SECONDS:
                return True
            self._awaits_step = lambda: False
            self._untrained.clear()
        known = self._untrained.get(found.name)
        return known is not None and known[0] == found.files

    def _find_all(self) -> Iterator[Found]:
        if self._rules is not None:
            yield from find_declared(self._folder, self._rules, self._reader)
            return
        tree = look(self._folder)
        self.left_out = tree.left_out
        claimed: set[str] = set()
        for found in self._find_in(tree.root):
            claimed.update(found.files)
            yield found
        yield from unknown_sets(tree.root, claimed, self._before)

    def _find_in(self, folder: Folder) -> Iterator[Found]:
        claimed: set[str] = set()
        for family in _FAMILIES:
            rest = replace(
                folder,
                files={name: s for name, s in folder.files.items() if name not in claimed},
                folders={name: f for name, f in folder.folders.items() if name not in claimed},
            )
            # A file may vanish while it is read; a damaged one may hold anything.
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
                claim = family(rest, self._reader)
                if claim is not None:
                    claimed |= claim.names
                    yield from claim.found
        for name, state in folder.files.items():
            if name not in claimed and not name.startswith(_OWN_FILES):
                with contextlib.suppress(OSError, RecursionError, MemoryError):
                    single = self._single(folder, name, state)
                    if single is not None:
                        yield single
        for name, below in folder.folders.items():
            if name not in claimed:
                yield from self._find_in(below)

    def _single(self, folder: Folder, name: str, state: FileState) -> Found | None:
        reading = self._reader.read(folder.path / name, state)
        if reading is None:
            return None
        # A bare number in the name may be a version, so the position inside the file comes first.
        position = explicit_position(name)
        if position is None or position.unit != "step":
            position = reading.position or position or position_in_name(name)
            position = position or explicit_position(folder.base_name)
        return Found(
            f"{Path(name).suffix or name} file",
            folder.child(name),
            {folder.child(name): state},
            position,
            reading.problem,
            is_weights_only=reading.is_weights_only,
        )


def look_before_start(
    folder: Path, rules: CheckpointRules | None
) -> tuple[FrameworkCheckpoints, Mapping[str, FileState]]:
    """What the last attempt left, and the files that were there before the run's first script."""
    noted = read_note(folder).checkpoint
    given = files_given(folder, noted_checkpoint=noted, writes=False)
    checkpoints = FrameworkCheckpoints(folder, given, rules)
    checkpoints.find_last(noted)
    return checkpoints, given


def furthest(found: Iterable[Found], noted: str | None) -> Found | None:
    """Among equals the one named `noted` wins, then the newer one; a script does not resume from a
    copy of the best that was written right behind."""
    return max(found, key=lambda each: _rank(each, noted), default=None)


def _rank(found: Found, noted: str | None) -> tuple[int, int, int, bool, bool, float]:
    position = found.position
    proof = 0 if found.family == UNKNOWN_FAMILY else 1
    unit, step = (_UNITS[position.unit], position.step) if position else (_UNITS["saves"], -1)
    # Unknown positions are compared by their time alone.
    is_noted = position is not None and found.name == noted
    is_last = position is not None and "best" not in found.name.rpartition("/")[2]
    return proof, unit, step, is_last, is_noted, found.saved_at


def checkpoint_of(found: Found) -> Checkpoint:
    position = found.position
    return Checkpoint(
        position.step if position else UNKNOWN_STEP,
        found.name,
        found.total_steps,
        None,
        metrics=dict(found.metrics),
        size_bytes=found.size_bytes,
        saved_at=found.saved_at,
        unit=position.unit if position else "saves",
        family=found.family,
        is_weak=found.needs_quiet,
        files={
            **{name: state.size_bytes for name, state in sorted(found.files.items())},
            **found.elsewhere,
        },
    )


def newest_checkpoint(folder: Path, pattern: str, rules: CheckpointRules | None) -> str | None:
    """Its path relative to `folder`, or None where no checkpoint that counts has such a path.

    `pattern`: `*` stands for any characters of one name. Of TensorFlow's several files of one
    checkpoint the prefix is compared, which is what its readers take. A link to one is one.
    """
    own = find_last_checkpoint(folder)
    if own is not None and _matches(own.name, pattern):
        return own.name
    checkpoints, _ = look_before_start(folder, rules)
    noted = read_note(folder).checkpoint
    found = furthest((f for f in checkpoints.whole if _matches(f.name, pattern)), noted)
    if found is not None:
        return found.name
    whole = {folder / each.name for each in checkpoints.whole}
    links = (link for link in find_links(folder) if _matches(link, pattern))
    return next((link for link in links if followed(folder, folder / link) in whole), None)


def _matches(name: str, pattern: str) -> bool:
    """Every other character of the pattern is itself."""
    parts, patterns = name.split("/"), pattern.split("/")
    if len(parts) != len(patterns):
        return False
    texts = ("*".join(glob.escape(text) for text in each.split("*")) for each in patterns)
    return all(fnmatchcase(part, text) for part, text in zip(parts, texts, strict=True))
