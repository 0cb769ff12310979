"""Measures this host every second, to find bottlenecks, for less than 1 % of a core."""

from __future__ import annotations

import contextlib
import json
import re
import struct
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Protocol, TextIO

from ..log import iso, log, write_line
from .counters import Counters, Reading

_FORMAT = "=dd"


class DataWait:
    """How long the script's processes waited for data, and how long they computed.

    Each process that uses `tidewheel.batches` has one file of two numbers, which costs it a
    microsecond a batch; the agent does not guess for scripts that do not use it. The sums are over
    all processes of this host, also over those that have ended.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self) -> tuple[float, float] | None:
        """Seconds waited and seconds computed so far; None when no process measures them."""
        waited = computed = 0.0
        found = False
        with contextlib.suppress(OSError):
            for path in self._folder.iterdir():
                with contextlib.suppress(OSError, struct.error):
                    pair = struct.unpack_from(_FORMAT, path.read_bytes())
                    waited, computed, found = waited + pair[0], computed + pair[1], True
        return (waited, computed) if found else None


_SECOND = 1.0
_FINE_SAMPLES = 3600
_COARSE_SECONDS = 10.0
"""After the first hour a line stands for ten seconds, which keeps 28 days under 50 MB."""
_REPORT_SECONDS = 60.0
_FLUSH_SECONDS = 10.0


@dataclass(frozen=True)
class Sample:
    """Means over one interval; None where this host has no such counter."""

    at: str
    seconds: float
    cpuPercent: float | None
    """100 means that all CPUs of this host are busy."""
    memoryBytes: int | None
    diskReadBytesPerSecond: float | None
    diskWriteBytesPerSecond: float | None
    networkReceivedBytesPerSecond: float | None
    networkSentBytesPerSecond: float | None
    gpuPercent: float | None
    """Share of the time in which a kernel ran, averaged over this host's GPUs."""
    gpuMemoryPercent: float | None
    dataWaitPercent: float | None = None
    """Share of the script's time spent waiting for data, from scripts that measure it."""


def sample_between(before: Reading, after: Reading, cpus: int) -> Sample:
    """Turns two readings into rates. Pure."""
    seconds = max(1e-6, after.at - before.at)

    def rate(old: float | None, new: float | None) -> float | None:
        # A counter falls when a device goes away; that interval has no rate.
        return None if old is None or new is None or new < old else (new - old) / seconds

    cpu = rate(before.cpu_seconds, after.cpu_seconds)
    return Sample(
        at=iso(after.wall),
        seconds=round(seconds, 3),
        cpuPercent=None if cpu is None else round(min(100.0, 100 * cpu / cpus), 2),
        memoryBytes=after.memory_bytes,
        diskReadBytesPerSecond=_whole(rate(before.read_bytes, after.read_bytes)),
        diskWriteBytesPerSecond=_whole(rate(before.written_bytes, after.written_bytes)),
        networkReceivedBytesPerSecond=_whole(rate(before.received_bytes, after.received_bytes)),
        networkSentBytesPerSecond=_whole(rate(before.sent_bytes, after.sent_bytes)),
        gpuPercent=after.gpu_percent,
        gpuMemoryPercent=after.gpu_memory_percent,
        dataWaitPercent=_wait_percent(before.data_wait, after.data_wait),
    )


def mean_between(before: Reading, after: Reading, cpus: int, samples: Summary) -> Sample:
    """Means over a longer interval: of its samples where the counter tells a momentary value."""
    memory = samples.mean("memoryBytes")
    return replace(
        sample_between(before, after, cpus),
        memoryBytes=None if memory is None else round(memory),
        gpuPercent=samples.mean("gpuPercent"),
        gpuMemoryPercent=samples.mean("gpuMemoryPercent"),
    )


def _wait_percent(
    before: tuple[float, float] | None, after: tuple[float, float] | None
) -> float | None:
    """Of the batches that came in this interval; None when no batch came."""
    if after is None:
        return None
    waited, computed = (new - old for new, old in zip(after, before or (0.0, 0.0), strict=True))
    return round(100 * waited / (waited + computed), 2) if waited + computed > 0 else None


def _whole(value: float | None) -> float | None:
    return None if value is None else float(round(value))


class Summary:
    """Means and maxima over the whole time, without keeping the samples."""

    def __init__(self) -> None:
        self._sums: dict[str, tuple[float, float]] = {}
        self._peaks: dict[str, float] = {}
        self.seconds = 0.0
        self.samples = 0

    def add(self, sample: Sample) -> None:
        self.samples += 1
        self.seconds += sample.seconds
        for name, value in asdict(sample).items():
            if name == "seconds" or not isinstance(value, (int, float)):
                continue
            total, weight = self._sums.get(name, (0.0, 0.0))
            self._sums[name] = (total + value * sample.seconds, weight + sample.seconds)
            self._peaks[name] = max(value, self._peaks.get(name, value))

    def mean(self, name: str) -> float | None:
        total, weight = self._sums.get(name, (0.0, 0.0))
        return round(total / weight, 2) if weight else None

    def as_dict(self) -> dict[str, object]:
        return {
            "seconds": round(self.seconds, 1),
            "samples": self.samples,
            "mean": {name: self.mean(name) for name in sorted(self._sums)},
            "peak": {name: self._peaks[name] for name in sorted(self._peaks)},
        }


class Observer(Protocol):
    """Gets every reading on the recorder's thread."""

    def observe(self, reading: Reading) -> None: ...

    def close(self, reading: Reading) -> None: ...

    def minute(self) -> dict[str, float]:
        """More values for the minute's line, means since the last call."""
        ...


class UsageRecorder:
    """A thread that writes `usage-<host>.jsonl` and, at its end, `usage-<host>-summary.json`.

    SageMaker merges the output folders of all hosts, so the file names hold the host's name.
    """

    def __init__(
        self,
        counters: Counters,
        folder: Path,
        host: str,
        cpus: int,
        data_wait: DataWait | None = None,
        observer: Observer | None = None,
    ) -> None:
        self._counters = counters
        self._data_wait = data_wait
        self._observer = observer
        self._folder = folder
        self._host = re.sub(r"[^A-Za-z0-9.-]", "_", host)
        self._cpus = cpus
        self._closing = threading.Event()
        self._summary = Summary()
        self._newest: Sample | None = None
        self._cpu_seconds = 0.0
        self._thread = threading.Thread(target=self._run, daemon=True, name="usage")

    def start(self) -> None:
        self._thread.start()

    def means(self) -> dict[str, float]:
        """Mean percentages of this host so far, by name, without those it has no counter for."""
        named = {name: self._summary.mean(name) for name in ("cpuPercent", "gpuPercent")}
        return {name: value for name, value in named.items() if value is not None}

    def gpu_percent(self) -> float | None:
        """How busy the GPUs were at the last look; None on a host that counts none."""
        return self._newest.gpuPercent if self._newest else None

    def close(self, more: Callable[[], dict[str, object]] = dict) -> None:
        """Ends the thread and writes the summary with the members that `more` returns."""
        self._closing.set()
        self._thread.join(3.0)
        document = {
            "host": self._host,
            "cpus": self._cpus,
            **self._summary.as_dict(),
            **self._script_seconds(),
            "samplerCpuSeconds": round(self._cpu_seconds, 3),
            **more(),
        }
        path = self._folder / f"usage-{self._host}-summary.json"
        try:
            path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        except OSError as error:
            log(f"cannot write {path.name}: {error}")

    def _script_seconds(self) -> dict[str, object]:
        """Exact sums over all processes and the whole time, which means of samples are not."""
        seconds = self._data_wait.read() if self._data_wait else None
        if seconds is None:
            return {}
        return {"dataWaitSeconds": round(seconds[0], 3), "computeSeconds": round(seconds[1], 3)}

    def _read(self) -> Reading:
        reading = self._counters.read()
        return replace(reading, data_wait=self._data_wait.read()) if self._data_wait else reading

    def _run(self) -> None:
        path = self._folder / f"usage-{self._host}.jsonl"
        try:
            with path.open("a", encoding="utf-8") as file:
                self._record(file)
        except Exception as error:  # Training must never end because of a measurement.
            log(f"no longer measuring this host: {error!r}")
        finally:
            self._cpu_seconds = time.thread_time()
            self._counters.close()

    def _record(self, file: TextIO) -> None:
        before = reported = self._read()
        self._observe(before)
        flushed = before.at
        since_report = Summary()
        interval = _SECOND
        while not self._closing.wait(interval):
            after = self._read()
            sample = sample_between(before, after, self._cpus)
            before = after
            self._observe(after)
            self._summary.add(sample)
            self._newest = sample
            since_report.add(sample)
            known = {name: value for name, value in asdict(sample).items() if value is not None}
            file.write(json.dumps(known, separators=(",", ":")) + "\n")
            if after.at - flushed >= _FLUSH_SECONDS:
                file.flush()
                flushed = after.at
            if after.at - reported.at >= _REPORT_SECONDS:
                mean = mean_between(reported, after, self._cpus, since_report)
                more = self._observer.minute() if self._observer else {}
                write_line(usage_line(self._host, mean, more).encode())
                reported, since_report = after, Summary()
            if self._summary.samples == _FINE_SAMPLES:
                interval = _COARSE_SECONDS
        if self._observer is not None:
            self._observer.close(self._read())

    def _observe(self, reading: Reading) -> None:
        try:
            if self._observer is not None:
                self._observer.observe(reading)
        except Exception as error:  # What the host itself uses is measured all the same.
            log(f"no longer measuring the steps of the script: {error!r}")
            self._observer = None


def usage_line(host: str, sample: Sample, more: Mapping[str, float] | None = None) -> str:
    """One log line, which SageMaker's metric definitions read."""
    values: dict[str, float | None] = {
        "cpu_percent": sample.cpuPercent,
        "memory_bytes": sample.memoryBytes,
        "gpu_percent": sample.gpuPercent,
        "gpu_memory_percent": sample.gpuMemoryPercent,
        "data_wait_percent": sample.dataWaitPercent,
        "disk_read_bytes_per_second": sample.diskReadBytesPerSecond,
        "network_received_bytes_per_second": sample.networkReceivedBytesPerSecond,
    }
    values |= more or {}
    pairs = " ".join(f"{name}={value:g}" for name, value in values.items() if value is not None)
    return f"[tidewheel] usage host={host} {pairs}"
