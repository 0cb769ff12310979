"""The documents that agent and service write for each other, and the words of a platform's failure.

`npm run generate` writes this file from packages/contract, which explains the fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    from .on_use import dataclass

Fault = Literal["storage", "disk", "packages"]
PLATFORM_FAILURE = "Platform failure ({fault}): "
DISK_FULL_EXIT_CODE = 74
SCORES_FILE = "tidewheel-scores/attempt-{attempt}.jsonl"
CURRENT_SCORES_FILE = "tidewheel-scores/current-{attempt}.jsonl"
FINISHED_MODEL_FILE = "tidewheel-finished/attempt-{attempt}.tar.gz"


@dataclass(frozen=True, kw_only=True)
class Document:
    FILE: ClassVar[str]
    VERSION: ClassVar[int]


@dataclass(frozen=True, kw_only=True)
class AutomaticNoteTrial:
    attempt: float
    step: float = 0
    seconds: float = 0
    reason: str = ""
    result: Literal["passed", "refused", "untried"]


@dataclass(frozen=True, kw_only=True)
class AutomaticNoteStopped:
    attempt: float
    step: float = 0
    seconds: float = 0
    reason: str = ""
    for_good: bool | None = None


@dataclass(frozen=True, kw_only=True)
class AutomaticNoteOffer:
    attempt: float
    step: float = 0
    seconds: float = 0
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class AutomaticNote(Document):
    FILE: ClassVar[str] = "tidewheel-automatic.json"
    VERSION: ClassVar[int] = 1

    trial: AutomaticNoteTrial | None = None
    stopped: AutomaticNoteStopped | None = None
    offer: AutomaticNoteOffer | None = None


@dataclass(frozen=True, kw_only=True)
class CompletionMarkerFile:
    bytes: int
    sha256: str | None = None


@dataclass(frozen=True, kw_only=True)
class CompletionMarker(Document):
    FILE: ClassVar[str] = "COMPLETE.json"
    VERSION: ClassVar[int] = 1

    writer: str | None = None
    step: int | None = None
    total_steps: int | None = None
    training_seconds: float | None = None
    metrics: dict[str, object] | None = None
    files: dict[str, CompletionMarkerFile]
    elsewhere: list[str] | None = None
    taken_at: float | None = None


@dataclass(frozen=True, kw_only=True)
class EvidencePointStepSeconds:
    median: float
    p95: float


@dataclass(frozen=True, kw_only=True)
class EvidencePointShares:
    wait: float
    compute: float
    save: float
    exchange: float


@dataclass(frozen=True, kw_only=True)
class EvidencePointHostWork:
    share: float
    line: str | None = None


@dataclass(frozen=True, kw_only=True)
class EvidencePointArithmetic:
    float32: float
    tf32: float
    bits16: float
    line: str | None = None


@dataclass(frozen=True, kw_only=True)
class EvidencePointLoaderRestarts:
    share: float
    count: float


@dataclass(frozen=True, kw_only=True)
class EvidencePointLoader:
    workers: int
    worker_busy: float | None
    decode_share: float | None = None
    batch_size: float | None
    pin_busy: float | None = None
    restarts: EvidencePointLoaderRestarts | None = None


@dataclass(frozen=True, kw_only=True)
class EvidencePointCpu:
    cores: float
    main: float
    workers: float
    all: float
    run_queue: float
    threads: int | None = None
    wait_for_core: float | None = None


@dataclass(frozen=True, kw_only=True)
class EvidencePointMemory:
    used_bytes: float
    total_bytes: float
    major_faults_per_second: float
    page_cache_bytes: float


@dataclass(frozen=True, kw_only=True)
class EvidencePointDisk:
    read_bytes_per_second: float
    written_bytes_per_second: float = 0


@dataclass(frozen=True, kw_only=True)
class EvidencePointNetwork:
    received_bytes_per_second: float
    sent_bytes_per_second: float


@dataclass(frozen=True, kw_only=True)
class EvidencePointGpu:
    busy: float
    memory_used_bytes: float
    memory_total_bytes: float
    power_watts: float | None = None


@dataclass(frozen=True, kw_only=True)
class EvidencePoint(Document):
    FILE: ClassVar[str] = "tidewheel-evidence/{attempt}-{host}.jsonl"
    VERSION: ClassVar[int] = 1

    seconds: float | None = None
    at: str
    host: int
    rank: int
    processes: int = 1
    steps: int
    samples: float | None
    step_seconds: EvidencePointStepSeconds
    shares: EvidencePointShares
    host_work: EvidencePointHostWork | None = None
    arithmetic: EvidencePointArithmetic | None = None
    rank_skew_seconds: float | None = None
    loader: EvidencePointLoader
    cpu: EvidencePointCpu
    memory: EvidencePointMemory
    disk: EvidencePointDisk
    network: EvidencePointNetwork
    gpu: EvidencePointGpu | None


@dataclass(frozen=True, kw_only=True)
class FinishedNoteEvaluation:
    of: Literal["candidate", "current"]
    result: Literal["ended", "failed", "timedOut", "stopped"]
    seconds: float
    message: str | None = None
    samples: int
    printed: dict[str, float] | None = None


@dataclass(frozen=True, kw_only=True)
class FinishedNote(Document):
    FILE: ClassVar[str] = "tidewheel-finished/attempt-{attempt}.json"
    VERSION: ClassVar[int] = 1

    bytes: int
    digest: str
    evaluations: list[FinishedNoteEvaluation]


@dataclass(frozen=True, kw_only=True)
class HangNote(Document):
    FILE: ClassVar[str] = "tidewheel-hangs/{host}.json"
    VERSION: ClassVar[int] = 1

    hangs_since: str | None
    kind: Literal["idle", "noSteps"] | None = None
    ranks: list[str] | None = None


@dataclass(frozen=True, kw_only=True)
class HostStartPhases:
    download: float | None
    install: float | None
    script_start: float | None
    first_batch: float | None
    first_step: float | None


@dataclass(frozen=True, kw_only=True)
class HostStartHooks:
    kind: Literal["on", "declined", "removed"]
    hook: str | None = None
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class HostStartLines:
    loader: str | None = None
    save: str | None = None
    exchange: str | None = None
    shard: str | None = None
    fit: str | None = None
    py_dataset: str | None = None
    map: str | None = None


@dataclass(frozen=True, kw_only=True)
class HostStartInstalling:
    what: str
    packages: int


@dataclass(frozen=True, kw_only=True)
class HostStart(Document):
    FILE: ClassVar[str] = "tidewheel-evidence/{attempt}-{host}-phases.json"
    VERSION: ClassVar[int] = 1

    started_at: str
    phases: HostStartPhases
    hooks: HostStartHooks
    lines: HostStartLines | None = None
    batches_before_step: float | None = None
    skipped: float | None = None
    installing: HostStartInstalling | None = None


@dataclass(frozen=True, kw_only=True)
class KeptManifestFile:
    part: str
    bytes: int
    sha256: str
    modified_ns: int
    checkpoint: str
    has_position: bool
    is_weak: bool


@dataclass(frozen=True, kw_only=True)
class KeptManifest(Document):
    FILE: ClassVar[str] = "tidewheel-kept/generation-{slot}.json"
    VERSION: ClassVar[int] = 1

    sequence: int
    files: dict[str, KeptManifestFile]
    note: dict[str, object]


@dataclass(frozen=True, kw_only=True)
class ProgressNoteUsage:
    cpu_percent: float | None = None
    gpu_percent: float | None = None


@dataclass(frozen=True, kw_only=True)
class ProgressNotePace:
    steps_per_second: float
    samples_per_second: float | None = None
    step_seconds: float | None = None
    step_seconds_p95: float | None = None


@dataclass(frozen=True, kw_only=True)
class ProgressNoteFile:
    bytes: int
    etag: str | None = None


@dataclass(frozen=True, kw_only=True)
class ProgressNoteKeptUsage:
    cpu_percent: float | None = None
    gpu_percent: float | None = None


@dataclass(frozen=True, kw_only=True)
class ProgressNoteKeptPace:
    steps_per_second: float
    samples_per_second: float | None = None
    step_seconds: float | None = None
    step_seconds_p95: float | None = None


@dataclass(frozen=True, kw_only=True)
class ProgressNoteKeptFile:
    bytes: int
    etag: str | None = None


@dataclass(frozen=True, kw_only=True)
class ProgressNoteKept:
    step: int
    total_steps: int
    training_seconds: float | None = None
    save_seconds: float | None = None
    usage: ProgressNoteKeptUsage | None = None
    pace: ProgressNoteKeptPace | None = None
    metrics: dict[str, float] | None = None
    checkpoint: str
    unit: Literal["step", "epoch", "saves"] | None = None
    proof: Literal["whole", "quiet"] | None = None
    files: dict[str, ProgressNoteKeptFile] | None = None
    updated_at: str


@dataclass(frozen=True, kw_only=True)
class ProgressNote(Document):
    FILE: ClassVar[str] = "tidewheel-progress.json"
    VERSION: ClassVar[int] = 1

    step: int
    total_steps: int
    training_seconds: float | None = None
    save_seconds: float | None = None
    usage: ProgressNoteUsage | None = None
    pace: ProgressNotePace | None = None
    metrics: dict[str, float] | None = None
    checkpoint: str
    unit: Literal["step", "epoch", "saves"] | None = None
    proof: Literal["whole", "quiet"] | None = None
    files: dict[str, ProgressNoteFile] | None = None
    updated_at: str
    kept: list[ProgressNoteKept] | None = None


@dataclass(frozen=True, kw_only=True)
class ResumeNoteCheckpoint:
    name: str
    step: float
    unit: Literal["step", "epoch", "saves"] | None = None
    format: str | None = None


@dataclass(frozen=True, kw_only=True)
class ResumeNoteRepair:
    name: str
    problem: str
    instead: str
    step: float | None = None


@dataclass(frozen=True, kw_only=True)
class ResumeNoteVerdict:
    kind: Literal["resumed", "beganAgain"]
    evidence: Literal["log", "checkpoint"]
    position: float
    began_at: float
    stood: float | None = None


@dataclass(frozen=True, kw_only=True)
class ResumeNoteRead:
    name: str
    bytes: int


@dataclass(frozen=True, kw_only=True)
class ResumeNote(Document):
    FILE: ClassVar[str] = "tidewheel-resume/attempt-{attempt}.json"
    VERSION: ClassVar[int] = 1

    started_at: float | None = None
    checkpoint: ResumeNoteCheckpoint | None = None
    repairs: list[ResumeNoteRepair]
    verdict: ResumeNoteVerdict | None = None
    read: list[ResumeNoteRead] | None = None
    replay_seconds: float | None = None
    uncounted: str | None = None


@dataclass(frozen=True, kw_only=True)
class SeriesPoint(Document):
    FILE: ClassVar[str] = "tidewheel-series/attempt-{attempt}.jsonl"
    VERSION: ClassVar[int] = 1

    source: str
    unit: Literal["step", "epoch"]
    position: float
    at: float
    values: dict[str, float | None]


@dataclass(frozen=True, kw_only=True)
class SeriesStartResumedFrom:
    step: float
    saved_at: float


@dataclass(frozen=True, kw_only=True)
class SeriesStart(Document):
    FILE: ClassVar[str] = "tidewheel-series/attempt-{attempt}.jsonl"
    VERSION: ClassVar[int] = 1

    started_at: float
    resumed_from: SeriesStartResumedFrom | None = None


@dataclass(frozen=True, kw_only=True)
class StepBlocks(Document):
    FILE: ClassVar[str] = "tidewheel-evidence/{attempt}-{host}-steps.json"
    VERSION: ClassVar[int] = 1

    basis: Literal["hooks", "printed"]
    clock: Literal["machine", "host"] = "machine"
    steps: int
    samples_per_step: float | None
    block_seconds: list[float]
    block_steps: list[int]


@dataclass(frozen=True, kw_only=True)
class HostReport:
    instance_id: str
    launched_at: str | None = None
    started_at: str
    seen_at: str
    phase: Literal["started", "downloading", "installing", "script"]
    script_started_at: str | None = None
    downloaded_bytes: int | None = None
    download_bytes: int | None = None
    round: int | None = None
    ended_at: str | None = None
    exit_code: int | None = None
    stopped_by: Literal["spot", "timeLimit", "stop"] | None = None
    failure: str | None = None
    model_uri: str | None = None
    unsaved_files: int | None = None


NAMES = {
    "for_good": "forGood",
    "total_steps": "totalSteps",
    "training_seconds": "trainingSeconds",
    "taken_at": "takenAt",
    "worker_busy": "workerBusy",
    "decode_share": "decodeShare",
    "batch_size": "batchSize",
    "pin_busy": "pinBusy",
    "run_queue": "runQueue",
    "wait_for_core": "waitForCore",
    "used_bytes": "usedBytes",
    "total_bytes": "totalBytes",
    "major_faults_per_second": "majorFaultsPerSecond",
    "page_cache_bytes": "pageCacheBytes",
    "read_bytes_per_second": "readBytesPerSecond",
    "written_bytes_per_second": "writtenBytesPerSecond",
    "received_bytes_per_second": "receivedBytesPerSecond",
    "sent_bytes_per_second": "sentBytesPerSecond",
    "memory_used_bytes": "memoryUsedBytes",
    "memory_total_bytes": "memoryTotalBytes",
    "power_watts": "powerWatts",
    "step_seconds": "stepSeconds",
    "host_work": "hostWork",
    "rank_skew_seconds": "rankSkewSeconds",
    "hangs_since": "hangsSince",
    "script_start": "scriptStart",
    "first_batch": "firstBatch",
    "first_step": "firstStep",
    "py_dataset": "pyDataset",
    "started_at": "startedAt",
    "batches_before_step": "batchesBeforeStep",
    "cpu_percent": "cpuPercent",
    "gpu_percent": "gpuPercent",
    "steps_per_second": "stepsPerSecond",
    "samples_per_second": "samplesPerSecond",
    "step_seconds_p95": "stepSecondsP95",
    "save_seconds": "saveSeconds",
    "updated_at": "updatedAt",
    "began_at": "beganAt",
    "replay_seconds": "replaySeconds",
    "saved_at": "savedAt",
    "resumed_from": "resumedFrom",
    "samples_per_step": "samplesPerStep",
    "block_seconds": "blockSeconds",
    "block_steps": "blockSteps",
    "instance_id": "instanceId",
    "launched_at": "launchedAt",
    "seen_at": "seenAt",
    "script_started_at": "scriptStartedAt",
    "downloaded_bytes": "downloadedBytes",
    "download_bytes": "downloadBytes",
    "ended_at": "endedAt",
    "exit_code": "exitCode",
    "stopped_by": "stoppedBy",
    "model_uri": "modelUri",
    "unsaved_files": "unsavedFiles",
}
"""In the documents, of each field whose name is another there."""
