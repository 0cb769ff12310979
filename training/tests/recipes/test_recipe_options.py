"""Where images are prepared, how gradients travel, and on which cores a rank runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from common.cores import cores_of, share_of_cores
from common.gradients import compress_gradients
from common.loop import Trace
from common.preparation import Preparation
from common.shards import ImageReader, read_index
from common.world import join_world
from config import Config
from heavy import recipe_of
from interrupted import measure


@pytest.fixture
def one_rank(tmp_path: Path) -> Iterator[None]:
    """DDP's hooks round what they send, also where there is no other rank."""
    rendezvous = f"file://{tmp_path / 'ranks'}"
    torch.distributed.init_process_group("gloo", init_method=rendezvous, rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize(
    ("precision", "expected"), [("float32", 1 + 2**-12), ("bfloat16", 1.0), ("float16", 1.0)]
)
@pytest.mark.usefixtures("one_rank")
def test_gradients_travel_in_the_chosen_precision(precision: str, expected: float) -> None:
    model = DistributedDataParallel(nn.Linear(2, 1, bias=False))
    compress_gradients(model, precision)
    # Next to 1, float16 tells apart 2**-10 and bfloat16 2**-7.
    model(torch.tensor([[1 + 2**-12, 2.0]])).sum().backward()
    gradient = model.module.weight.grad
    assert gradient is not None
    assert gradient.tolist() == [[expected, 2.0]]


def test_the_accelerator_prepares_what_the_host_would(digit_shards: Path) -> None:
    samples = read_index(digit_shards)[:8]
    prepare = Preparation(side=14, blurs=2)
    on_host = ImageReader(samples[0], 0, prepare)
    later = ImageReader(samples[0], 0, prepare, prepares=False)
    packed = torch.stack([later.read(sample) for sample in samples])
    assert packed.dtype == torch.uint8
    assert later.shape == on_host.shape == (1, 14, 14)
    expected = torch.stack([on_host.read(sample) for sample in samples])
    torch.testing.assert_close(prepare(packed), expected)


@pytest.mark.parametrize("name", ["prepare_on", "gradient_precision", "affinity"])
def test_an_unknown_choice_names_the_others(name: str) -> None:
    with pytest.raises(ValueError, match=rf"{name}='other': choose one of \w+"):
        Config.from_arguments([f"--{name}", "other"])


def sysfs(root: Path, siblings: list[str], sockets: list[int]) -> Path:
    for cpu, (text, socket) in enumerate(zip(siblings, sockets, strict=True)):
        topology = root / f"cpu{cpu}" / "topology"
        topology.mkdir(parents=True)
        (topology / "thread_siblings_list").write_text(f"{text}\n")
        (topology / "physical_package_id").write_text(f"{socket}\n")
    return root


def test_cores_of_a_socket_follow_each_other(tmp_path: Path) -> None:
    # As EC2 numbers them: the second vCPU of each core comes after all first ones.
    root = sysfs(tmp_path, ["0,4", "1,5", "2,6", "3,7"] * 2, [0, 1, 0, 1] * 2)
    assert cores_of(range(8), root) == [(0, 4), (2, 6), (1, 5), (3, 7)]
    assert cores_of([0, 2, 6], root) == [(0,), (2, 6)]
    assert cores_of([40], root) == [(40,)]


def test_ranks_share_all_cores_without_overlap(tmp_path: Path) -> None:
    cores = cores_of(range(6), sysfs(tmp_path, ["0-1", "0-1", "2-3", "2-3", "4-5", "4-5"], [0] * 6))
    shares = [share_of_cores(cores, rank, 2) for rank in range(2)]
    assert shares == [[0, 1], [2, 3, 4, 5]]
    assert share_of_cores(cores, 3, 4) == [0, 1, 2, 3, 4, 5]


def traced(folder: Path, steps: int, trained: int) -> list[Path]:
    trace = Trace(steps)
    for _ in range(trained):
        torch.ones(4, 4) @ torch.ones(4, 4)
        trace.step()
    trace.close()
    return list((folder / "trace").glob("*.pt.trace.json"))


def test_a_trace_holds_the_asked_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SM_OUTPUT_DATA_DIR", str(tmp_path))
    assert traced(tmp_path, steps=0, trained=20) == []
    (file,) = traced(tmp_path, steps=3, trained=20)
    events = json.loads(file.read_text())["traceEvents"]
    assert sum(event.get("name") == "aten::mm" for event in events) == 3
    assert "aten::mm" in capsys.readouterr().out


def test_a_short_training_traces_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SM_OUTPUT_DATA_DIR", str(tmp_path))
    (file,) = traced(tmp_path, steps=50, trained=9)
    events = json.loads(file.read_text())["traceEvents"]
    assert sum(event.get("name") == "aten::mm" for event in events) == 3


def test_ranks_wait_as_long_as_declared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "LOCAL_RANK"):
        monkeypatch.setenv(name, "0")
    for name in ("WORLD_SIZE", "LOCAL_WORLD_SIZE"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("RENDEZVOUS_FILE", f"file://{tmp_path / 'ranks'}")
    world = join_world(timedelta(minutes=55))
    try:
        groups = (world.control, torch.distributed.group.WORLD)
        assert [timeout_of(group) for group in groups] == [timedelta(minutes=55)] * 2
    finally:
        world.close()


def timeout_of(group: Any) -> timedelta:  # noqa: ANN401 (torch's own fields)
    found: timedelta = group._get_backend(torch.device("cpu")).options._timeout
    return found


@pytest.mark.heavy
@pytest.mark.timeout(600)
def test_all_of_them_resume_exactly(tmp_path: Path) -> None:
    recipe = recipe_of("ddp", tmp_path)
    settings = {
        "side": 16,
        "blurs": 2,
        "prepare_on": "accelerator",
        "gradient_precision": "bfloat16",
        "precision": "float16",
        "affinity": "cores",
        "trace_steps": 3,
    }
    parameters = {**recipe.job.hyperparameters, **settings}
    job = replace(recipe.job, hyperparameters=parameters)
    result = measure(replace(recipe, job=job), tmp_path, seed=3)
    assert result.is_within, result
