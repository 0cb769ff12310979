"""A trace of some steps by PyTorch's profiler: which operations a step has, and the gaps between.

The file opens in TensorBoard (plugin torch-tb-profiler), in https://ui.perfetto.dev and in
chrome://tracing.
"""

from __future__ import annotations

import os
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler

_SKIPPED = 5
"""The first steps allocate, load libraries and choose algorithms."""
_PRINTED = 12


class Trace:
    """Of `steps` steps of this process, after the first few; of none with 0."""

    def __init__(self, steps: int) -> None:
        self._profiler: profile | None = None
        if steps == 0:
            return
        activities = [ProfilerActivity.CPU]
        if torch.cuda.is_available():
            activities.append(ProfilerActivity.CUDA)
        self._profiler = profile(
            activities=activities,
            schedule=schedule(skip_first=_SKIPPED, wait=0, warmup=1, active=steps, repeat=1),
            on_trace_ready=_write,
        )
        self._profiler.start()

    def step(self) -> None:
        """After each step."""
        if self._profiler is not None:
            self._profiler.step()

    def close(self) -> None:
        """A training that ends earlier writes what it has."""
        if self._profiler is not None:
            self._profiler.stop()


def _write(profiler: profile) -> None:
    folder = Path(os.environ.get("SM_OUTPUT_DATA_DIR", ".")) / "trace"
    tensorboard_trace_handler(str(folder))(profiler)
    order = "self_cuda_time_total" if torch.cuda.is_available() else "self_cpu_time_total"
    table = profiler.key_averages().table(
        sort_by=order, row_limit=_PRINTED, max_name_column_width=40
    )
    print(f"{table}\ntrace in {folder}", flush=True)
