"""Loaders whose processes start again in each epoch, as the hooks see it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hooked_programs import hooked, trainers

pytestmark = pytest.mark.slow


def test_workers_that_start_again_are_counted(tmp_path: Path) -> None:
    script = (
        "import sys, time, torch\n"
        "from torch.utils.data import DataLoader\n"
        "keeps = len(sys.argv) > 1\n"
        "class Slow:\n"
        "    def __len__(self): return 4\n"
        "    def __getitem__(self, index):\n"
        "        time.sleep(0.1)\n"
        "        return torch.ones(2)\n"
        "model = torch.nn.Linear(2, 1)\n"
        "optimizer = torch.optim.SGD(model.parameters(), 0.01)\n"
        "loader = DataLoader(Slow(), 2, num_workers=1, persistent_workers=keeps)\n"
        "for epoch in range(4):\n"
        "    for batch in loader:\n"
        "        model(batch).mean().backward()\n"
        "        optimizer.step()\n"
    )
    hooked(tmp_path / "cells", "-c", script)
    hooked(tmp_path / "kept", "-c", script, "keeps")
    (again,) = trainers(tmp_path / "cells")
    (kept,) = trainers(tmp_path / "kept")
    assert (again.restarts, kept.restarts, kept.restart) == (3, 0, 0.0)
    assert again.restart > 3 * 0.2


def test_a_slow_start_of_workers_is_no_work_in_the_loop(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import multiprocessing.popen_fork as fork\n"
        "import time, torch\n"
        "from torch.utils.data import DataLoader\n"
        "launch = fork.Popen._launch\n"
        "def slowly(self, process):\n"
        "    time.sleep(0.6)\n"
        "    launch(self, process)\n"
        "fork.Popen._launch = slowly\n"
        "model = torch.nn.Linear(2, 1)\n"
        "optimizer = torch.optim.SGD(model.parameters(), 0.01)\n"
        "loader = DataLoader(torch.ones(4, 2), 2, num_workers=1)\n"
        "for epoch in range(4):\n"
        "    for batch in loader:\n"
        "        model(batch).mean().backward()\n"
        "        optimizer.step()\n"
    )
    hooked(tmp_path / "cells", str(script))
    (trainer,) = trainers(tmp_path / "cells")
    assert (trainer.steps, trainer.restarts, trainer.host_work) == (8, 3, 0)
    assert trainer.restart > 3 * 0.6
