"""Variables and arguments, compared with those that SageMaker's own toolkit makes.

sagemaker-training 5.1.4 made `toolkit-environment.json` of the same job.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sagemaker_host import make_host
from tidewheel_agent.configuration.command_line import script_arguments
from tidewheel_agent.configuration.job import Job
from tidewheel_agent.configuration.read_job import read_job
from tidewheel_agent.configuration.sagemaker_environment import sagemaker_environment
from tidewheel_agent.configuration.script_environment import thread_environment
from tidewheel_agent.configuration.settings import Hardware, Settings

RECORDED = Path(__file__).with_name("toolkit-environment.json")
HYPERPARAMETERS: dict[str, Any] = {
    "sagemaker_program": "train.py",
    "sagemaker_submit_directory": "s3://b/x/sourcedir.tar.gz",
    "sagemaker_container_log_level": 20,
    "sagemaker_job_name": "job-1",
    "sagemaker_region": "us-east-1",
    "sagemaker_distribution_instance_groups": ["gpu"],
    "sagemaker_torch_distributed_enabled": True,
    "epochs": 3,
    "lr": 0.1,
    "b": True,
    "nothing": None,
    "layers": [1, "two", 3.5],
    "opts": {"z": 1, "a": "x y"},
    "batch-size": 64,
    "text": "a b; c",
    "x": 1,
}


@pytest.fixture
def job(tmp_path: Path) -> Job:
    base = make_host(
        tmp_path / "ml",
        host="127.0.0.2",
        hosts=["127.0.0.1", "127.0.0.2", "127.0.0.3"],
        groups=[
            {
                "instance_group_name": "cpu",
                "instance_type": "ml.c5.large",
                "hosts": ["127.0.0.3", "127.0.0.1"],
            },
            {
                "instance_group_name": "gpu",
                "instance_type": "ml.g5.xlarge",
                "hosts": ["127.0.0.2"],
            },
        ],
        hyperparameters=HYPERPARAMETERS,
        channels={"train": tmp_path, "my-data": tmp_path},
    )
    return read_job(Settings(base=base))


def recorded(base: Path) -> tuple[dict[str, str], list[str]]:
    recording = json.loads(RECORDED.read_text().replace("{base}", str(base)))
    return recording["env"], recording["args"]


def test_arguments_equal_the_toolkits(job: Job) -> None:
    assert script_arguments(job.hyperparameters) == recorded(job.base)[1]


def test_variables_equal_the_toolkits_except_the_source_folder(job: Job) -> None:
    theirs, _ = recorded(job.base)
    ours = sagemaker_environment(job, Hardware(cpus=2, gpus=0), {})
    different = {name for name in theirs if ours.get(name) != theirs[name]}
    assert different == {"SM_MODULE_DIR", "SM_TRAINING_ENV"}
    whole, their_whole = json.loads(ours["SM_TRAINING_ENV"]), json.loads(theirs["SM_TRAINING_ENV"])
    assert {**their_whole, "module_dir": whole["module_dir"]} == whole
    assert set(ours) - set(theirs) == {"CURRENT_HOST", "SAGEMAKER_JOB_NAME", "SAGEMAKER_REGION"}


def test_a_value_too_long_for_variables_stays_an_argument(job: Job) -> None:
    long = {f"h{index}": "v" * 2500 for index in range(99)}
    job.hyperparameters.update(long)
    environment = sagemaker_environment(job, Hardware(cpus=2, gpus=0), {})
    assert "SM_HPS" not in environment
    assert environment["SM_HP_H98"] == "v" * 2500
    assert script_arguments(job.hyperparameters).count("v" * 2500) == 99


def test_a_name_with_an_equals_sign_is_no_variable(job: Job) -> None:
    job.hyperparameters["LD_PRELOAD=/x"] = "y"
    assert not any("LD_PRELOAD" in k for k in sagemaker_environment(job, Hardware(2, 0), {}))


@pytest.mark.parametrize(
    ("cpus", "processes", "threads"), [(8, 2, "4"), (1, 4, "1"), (96, 8, "12")]
)
def test_processes_share_the_cpus(cpus: int, processes: int, threads: str) -> None:
    assert thread_environment(cpus, processes, {}, {})["OMP_NUM_THREADS"] == threads
    given = {"OMP_NUM_THREADS": "3"}
    assert "OMP_NUM_THREADS" not in thread_environment(cpus, processes, given, {})


@pytest.mark.parametrize("place", ["image", "declaration"])
def test_the_users_number_of_threads_is_the_only_one_for_openmp(place: str) -> None:
    def given(name: str) -> dict[str, str]:
        variables: tuple[dict[str, str], dict[str, str]] = ({name: "3"}, {})
        return thread_environment(8, 1, *(variables if place == "image" else variables[::-1]))

    assert given("OMP_NUM_THREADS") == {"TF_NUM_INTRAOP_THREADS": "8"}
    own = given("MKL_NUM_THREADS")
    assert (own["OMP_NUM_THREADS"], "MKL_NUM_THREADS" in own) == ("8", False)
    assert "TF_NUM_INTRAOP_THREADS" not in given("TF_NUM_INTRAOP_THREADS")


@pytest.mark.parametrize("follower", ["MKL_NUM_THREADS", "BLIS_NUM_THREADS", "NUMEXPR_NUM_THREADS"])
def test_a_declared_number_of_threads_counts_over_those_of_the_image(follower: str) -> None:
    image, declared = {follower: "8", "OMP_NUM_THREADS": "8"}, {"OMP_NUM_THREADS": "1"}
    assert thread_environment(8, 1, image, declared)[follower] == "1"
    both = {**declared, follower: "2"}
    assert {**thread_environment(8, 1, image, both), **both}[follower] == "2"
