"""Reading the platform's description of a job."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_host import make_host
from tidewheel_agent.configuration.job import Json, decode_hyperparameter, read_job
from tidewheel_agent.configuration.settings import ConfigurationError, Settings, settings_from

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
def test_decodes_hyperparameters_as_the_sdk_encodes_them(text: str, value: Json) -> None:
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
def test_decoding_gives_back_what_was_encoded(value: Json) -> None:
    assert decode_hyperparameter(json.dumps(value)) == value


def test_keeps_our_hyperparameters_from_the_script(tmp_path: Path) -> None:
    base = make_host(
        tmp_path / "ml",
        hyperparameters={**SCRIPT, "tidewheel_run_id": "digits-000001", "epochs": 3},
    )
    job = read_job(Settings(base=base))
    assert job.hyperparameters == {"epochs": 3}
    assert job.program == "train.py"
    assert job.run_id == "digits-000001"


def test_finds_the_checkpoint_folder_under_the_base(tmp_path: Path) -> None:
    base = make_host(tmp_path / "ml", hyperparameters=SCRIPT)
    assert read_job(Settings(base=base)).checkpoint_dir == base / "checkpoints"


def test_takes_a_checkpoint_path_outside_the_base_as_it_is(tmp_path: Path) -> None:
    base = make_host(tmp_path / "ml", hyperparameters=SCRIPT)
    (base / "input/config/checkpointconfig.json").write_text('{"LocalPath": "/mnt/saved"}')
    assert read_job(Settings(base=base)).checkpoint_dir == Path("/mnt/saved")


def test_refuses_spot_with_nowhere_to_save(tmp_path: Path) -> None:
    base = make_host(tmp_path / "ml", hyperparameters=SCRIPT, checkpoints=False)
    assert read_job(Settings(base=base)).checkpoint_dir is None
    with pytest.raises(
        ConfigurationError, match="nowhere to save: give the job a CheckpointConfig"
    ):
        read_job(Settings(base=base, spot=True))


def test_names_every_problem_at_once(tmp_path: Path) -> None:
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
    assert len(raised.value.problems) == 8  # no host is left to train on


@pytest.mark.parametrize(
    "program", ["../evil.py", "a/../../b.py", "/bin/sh", "-c", "a b.py", "x;y"]
)
def test_refuses_a_program_outside_the_source(tmp_path: Path, program: str) -> None:
    base = make_host(tmp_path / "ml", hyperparameters={"sagemaker_program": program})
    with pytest.raises(ConfigurationError, match="sagemaker_program"):
        read_job(Settings(base=base))


@pytest.mark.parametrize("content", ["", "[]", "{", "\x00"])
def test_says_which_file_cannot_be_read(tmp_path: Path, content: str) -> None:
    base = make_host(tmp_path / "ml", hyperparameters=SCRIPT)
    (base / "input/config/hyperparameters.json").write_text(content)
    with pytest.raises(ConfigurationError, match=r"hyperparameters\.json"):
        read_job(Settings(base=base))


def test_master_is_the_first_host_of_the_training_group(tmp_path: Path) -> None:
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


def test_settings_default_to_what_is_right_on_sagemaker() -> None:
    assert settings_from({}) == Settings()


def test_settings_name_every_bad_value() -> None:
    with pytest.raises(ConfigurationError) as raised:
        settings_from({"TIDEWHEEL_MASTER_PORT": "ssh", "TIDEWHEEL_GRACE_SECONDS": "-1"})
    assert len(raised.value.problems) == 2


def test_agents_meet_one_port_above_the_ranks() -> None:
    assert settings_from({"TIDEWHEEL_MASTER_PORT": "9000"}).gang_port == 9001
