"""Utilisation of NVIDIA GPUs, read from the driver's own library (NVML) without any package.

Interface: https://docs.nvidia.com/deploy/nvml-api/
"""

import ctypes
from dataclasses import dataclass
from typing import Any


class _Utilization(ctypes.Structure):
    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


class _Memory(ctypes.Structure):
    _fields_ = (
        ("total", ctypes.c_ulonglong),
        ("free", ctypes.c_ulonglong),
        ("used", ctypes.c_ulonglong),
    )


@dataclass(frozen=True)
class GpuReading:
    """All GPUs of the machine: means in percent, sums of bytes and watts."""

    busy_percent: float | None
    """Of the last sampling period, the time in which a kernel ran."""
    memory_percent: float | None
    memory_bytes: tuple[int, int] | None
    """Used, and there."""
    watts: float | None


class Gpus:
    """All GPUs of the machine."""

    def __init__(self, library: Any, handles: list[ctypes.c_void_p]) -> None:  # noqa: ANN401
        self._library = library
        self._handles = handles

    def read(self) -> GpuReading:
        busy: list[float] = []
        memories: list[_Memory] = []
        milliwatts: list[int] = []
        for handle in self._handles:
            rates, memory, power = _Utilization(), _Memory(), ctypes.c_uint()
            if self._library.nvmlDeviceGetUtilizationRates(handle, ctypes.byref(rates)) == 0:
                busy.append(float(rates.gpu))
            if self._library.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)) == 0:
                memories.append(memory)
            if self._library.nvmlDeviceGetPowerUsage(handle, ctypes.byref(power)) == 0:
                milliwatts.append(power.value)
        return GpuReading(
            busy_percent=_mean(busy),
            memory_percent=_mean([100.0 * each.used / max(1, each.total) for each in memories]),
            memory_bytes=(sum(each.used for each in memories), sum(each.total for each in memories))
            if memories
            else None,
            watts=round(sum(milliwatts) / 1000, 1) if milliwatts else None,
        )

    def memories(self) -> list[tuple[int, int]]:
        """Of each GPU: the bytes that are used, and those that are there."""
        found = []
        for handle in self._handles:
            memory = _Memory()
            if self._library.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)) == 0:
                found.append((memory.used, memory.total))
        return found

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
