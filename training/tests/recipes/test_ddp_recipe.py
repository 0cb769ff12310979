"""The ddp recipe under the agent, on two hosts with real torchrun, interrupted in every way."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from cluster import running
from hosts import TRAINING, processes_below
from sagemaker_host import make_host

HOSTS = ("127.0.0.2", "127.0.0.3")
# On a busy machine all 88 steps would pass before a test sees step 40.
SLOW_FROM_STEP_40 = """
import runpy, time
from pathlib import Path
import tidewheel

save_due, steps = tidewheel.save_due, 0

def slow_save_due():
    global steps
    steps += 1
    time.sleep(0.3 if steps >= 40 else 0)
    return save_due()

tidewheel.save_due = slow_save_due
runpy.run_path(str(Path(__file__).with_name("train.py")), run_name="__main__")
"""
pytestmark = pytest.mark.slow
MakeHosts = Callable[..., list[Path]]


def hosts_below(
    root: Path, shards: Path, hosts: tuple[str, ...], *, is_slow: bool = False, **more: object
) -> list[Path]:
    source = TRAINING / "recipes" / "ddp"
    if is_slow:
        source = Path(shutil.copytree(source, root / "source"))
        (source / "slow.py").write_text(SLOW_FROM_STEP_40)
    return [
        make_host(
            root / host,
            host=host,
            hosts=hosts,
            hyperparameters={
                "sagemaker_program": "slow.py" if is_slow else "train.py",
                "sagemaker_job_name": root.name,
                "tidewheel_strategy": "ddp",
                "epochs": 4,
                "checkpoint_steps": 20,
                **more,
            },
            source=source,
            channels={"train": shards},
        )
        for host in hosts
    ]


@pytest.fixture
def make_hosts(tmp_path: Path, digit_shards: Path) -> MakeHosts:
    def make(
        attempt: str,
        saved: Path | None = None,
        hosts: tuple[str, ...] = HOSTS,
        *,
        is_slow: bool = False,
        **more: object,
    ) -> list[Path]:
        bases = hosts_below(tmp_path / attempt, digit_shards, hosts, is_slow=is_slow, **more)
        for base in bases if saved else []:
            # As from S3, every host of the next job gets all checkpoints.
            shutil.copytree(saved or base, base / "checkpoints", dirs_exist_ok=True)
        return bases

    return make


@pytest.fixture(scope="session")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory, digit_shards: Path) -> Path:
    """The leader's folder of an uninterrupted run."""
    bases = hosts_below(tmp_path_factory.mktemp("uninterrupted"), digit_shards, HOSTS)
    with running(bases, TIDEWHEEL_SPOT="1") as cluster:
        assert cluster.wait() == [0, 0], cluster.log()
    return bases[0]


def model_of(base: Path) -> bytes:
    return (base / "model" / "model.pt").read_bytes()


def test_an_uninterrupted_run_recognises_the_digits(uninterrupted: Path) -> None:
    metrics = json.loads((uninterrupted / "model" / "metrics.json").read_text())
    assert metrics["accuracy"] >= 0.97
    assert metrics["step"] == metrics["totalSteps"] == 88
    progress = json.loads((uninterrupted / "checkpoints" / "tidewheel-progress.json").read_text())
    assert progress["step"] == progress["totalSteps"] == 88
    assert progress["checkpoint"] == "step-00000088"
    assert progress["metrics"]["accuracy"] == metrics["accuracy"]


def test_a_warned_run_resumes_to_the_same_bits(make_hosts: MakeHosts, uninterrupted: Path) -> None:
    first = make_hosts("first", is_slow=True)
    with running(first) as cluster:
        cluster.await_step(40)
        # One of them gets it, and all of them save.
        cluster.agents[1].send_signal(signal.SIGTERM)
        assert cluster.wait(30) == [143, 143], cluster.log()
        saved = cluster.progress()
        assert "stop requested: saved step" in cluster.log()
        assert "host 127.0.0.3 got a stop request (SIGTERM)" in cluster.log()
        assert f"step {saved['step']} is safe; exit code 143" in cluster.log()
    assert 40 <= saved["step"] < 88
    assert not (first[0] / "output" / "failure").exists()
    assert [processes_below(base) for base in first] == [[], []]

    second = make_hosts("second", first[0] / "checkpoints")
    # The next host may have more CPUs.
    with running(second, TIDEWHEEL_CPUS="2") as cluster:
        assert cluster.wait() == [0, 0], cluster.log()
        assert f"resumed at step {saved['step']} of 88" in cluster.log()
        assert cluster.progress()["trainingSeconds"] > saved["trainingSeconds"]
    assert model_of(second[0]) == model_of(uninterrupted)


@pytest.mark.parametrize(
    "lost", [pytest.param(0, id="leader"), pytest.param(1, id="member", marks=pytest.mark.heavy)]
)
def test_after_a_lost_host_the_bits_are_the_same(
    make_hosts: MakeHosts, uninterrupted: Path, lost: int
) -> None:
    first = make_hosts("first", is_slow=True)
    with running(first) as cluster:
        cluster.await_step(40)
        cluster.lose_host(lost)
        survivor = 1 - lost
        assert cluster.agents[survivor].wait(30) == 143, cluster.log(survivor)
        failure = (first[survivor] / "output" / "failure").read_text()
    assert failure.startswith(f"Interrupted: host {HOSTS[lost]} was lost")
    assert processes_below(first[survivor]) == []

    second = make_hosts("second", first[0] / "checkpoints")
    with running(second) as cluster:
        assert cluster.wait() == [0, 0], cluster.log()
        assert "resumed at step " in cluster.log()
    assert model_of(second[0]) == model_of(uninterrupted)


def test_a_checkpoint_of_another_training_is_refused(
    make_hosts: MakeHosts, uninterrupted: Path
) -> None:
    bases = make_hosts("longer", uninterrupted / "checkpoints", HOSTS[:1], epochs=13)
    with running(bases) as cluster:
        assert cluster.wait(60) == [1], cluster.log()
    failure = (bases[0] / "output" / "failure").read_text()
    assert "belongs to other data or another length of training" in failure


def test_ddp_resumes_with_another_number_of_hosts(
    make_hosts: MakeHosts, uninterrupted: Path
) -> None:
    """It computes the same steps on the same samples, with other rounding."""
    first = make_hosts("two", is_slow=True)
    with running(first) as cluster:
        cluster.await_step(40)
        cluster.signal_all(signal.SIGTERM)
        assert cluster.wait(30) == [143, 143], cluster.log()
    second = make_hosts("one", first[0] / "checkpoints", HOSTS[:1])
    with running(second) as cluster:
        assert cluster.wait() == [0], cluster.log()
        assert "2 ranks before, 1 now: not equal to the bit" in cluster.log()
    metrics = json.loads((second[0] / "model" / "metrics.json").read_text())
    assert metrics["step"] == 88
    assert metrics["accuracy"] >= 0.97
