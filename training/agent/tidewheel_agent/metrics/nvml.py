"""Utilisation of NVIDIA GPUs, read from the driver's own library (NVML) without any package.

Interface: https://docs.nvidia.com/deploy/nvml-api/
"""

from __future__ import annotations

import ctypes
from typing import Any


class _Utilization(ctypes.Structure):
    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


class _Memory(ctypes.Structure):
    _fields_ = (
        ("total", ctypes.c_ulonglong),
        ("free", ctypes.c_ulonglong),
        ("used", ctypes.c_ulonglong),
    )


class Gpus:
    """All GPUs of the machine, averaged."""

    def __init__(self, library: Any, handles: list[ctypes.c_void_p]) -> None:  # noqa: ANN401
        self._library = library
        self._handles = handles

    def read(self) -> tuple[float | None, float | None]:
        """Percent of the last sampling period in which a kernel ran; percent of memory used."""
        busy: list[float] = []
        full: list[float] = []
        for handle in self._handles:
            rates, memory = _Utilization(), _Memory()
            if self._library.nvmlDeviceGetUtilizationRates(handle, ctypes.byref(rates)) == 0:
                busy.append(float(rates.gpu))
            if self._library.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)) == 0:
                full.append(100.0 * memory.used / max(1, memory.total))
        return _mean(busy), _mean(full)

    def close(self) -> None:
        self._library.nvmlShutdown()


def _mean(values: list[float]) -> float | None:
    return round(sum(values) / len(values), 2) if values else None


def open_gpus() -> Gpus | None:
    """None where there is no driver or no GPU."""
    try:
        library: Any = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    if library.nvmlInit_v2() != 0:
        return None
    count = ctypes.c_uint()
    handles: list[ctypes.c_void_p] = []
    if library.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 0:
        for index in range(count.value):
            handle = ctypes.c_void_p()
            if library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle)) == 0:
                handles.append(handle)
    if not handles:
        library.nvmlShutdown()
        return None
    return Gpus(library, handles)
