"""A gang on EC2 that loses a host: the others stay, another comes, the recipe goes on.

The hosts and their programs are real. S3 is a folder, and this test writes the service's requests:
functions/launch/ec2/refill.ts decides them, test/integration/ec2 runs both together. It takes
minutes, in the recipes' own environments: `pytest -m heavy tests/host/test_rounds.py -s`.
"""

from __future__ import annotations

import json
import shutil
import tarfile
import time
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import cache
from os import kill
from pathlib import Path
from signal import SIGKILL

import pytest

from catalogue import TWO
from cluster import wait_until
from ec2_host import Host, channel, job, metadata_service, put
from heavy import recipe_of
from hosts import free_ports, processes_below
from interrupted import Recipe, run_whole, same_result

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(1800)]
ADDRESSES = (*TWO, "127.0.0.4")
IDS = ("i-0a", "i-0b", "i-0c")
LIMIT_SECONDS = 600
CASES = [
    pytest.param(name, lost, id=f"{name}: the {'first' if lost == 0 else 'other'} host")
    for name in ("ddp", "mpi", "parameter-server", "multi-worker-mirrored", "ray-two")
    for lost in (0, 1)
]


def on_two_alike(name: str, work: Path) -> Recipe:
    """The recipe without helpers, because a fleet has one instance type."""
    recipe = recipe_of(name, work)
    return replace(recipe, job=replace(recipe.job, hosts=TWO, groups={}), check=None)


@cache
def undisturbed(name: str, work: Path) -> Path:
    return run_whole(on_two_alike(name, work), work / f"{name}-undisturbed")


class Gang:
    """The hosts of one attempt, and the service's requests to them."""

    def __init__(self, recipe: Recipe, root: Path, bucket: Path, machines: ExitStack) -> None:
        self.recipe, self.root, self.bucket, self.machines = recipe, root, bucket, machines
        self.hosts: dict[str, Host] = {}
        port = free_ports(20)
        self.ports = (port, port + 1)
        shutil.copytree(recipe.job.data, bucket / "data")
        shutil.copytree(recipe.job.source, bucket / "code")
        parameters = {
            "sagemaker_program": recipe.job.program,
            "tidewheel_strategy": recipe.job.strategy,
            "tidewheel_run_id": f"{root.parent.name}-{root.name}",
            **recipe.job.hyperparameters,
        }
        self.document = job(
            nodes=2,
            refills=True,
            maximumRunSeconds=3600,
            InputDataConfig=[channel("train", "s3://b/data/"), channel("code", "s3://b/code/")],
            HyperParameters={key: json.dumps(value) for key, value in parameters.items()},
        )

    def launch(self, number: int) -> None:
        instance_id, address = IDS[number], ADDRESSES[number]
        url, _ = self.machines.enter_context(metadata_service(instance_id, address))
        host = Host(
            self.root / instance_id,
            self.bucket,
            url,
            json.dumps(self.document),
            instance_id=instance_id,
            ports=self.ports,
            python=self.recipe.job.python,
            TIDEWHEEL_CPUS="1",
            TIDEWHEEL_GPUS="0",
            TIDEWHEEL_LOOK_SECONDS="1",
            TIDEWHEEL_SYNC_SECONDS="1",
            TIDEWHEEL_MEET_SECONDS="300",
            TIDEWHEEL_PEERS_SECONDS="300",
        )
        self.hosts[instance_id] = host
        self.machines.callback(self.lose, number)

    def lose(self, number: int) -> None:
        for pid in processes_below(self.hosts[IDS[number]].base):
            with suppress(ProcessLookupError):
                kill(pid, SIGKILL)
        self.hosts[IDS[number]].process.wait(10)

    def request(self, name: str, **document: object) -> None:
        put(self.hosts[IDS[0]].folder / "requests" / name, json.dumps(document))

    def step(self) -> int:
        note = self.bucket / "run" / "checkpoints" / "tidewheel-progress.json"
        return int(json.loads(note.read_text())["step"]) if note.exists() else 0

    def all_run(self) -> bool:
        return all(host.process.poll() is None for host in self.hosts.values())

    def logs(self) -> str:
        texts = [f"--- {name}\n{host.log.read_text()[-6000:]}" for name, host in self.hosts.items()]
        return "\n".join(texts)

    def model(self) -> Path:
        """A folder with the uploaded model, laid out as a host's."""
        found = next(iter((self.bucket / "run" / "models").glob("*/output/model.tar.gz")))
        with tarfile.open(found) as archive:
            archive.extractall(self.root / "result" / "model", filter="data")
        return self.root / "result"


@pytest.mark.parametrize(("name", "lost"), CASES)
def test_a_new_host_replaces_a_lost_one(
    name: str, lost: int, work: Path, tmp_path: Path, bucket: Path
) -> None:
    recipe = on_two_alike(name, work)
    with ExitStack() as machines:
        gang = Gang(recipe, tmp_path / "gang", bucket, machines)
        gang.launch(0)
        gang.launch(1)
        wanted = recipe.interrupt_from + recipe.total // 4

        def trained() -> bool:
            assert gang.all_run(), gang.logs()
            return gang.step() >= wanted

        wait_until(trained, LIMIT_SECONDS, f"step {wanted}")
        gang.lose(lost)
        lost_at, before = time.monotonic(), gang.step()
        stays = IDS[1 - lost]
        opened = {"openedAt": "2026-11-21T04:00:00Z", "missing": 1, "leftSeconds": 3000}
        gang.request("round-2.json", round=2, stay=[stays], lost=[IDS[lost]], **opened)
        gang.launch(2)
        gang.request("members-2.json", round=2, members=sorted([stays, IDS[2]]))
        stayed, fresh = gang.hosts[stays], gang.hosts[IDS[2]]

        def goes_on() -> bool:
            assert fresh.process.poll() is None and stayed.process.poll() is None, gang.logs()
            return "resumed at step" in stayed.log.read_text() + fresh.log.read_text()

        wait_until(goes_on, LIMIT_SECONDS, "the next round")
        seconds = time.monotonic() - lost_at
        codes = [host.process.wait(LIMIT_SECONDS) for host in (stayed, fresh)]
        assert codes == [0, 0], gang.logs()
        assert stayed.report()["round"] == fresh.report()["round"] == 2
        running = [processes_below(host.base) for host in (stayed, fresh)]
        assert running == [[], []]
        print(f"\n{name}, host {lost}: at step {before}, trained on after {seconds:.0f} s")
        assert before >= wanted
        assert same_result(recipe, undisturbed(name, work), gang.model())
