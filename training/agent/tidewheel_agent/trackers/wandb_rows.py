"""W&B's files before a resumed script starts: rows that come again go, rows that would be lacking
are handed to the script, whose side is for_scripts/tidewheel/_wandb_rows.py."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from tidewheel_contract.wandb_rows import Row, file_name, read_rows

from ..files import replacing
from ..log import log
from ..series.wandb_file import WandbFile
from .identity import wandb_rows_folder
from .resume_point import ResumePoint

_JOURNAL = re.compile(r"(?P<id>[\w-]+)\.\d+\.[01]\.rows|(?P<again>[\w-]+)\.again", re.ASCII)


def prepare_wandb(trackers: Path, resume: ResumePoint | None) -> int:
    """Returns the number of rows that come again. `resume`: None where it is unknown."""
    folder = wandb_rows_folder(trackers)
    folder.mkdir(exist_ok=True)
    files: dict[str, list[Path]] = {}
    for path in sorted(trackers.glob("wandb/*run-*/run-*.wandb")):
        name = file_name(path.stem.removeprefix("run-"))
        files.setdefault(name, []).append(path)
    journals: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir()):
        match = _JOURNAL.fullmatch(path.name)
        if match:
            journals.setdefault(match["id"] or match["again"], []).append(path)
    count = 0
    for name in sorted(files | journals):
        own = journals.get(name, [])
        again = folder / f"{name}.again"
        if resume is None:
            again.unlink(missing_ok=True)
        else:
            count += _prepare_run(files.get(name, []), own, again, resume)
        for path in own:
            if path != again:
                path.unlink(missing_ok=True)
    return count


def _prepare_run(
    files: Iterable[Path], journals: Iterable[Path], again: Path, resume: ResumePoint
) -> int:
    stored = [(path, offset, row) for path in files for offset, row in WandbFile(path).rows()]
    logged = sorted({row for path in journals for row in read_rows(path) if row.message})
    points = [(row.position, row.at or 0.0) for _, _, row in stored]
    last = resume.last_before_resume([*points, *((row.step, row.at) for row in logged)])
    cut: dict[Path, int] = {}
    for path, offset, row in stored:
        if row.position > last:
            cut.setdefault(path, offset)
    for path, offset in cut.items():
        os.truncate(path, offset)  # All that follows is later still.
    end = max((row.position for _, _, row in stored if row.position <= last), default=-1.0)
    lacking = [row for row in logged if end < row.step <= last]
    if lacking:
        log(f"W&B's process had not written {len(lacking)} rows up to step {lacking[-1].step}")
    count_on = int(max([end, *(row.step for row in lacking)])) + 1
    if count_on > 0:
        with replacing(again) as file:
            file.writelines(row.frame() for row in (*lacking, Row(count_on, 0.0, b"")))
    else:
        again.unlink(missing_ok=True)
    gone = {row.position for _, _, row in stored} | {float(row.step) for row in logged}
    return sum(position > last for position in gone)
