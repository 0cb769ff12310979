"""What an evaluation wrote of each sample: one file an attempt, by which the model is judged.

`tidewheel.score` appends to it. A script without that module writes `scores.jsonl` into its model
folder: one JSON object a line, with the sample's `key` and a number for each metric.
"""

import shutil
from pathlib import Path

from tidewheel_contract.documents import SCORES_FILE

from ..configuration.job import Job
from ..files import replacing
from ..log import log
from ..trackers.identity import run_identity

IN_MODEL = "scores.jsonl"
_MOST_BYTES = 16 * 1024 * 1024
"""A longer file counts as none: the service would not read it."""


def forget_scores(job: Job) -> None:
    """Before the script starts: a start of this attempt that was cut short has scored a part."""
    path = _scores_file(job)
    if path is not None:
        path.unlink(missing_ok=True)


def take_scores(job: Job) -> None:
    """Once the script has ended well: what lies in the model folder counts, unless it called
    `tidewheel.score`.
    """
    path, written = _scores_file(job), job.base / "model" / IN_MODEL
    if path is not None and not path.exists():
        keep_scores(written, path)


def keep_scores(written: Path, path: Path) -> bool:
    """Copies a script's scores, unless there are none that the service would read."""
    if not written.is_file() or written.is_symlink():
        return False
    size = written.stat().st_size
    if size > _MOST_BYTES:
        log(f"{IN_MODEL} has {size} bytes, more than {_MOST_BYTES}: the model is not judged by it")
        return False
    path.parent.mkdir(exist_ok=True)
    with written.open("rb") as read, replacing(path) as write:
        shutil.copyfileobj(read, write)
    return True


def _scores_file(job: Job) -> Path | None:
    if job.checkpoint_dir is None or not job.is_leader:
        return None
    identity = run_identity(job)
    return job.checkpoint_dir / SCORES_FILE.format(attempt=identity.attempt if identity else 1)
