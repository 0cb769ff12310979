"""The evaluation: a script that scores the model, and the model in use, when training has ended.

A copy of the model reaches the bucket with the checkpoints first, so a host that is lost in the
evaluation costs the evaluation alone.
"""

from __future__ import annotations

import json
import math
import shutil
import tarfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tidewheel_contract.documents import (
    CURRENT_SCORES_FILE,
    FINISHED_MODEL_FILE,
    SCORES_FILE,
    FinishedNote,
    FinishedNoteEvaluation,
)
from tidewheel_contract.reading import path_in

from ..checkpoints.kept.generation import sha256_of
from ..configuration.job import CURRENT_CHANNEL, MODEL_CHANNEL, Job
from ..configuration.script_document import Evaluation, ScriptDocument
from ..configuration.script_environment import ScriptFiles
from ..configuration.settings import ConfigurationError
from ..failure_file import LogTail, describe_signal, failure_text
from ..files import write_document
from ..log import log
from ..series.point import metrics_in
from ..source.start_model import REMEDY, archive_in, place_model
from ..supervision.script import Script
from ..supervision.watchdog import Watchdog
from ..trackers.identity import attempt_of
from .host_run import HostRun
from .prepare import Prepared, plan_launch
from .scores import IN_MODEL, keep_scores

_LONGEST_MESSAGE = 500
_MOST_PRINTED = 100
_FIRST_SIGNAL = 128
Result = Literal["ended", "failed", "timedOut", "stopped"]


def evaluate_model(run: HostRun, prepared: Prepared) -> None:
    """Whatever goes wrong here, the training has ended well."""
    job, declared = run.job, run.job.script.evaluation
    model = job.base / "model"
    if declared is None or not job.is_leader or job.checkpoint_dir is None or run.stop.is_set():
        return
    if not model.is_dir() or not any(model.iterdir()):
        return
    folder = job.base / "evaluation"
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.mkdir()
        _evaluate(run, prepared, declared, folder)
    except Exception as error:
        log(f"the model is not evaluated: {error!r}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(job.start_model_dir, ignore_errors=True)


def _evaluate(run: HostRun, prepared: Prepared, declared: Evaluation, folder: Path) -> None:
    job, checkpoints, attempt = run.job, run.job.checkpoint_dir, attempt_of(run.job)
    assert checkpoints is not None
    kept = checkpoints / FINISHED_MODEL_FILE.format(attempt=attempt)
    _keep_model(job, folder / "model.tar.gz", kept)
    note = FinishedNote(bytes=kept.stat().st_size, digest=sha256_of(kept), evaluations=[])
    note_file = path_in(checkpoints, FinishedNote, attempt=attempt)
    write_document(note_file, note)
    deadline = time.monotonic() + declared.maximum_seconds
    evaluator = _Evaluator(run, prepared, declared, folder, deadline)
    scores = checkpoints / SCORES_FILE.format(attempt=attempt)
    candidate = evaluator.run("candidate", kept, "unknown", scores)
    write_document(note_file, replace(note, evaluations=[candidate]))
    # One number has no pairs.
    if declared.current_digest is None or candidate.samples == 0:
        return
    if time.monotonic() + candidate.seconds > deadline:
        log("the model in use is not scored: too little is left of evaluation.maximumSeconds")
        return
    archive = archive_in(job, CURRENT_CHANNEL)
    scores = checkpoints / CURRENT_SCORES_FILE.format(attempt=attempt)
    current = evaluator.run("current", archive, declared.current_digest, scores)
    write_document(note_file, replace(note, evaluations=[candidate, current]))


def _keep_model(job: Job, packed: Path, kept: Path) -> None:
    """The checkpoints are uploaded all the time, so the copy gets its name when it is whole."""
    model = job.base / "model"
    size = sum(path.stat().st_size for path in model.rglob("*") if path.is_file())
    free = shutil.disk_usage(packed.parent).free
    if 2 * size > free:
        raise ConfigurationError(
            f"its {size} bytes and their copy need more than the {free} bytes that are free: "
            "raise compute.volumeGigabytes"
        )
    # Weights hardly shrink, and stronger compression takes minutes for them.
    with tarfile.open(packed, "w:gz", compresslevel=1) as archive:
        for entry in sorted(model.iterdir()):
            archive.add(entry, arcname=entry.name)
    kept.parent.mkdir(exist_ok=True)
    part = kept.with_suffix(".part")
    shutil.move(packed, part)
    part.replace(kept)


@dataclass(frozen=True)
class _Evaluator:
    host: HostRun
    prepared: Prepared
    declared: Evaluation
    folder: Path
    deadline: float

    def run(
        self, of: Literal["candidate", "current"], archive: Path, digest: str, scores: Path
    ) -> FinishedNoteEvaluation:
        """Starts the script with the model as its channel; keeps what it scored."""
        job, name, began = self.host.job, self.declared.program, time.monotonic()
        scores.unlink(missing_ok=True)
        shutil.rmtree(job.start_model_dir, ignore_errors=True)
        result: Result = "stopped"
        message, samples = None, 0
        lines = _Lines()
        try:
            place_model(archive, digest, job.start_model_dir)
            end = self._script(lines.read)
        except ConfigurationError as error:
            message = str(error).removesuffix(f": {REMEDY}")[:_LONGEST_MESSAGE]
        else:
            if isinstance(end, str):
                result = end
            elif end == 0:
                result, samples = "ended", _take(self._output / IN_MODEL, scores)
            else:
                # A host without memory says nothing of the model.
                result = "failed" if end < _FIRST_SIGNAL else "stopped"
                text = failure_text(f"exit code {end}{describe_signal(end)}", lines.tail)
                message = text.split("\n")[0][:_LONGEST_MESSAGE]
        seconds = round(time.monotonic() - began, 3)
        found = f"{samples} samples" if samples else f"printed {lines.printed}"
        log(f"{name} on the {of} model: {result} after {seconds:g} s, {message or found}")
        return FinishedNoteEvaluation(
            of=of,
            result=result,
            seconds=seconds,
            message=message,
            samples=samples,
            printed=lines.printed,
        )

    @property
    def _output(self) -> Path:
        return self.folder / "work" / "model"

    def _script(self, on_line: Callable[[str], None]) -> int | Literal["timedOut", "stopped"]:
        """Returns its exit code, or why it was ended."""
        work, output = self.folder / "work", self._output
        shutil.rmtree(work, ignore_errors=True)
        output.mkdir(parents=True)
        job = self._job()
        launch, environment = plan_launch(
            job, self.host.settings, self.prepared.hardware, ScriptFiles.create(work)
        )
        environment |= {
            "SM_MODEL_DIR": str(output),
            "TIDEWHEEL_SCORES_FILE": str(output / IN_MODEL),
        }
        script = Script(
            launch.argv,
            environment=environment,
            directory=job.working_dir,
            on_line=on_line,
        )
        watchdog = Watchdog(script.token, script.pid, script.leftovers)
        try:
            while (code := script.wait(0.2)) is None:
                if self.host.stop.is_set():
                    return "stopped"
                if time.monotonic() >= self.deadline:
                    return "timedOut"
            return code
        finally:
            script.kill()
            script.drain()
            watchdog.dismiss()

    def _job(self) -> Job:
        """A script of its own: one process, without hooks, checkpoints and hyperparameters."""
        job, script = self.host.job, self.host.job.script
        return replace(
            job,
            program=self.declared.program,
            strategy="single",
            checkpoint_dir=None,
            channels={**job.channels, MODEL_CHANNEL: {}},
            agent_parameters={**job.agent_parameters, "tidewheel_model": "unknown"},
            script=ScriptDocument(
                arguments=self.declared.arguments,
                environment=script.environment,
                working_directory=script.working_directory,
                instrument=False,
            ),
        )


def _take(written: Path, scores: Path) -> int:
    """Returns how many lines it scored; 0 where it wrote none that the service would read."""
    if not keep_scores(written, scores):
        return 0
    with scores.open("rb") as file:
        return sum(1 for line in file if line.strip())


class _Lines:
    """Keeps the last lines of the script, and the last value of each metric that it printed."""

    def __init__(self) -> None:
        self.tail = LogTail()
        self.printed: dict[str, float] = {}

    def read(self, line: str) -> None:
        self.tail.add(line)
        for name, value in (_json_numbers(line) or metrics_in(line)).items():
            if math.isfinite(value) and (name in self.printed or len(self.printed) < _MOST_PRINTED):
                self.printed[name] = value


def _json_numbers(line: str) -> dict[str, float]:
    try:
        content = json.loads(line) if line.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        return {}
    if not isinstance(content, dict):
        return {}
    return {
        name: float(value)
        for name, value in content.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300
    }
