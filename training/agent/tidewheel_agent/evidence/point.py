"""Turns two looks at a host into an `EvidencePoint`. Pure."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from tidewheel_contract import documents

from ..log import iso
from ..metrics.counters import Reading
from .cells import ProcessCounts
from .host_state import Memory

_UNKNOWN = ProcessCounts(pid=0, is_trainer=True)


@dataclass(frozen=True)
class Look:
    """A host at one moment."""

    reading: Reading
    memory: Memory
    processes: Sequence[ProcessCounts]
    cpu_seconds: Mapping[int, float]
    """Of the processes that train, by pid; a process that has ended is missing."""
    core_waits: Mapping[int, Mapping[int, float]] = field(default_factory=dict)
    """Of the same processes: seconds in which each thread could run and had no core."""


@dataclass(frozen=True)
class Between:
    """What only many looks tell."""

    durations: Sequence[float]
    """Seconds of each step."""
    run_queue: float
    gpu_busy: float | None
    """A share of 1."""
    host_line: str | None = None
    """The script's line that most looks found at host work."""
    forward_line: str | None = None
    """The script's line that calls the forward pass."""


@dataclass(frozen=True)
class Place:
    host: int
    cores: int
    machine_cores: int = 0
    """Of the machine that the host shares with others; 0 where it has one for itself."""


@dataclass(frozen=True)
class _Trainer:
    """One training process between two looks. `wait`, `save` and `exchange` are shares of 1."""

    now: ProcessCounts
    steps: int
    samples: float
    wait: float
    save: float
    exchange: float
    busy_per_step: float | None = field(default=None)


def point_between(
    before: Look, after: Look, between: Between, place: Place
) -> documents.EvidencePoint:
    seconds = max(1e-6, after.reading.at - before.reading.at)
    trainers = _trainers(before, after, seconds)
    workers = [each for each in after.processes if not each.is_trainer]
    earlier = {each.pid: each for each in before.processes}
    fetch = sum(_rise(earlier, each, "fetch") for each in workers)
    worker_cpu = sum(_rise(earlier, each, "worker_cpu") for each in workers)
    declared = sum(each.now.workers for each in trainers)
    main_cpu = sum(
        max(
            0.0,
            after.cpu_seconds.get(each.now.pid, 0.0) - before.cpu_seconds.get(each.now.pid, 0.0),
        )
        for each in trainers
    )
    known = bool(trainers) and all(each.now.knows_samples for each in trainers)
    wait, save, exchange = (_mean([getattr(t, name) for t in trainers]) for name in _SHARES)
    reading = after.reading
    return documents.EvidencePoint(
        at=iso(reading.wall),
        seconds=round(seconds, 3),
        host=place.host,
        rank=max(0, min((each.now.rank for each in trainers), default=0)),
        processes=len(trainers),
        steps=round(_middle([each.steps for each in trainers])),
        samples=round(sum(each.samples for each in trainers)) if known else None,
        step_seconds=documents.EvidencePointStepSeconds(
            median=round(quantile(between.durations, 0.5), 6),
            p95=round(quantile(between.durations, 0.95), 6),
        ),
        shares=documents.EvidencePointShares(
            wait=round(wait, 4),
            compute=round(max(0.0, 1 - wait - save - exchange), 4),
            save=round(save, 4),
            exchange=round(exchange, 4),
        ),
        host_work=_host_work(earlier, trainers, between.host_line),
        arithmetic=_arithmetic(trainers, between.forward_line),
        rank_skew_seconds=_skew(trainers),
        loader=documents.EvidencePointLoader(
            workers=declared,
            worker_busy=round(min(1.0, fetch / (declared * seconds)), 4) if declared else None,
            decode_share=_decode_share(earlier, workers, worker_cpu),
            batch_size=next((each.now.batch_size or None for each in trainers), None),
            pin_busy=_pin_busy(earlier, trainers, seconds),
            restarts=_restarts(earlier, trainers, seconds),
        ),
        cpu=documents.EvidencePointCpu(
            cores=place.cores,
            main=round(main_cpu / seconds, 3),
            workers=round(worker_cpu / seconds, 3),
            all=round(_cores_in_use(before.reading, reading, seconds, place), 3),
            run_queue=round(between.run_queue, 2),
            threads=sum(each.now.threads for each in trainers) or None,
            wait_for_core=_wait_for_core(before, after, trainers, seconds),
        ),
        memory=documents.EvidencePointMemory(
            used_bytes=reading.memory_bytes or after.memory.used_bytes,
            total_bytes=after.memory.total_bytes,
            major_faults_per_second=round(
                max(0, after.memory.major_faults - before.memory.major_faults) / seconds, 2
            ),
            page_cache_bytes=after.memory.page_cache_bytes,
        ),
        disk=documents.EvidencePointDisk(
            read_bytes_per_second=_whole(before.reading.read_bytes, reading.read_bytes, seconds),
            written_bytes_per_second=_whole(
                before.reading.written_bytes, reading.written_bytes, seconds
            ),
        ),
        network=documents.EvidencePointNetwork(
            received_bytes_per_second=_whole(
                before.reading.received_bytes, reading.received_bytes, seconds
            ),
            sent_bytes_per_second=_whole(before.reading.sent_bytes, reading.sent_bytes, seconds),
        ),
        gpu=_gpu(reading, between.gpu_busy),
    )


def _wait_for_core(
    before: Look, after: Look, trainers: Sequence[_Trainer], seconds: float
) -> float | None:
    """Of the thread of a training process that waits longest: where threads wait for each other,
    all of them wait with it. None where the kernel does not count it."""
    longest = [max(rises) for each in trainers if (rises := _rises(before, after, each.now.pid))]
    return round(min(1.0, _mean(longest) / seconds), 4) if longest else None


def _rises(before: Look, after: Look, pid: int) -> list[float]:
    """A thread that is new has waited since."""
    earlier = before.core_waits.get(pid, {})
    now = after.core_waits.get(pid, {})
    return [max(0.0, waited - earlier.get(thread, 0.0)) for thread, waited in now.items()]


def _restarts(
    earlier: Mapping[int, ProcessCounts], trainers: Sequence[_Trainer], seconds: float
) -> documents.EvidencePointLoaderRestarts:
    """Of one training process: how often its loaders started processes again, and the share of its
    wall time until those had given a batch."""
    share = _mean([_rise(earlier, each.now, "restart") for each in trainers]) / seconds
    count = _mean([_rise(earlier, each.now, "restarts") for each in trainers])
    return documents.EvidencePointLoaderRestarts(
        share=round(min(1.0, share), 4), count=round(count, 2)
    )


def _cores_in_use(before: Reading, after: Reading, seconds: float, place: Place) -> float:
    """By whatever program. On a shared machine others take a host's cores once they use more than
    the rest of the machine."""
    own = _rate(before.cpu_seconds, after.cpu_seconds, seconds)
    others = _rate(before.other_cpu_seconds, after.other_cpu_seconds, seconds)
    taken = others - max(0, place.machine_cores - place.cores)
    return own + max(0.0, min(taken, place.cores - own))


def _pin_busy(
    earlier: Mapping[int, ProcessCounts], trainers: Sequence[_Trainer], seconds: float
) -> float | None:
    """A share of the wall time of a training process; None where nothing pins."""
    if not any(each.now.pin_cpu > 0 for each in trainers):
        return None
    rise = _mean([_rise(earlier, each.now, "pin_cpu") for each in trainers])
    return round(min(1.0, rise / seconds), 4)


def _decode_share(
    earlier: dict[int, ProcessCounts], workers: list[ProcessCounts], worker_cpu: float
) -> float | None:
    """None where the workers have called no decoder that is known: they may use another one."""
    if worker_cpu <= 0 or not any(each.decode_cpu > 0 for each in workers):
        return None
    decode = sum(_rise(earlier, each, "decode_cpu") for each in workers)
    return round(min(1.0, decode / worker_cpu), 4)


def _host_work(
    earlier: Mapping[int, ProcessCounts], trainers: Sequence[_Trainer], line: str | None
) -> documents.EvidencePointHostWork | None:
    """A share of the wall time of a training process; None without a look."""
    looks = sum(_rise(earlier, each.now, "looks") for each in trainers)
    if looks == 0:
        return None
    found = sum(_rise(earlier, each.now, "host_work") for each in trainers)
    return documents.EvidencePointHostWork(
        share=round(min(1.0, found / looks), 4), line=line if found else None
    )


def _arithmetic(
    trainers: Sequence[_Trainer], line: str | None
) -> documents.EvidencePointArithmetic | None:
    """Operations of a step of one process; None where no step was observed."""
    found = documents.EvidencePointArithmetic(
        float32=round(_mean([each.now.float32_work for each in trainers])),
        tf32=round(_mean([each.now.tf32_work for each in trainers])),
        bits16=round(_mean([each.now.bits16_work for each in trainers])),
        line=line,
    )
    return found if any((found.float32, found.tf32, found.bits16)) else None


_SHARES = ("wait", "save", "exchange")


def _trainers(before: Look, after: Look, seconds: float) -> list[_Trainer]:
    """Those that have stepped since; without one, those that have begun to load."""
    earlier = {each.pid: each for each in before.processes}
    all_of_them = []
    for now in after.processes:
        if not now.is_trainer:
            continue
        old = earlier.get(now.pid, _UNKNOWN)
        shares = {name: min(1.0, _rise(earlier, now, name) / seconds) for name in _SHARES}
        steps = max(0, now.steps - old.steps)
        own = (1 - shares["exchange"]) * seconds / steps if steps else None
        samples = max(0.0, now.samples - old.samples)
        all_of_them.append(_Trainer(now, steps, samples, **shares, busy_per_step=own))
    stepped = [each for each in all_of_them if each.steps > 0]
    # A process that only saved or evaluated trains nothing.
    loading = [each for each in all_of_them if each.now.asked_first_batch > 0]
    return stepped or loading


def _rise(earlier: Mapping[int, ProcessCounts], now: ProcessCounts, name: str) -> float:
    return max(0.0, float(getattr(now, name) - getattr(earlier.get(now.pid, _UNKNOWN), name)))


def _skew(trainers: Sequence[_Trainer]) -> float | None:
    own = [each.busy_per_step for each in trainers if each.busy_per_step is not None]
    return round(max(own) - min(own), 6) if len(own) > 1 else None


def _gpu(reading: Reading, busy: float | None) -> documents.EvidencePointGpu | None:
    if busy is None or reading.gpu_memory_bytes is None:
        return None
    used, total = reading.gpu_memory_bytes
    return documents.EvidencePointGpu(
        busy=round(min(1.0, busy), 4),
        memory_used_bytes=used,
        memory_total_bytes=total,
        power_watts=reading.gpu_watts,
    )


def _rate(before: float | None, after: float | None, seconds: float) -> float:
    """0.0 without a counter, or where it fell because a device went away."""
    return 0.0 if before is None or after is None else max(0.0, after - before) / seconds


def _whole(before: float | None, after: float | None, seconds: float) -> int:
    return round(_rate(before, after, seconds))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _middle(values: Sequence[int]) -> float:
    return quantile(values, 0.5)


def quantile(values: Collection[float], share: float) -> float:
    """Of the values as they are, without any between them; 0.0 without one."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
