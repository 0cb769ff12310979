"""Which line of a real PyTorch script a remedy names."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from hooked_programs import HOOKS, output
from hosts import free_ports
from tidewheel_agent.evidence.cells import read_counts, remedy_lines

pytestmark = pytest.mark.slow

LOAD = """
import torch
from torch.utils.data import DataLoader, TensorDataset
data = TensorDataset(torch.ones(8, 2))
def training(): return DataLoader(data, 2)
def validation(): return DataLoader(data, 4)
def again(loader): return DataLoader(loader.dataset, loader.batch_size)
"""

TRAIN = """
import io, torch, kit
from data import load
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
def save(state):
    torch.save(state, io.BytesIO())
loaders = load.training(), load.validation()
def epoch(loader):
    for (batch,) in loader:
        model(batch).mean().backward()
        optimizer.step()
for _ in range(2):
    epoch(loaders[0])
    save({"weights": torch.ones(1_000_000)})
    for _ in loaders[1]: pass
torch.save({}, io.BytesIO())
"""


def lines_of(folder: Path, train: str, load: str = LOAD, **more: str) -> dict[str, str]:
    """What the hooks note of `train.py` in a code folder with these files."""
    code, packages, cells = folder / "code", folder / "lib" / "site-packages", folder / "cells"
    for each in (code / "data", packages, cells):
        each.mkdir(parents=True)
    (code / "train.py").write_text(train)
    (code / "data" / "load.py").write_text(load)
    (packages / "kit.py").write_text(LOAD)
    paths = [*HOOKS, str(packages), str(folder)]
    environment = {
        "PYTHONPATH": os.pathsep.join(paths),
        "TIDEWHEEL_INSTRUMENT_DIR": str(cells),
        **more,
    }
    output("train.py", cwd=code, environment=environment)
    (pid,) = [int(each.stem) for each in cells.glob("*.cells")]
    return remedy_lines(cells, [pid])


def test_a_remedy_names_the_lines_of_the_script(tmp_path: Path) -> None:
    assert lines_of(tmp_path, TRAIN) == {
        "loader": "data/load.py:5 training",
        "save": "train.py:7 save",
    }


def test_a_loader_of_a_package_names_the_call_into_it(tmp_path: Path) -> None:
    script = TRAIN.replace("load.training()", "kit.training()")
    assert lines_of(tmp_path, script)["loader"] == "train.py:8, through kit"


def test_a_loader_made_again_keeps_its_line(tmp_path: Path) -> None:
    """As Accelerate's `prepare` makes it again."""
    remade = TRAIN.replace("epoch(loaders[0])", "epoch(kit.again(loaders[0]))")
    script = remade.replace(", load.validation()", ", load.validation_of_others()")
    load = LOAD + "def validation_of_others(): return DataLoader(TensorDataset(torch.ones(4, 2)))\n"
    assert lines_of(tmp_path, script, load=load)["loader"] == "data/load.py:5 training"


def test_the_package_is_named_where_two_lines_load(tmp_path: Path) -> None:
    remade = TRAIN.replace("epoch(loaders[0])", "epoch(kit.again(loaders[0]))")
    assert lines_of(tmp_path, remade)["loader"] == "train.py:14, through kit"


def test_a_line_outside_of_the_code_shows_no_path(tmp_path: Path) -> None:
    (tmp_path / "private.py").write_text(LOAD)
    script = TRAIN.replace("load.training()", "private.training()")
    lines = lines_of(tmp_path, script.replace("import io", "import private, io"))
    assert lines["loader"] == "private.py:5 training"


def lines_of_rank(tmp_path: Path, script: str) -> dict[str, str]:
    """Of a gang of one."""
    ended = f"{script}torch.distributed.barrier()\ntorch.distributed.destroy_process_group()\n"
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_ports(1))}
    return lines_of(tmp_path, ended, **place, RANK="0", WORLD_SIZE="1")


def test_the_wrap_in_ddp_is_a_line(tmp_path: Path) -> None:
    script = TRAIN.replace(
        "optimizer =",
        "torch.distributed.init_process_group('gloo')\n"
        "model = torch.nn.parallel.DistributedDataParallel(model)\n"
        "optimizer =",
    )
    assert lines_of_rank(tmp_path, script)["exchange"] == "train.py:6"


def test_the_batch_size_is_that_of_the_training(tmp_path: Path) -> None:
    """The iterator of an epoch may have the address of the validation's before it."""
    lines_of(tmp_path, TRAIN)
    (trainer,) = read_counts(tmp_path / "cells", time.monotonic())
    assert (trainer.batch_size, trainer.samples) == (2, 16)


@pytest.mark.parametrize(
    "wrap",
    [
        "for each in (model,): fully_shard(each)",
        "model = FullyShardedDataParallel(model, device_id=torch.device('cpu'))",
    ],
)
def test_the_first_wrap_in_fsdp_is_a_line(tmp_path: Path, wrap: str) -> None:
    # PyTorch warns that one process shards nothing.
    fsdp = (
        "import warnings; warnings.simplefilter('ignore')\nfrom torch.distributed.fsdp import *\n"
    )
    script = fsdp + TRAIN.replace(
        "optimizer =",
        f"torch.distributed.init_process_group('gloo')\n{wrap}\noptimizer =",
    )
    lines = lines_of_rank(tmp_path, script)
    assert lines["shard"] == "train.py:8"
    assert "exchange" not in lines
