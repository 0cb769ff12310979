"""Before a script resumes: a checkpoint that a kill has cut off gives way to the last whole one.

Nothing is deleted: what was damaged lies in `tidewheel-set-aside/`.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tidewheel_contract.documents import ProgressNote
from tidewheel_contract.reading import path_in

from ...configuration.settings import CheckpointRules
from ...files import change_document, read_document, write_atomically
from ...log import log
from ..checkpoint import find_last_checkpoint
from ..families.found import Found
from ..formats.files import FileState
from ..formats.sqlite import BESIDE_SQLITE
from ..formats.step_names import position_in_name
from ..frameworks import FrameworkCheckpoints, look_before_start
from ..note import read_note
from ..tree import Folder, is_skipped, look
from .generation import KEPT_FOLDER, Generation, copy_file, is_intact, read_generations, sha256_of
from .pointers import SET_ASIDE_FOLDER, turn_pointers

_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True)
class Repair:
    """What was put in the place of a checkpoint."""

    name: str
    problem: str
    instead: str
    """Where the script resumes now, in words."""
    step: int | None
    note: Mapping[str, object] = field(default_factory=dict)
    """The progress note of that checkpoint's time; empty where it is not known."""


def repair(folder: Path, rules: CheckpointRules | None, *, leads: bool) -> list[Repair]:
    """Tidewheel's own layout needs none: its readers take the one before by themselves.

    `leads`: this host writes the progress note.
    """
    if find_last_checkpoint(folder) is not None:
        return []
    view = _View.of(folder, rules)
    _remove_empty_begun(view)
    done = _replace_damaged(view)
    cut_off = [*view.damaged, *cut_short(view.begun, view.whole)]
    done += _set_aside_newer(view, [d for d in cut_off if d.name not in {r.name for r in done}])
    for each in done:
        log(f"{each.name} is damaged ({each.problem}): the script resumes from {each.instead}")
    if done and leads:
        _correct_note(view, done)
    return done


def step_back(folder: Path, rules: CheckpointRules | None) -> Repair | None:
    """Puts the generation before in the place of the newest checkpoint, which seems whole.

    None where there is no other one.
    """
    if find_last_checkpoint(folder) is not None:
        return None
    view = _View.of(folder, rules)
    done = (
        _set_aside_begun(view)
        or _put_back_other_version(view)
        or _set_aside_furthest(view)
        or _set_aside_first(view)
    )
    if done is not None:
        _correct_note(view, [done])
    return done


@dataclass(frozen=True)
class _View:
    """The checkpoint folder as the last attempt left it."""

    folder: Path
    root: Folder
    files: Mapping[str, FileState]
    whole: list[Found]
    damaged: list[Found]
    begun: list[Found]
    """Folders of saves in which nothing was recognised."""
    generations: list[Generation]

    @classmethod
    def of(cls, folder: Path, rules: CheckpointRules | None) -> _View:
        checkpoints, given = look_before_start(folder, rules)
        damaged = [
            found for found in checkpoints.damaged if not found.files.items() <= given.items()
        ]
        root = look(folder).root
        begun = begun_folders(root, [*checkpoints.whole, *checkpoints.damaged], given)
        files, generations = dict(root.all_files()), read_generations(folder)
        return cls(folder, root, files, checkpoints.whole, damaged, begun, generations)


def _replace_damaged(view: _View) -> list[Repair]:
    """By the newest generation, where it holds what is damaged, cut short or gone."""
    if not view.generations:
        return []
    generation = view.generations[0]
    problems = _problems(view, generation)
    if not problems:
        return []
    # Files without a position of their own, such as model.pt and optimizer.pt, are of one save.
    folders = {_parent(name) for name in problems if not _has_position(generation, name)}
    neighbours = {
        file.checkpoint
        for file in generation.files.values()
        if not file.has_position and _parent(file.checkpoint) in folders
    }
    names = [n for c in {*problems, *neighbours} for n in generation.names_of(c)]
    if not is_intact(view.folder, generation, names) or not _put_back(view, generation, names):
        return []
    step = _step_of(generation.note)
    instead = "its copy of the last whole one" + ("" if step is None else f", step {step}")
    note = generation.note
    return [
        Repair(name, problem, instead, step, note) for name, problem in sorted(problems.items())
    ]


def _problems(view: _View, generation: Generation) -> dict[str, str]:
    """Why each kept checkpoint does not serve as it lies there."""
    problems: dict[str, str] = {}
    for found in view.damaged:
        for name in found.files.keys() & generation.files.keys():
            problems[generation.files[name].checkpoint] = found.problem
    for name, file in generation.files.items():
        state = view.files.get(name)
        if state is None and not view.whole:
            problems.setdefault(file.checkpoint, f"{name} is gone")
        elif state is not None and file.is_weak and state.size_bytes < file.bytes:
            shown = f"{name} has {state.size_bytes} of {file.bytes} bytes"
            problems.setdefault(file.checkpoint, shown)
    return problems


def _set_aside_newer(view: _View, damaged: Iterable[Found]) -> list[Repair]:
    """Those further on than the last whole one: a script would take them for the newest."""
    last = max(filter(_counts_steps, view.whole), key=_step_of_found, default=None)
    done = []
    for found in damaged:
        if last is None or not _counts_steps(found) or not _is_newer(found, last):
            continue
        if _set_aside(view, found.files, found.name, last.name):
            step = _step_of_found(last)
            done.append(Repair(found.name, found.problem, f"{last.name}, step {step}", step))
    return done


def _is_newer(found: Found, last: Found) -> bool:
    """XGBoost's `model_3.ubj` has four rounds: what is in one file is not compared with a name."""
    names = position_in_name(_base(found)), position_in_name(_base(last))
    if _DIGITS.sub("", found.name) == _DIGITS.sub("", last.name) and names[0] and names[1]:
        return names[0].step > names[1].step
    return _step_of_found(found) > _step_of_found(last)


def _base(found: Found) -> str:
    return found.name.rpartition("/")[2]


def _remove_empty_begun(view: _View) -> None:
    for found in view.begun:
        if not found.files:
            remove_empty_folder(view.root.folders[found.name])


def _set_aside_begun(view: _View) -> Repair | None:
    """Those further on than all whole checkpoints: the script may have tried to load one."""
    steps = [f for f in view.whole if _counts_steps(f)]
    last = max(steps, key=_step_of_found, default=None)
    after = -1 if last is None else _step_of_found(last)
    newer = [f for f in view.begun if f.files and _step_of_found(f) > after]
    instead = None if last is None else last.name
    if not newer or not all(_set_aside(view, f.files, f.name, instead) for f in newer):
        return None
    furthest = max(newer, key=_step_of_found).name
    if last is None:
        return Repair(furthest, "", "the beginning", None)
    return Repair(furthest, "", last.name, after)


def _put_back_other_version(view: _View) -> Repair | None:
    """From the newest generation that differs from what lies there."""
    for generation in view.generations:
        names = list(generation.files)
        differs = [n for n in names if not _is_same(view, generation, n)]
        if differs and is_intact(view.folder, generation, names):
            if not _put_back(view, generation, names):
                return None
            checkpoint = generation.files[differs[0]].checkpoint
            step = _step_of(generation.note)
            return Repair(checkpoint, "", "its copy of the one before", step, generation.note)
    return None


def _set_aside_furthest(view: _View) -> Repair | None:
    steps = sorted((f for f in view.whole if _counts_steps(f)), key=_step_of_found)
    if len(steps) < 2 or _step_of_found(steps[-2]) == _step_of_found(steps[-1]):
        return None
    last, before = steps[-1], steps[-2]
    if not _set_aside(view, last.files, last.name, before.name):
        return None
    return Repair(last.name, "", before.name, _step_of_found(before))


def _set_aside_first(view: _View) -> Repair | None:
    """The run's first save was cut off, before any checkpoint was whole."""
    if view.whole or not view.damaged:
        return None
    if not all(_set_aside(view, found.files, found.name) for found in view.damaged):
        return None
    return Repair(view.damaged[0].name, "", "the beginning", None)


def _put_back(view: _View, generation: Generation, names: Iterable[str]) -> bool:
    named = [*names]
    names = [name for name in named if not _is_same(view, generation, name)]
    # What a database has beside itself belongs to the state that goes.
    beside = [f"{name}{ending}" for name in named for ending in BESIDE_SQLITE]
    if not _set_aside(view, [name for name in [*names, *beside] if name in view.files]):
        return False
    try:
        for name in names:
            file = generation.files[name]
            copy_file(view.folder / KEPT_FOLDER / file.part, view.folder / name)
            os.utime(view.folder / name, ns=(file.modified_ns, file.modified_ns))
    except OSError as error:
        log(f"the last whole checkpoint cannot be put back: {error}")
        return False
    return True


def _is_same(view: _View, generation: Generation, name: str) -> bool:
    """By size and hash: a download has changed the time."""
    state, file = view.files.get(name), generation.files[name]
    if state is None or state.size_bytes != file.bytes:
        return False
    if state.modified_ns == file.modified_ns:
        return True
    with contextlib.suppress(OSError):
        return sha256_of(view.folder / name) == file.sha256
    return False


def _set_aside(
    view: _View, files: Iterable[str], name: str = "", instead: str | None = None
) -> bool:
    """`name`: of the checkpoint, where none comes in its place; `instead`: the one to which then
    points what has pointed to it. Without one such a pointer goes, too: it would lead nowhere."""
    try:
        pointers = set(turn_pointers(view.folder, view.whole, name, instead)) if name else set()
        for each in (file for file in files if file not in pointers):
            target = view.folder / SET_ASIDE_FOLDER / each
            target.parent.mkdir(parents=True, exist_ok=True)
            (view.folder / each).replace(target)
            _remove_empty(view.folder, (view.folder / each).parent)
    except OSError as error:
        log(f"a damaged checkpoint cannot be set aside: {error}")
        return False
    return True


def _remove_empty(top: Path, folder: Path) -> None:
    """A script would take an empty `checkpoint-50/` for a checkpoint."""
    while folder != top:
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent


def _correct_note(view: _View, done: list[Repair]) -> None:
    """The service and the trackers must not believe a step that is gone."""
    note = read_note(view.folder)
    noted = note.checkpoint
    if noted is None:
        return
    earlier = next((dict(each.note) for each in done if each.name == noted and each.note), None)
    back = FrameworkCheckpoints(view.folder).find_last(noted)
    path = path_in(view.folder, ProgressNote)
    if earlier is not None:
        write_atomically(path, json.dumps(earlier, sort_keys=True) + "\n")
    elif back is not None and note.step is not None and 0 <= back.step < note.step:
        known = read_document(ProgressNote, path)
        if known is not None:
            corrected = replace(known, step=back.step, checkpoint=back.name, files=None)
            change_document(path, corrected)


def _counts_steps(found: Found) -> bool:
    return found.position is not None and found.position.unit != "saves"


def _step_of_found(found: Found) -> int:
    return found.position.step if found.position is not None else -1


def _step_of(note: Mapping[str, object]) -> int | None:
    step = note.get("step")
    return step if isinstance(step, int) else None


def _has_position(generation: Generation, checkpoint: str) -> bool:
    return any(f.has_position for f in generation.files.values() if f.checkpoint == checkpoint)


def _parent(name: str) -> str:
    return name.rpartition("/")[0]


def begun_folders(
    root: Folder, known: Iterable[Found], given: Mapping[str, FileState]
) -> list[Found]:
    """Folders with a step in their names in which nothing was recognised, also empty ones.

    A framework makes `checkpoint-40/` first and fills it file by file. A kill leaves it empty or
    with the first files, and a script that resumes from the highest number finds nothing to load.

    `known`: what was. `given`: files that were there before the run began.
    """
    claimed = {name.split("/")[0] for found in known for name in (found.name, *found.files)}
    begun = []
    for name, folder in root.folders.items():
        position, files = position_in_name(name), dict(folder.all_files())
        is_given = bool(files) and files.items() <= given.items()
        if position is not None and name not in claimed and not is_given:
            begun.append(Found("", name, files, position))
    return begun


def cut_short(begun: Iterable[Found], whole: Iterable[Found]) -> list[Found]:
    """Those that lack files which a whole checkpoint of the same naming has; with the problem."""
    return [
        replace(found, problem=problem)
        for found in begun
        if found.files and (problem := _lacks(found, whole))
    ]


def _lacks(found: Found, whole: Iterable[Found]) -> str:
    for other in whole:
        if _DIGITS.sub("", other.name) != _DIGITS.sub("", found.name):
            continue
        missing = sorted(_names_in(other) - _names_in(found))
        if missing and _names_in(found) <= _names_in(other):
            return f"{found.name} lacks {missing[0]}, which {other.name} has"
    return ""


def _names_in(found: Found) -> set[str]:
    """Without temporary names: safetensors writes `.tmpRPf7h4` and gives it its own name then."""
    names = {name.removeprefix(f"{found.name}/") for name in found.files}
    return {name for name in names if not is_skipped(name.rpartition("/")[2])}


def remove_empty_folder(folder: Folder) -> None:
    """With the empty folders in it."""
    for below in folder.folders.values():
        remove_empty_folder(below)
    with contextlib.suppress(OSError):
        folder.path.rmdir()
