"""Scripts that end with SIGABRT while the interpreter ends, as PyTorch's threads may make them."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_runs import run
from sagemaker_host import make_host

# The interpreter clears the module's variables after all that the script registered.
ABORTS = """
import os, pathlib, sys, time
class Aborting:
    def __del__(self, write=os.write, abort=os.abort):
        write(2, b"terminate called without an active exception\\n")
        abort()
aborting = Aborting()
"""
SAVES = """
pathlib.Path(os.environ["SM_MODEL_DIR"], "model").write_text("trained")
"""


def host(folder: Path, script: str, **hyperparameters: object) -> Path:
    return make_host(folder / "ml", script=script, hyperparameters=hyperparameters)


def test_an_abort_after_the_work_counts_as_finished(tmp_path: Path) -> None:
    code, log = run(host(tmp_path, ABORTS + SAVES))
    assert code == 0, log
    assert "it counts as finished" in log


def test_an_abort_during_the_work_is_the_scripts_failure(tmp_path: Path) -> None:
    code, log = run(host(tmp_path, ABORTS + SAVES + "aborting.__del__()"))
    assert code == 134, log


def test_an_abort_after_an_error_is_the_scripts_failure(tmp_path: Path) -> None:
    code, log = run(host(tmp_path, ABORTS + SAVES + "raise ValueError(1)"))
    assert code == 134, log


EXITS_ELSEWHERE = """
import threading
threading.Thread(target=sys.exit, args=(1,)).start()
"""


@pytest.mark.parametrize("leave", ["sys.exit(0)", "exit()", EXITS_ELSEWHERE])
def test_an_abort_after_a_good_exit_counts_as_finished(tmp_path: Path, leave: str) -> None:
    code, log = run(host(tmp_path, ABORTS + SAVES + leave))
    assert code == 0, log


@pytest.mark.parametrize("leave", ["sys.exit('no data')", "quit(3)"])
def test_an_abort_after_a_bad_exit_is_a_failure(tmp_path: Path, leave: str) -> None:
    code, log = run(host(tmp_path, ABORTS + SAVES + leave))
    assert code == 134, log


RETURNS_ZERO = """
def main():
    return 0
raise SystemExit(main())
"""
RETURNS_ONE = RETURNS_ZERO.replace("0", "len(sys.argv)")


@pytest.mark.parametrize("leave", ["raise SystemExit", RETURNS_ZERO])
def test_a_raised_exit_that_can_only_be_good_counts(tmp_path: Path, leave: str) -> None:
    code, log = run(host(tmp_path, ABORTS + SAVES + leave))
    assert code == 0, log


def test_a_raised_exit_whose_code_is_lost_fails(tmp_path: Path) -> None:
    base = host(tmp_path, ABORTS + SAVES + RETURNS_ONE)
    code, log = run(base)
    assert code == 134, log
    assert "it counts as failed. Leave by sys.exit(code)" in log
    assert "train.py raised SystemExit" in (base / "output" / "failure").read_text()


@pytest.mark.slow
def test_a_rank_that_aborts_leaves_the_others_their_time(tmp_path: Path) -> None:
    late = "if os.environ['RANK'] == '0': time.sleep(2)\n"
    script = ABORTS + late + SAVES + "if os.environ['RANK'] == '0': del Aborting.__del__\n"
    base = host(tmp_path, script, tidewheel_strategy="ddp", tidewheel_processes_per_host=2)
    code, log = run(base)
    assert code == 0, log
    assert (base / "model" / "model").read_text() == "trained"
