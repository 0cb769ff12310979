"""MLflow's file store under the checkpoint folder: which run is this one, and what it logs again.

Layout: mlflow/store/tracking/file_store.py. `<experiment>/<run>/` holds `meta.yaml`, `tags/<name>`
and `metrics/<name>`, whose lines are `<milliseconds> <value> <step>`.
"""

import json
import re
import time
from pathlib import Path

from ..files import write_atomically
from .identity import RUN_TAG
from .resume_point import ResumePoint

_RUN_ID = re.compile(r"[0-9a-f]{32}")
_ARTIFACTS = re.compile(r"^(artifact_(?:uri|location): )file:\S*?(/artifacts)?$", re.MULTILINE)
_PARENT_TAG = "mlflow.parentRunId"


def find_mlflow_run(store: Path, identity: str) -> str | None:
    """The first run that an earlier attempt made: MLFLOW_RUN_ID stands for the first one only."""
    found = []
    for folder in _runs(store, identity):
        if (folder / "tags" / _PARENT_TAG).exists():
            continue
        text = _text(folder / "meta.yaml")
        start = re.search(r"^start_time: (\d+)$", text, re.MULTILINE)
        if start and re.search(r"^lifecycle_stage: active$", text, re.MULTILINE):
            found.append((int(start[1]), folder.name))
    return min(found)[1] if found else None


def restore_mlflow_metadata(store: Path, identity: str) -> int:
    """Writes the `meta.yaml` that a kill has emptied again; returns how many.

    MLflow overwrites it in place when a run is resumed or ends. Without it the store does not know
    the run, and the next attempt would be another one.
    """
    count = 0
    for folder in _runs(store, identity):
        path = folder / "meta.yaml"
        text = _text(path)
        if "\nlifecycle_stage: " in text and "\nstart_time: " in text and text.endswith("\n"):
            continue
        write_atomically(path, _remade_meta(folder))
        count += 1
    return count


def _remade_meta(folder: Path) -> str:
    """What MLflow writes for an active run (`_make_persisted_run_info_dict`), from its files."""
    tags = folder / "tags"
    values = {
        "artifact_uri": (folder / "artifacts").as_uri(),
        "end_time": "null",
        "entry_point_name": "''",
        "experiment_id": json.dumps(folder.parent.name),
        "lifecycle_stage": "active",
        "run_id": json.dumps(folder.name),
        "run_name": json.dumps(_text(tags / "mlflow.runName") or folder.name),
        "source_name": "''",
        "source_type": "4",
        "source_version": "''",
        "start_time": str(_first_moment(folder)),
        "status": "1",
        "tags": "[]",
        "user_id": json.dumps(_text(tags / "mlflow.user")),
    }
    return "".join(f"{name}: {value}\n" for name, value in values.items())


def _first_moment(folder: Path) -> int:
    """Milliseconds of the first metric, else now."""
    texts = [_text(path) for path in (folder / "metrics").rglob("*") if path.is_file()]
    found = (re.match(r"(\d{1,15}) ", text) for text in texts)
    return min((int(match[1]) for match in found if match), default=int(time.time() * 1000))


def move_mlflow_store(store: Path) -> None:
    """Points artifacts to this folder: it may lie elsewhere than in the attempt before."""
    for path in [*store.glob("*/meta.yaml"), *store.glob("*/*/meta.yaml")]:
        text = _text(path)
        moved = _ARTIFACTS.sub(rf"\g<1>{_escaped(path.parent.as_uri())}\g<2>", text)
        if moved != text:
            write_atomically(path, moved)


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\")


def forget_lost_metrics(store: Path, identity: str, resume: ResumePoint | None) -> int:
    """Removes the points that this attempt will log again; returns their number.

    Also corrects what a kill has cut short: MLflow resumes no run that has a metric with an empty
    file or half a line.
    """
    count = 0
    for folder in _runs(store, identity):
        for path in sorted((folder / "metrics").rglob("*")):
            if path.is_file() and not path.name.startswith("."):
                count += _forget(path, resume)
    return count


def _forget(path: Path, resume: ResumePoint | None) -> int:
    text = _text(path)
    rows = []
    for line in text.splitlines(keepends=True):
        match = re.fullmatch(r"(\d+) \S+(?: (-?\d+))?(?: .*)?\n", line)
        if match:
            rows.append((float(match[2] or 0), int(match[1]) / 1000, line))
    last = resume.last_before_resume((step, at) for step, at, _ in rows) if resume else float("inf")
    kept = "".join(line for step, _, line in rows if step <= last)
    if kept == "":
        path.unlink(missing_ok=True)
    elif kept != text:
        write_atomically(path, kept)
    return sum(step > last for step, _, _ in rows)


def _runs(store: Path, identity: str) -> list[Path]:
    try:
        folders = [p for p in store.glob("*/*") if _RUN_ID.fullmatch(p.name)]
    except OSError:
        return []
    return [p for p in folders if _text(p / "tags" / RUN_TAG) == identity]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
