"""What the agent reads from the platform's description of a job."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_host import make_host
from tidewheel_agent.configuration.read_job import decode_hyperparameter, read_job
from tidewheel_agent.configuration.settings import ConfigurationError, Json, Settings, read_settings

SCRIPT = {"sagemaker_program": "train.py"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"train.py"', "train.py"),
        ("train.py", "train.py"),
        ("20", 20),
        ("0.1", 0.1),
        ("true", True),
        ("null", None),
        ('["gpu"]', ["gpu"]),
        ("007", "007"),
        ("", ""),
        ("NaN", "NaN"),
        ("Infinity", "Infinity"),
        ("1e999", "1e999"),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_hyperparameters_decode_as_the_sdk_encodes_them(text: str, value: Json) -> None:
    assert decode_hyperparameter(text) == value


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    )
)
def test_decoding_inverts_encoding(value: Json) -> None:
    assert decode_hyperparameter(json.dumps(value)) == value


def test_the_script_does_not_get_the_agents_hyperparameters(tmp_path: Path) -> None:
    base = make_host(
        tmp_path / "ml",
        hyperparameters={**SCRIPT, "tidewheel_run_id": "digits-000001", "epochs": 3},
    )
    job = read_job(Settings(base=base))
    assert job.hyperparameters == {"epochs": 3}
    assert job.program == "train.py"
    assert job.run_id == "digits-000001"


def test_the_checkpoint_folder_is_under_the_base(tmp_path: Path) -> None:
    base = make_host(tmp_path / "ml", hyperparameters=SCRIPT)
    assert read_job(Settings(base=base)).checkpoint_dir == base / "checkpoints"


def test_a_checkpoint_folder_elsewhere_stays_as_it_is(tmp_path: Path) -> None:
    base = make_host(tmp_path / "ml", hyperparameters=SCRIPT)
    (base / "input/config/checkpointconfig.json").write_text('{"LocalPath": "/mnt/saved"}')
    assert read_job(Settings(base=base)).checkpoint_dir == Path("/mnt/saved")


def test_spot_without_a_checkpoint_folder_is_refused(tmp_path: Path) -> None:
    base = make_host(tmp_path / "ml", hyperparameters=SCRIPT, checkpoints=False)
    assert read_job(Settings(base=base)).checkpoint_dir is None
    with pytest.raises(
        ConfigurationError, match="nowhere to save: give the job a CheckpointConfig"
    ):
        read_job(Settings(base=base, spot=True))


def test_the_error_names_every_problem(tmp_path: Path) -> None:
    base = make_host(
        tmp_path / "ml",
        host="algo-9",
        hyperparameters={
            "tidewheel_strategy": "magic",
            "sagemaker_distribution_instance_groups": ["gpu"],
            "name": "a\0b",
            "other": [{"k": "\ud800"}],
        },
        checkpoints=False,
    )
    with pytest.raises(ConfigurationError) as raised:
        read_job(Settings(base=base, spot=True))
    text = "\n".join(raised.value.problems)
    for part in (
        "algo-9",
        "'name'",
        "'other'",
        "sagemaker_program",
        "magic",
        "'gpu'",
        "nowhere to save",
    ):
        assert part in text
    assert len(raised.value.problems) == 8  # The eighth: no host is left to train.


@pytest.mark.parametrize(
    "program", ["../evil.py", "a/../../b.py", "/bin/sh", "-c", "a b.py", "x;y"]
)
def test_a_program_outside_the_source_is_refused(tmp_path: Path, program: str) -> None:
    base = make_host(tmp_path / "ml", hyperparameters={"sagemaker_program": program})
    with pytest.raises(ConfigurationError, match="sagemaker_program"):
        read_job(Settings(base=base))


@pytest.mark.parametrize("content", ["", "[]", "{", "\x00"])
def test_the_error_names_the_unreadable_file(tmp_path: Path, content: str) -> None:
    base = make_host(tmp_path / "ml", hyperparameters=SCRIPT)
    (base / "input/config/hyperparameters.json").write_text(content)
    with pytest.raises(ConfigurationError, match=r"hyperparameters\.json"):
        read_job(Settings(base=base))


def test_the_training_groups_first_host_leads(tmp_path: Path) -> None:
    hosts = ["algo-1", "algo-10", "algo-2"]
    base = make_host(
        tmp_path / "ml",
        host="algo-10",
        hosts=hosts,
        hyperparameters={**SCRIPT, "sagemaker_distribution_instance_groups": ["gpu"]},
        groups=[
            {"instance_group_name": "cpu", "instance_type": "ml.c5.large", "hosts": ["algo-1"]},
            {
                "instance_group_name": "gpu",
                "instance_type": "ml.g5.xlarge",
                "hosts": ["algo-10", "algo-2"],
            },
        ],
    )
    job = read_job(Settings(base=base))
    assert job.distribution_hosts == ("algo-10", "algo-2")
    assert job.is_leader
    assert (job.current_group, job.current_instance_type) == ("gpu", "ml.g5.xlarge")


def test_defaults_are_right_on_sagemaker() -> None:
    assert read_settings({}) == Settings()


def test_the_error_names_every_bad_setting() -> None:
    with pytest.raises(ConfigurationError) as raised:
        read_settings({"TIDEWHEEL_MASTER_PORT": "ssh", "TIDEWHEEL_GRACE_SECONDS": "-1"})
    assert len(raised.value.problems) == 2


def test_the_agents_port_follows_the_master_port() -> None:
    assert read_settings({"TIDEWHEEL_MASTER_PORT": "9000"}).gang_port == 9001
