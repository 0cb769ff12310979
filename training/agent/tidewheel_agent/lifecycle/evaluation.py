"""The evaluation: a script that scores the model, and the model in use, when training has ended.

A copy of the model reaches the bucket with the checkpoints first, so a host that is lost in the
evaluation costs the evaluation, which then runs alone: a job that trains nothing.
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
from ..files import read_document, write_document
from ..log import log
from ..series.point import metrics_in
from ..source.start_model import REMEDY, archive_in, place_model
from ..supervision.script import Script
from ..supervision.supervisor import EXIT_STOPPED
from ..supervision.watchdog import Watchdog
from ..trackers.identity import attempt_of
from .host_run import HostRun, Outcome
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
    write_document(path_in(checkpoints, FinishedNote, attempt=attempt), note)
    deadline = time.monotonic() + declared.maximum_seconds
    evaluator = _Evaluator(run, prepared, declared, folder, deadline)
    evaluator.score([_Model("candidate", kept, "unknown"), *_current(job, declared)], note)


def evaluate_alone(run: HostRun, prepared: Prepared, declared: Evaluation) -> Outcome:
    """Score the models of the channels, where nothing trains."""
    job, folder = run.job, run.job.base / "evaluation"
    models = _current(job, declared)
    if job.model_digest is not None:
        models.insert(0, _Model("candidate", archive_in(job, MODEL_CHANNEL), job.model_digest))
    if job.checkpoint_dir is None or not models:
        raise ConfigurationError("an evaluation alone needs a model and a checkpoint folder")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    size = models[0].archive.stat().st_size
    note = FinishedNote(bytes=size, digest=models[0].digest, evaluations=[])
    deadline = time.monotonic() + declared.maximum_seconds
    _Evaluator(run, prepared, declared, folder, deadline).score(models, note)
    if not run.stop.is_set():
        return Outcome(0)
    run.stop.acknowledge()
    return Outcome(EXIT_STOPPED)


def _current(job: Job, declared: Evaluation) -> list[_Model]:
    digest = declared.current_digest
    return [] if digest is None else [_Model("current", archive_in(job, CURRENT_CHANNEL), digest)]


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
class _Model:
    of: Literal["candidate", "current"]
    archive: Path
    digest: str

    def scores(self, checkpoints: Path, attempt: int) -> Path:
        """Returns the file that keeps what an attempt has scored."""
        file = SCORES_FILE if self.of == "candidate" else CURRENT_SCORES_FILE
        return checkpoints / file.format(attempt=attempt)


@dataclass(frozen=True)
class _Evaluator:
    host: HostRun
    prepared: Prepared
    declared: Evaluation
    folder: Path
    deadline: float

    def score(self, models: list[_Model], note: FinishedNote) -> None:
        """Score one after the other while there is time; the note lists each that has ended."""
        checkpoints, attempt = self.host.job.checkpoint_dir, attempt_of(self.host.job)
        assert checkpoints is not None
        file = path_in(checkpoints, FinishedNote, attempt=attempt)
        file.parent.mkdir(exist_ok=True)
        done: list[FinishedNoteEvaluation] = []
        for model in models:
            # One number has no pairs.
            if done and done[-1].samples == 0:
                return
            if done and time.monotonic() + done[-1].seconds > self.deadline:
                log("no time: the model in use needs as much of evaluation.maximumSeconds")
                return
            earlier = self._scored_before(model, checkpoints, attempt)
            done.append(earlier or self._run(model, model.scores(checkpoints, attempt)))
            write_document(file, replace(note, evaluations=list(done)))

    def _scored_before(
        self, model: _Model, checkpoints: Path, attempt: int
    ) -> FinishedNoteEvaluation | None:
        """Take the scores of an attempt that was lost before it had scored all.

        Another model may be in use since.
        """
        is_kept = self.declared.is_alone and model.of == "candidate"
        for number in range(attempt - 1, 0, -1) if is_kept else ():
            path = path_in(checkpoints, FinishedNote, attempt=number)
            note = read_document(FinishedNote, path)
            for each in note.evaluations if note is not None else ():
                left = model.scores(checkpoints, number)
                if each.of != model.of or each.result != "ended" or not left.is_file():
                    continue
                log(f"attempt {number} has scored the {model.of} model")
                shutil.copyfile(left, model.scores(checkpoints, attempt))
                return each
        return None

    def _run(self, model: _Model, scores: Path) -> FinishedNoteEvaluation:
        """Starts the script with the model as its channel; keeps what it scored."""
        job, name, began = self.host.job, self.declared.program, time.monotonic()
        of = model.of
        scores.unlink(missing_ok=True)
        shutil.rmtree(job.start_model_dir, ignore_errors=True)
        result: Result = "stopped"
        message, samples = None, 0
        lines = _Lines()
        try:
            place_model(model.archive, model.digest, job.start_model_dir)
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
