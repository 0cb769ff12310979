"""A rank that ends without an exception: torchrun's report alone says which one it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster import running
from sagemaker_host import make_hosts

HOSTS = ("127.0.0.2", "127.0.0.3")
SCRIPT = """
import sys
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
if dist.get_rank() == 1:
    print("no images in channel train", file=sys.stderr)
    raise SystemExit(3)
dist.all_reduce(torch.ones(1))
"""


@pytest.mark.slow
def test_all_hosts_report_the_words_of_the_rank_that_left(tmp_path: Path) -> None:
    bases = make_hosts(tmp_path, HOSTS, SCRIPT, {"tidewheel_strategy": "ddp"})
    with running(bases, TIDEWHEEL_MODEL="", OMP_NUM_THREADS="1") as cluster:
        assert cluster.wait(120) == [1, 1], cluster.log()
    for base in bases:
        text = (base / "output" / "failure").read_text()
        assert text.startswith(
            f"train.py ended with exit code 1 on {HOSTS[1]}: rank 1 ended with exit code 3\n"
        )
        assert "no images in channel train" in text
