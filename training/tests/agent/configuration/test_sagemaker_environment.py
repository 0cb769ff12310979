"""Variables and arguments, compared with what AWS's own toolkit gives to the same jobs.

sagemaker-training 5.1.4 has said it (`toolkit_cases.py` records it again).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tidewheel_agent.configuration.command_line import script_arguments
from tidewheel_agent.configuration.job import Job
from tidewheel_agent.configuration.read_job import read_job
from tidewheel_agent.configuration.sagemaker_environment import sagemaker_environment
from tidewheel_agent.configuration.script_environment import thread_environment
from tidewheel_agent.configuration.settings import Hardware, Settings
from toolkit_cases import CASES, RECORDED, host_of, reported

OURS = {"CURRENT_HOST", "SAGEMAKER_JOB_NAME", "SAGEMAKER_REGION"}
"""The toolkit sets them too, in its own process."""


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return read_job(Settings(base=host_of("plain, 127.0.0.2 of 2", tmp_path / "ml")))


@pytest.mark.parametrize("case", CASES)
def test_a_script_gets_what_the_toolkit_gives(case: str, tmp_path: Path) -> None:
    base = tmp_path / "ml"
    theirs: dict[str, Any] = json.loads(RECORDED.read_text())[case]
    job = read_job(Settings(base=host_of(case, base)))
    variables: dict[str, str] = theirs["env"]
    ours = {
        name: value.replace(str(base), "BASE")
        for name, value in sagemaker_environment(
            job, Hardware(cpus=int(variables["SM_NUM_CPUS"]), gpus=0), {}
        ).items()
    }
    assert script_arguments(job.hyperparameters) == theirs["args"]
    # The toolkit names where the source was sent from; here it is where the source lies.
    assert variables.pop("SM_MODULE_DIR") == "s3://b/x/sourcedir.tar.gz"
    assert ours.pop("SM_MODULE_DIR") == "BASE/code"
    whole, our_whole = json.loads(variables.pop("SM_TRAINING_ENV")), ours.pop("SM_TRAINING_ENV")
    assert json.loads(our_whole) == {**whole, "module_dir": "BASE/code"}
    assert {name: value for name, value in ours.items() if name not in OURS} == variables


@pytest.mark.heavy
@pytest.mark.parametrize("case", CASES)
def test_the_toolkit_says_what_was_recorded(case: str, tmp_path: Path) -> None:
    assert reported(case, tmp_path / "ml") == json.loads(RECORDED.read_text())[case]


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
