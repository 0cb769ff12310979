"""The variables by which every attempt of a run is the same run in an experiment tracker.

The names and the characters that each tracker allows:
- W&B: docs.wandb.ai, "Environment variables"; an id may not hold any of `:;,#?/'`.
- Comet: COMET_EXPERIMENT_KEY, 32 to 50 letters and digits.
- Neptune: NEPTUNE_CUSTOM_RUN_ID, up to 36 characters.
- MLflow: the store chooses a run's id, so MLFLOW_RUN_ID names what the first attempt made
  (mlflow_store.py); MLFLOW_RUN_CONTEXT tags it as this run's.
- TensorBoard has no run but its folder; Hugging Face's Trainer takes it from
  TENSORBOARD_LOGGING_DIR.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

from ..configuration.job import Job

TRACKERS_FOLDER = "tidewheel-trackers"
"""Inside the checkpoint folder, so it outlives the host."""
RUN_TAG = "tidewheel.run"
_JOB_NAME = re.compile(r"(?P<run>.+)-a(?P<attempt>[1-9]\d*)-(?P<installation>[0-9a-f]{6})")
"""How the service names an attempt's job."""


@dataclass(frozen=True)
class RunIdentity:
    """The same for all attempts and hosts of a run, except for the attempt's number."""

    name: str
    """As the service shows it."""
    unique: str
    """Differs between installations of the service, which number their runs alike."""
    attempt: int

    @property
    def digest(self) -> str:
        """32 hexadecimal digits, for trackers that allow nothing else."""
        return hashlib.sha256(self.unique.encode()).hexdigest()[:32]


def run_identity(job: Job) -> RunIdentity | None:
    """None for a job that belongs to no run, such as one that was made by hand."""
    run, name = (
        job.agent_parameters.get(f"{k}") for k in ("tidewheel_run_id", "sagemaker_job_name")
    )
    if not isinstance(run, str) or not re.fullmatch(r"[A-Za-z0-9-]{1,100}", run):
        return None
    match = _JOB_NAME.fullmatch(name) if isinstance(name, str) else None
    if match is None or match["run"] != run:
        return RunIdentity(run, run, 1)
    return RunIdentity(run, f"{run}-{match['installation']}", int(match["attempt"]))


def attempt_of(job: Job) -> int:
    identity = run_identity(job)
    return identity.attempt if identity else 1


def trackers_folder(job: Job) -> Path | None:
    return None if job.checkpoint_dir is None else job.checkpoint_dir / TRACKERS_FOLDER


def wandb_rows_folder(trackers: Path) -> Path:
    """What the script has sent to W&B's process lies there (wandb_rows.py)."""
    return trackers / "wandb-rows"


def mlflow_folder(trackers: Path) -> Path:
    return trackers / "mlruns"


def tracker_environment(job: Job, mlflow_run: str | None) -> dict[str, str]:
    """Defaults: a variable that the pipeline sets wins.

    `mlflow_run`: the run that an earlier attempt made in the store under the checkpoint folder.
    """
    identity = run_identity(job)
    if identity is None:
        return {}
    # Another host's script is another writer, which must not write into the first one's run.
    index = job.hosts.index(job.current_host) if not job.is_leader else 0
    suffix = "" if job.is_leader else f"-h{index + 1}"
    digest = identity.digest if job.is_leader else f"{identity.digest[:28]}{index % 10_000:04d}"
    environment = {
        "TIDEWHEEL_RUN_ID": identity.name,
        "TIDEWHEEL_ATTEMPT": str(identity.attempt),
        "WANDB_RUN_ID": f"{identity.unique}{suffix}",
        "WANDB_RESUME": "allow",
        "WANDB_NAME": f"{identity.name}{suffix}",
        "COMET_EXPERIMENT_KEY": digest,
        "NEPTUNE_CUSTOM_RUN_ID": digest,
        "MLFLOW_RUN_CONTEXT": json.dumps({RUN_TAG: identity.unique}),
    }
    if len(job.hosts) > 1:
        environment["WANDB_RUN_GROUP"] = identity.unique
    folder = trackers_folder(job)
    if folder is None:
        return environment
    board = str(folder / "tensorboard")
    environment |= {
        "WANDB_DIR": str(folder),
        # W&B's own is 15 s, and all of it is lost when the host is. A look without new rows writes
        # nothing.
        "WANDB_X_TRANSACTION_LOG_FLUSH_INTERVAL": "0.02",
        "TIDEWHEEL_TENSORBOARD_DIR": board,
        "TENSORBOARD_LOGGING_DIR": board,
        "MLFLOW_TRACKING_URI": mlflow_folder(folder).as_uri(),
        # Since 3.7 MLflow refuses a file store without it. A database file cannot be copied to
        # the bucket while it is written; a file store's files only grow.
        "MLFLOW_ALLOW_FILE_STORE": "true",
    }
    if job.is_leader:
        environment["TIDEWHEEL_WANDB_ROWS"] = str(wandb_rows_folder(folder))
    if mlflow_run is not None:
        environment["MLFLOW_RUN_ID"] = mlflow_run
    return environment
