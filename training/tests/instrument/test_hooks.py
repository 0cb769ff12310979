"""The hooks in real PyTorch scripts that know nothing of them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from hooked_programs import hooked, output
from hosts import TRAINING, free_ports
from tidewheel_agent.agent_path import AGENT
from tidewheel_agent.evidence.cells import (
    awaits_first_step,
    forward_line,
    read_counts,
    removed_hook,
    step_seconds,
)

pytestmark = pytest.mark.slow
SCRIPTS = Path(__file__).parent / "scripts"


LOOP = """
import time
import tidewheel
for _ in range(12):
    time.sleep(0.01)
    tidewheel.stepped(32)
tidewheel.stepped(64, 2)
"""


def test_a_loop_without_a_framework_says_its_steps(tmp_path: Path) -> None:
    own = str(TRAINING / "agent" / "for_scripts")
    program = f"import sys; sys.path.append({own!r})\n{LOOP}"
    assert output("-c", program, is_cold=True) == ""
    assert hooked(tmp_path / "cells", "-c", program, is_cold=True) == ""
    (trainer,) = read_counts(tmp_path / "cells", time.monotonic())
    assert (trainer.steps, trainer.samples, trainer.knows_samples) == (14, 448, True)
    assert (trainer.workers, trainer.batch_size) == (0, 32)
    durations = step_seconds(tmp_path / "cells", trainer.pid, 2, 12)
    assert min(durations) >= 0.01


FIRST_STEP = """
import os, pathlib, sys
import torch
sys.path.append(AGENT)
from tidewheel_agent.evidence.cells import awaits_first_step
cells = pathlib.Path(os.environ["TIDEWHEEL_INSTRUMENT_DIR"])
print(awaits_first_step(cells), flush=True)
weight = torch.ones(1, requires_grad=True)
optimizer = torch.optim.SGD([weight])
weight.sum().backward()
optimizer.step()
print(awaits_first_step(cells), flush=True)
"""


def test_the_first_step_is_awaited_until_it_comes(tmp_path: Path) -> None:
    program = FIRST_STEP.replace("AGENT", repr(str(AGENT)))
    assert hooked(tmp_path / "cells", "-c", program).split() == ["True", "False"]
    assert not awaits_first_step(tmp_path / "cells")


def test_a_slow_dataset_shows_as_waiting(tmp_path: Path) -> None:
    script = str(SCRIPTS / "hooked.py")
    assert hooked(tmp_path / "cells", script) == output(script)
    counts = read_counts(tmp_path / "cells", time.monotonic())
    (trainer,) = [each for each in counts if each.is_trainer]
    workers = [each for each in counts if not each.is_trainer]
    assert (trainer.steps, trainer.samples, trainer.knows_samples) == (24, 192, True)
    assert (trainer.workers, trainer.batch_size, len(workers)) == (2, 8, 2)
    assert 0 < trainer.asked_first_batch < trainer.got_first_batch < trainer.first_step
    # 96 samples of 4 ms each: of one training and of two validations here, of one in the workers.
    assert trainer.wait > 3 * 0.38
    assert sum(each.fetch for each in workers) > 0.38
    assert trainer.save > 0


def test_decoders_are_told_apart_from_other_work(tmp_path: Path) -> None:
    script = (
        "import io\n"
        "from PIL import Image\n"
        "from torch.utils.data import DataLoader\n"
        "file = io.BytesIO()\n"
        "Image.effect_noise((512, 512), 90).save(file, 'PNG')\n"
        "class Images:\n"
        "    def __len__(self): return 48\n"
        "    def __getitem__(self, index):\n"
        "        image = Image.open(io.BytesIO(file.getvalue()))\n"
        "        return len(image.tobytes()) + sum(range(20_000))\n"
        "print([len(batch) for batch in DataLoader(Images(), 8, num_workers=2)])\n"
    )
    assert hooked(tmp_path / "cells", "-c", script) == output("-c", script)
    counts = read_counts(tmp_path / "cells", time.monotonic())
    workers = [each for each in counts if not each.is_trainer]
    assert len(workers) == 2
    assert all(0 < each.decode_cpu < each.worker_cpu for each in workers)
    assert all(each.decode_cpu == 0 for each in counts if each.is_trainer)


def test_ranks_that_wait_for_another_exchange(tmp_path: Path) -> None:
    hooked(
        tmp_path / "cells",
        *("-m", "torch.distributed.run", "--nproc-per-node=2"),
        f"--master-port={free_ports(1)}",
        str(SCRIPTS / "ranks.py"),
    )
    fast, slow = sorted(
        read_counts(tmp_path / "cells", time.monotonic()), key=lambda each: each.rank
    )
    assert (fast.rank, slow.rank, fast.steps, slow.steps) == (0, 1, 60, 60)
    assert fast.exchange / 60 > 0.015
    assert fast.exchange > slow.exchange


def test_a_hook_that_fails_removes_itself(tmp_path: Path) -> None:
    script = (
        "from torch.utils.data import BatchSampler, DataLoader, dataloader\n"
        "hooked = dataloader._BaseDataLoaderIter.__next__\n"
        "class Pairs(BatchSampler):\n"
        "    batch_size = property(lambda self: 1 / 0)\n"
        "    def __init__(self): pass\n"
        "    def __iter__(self): return iter([[0, 1], [2, 3]])\n"
        "print([batch.tolist() for batch in DataLoader(range(4), batch_sampler=Pairs())])\n"
        "print(dataloader._BaseDataLoaderIter.__next__ is hooked)\n"
    )
    text = hooked(tmp_path / "cells", "-c", script)
    assert text == "[[0, 1], [2, 3]]\nFalse\n"
    assert removed_hook(tmp_path / "cells") == {
        "hook": "DataLoader",
        "reason": "ZeroDivisionError: division by zero",
    }


def test_a_program_without_batches_counts_nothing(tmp_path: Path) -> None:
    program = "import torch, io; torch.save([], io.BytesIO()); print('script')"
    text = hooked(tmp_path / "cells", "-c", program, before="print('the image')")
    # The sitecustomize of an image, which the hooks hide, runs all the same.
    assert text == "the image\nscript\n"
    assert read_counts(tmp_path / "cells", time.monotonic()) == []


_LOOP = """
import time
import torch

def load():
    time.sleep(0.05)
    return torch.randn(4, 2)

model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
began = time.monotonic()
while time.monotonic() - began < 3:
    optimizer.zero_grad()
    model(load()).mean().backward()
    optimizer.step()
"""


def test_a_loop_without_a_loader_shows_as_host_work(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(_LOOP)
    hooked(tmp_path / "cells", str(script))
    (trainer,) = read_counts(tmp_path / "cells", time.monotonic())
    assert trainer.looks > 3
    assert trainer.host_work > trainer.looks / 2


def test_a_module_that_is_only_looked_for_gets_its_hooks_later(tmp_path: Path) -> None:
    """As transformers looks for torch before it imports it."""
    script = (
        "import importlib.util\n"
        "assert importlib.util.find_spec('torch') is not None\n"
        "import torch\n"
        "model = torch.nn.Linear(4, 1)\n"
        "optimizer = torch.optim.SGD(model.parameters(), 0.01)\n"
        "for _ in range(3):\n"
        "    model(torch.randn(8, 4)).mean().backward()\n"
        "    optimizer.step()\n"
    )
    hooked(tmp_path / "cells", "-c", script, is_cold=True)
    (trainer,) = read_counts(tmp_path / "cells", time.monotonic())
    assert trainer.steps == 3


_STEPS = """
began = time.monotonic()
while time.monotonic() - began < 2:
    optimizer.zero_grad()
    forward().backward()
    optimizer.step()
    time.sleep(0.005)
"""
_IN_ARITHMETIC = """
import sys, time
import torch

model = torch.nn.Linear(16, 8, bias=False)
frozen = torch.nn.Embedding(4, 16)
optimizer = torch.optim.SGD(model.parameters(), 0.01)

def forward():
    with torch.autocast("cpu", torch.bfloat16, enabled="autocast" in sys.argv):
        return model(frozen(torch.arange(4))).float().mean()
"""


_COMPILED = """
import sys, time
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(16, 8, bias=False)

    def forward(self, x):
        return self.layer(x)

class Casting(Model):
    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            return self.layer(x)

model = Casting() if "inside" in sys.argv else Model()
if "bfloat16" in sys.argv:
    model = model.to(torch.bfloat16)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
compiled = torch.compile(model, backend="eager")
x = torch.randn(4, 16, dtype=model.layer.weight.dtype)

def forward():
    with torch.autocast("cpu", torch.bfloat16, enabled="autocast" in sys.argv):
        return compiled(x).float().mean()

forward()
"""


_PINNING = """
import sys, threading, time
import torch
from torch.utils.data import DataLoader

torch.set_num_threads(3)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.01)

def _pin_memory_loop():
    until = time.monotonic() + 2.5
    while time.monotonic() < until:
        sum(range(1000))

threading.Thread(target=_pin_memory_loop).start()
began = time.monotonic()
while time.monotonic() - began < 3:
    model(torch.randn(8, 4)).mean().backward()
    optimizer.step()
    time.sleep(0.05)
"""


def test_threads_are_counted_and_the_one_that_pins_timed(tmp_path: Path) -> None:
    """PyTorch pins only where it finds an accelerator; its thread is known by its name."""
    script = tmp_path / "train.py"
    script.write_text(_PINNING)
    hooked(tmp_path / "cells", str(script))
    (trainer,) = read_counts(tmp_path / "cells", time.monotonic())
    assert trainer.threads == 3
    assert 0 < trainer.pin_cpu < 3


@pytest.mark.parametrize("arithmetic", ["float32", "autocast"])
def test_the_arithmetic_of_one_step_is_observed(tmp_path: Path, arithmetic: str) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        f"{_IN_ARITHMETIC}{_STEPS}print(len(torch.nn.modules.module._global_forward_hooks))"
    )
    # The hook is gone after its step.
    assert hooked(tmp_path / "cells", str(script), arithmetic) == "0\n"
    (trainer,) = read_counts(tmp_path / "cells", time.monotonic())
    # 16 x 8 weights, multiplied with four vectors: forward, and backward twice.
    operations = 2 * 16 * 8 * 4 * 3
    expected = (operations, 0) if arithmetic == "float32" else (0, operations)
    assert (trainer.float32_work, trainer.bits16_work) == expected
    assert forward_line(tmp_path / "cells", [trainer.pid]) == "train.py:11 forward"


@pytest.mark.parametrize(
    ("arithmetic", "kind"),
    [("float32", "float32"), ("bfloat16", "bits16"), ("autocast", "bits16"), ("inside", None)],
)
def test_the_arithmetic_of_a_compiled_module_is_told_by_its_weights(
    tmp_path: Path, arithmetic: str, kind: str | None
) -> None:
    script = tmp_path / "train.py"
    script.write_text(f"{_COMPILED}{_STEPS}print(torch._dynamo.utils.counters['frames']['ok'])")
    frames = int(hooked(tmp_path / "cells", str(script), arithmetic))
    (trainer,) = read_counts(tmp_path / "cells", time.monotonic())
    operations = 2 * 16 * 8 * 4 * 3
    expected = tuple(operations if kind == each else 0 for each in ("float32", "bits16"))
    assert (trainer.float32_work, trainer.bits16_work) == expected
    assert frames == 1
