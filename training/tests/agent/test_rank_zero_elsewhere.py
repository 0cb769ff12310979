"""Rank 0 on another host than the leader: Ray gives it to any host that trains.

With Ray itself, a minute each: `pytest -m heavy tests/agent/test_rank_zero_elsewhere.py`.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from agent_runs import SAVE
from cluster import Cluster, running, wait_until
from heavy import python_of
from hosts import free_ports
from sagemaker_host import make_host

HOSTS = ("127.0.0.2", "127.0.0.3")
LOOP = """
import time
import tidewheel
def learn(rank, saves):
    step = 0
    while not tidewheel.stop_soon():
        step += 1
        requested = tidewheel.save_soon()
        tidewheel.progress(step, 10_000, loss=0.5)
        if saves and (requested or step == 5):
            print("rank", rank, "saves step", step, "as requested" if requested else "", flush=True)
            save(step, None)
        time.sleep(0.05)
"""
WHO_SAVES = pytest.mark.parametrize(
    ("saves", "saving_host"),
    [("rank == 0", 1), ("tidewheel.is_main_process()", 0)],
    ids=["rank 0 saves", "the main process saves"],
)


def check_note_and_request(cluster: Cluster, saving_host: int, seconds: float = 30) -> None:
    """The leader's note names the checkpoint of any host, also the one after a request."""
    cluster.await_step(5, seconds)
    # EC2 warns the leader's host; the script that saves may run on the other.
    cluster.agents[0].send_signal(signal.SIGUSR1)
    cluster.await_step(6, 30)
    wait_until(lambda: "saved as requested" in cluster.log(), 10, "the leader's line")
    name = cluster.progress()["checkpoint"]
    saved_on = [(base / "checkpoints" / name).exists() for base in cluster.bases]
    assert saved_on == [host == saving_host for host in (0, 1)]
    # The log of the leader's script or of Ray's driver completes what the checkpoint does not hold.
    note = cluster.progress()
    assert (note["totalSteps"], note["metrics"]["loss"]) == (10_000, 0.5)


def test_the_leader_reports_another_hosts_checkpoint(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    start = f"""
leads = os.environ["SM_CURRENT_HOST"] == {HOSTS[0]!r}
os.environ.update(RANK="1" if leads else "0", LOCAL_RANK="0", WORLD_SIZE="2")
rank = int(os.environ["RANK"])
print("rank", rank, "is main:", tidewheel.is_main_process(), flush=True)
learn(rank, saves=rank == 0)
"""
    (source / "train.py").write_text(SAVE + LOOP + start)
    parameters = {"sagemaker_program": "train.py", "tidewheel_strategy": "multi-worker-mirrored"}
    bases = [
        make_host(
            tmp_path / host, host=host, hosts=HOSTS, source=source, hyperparameters=parameters
        )
        for host in HOSTS
    ]
    with running(bases) as cluster:
        check_note_and_request(cluster, saving_host=1)
        assert cluster.log(1).count(" as requested\n") == 1
        assert "rank 1 is main: True" in cluster.log(0)
        assert "rank 0 is main: False" in cluster.log(1)
        # Rank 0 and the main process both print the progress.
        assert all("tidewheel step=5 total=10000 loss=0.5" in cluster.log(n) for n in (0, 1))


IN_RAY = """
import ray
from ray.train import RunConfig, ScalingConfig, get_context
from ray.train.torch import TorchTrainer

def work():
    rank = get_context().get_world_rank()
    print("rank", rank, "is on", os.environ["SM_CURRENT_HOST"], flush=True)
    learn(rank, saves={saves})

ray.init(address=os.environ["RAY_ADDRESS"], logging_level="WARNING")
ids = {{node["NodeManagerAddress"]: node["NodeID"] for node in ray.nodes()}}
# Rank 0 goes to the first of these.
wanted = [{{"ray.io/node-id": ids[host]}} for host in {hosts}]
TorchTrainer(
    work,
    scaling_config=ScalingConfig(num_workers=2, label_selector=wanted),
    run_config=RunConfig(storage_path=os.environ["SM_OUTPUT_INTERMEDIATE_DIR"], name="ray"),
).fit()
"""


@pytest.mark.heavy
@pytest.mark.timeout(900)
@WHO_SAVES
def test_ray_places_rank_zero_on_any_host(tmp_path: Path, saves: str, saving_host: int) -> None:
    python = python_of("ray", "ray")
    source = tmp_path / "source"
    source.mkdir()
    script = SAVE + LOOP + IN_RAY.format(saves=saves, hosts=HOSTS[::-1])
    (source / "train.py").write_text(script)
    parameters = {"sagemaker_program": "train.py", "tidewheel_strategy": "ray"}
    bases = [
        make_host(
            tmp_path / host, host=host, hosts=HOSTS, source=source, hyperparameters=parameters
        )
        for host in HOSTS
    ]
    port = free_ports()
    ports = {"TIDEWHEEL_MASTER_PORT": str(port), "TIDEWHEEL_GANG_PORT": str(port + 1)}
    # Ray folds lines that differ in a number alone.
    more = {"TIDEWHEEL_PEERS_SECONDS": "300", "RAY_DEDUP_LOGS": "0", **ports}
    with running(bases, AGENT_PYTHON=str(python), **more) as ray:
        check_note_and_request(ray, saving_host, 400)
        assert f"rank 0 is on {HOSTS[1]}" in ray.log()
        ray.signal_all(signal.SIGTERM)
        assert ray.wait(120) == [143, 143], ray.log()
