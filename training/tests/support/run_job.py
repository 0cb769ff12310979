"""The job of one attempt of a run, as one of its two hosts sees it."""

from __future__ import annotations

from pathlib import Path

from sagemaker_host import make_host
from tidewheel_agent.configuration.job import Job
from tidewheel_agent.configuration.read_job import read_job
from tidewheel_agent.configuration.settings import Settings

RUN = "digits-000001"


def run_job(
    folder: Path,
    attempt: int,
    *,
    run: str = RUN,
    installation: str = "0a1b2c",
    checkpoints: bool = True,
    host: str = "127.0.0.1",
) -> Job:
    parameters = {
        "sagemaker_program": "train.py",
        "sagemaker_job_name": f"{run}-a{attempt}-{installation}",
        "tidewheel_run_id": run,
    }
    base = make_host(
        folder,
        host=host,
        hosts=["127.0.0.1", "127.0.0.2"],
        hyperparameters=parameters,
        checkpoints=checkpoints,
    )
    return read_job(Settings(base=base))
