"""A script that ends well must leave a model, and no link leads out of the model folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_runs import run
from sagemaker_host import make_host
from tidewheel_agent.configuration.read_job import read_job
from tidewheel_agent.configuration.settings import Settings
from tidewheel_agent.lifecycle.conclude import missing_model, remove_what_cannot_be_kept

HostOf = Callable[[str], Path]
MODEL = "import os, pathlib\nmodel = pathlib.Path(os.environ['SM_MODEL_DIR'])\n"


@pytest.fixture
def host(tmp_path: Path) -> HostOf:
    def make(script: str) -> Path:
        return make_host(tmp_path / "ml", script=script)

    return make


def failure(base: Path) -> str:
    file = base / "output" / "failure"
    return file.read_text() if file.exists() else ""


def test_a_script_without_a_model_fails(host: HostOf) -> None:
    base = host("print('trained')")
    code, _ = run(base, TIDEWHEEL_MODEL="required")
    assert code == 1
    assert failure(base) == (
        "train.py ended with exit code 0 and left no model: "
        "save the model under SM_MODEL_DIR, or declare training.model: none\n"
    )


def test_a_script_with_a_model_succeeds(host: HostOf) -> None:
    base = host(f"{MODEL}(model / 'weights').write_text('x')")
    assert run(base, TIDEWHEEL_MODEL="required")[0] == 0
    assert failure(base) == ""


def test_a_script_that_declares_no_model_succeeds(host: HostOf) -> None:
    base = host("print('trained')")
    assert run(base, TIDEWHEEL_MODEL="none")[0] == 0


def test_a_script_that_fails_keeps_its_own_failure(host: HostOf) -> None:
    base = host("raise SystemExit(3)")
    assert run(base, TIDEWHEEL_MODEL="required")[0] == 3
    assert "left no model" not in failure(base)


def test_a_link_out_of_the_folder_is_no_model(host: HostOf) -> None:
    base = host(f"{MODEL}(model / 'passwd').symlink_to('/etc/passwd')")
    code, log = run(base, TIDEWHEEL_MODEL="required")
    assert code == 1
    assert not (base / "model" / "passwd").is_symlink()
    assert "left out of the model: passwd (a link to /etc/passwd, outside" in log
    assert "left no model; left out of it: passwd" in failure(base)


def test_links_inside_the_folder_are_kept(tmp_path: Path) -> None:
    (tmp_path / "best").mkdir()
    (tmp_path / "best" / "weights").write_text("x")
    (tmp_path / "latest").symlink_to("best")
    (tmp_path / "best" / "same").symlink_to(tmp_path / "best" / "weights")
    assert remove_what_cannot_be_kept(tmp_path) == []
    assert (tmp_path / "latest" / "weights").read_text() == "x"
    assert (tmp_path / "best" / "same").is_symlink()


def test_everything_else_is_left_out_and_named(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (tmp_path / "outside").mkdir()
    (model / "weights").write_text("x")
    (model / "folder").symlink_to("../outside")
    (model / "itself").symlink_to("itself")
    (model / "nothing").symlink_to("missing")
    os.mkfifo(model / "pipe")
    removed = remove_what_cannot_be_kept(model)
    assert sorted(each.split(" ", 1)[0] for each in removed) == [
        "folder",
        "itself",
        "nothing",
        "pipe",
    ]
    assert [path.name for path in model.iterdir()] == ["weights"]


def test_names_that_are_not_utf8_are_escaped(host: HostOf) -> None:
    base = host(
        f"""{MODEL}folder = os.fsencode(model) + b"/d\\xff"
os.mkdir(folder)
for name in (b"bad\\xfe", b"bad%FE", "gut-ü".encode()):
    with open(folder + b"/" + name, "wb") as file:
        file.write(name)
"""
    )
    code, log = run(base, TIDEWHEEL_MODEL="required")
    assert (code, failure(base)) == (0, "")
    kept = {path.name: path.read_bytes() for path in (base / "model" / "d%FF").iterdir()}
    assert kept == {"bad%FE_": b"bad\xfe", "bad%FE": b"bad%FE", "gut-ü": "gut-ü".encode()}
    assert "since a name has to be UTF-8: bad%FE_" in log


@pytest.mark.parametrize(
    ("strategy", "hosts", "fails"),
    [("ray", 2, False), ("ray", 1, True), ("ddp", 2, True)],
    ids=["ray on two hosts", "ray on one", "ddp on two"],
)
def test_only_ray_on_several_hosts_may_leave_the_model_elsewhere(
    tmp_path: Path, strategy: str, hosts: int, fails: bool
) -> None:
    names = [f"127.0.0.{number}" for number in range(1, hosts + 1)]
    parameters = {"sagemaker_program": "train.py", "tidewheel_strategy": strategy}
    base = make_host(tmp_path / "ml", hosts=names, hyperparameters=parameters)
    (base / "model").mkdir()
    job = read_job(Settings(base=base))
    assert (missing_model(job, []) is not None) is fails
