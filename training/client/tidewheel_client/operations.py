"""Operations and answers of the HTTP API.

Written by write_operations.py from docs/openapi.json: change nothing here.
"""
# fmt: off
# ruff: noqa: E501, RUF100

from __future__ import annotations

from typing import Any, Literal, TypedDict

OPERATIONS: dict[str, tuple[str, str]] = {
    "listPipelines": ("GET", "/pipelines"),
    "getPipeline": ("GET", "/pipelines/{name}"),
    "putPipeline": ("PUT", "/pipelines/{name}"),
    "deletePipeline": ("DELETE", "/pipelines/{name}"),
    "listPipelineRuns": ("GET", "/pipelines/{name}/runs"),
    "startRun": ("POST", "/pipelines/{name}/runs"),
    "listProbes": ("GET", "/pipelines/{name}/probes"),
    "startProbe": ("POST", "/pipelines/{name}/probes"),
    "listRuns": ("GET", "/runs"),
    "getRun": ("GET", "/runs/{runId}"),
    "listAttempts": ("GET", "/runs/{runId}/attempts"),
    "getTimeline": ("GET", "/runs/{runId}/timeline"),
    "listPlacements": ("GET", "/runs/{runId}/placements"),
    "getPlacement": ("GET", "/runs/{runId}/placements/{attempt}"),
    "getReport": ("GET", "/runs/{runId}/report"),
    "getSeries": ("GET", "/runs/{runId}/series"),
    "getUtilisation": ("GET", "/runs/{runId}/utilisation"),
    "getLog": ("GET", "/runs/{runId}/log"),
    "stopRun": ("POST", "/runs/{runId}/stop"),
    "retryRun": ("POST", "/runs/{runId}/retry"),
    "acknowledgeRun": ("PUT", "/runs/{runId}/acknowledgement"),
    "annotateRun": ("PUT", "/runs/{runId}/annotation"),
    "putLimits": ("PUT", "/runs/{runId}/limits"),
    "getWhatIf": ("GET", "/runs/{runId}/what-if/{attempt}"),
    "getDataset": ("GET", "/pipelines/{name}/dataset"),
    "getGeneration": ("GET", "/pipelines/{name}/dataset/{generation}"),
    "getImage": ("GET", "/pipelines/{name}/dataset/{generation}/image"),
    "putPin": ("PUT", "/pipelines/{name}/dataset/pin"),
    "listModels": ("GET", "/models"),
    "getModels": ("GET", "/pipelines/{name}/models"),
    "chooseModel": ("POST", "/pipelines/{name}/models"),
    "getModel": ("GET", "/runs/{runId}/model"),
    "evaluateModel": ("POST", "/pipelines/{name}/evaluations"),
    "compareRuns": ("GET", "/compare"),
    "getMarket": ("GET", "/market"),
    "getMoney": ("GET", "/money"),
    "deleteCheckpoints": ("DELETE", "/runs/{runId}/checkpoints"),
    "planRun": ("POST", "/plan"),
    "getOpenApi": ("GET", "/openapi.json"),
}
"""Method and path of each operationId."""


class AcknowledgeRunAnswer(TypedDict):
    runId: str
    at: str
    requestedBy: str


class AnnotateRunAnswer(TypedDict):
    runId: str
    note: str
    tags: list[str]


class AnnotateRunBody(TypedDict, total=False):
    note: str
    tags: list[str]


class _Attempt(TypedDict):
    runId: str
    pipeline: str
    attempt: int
    jobName: str
    launcher: Literal["sagemaker", "ec2"]
    status: Literal["starting", "waitingForCapacity", "running", "done", "interrupted", "recalled", "failed"]
    placement: Placement
    createdAt: str
    updatedAt: str


class Attempt(_Attempt, total=False):
    startedAt: str
    preparing: AttemptPreparing
    startUp: AttemptStartUp
    progressBefore: Progress
    progressAfter: Progress
    resume: AttemptResume
    recall: AttemptRecall
    outcome: AttemptOutcome
    log: AttemptLog
    input: AttemptInput
    applied: list[AttemptAppliedItem]
    diagnosis: AttemptDiagnosis
    restoredAt: str


class AttemptPreparing(TypedDict):
    since: str
    text: str


class AttemptStartUp(TypedDict):
    hosts: float
    download: float
    image: float


class _AttemptResume(TypedDict):
    repairs: list[AttemptResumeRepairsItem]


class AttemptResume(_AttemptResume, total=False):
    checkpoint: AttemptResumeCheckpoint
    verdict: AttemptResumeVerdict
    read: list[AttemptResumeReadItem]
    replaySeconds: float
    uncounted: str


class _AttemptResumeCheckpoint(TypedDict):
    name: str
    step: float


class AttemptResumeCheckpoint(_AttemptResumeCheckpoint, total=False):
    unit: Literal["step", "epoch", "saves"]
    format: str


class _AttemptResumeRepairsItem(TypedDict):
    name: str
    problem: str
    instead: str


class AttemptResumeRepairsItem(_AttemptResumeRepairsItem, total=False):
    step: float


class _AttemptResumeVerdict(TypedDict):
    kind: Literal["resumed", "beganAgain"]
    evidence: Literal["log", "checkpoint"]
    position: float
    beganAt: float


class AttemptResumeVerdict(_AttemptResumeVerdict, total=False):
    stood: float


class AttemptResumeReadItem(TypedDict):
    name: str
    bytes: int


class AttemptRecall(TypedDict):
    cause: Literal["capacity", "budget", "deadline", "spot", "reservation", "time", "request"]
    why: str
    at: str


class _AttemptOutcome(TypedDict):
    kind: Literal["completed", "interrupted", "capacity", "timeLimit", "serviceError", "userError", "recalled", "stopped"]
    message: str
    trainingSeconds: float
    billableSeconds: float
    interruptions: int


class AttemptOutcome(_AttemptOutcome, total=False):
    startedAt: str
    scriptStartedAt: str
    startUp: AttemptOutcomeStartUp
    endedBeforeScript: Literal[True]
    endedAt: str
    quota: Literal[True]
    fault: Literal["silent", "storage", "disk", "memory", "packages", "image", "network", "hardware", "refused"]
    modelUri: str


class AttemptOutcomeStartUp(TypedDict):
    hosts: float
    download: float
    image: float


class AttemptLog(TypedDict):
    group: str
    streamPrefix: str


class AttemptInput(TypedDict):
    mode: Literal["File", "FastFile", "Pipe"]
    shards: int
    bytes: float


class AttemptAppliedItem(TypedDict):
    kind: str


class _AttemptDiagnosis(TypedDict):
    at: str
    verdicts: list[AttemptDiagnosisVerdictsItem]


class AttemptDiagnosis(_AttemptDiagnosis, total=False):
    isFinal: bool
    speed: AttemptDiagnosisSpeed
    reading: AttemptDiagnosisReading
    start: AttemptDiagnosisStart


class _AttemptDiagnosisSpeed(TypedDict):
    stepSeconds: AttemptDiagnosisSpeedStepSeconds
    cpuBusy: float
    seconds: float
    steps: float


class AttemptDiagnosisSpeed(_AttemptDiagnosisSpeed, total=False):
    samplesPerSecond: float
    samplesPerDollar: float
    gpuBusy: float


class AttemptDiagnosisSpeedStepSeconds(TypedDict):
    median: float
    p95: float


class AttemptDiagnosisReading(TypedDict):
    inputMode: Literal["File", "FastFile"]
    bytesPerStep: float
    dataBytes: float
    processBytes: float


class AttemptDiagnosisStart(TypedDict):
    requirements: float
    resume: float
    firstStep: float


class _AttemptDiagnosisVerdictsItem(TypedDict):
    cause: str
    evidence: dict[str, float]
    gain: AttemptDiagnosisVerdictsItemGain
    also: list[str]
    unknown: list[str]


class AttemptDiagnosisVerdictsItem(_AttemptDiagnosisVerdictsItem, total=False):
    remedy: AttemptDiagnosisVerdictsItemRemedy
    others: list[AttemptDiagnosisVerdictsItemOthersItem]
    next: str


class AttemptDiagnosisVerdictsItemRemedy(TypedDict):
    change: AttemptDiagnosisVerdictsItemRemedyChange
    where: Literal["declaration", "script", "run"]
    text: str


class AttemptDiagnosisVerdictsItemRemedyChange(TypedDict):
    kind: str


class AttemptDiagnosisVerdictsItemGain(TypedDict):
    seconds: AttemptDiagnosisVerdictsItemGainSeconds
    dollars: AttemptDiagnosisVerdictsItemGainDollars


class AttemptDiagnosisVerdictsItemGainSeconds(TypedDict):
    low: float
    expected: float
    high: float


class AttemptDiagnosisVerdictsItemGainDollars(TypedDict):
    low: float
    expected: float
    high: float


class AttemptDiagnosisVerdictsItemOthersItem(TypedDict):
    remedy: AttemptDiagnosisVerdictsItemOthersItemRemedy
    gain: AttemptDiagnosisVerdictsItemOthersItemGain
    unknown: list[str]


class AttemptDiagnosisVerdictsItemOthersItemRemedy(TypedDict):
    change: AttemptDiagnosisVerdictsItemOthersItemRemedyChange
    where: Literal["declaration", "script", "run"]
    text: str


class AttemptDiagnosisVerdictsItemOthersItemRemedyChange(TypedDict):
    kind: str


class AttemptDiagnosisVerdictsItemOthersItemGain(TypedDict):
    seconds: AttemptDiagnosisVerdictsItemOthersItemGainSeconds
    dollars: AttemptDiagnosisVerdictsItemOthersItemGainDollars


class AttemptDiagnosisVerdictsItemOthersItemGainSeconds(TypedDict):
    low: float
    expected: float
    high: float


class AttemptDiagnosisVerdictsItemOthersItemGainDollars(TypedDict):
    low: float
    expected: float
    high: float


class _AttemptSummary(TypedDict):
    attempt: int
    jobName: str
    launcher: Literal["sagemaker", "ec2"]
    status: Literal["starting", "waitingForCapacity", "running", "done", "interrupted", "recalled", "failed"]
    createdAt: str
    updatedAt: str
    placement: AttemptSummaryPlacement


class AttemptSummary(_AttemptSummary, total=False):
    startedAt: str
    preparing: AttemptSummaryPreparing
    progressAfter: AttemptSummaryProgressAfter
    beganAt: float
    recall: AttemptSummaryRecall
    outcome: AttemptSummaryOutcome
    costUsd: float
    diagnosis: AttemptSummaryDiagnosis
    log: AttemptSummaryLog


class AttemptSummaryPreparing(TypedDict):
    since: str
    text: str


class _AttemptSummaryPlacement(TypedDict):
    pool: Pool
    topology: Topology
    decidedAt: str
    onDemandHourlyUsd: float


class AttemptSummaryPlacement(_AttemptSummaryPlacement, total=False):
    helpersHourlyUsd: float


class _AttemptSummaryProgressAfter(TypedDict):
    step: float
    totalSteps: float
    checkpoint: str
    updatedAt: str


class AttemptSummaryProgressAfter(_AttemptSummaryProgressAfter, total=False):
    unit: Literal["step", "epoch", "saves"]


class AttemptSummaryRecall(TypedDict):
    cause: Literal["capacity", "budget", "deadline", "spot", "reservation", "time", "request"]
    why: str
    at: str


class _AttemptSummaryOutcome(TypedDict):
    kind: Literal["completed", "interrupted", "capacity", "timeLimit", "serviceError", "userError", "recalled", "stopped"]
    message: str
    trainingSeconds: float
    interruptions: int


class AttemptSummaryOutcome(_AttemptSummaryOutcome, total=False):
    startedAt: str
    scriptStartedAt: str
    endedAt: str


class _AttemptSummaryDiagnosis(TypedDict):
    at: str
    verdicts: list[AttemptSummaryDiagnosisVerdictsItem]


class AttemptSummaryDiagnosis(_AttemptSummaryDiagnosis, total=False):
    isFinal: bool
    speed: AttemptSummaryDiagnosisSpeed
    reading: AttemptSummaryDiagnosisReading
    start: AttemptSummaryDiagnosisStart


class _AttemptSummaryDiagnosisSpeed(TypedDict):
    stepSeconds: AttemptSummaryDiagnosisSpeedStepSeconds
    cpuBusy: float
    seconds: float
    steps: float


class AttemptSummaryDiagnosisSpeed(_AttemptSummaryDiagnosisSpeed, total=False):
    samplesPerSecond: float
    samplesPerDollar: float
    gpuBusy: float


class AttemptSummaryDiagnosisSpeedStepSeconds(TypedDict):
    median: float
    p95: float


class AttemptSummaryDiagnosisReading(TypedDict):
    inputMode: Literal["File", "FastFile"]
    bytesPerStep: float
    dataBytes: float
    processBytes: float


class AttemptSummaryDiagnosisStart(TypedDict):
    requirements: float
    resume: float
    firstStep: float


class _AttemptSummaryDiagnosisVerdictsItem(TypedDict):
    cause: str
    evidence: dict[str, float]
    gain: AttemptSummaryDiagnosisVerdictsItemGain
    also: list[str]
    unknown: list[str]


class AttemptSummaryDiagnosisVerdictsItem(_AttemptSummaryDiagnosisVerdictsItem, total=False):
    remedy: AttemptSummaryDiagnosisVerdictsItemRemedy
    others: list[AttemptSummaryDiagnosisVerdictsItemOthersItem]
    next: str


class AttemptSummaryDiagnosisVerdictsItemRemedy(TypedDict):
    change: AttemptSummaryDiagnosisVerdictsItemRemedyChange
    where: Literal["declaration", "script", "run"]
    text: str


class AttemptSummaryDiagnosisVerdictsItemRemedyChange(TypedDict):
    kind: str


class AttemptSummaryDiagnosisVerdictsItemGain(TypedDict):
    seconds: AttemptSummaryDiagnosisVerdictsItemGainSeconds
    dollars: AttemptSummaryDiagnosisVerdictsItemGainDollars


class AttemptSummaryDiagnosisVerdictsItemGainSeconds(TypedDict):
    low: float
    expected: float
    high: float


class AttemptSummaryDiagnosisVerdictsItemGainDollars(TypedDict):
    low: float
    expected: float
    high: float


class AttemptSummaryDiagnosisVerdictsItemOthersItem(TypedDict):
    remedy: AttemptSummaryDiagnosisVerdictsItemOthersItemRemedy
    gain: AttemptSummaryDiagnosisVerdictsItemOthersItemGain
    unknown: list[str]


class AttemptSummaryDiagnosisVerdictsItemOthersItemRemedy(TypedDict):
    change: AttemptSummaryDiagnosisVerdictsItemOthersItemRemedyChange
    where: Literal["declaration", "script", "run"]
    text: str


class AttemptSummaryDiagnosisVerdictsItemOthersItemRemedyChange(TypedDict):
    kind: str


class AttemptSummaryDiagnosisVerdictsItemOthersItemGain(TypedDict):
    seconds: AttemptSummaryDiagnosisVerdictsItemOthersItemGainSeconds
    dollars: AttemptSummaryDiagnosisVerdictsItemOthersItemGainDollars


class AttemptSummaryDiagnosisVerdictsItemOthersItemGainSeconds(TypedDict):
    low: float
    expected: float
    high: float


class AttemptSummaryDiagnosisVerdictsItemOthersItemGainDollars(TypedDict):
    low: float
    expected: float
    high: float


class AttemptSummaryLog(TypedDict):
    group: str
    streamPrefix: str


class _ChooseModelAnswer(TypedDict):
    pipeline: str
    number: int
    models: list[ChooseModelAnswerModelsItem]
    changed: bool


class ChooseModelAnswer(_ChooseModelAnswer, total=False):
    current: ChooseModelAnswerCurrent


class _ChooseModelAnswerCurrent(TypedDict):
    runId: str
    uri: str
    state: Literal["candidate", "current", "former", "rejected"]
    number: int
    at: str
    by: str
    reason: str


class ChooseModelAnswerCurrent(_ChooseModelAnswerCurrent, total=False):
    bytes: float
    etag: str
    digest: str
    judged: ChooseModelAnswerCurrentJudged


class _ChooseModelAnswerCurrentJudged(TypedDict):
    verdict: Literal["first", "better", "notBetter", "inconclusive", "rejected"]
    metric: str


class ChooseModelAnswerCurrentJudged(_ChooseModelAnswerCurrentJudged, total=False):
    mode: Literal["min", "max"]
    mean: float
    against: str
    pairs: int
    better: float
    interval: list[float]
    earlier: ChooseModelAnswerCurrentJudgedEarlier
    fresh: ChooseModelAnswerCurrentJudgedFresh
    samplesNeeded: int


class _ChooseModelAnswerCurrentJudgedEarlier(TypedDict):
    samples: int
    mean: float


class ChooseModelAnswerCurrentJudgedEarlier(_ChooseModelAnswerCurrentJudgedEarlier, total=False):
    better: float
    interval: list[float]


class _ChooseModelAnswerCurrentJudgedFresh(TypedDict):
    samples: int
    mean: float


class ChooseModelAnswerCurrentJudgedFresh(_ChooseModelAnswerCurrentJudgedFresh, total=False):
    better: float
    interval: list[float]


class _ChooseModelAnswerModelsItem(TypedDict):
    runId: str
    uri: str
    state: Literal["candidate", "current", "former", "rejected"]
    number: int
    at: str
    by: str
    reason: str


class ChooseModelAnswerModelsItem(_ChooseModelAnswerModelsItem, total=False):
    bytes: float
    etag: str
    digest: str
    judged: ChooseModelAnswerModelsItemJudged


class _ChooseModelAnswerModelsItemJudged(TypedDict):
    verdict: Literal["first", "better", "notBetter", "inconclusive", "rejected"]
    metric: str


class ChooseModelAnswerModelsItemJudged(_ChooseModelAnswerModelsItemJudged, total=False):
    mode: Literal["min", "max"]
    mean: float
    against: str
    pairs: int
    better: float
    interval: list[float]
    earlier: ChooseModelAnswerModelsItemJudgedEarlier
    fresh: ChooseModelAnswerModelsItemJudgedFresh
    samplesNeeded: int


class _ChooseModelAnswerModelsItemJudgedEarlier(TypedDict):
    samples: int
    mean: float


class ChooseModelAnswerModelsItemJudgedEarlier(_ChooseModelAnswerModelsItemJudgedEarlier, total=False):
    better: float
    interval: list[float]


class _ChooseModelAnswerModelsItemJudgedFresh(TypedDict):
    samples: int
    mean: float


class ChooseModelAnswerModelsItemJudgedFresh(_ChooseModelAnswerModelsItemJudgedFresh, total=False):
    better: float
    interval: list[float]


class ChooseModelBody(TypedDict):
    decision: Literal["promote", "reject", "rollback"]
    runId: str
    reason: str


class _CompareRunsAnswer(TypedDict):
    rows: list[CompareRunsAnswerRowsItem]


class CompareRunsAnswer(_CompareRunsAnswer, total=False):
    differing: list[CompareRunsAnswerDifferingItem]
    metric: CompareRunsAnswerMetric


class _CompareRunsAnswerRowsItem(TypedDict):
    runId: str
    status: RunStatus
    costUsd: float


class CompareRunsAnswerRowsItem(_CompareRunsAnswerRowsItem, total=False):
    strategy: str
    topology: str
    samplesPerSecond: float
    usdPerMillionSamples: float
    stepSeconds: CompareRunsAnswerRowsItemStepSeconds
    cpuBusy: float
    gpuBusy: float
    costToMetricUsd: float


class CompareRunsAnswerRowsItemStepSeconds(TypedDict):
    median: float
    p95: float


class CompareRunsAnswerDifferingItem(TypedDict):
    field: str
    values: list[str]


class CompareRunsAnswerMetric(TypedDict):
    name: str
    value: float


class _Declaration(TypedDict):
    name: str
    training: DeclarationTraining
    compute: DeclarationCompute


class Declaration(_Declaration, total=False):
    owner: str
    tags: dict[str, str]
    settle: DeclarationSettle
    packing: DeclarationPacking
    dataset: DeclarationDataset
    evaluation: DeclarationEvaluation
    promote: Literal["always", "byHand", "never"] | DeclarationPromote1
    registries: DeclarationRegistries
    limits: DeclarationLimits
    retention: DeclarationRetention
    doctor: DeclarationDoctor
    schedule: str
    trainWithoutNewData: bool
    notify: list[DeclarationNotifyItem]
    tuning: DeclarationTuning


class DeclarationSettle(TypedDict, total=False):
    quietSeconds: int
    marker: str


class DeclarationPacking(TypedDict, total=False):
    format: Literal["webdataset", "tfrecord", "recordio", "mds", "parquet", "lines", "records", "none"]
    shardMegabytes: float
    accept: list[str]
    ignore: Literal["none"] | list[str]
    archives: Literal["pack", "unpack"]
    innerSuffixes: list[str]
    join: dict[str, str]
    label: Literal["parentFolder", "namePattern", "annotations", "none"]
    labelPattern: str
    labelLevel: int
    annotations: DeclarationPackingAnnotations
    labelType: Literal["text", "integer"]
    shuffle: bool
    split: DeclarationPackingSplit
    require: Literal["learn"] | list[str]
    reject: list[Literal["notText", "notJson"]]
    balance: Literal["over", "under"]
    lines: DeclarationPackingLines
    records: DeclarationPackingRecords
    tfrecord: DeclarationPackingTfrecord
    prepare: DeclarationPackingPrepare
    hold: DeclarationPackingHold
    whenDone: Literal["keep", "delete"]


class _DeclarationPackingAnnotations(TypedDict):
    file: str


class DeclarationPackingAnnotations(_DeclarationPackingAnnotations, total=False):
    key: str
    label: str
    folder: str
    prefix: str


class DeclarationPackingSplit(TypedDict, total=False):
    train: float | list[str]
    validation: float | list[str]
    test: float | list[str]
    by: Literal["key", "group", "folder", "list"]
    groupPattern: str


class DeclarationPackingLines(TypedDict, total=False):
    kind: Literal["text", "jsonl", "csv", "libsvm"]
    header: Literal["none", "perShard", "drop"]


class DeclarationPackingRecords(TypedDict, total=False):
    kind: Literal["tfrecord", "recordio"]


class DeclarationPackingTfrecord(TypedDict, total=False):
    compression: Literal["none", "gzip"]


class DeclarationPackingPrepare(TypedDict):
    image: DeclarationPackingPrepareImage


class DeclarationPackingPrepareImage(TypedDict, total=False):
    maxSide: int
    width: int
    height: int
    fit: Literal["cover", "contain", "fill", "inside", "outside"]
    format: Literal["jpeg", "png", "webp"]
    quality: int
    masks: list[str]


class DeclarationPackingHold(TypedDict, total=False):
    classShare: str
    rejected: str
    conflictingLabels: str
    singleSampleClasses: str
    leakage: str


class DeclarationDataset(TypedDict, total=False):
    pin: str
    onChange: Literal["replace", "keep"]
    onDelete: Literal["keep", "retract"]
    read: Literal["all", "new"] | DeclarationDatasetRead1
    keep: Literal["versions"]


class DeclarationDatasetRead1(TypedDict):
    new: Literal["all"]
    replay: str


class _DeclarationTraining(TypedDict):
    strategy: Literal["single", "ddp", "ray", "mpi", "parameter-server", "multi-worker-mirrored", "data-service"]


class DeclarationTraining(_DeclarationTraining, total=False):
    source: str
    entryPoint: str
    command: list[Any]
    arguments: list[Any | list[Any]]
    environment: dict[str, Any]
    workingDirectory: str
    checkpoint: Literal["automatic"] | DeclarationTrainingCheckpoint1
    progress: DeclarationTrainingProgress
    objective: DeclarationTrainingObjective
    processesPerHost: int
    framework: Literal["pytorch", "tensorflow", "huggingface", "sklearn", "xgboost"]
    frameworkVersion: str
    image: str
    hyperparameters: dict[str, str | float | bool | DeclarationTrainingHyperparametersValue3]
    startFrom: str
    when: DeclarationTrainingWhen
    model: Literal["required", "none"]
    inputMode: Literal["auto", "File", "FastFile", "Pipe"]
    channels: dict[str, DeclarationTrainingChannelsValue0 | DeclarationTrainingChannelsValue1 | DeclarationTrainingChannelsValue2]
    packageIndex: DeclarationTrainingPackageIndex


class DeclarationTrainingCheckpoint1(TypedDict, total=False):
    folder: str
    pattern: str
    step: str
    keep: int


class DeclarationTrainingProgress(TypedDict):
    pattern: str


class DeclarationTrainingObjective(TypedDict):
    metric: str
    mode: Literal["min", "max"]


class DeclarationTrainingHyperparametersValue3(TypedDict):
    number: str


class _DeclarationTrainingWhen(TypedDict):
    worseBy: float | str


class DeclarationTrainingWhen(_DeclarationTrainingWhen, total=False):
    orSamples: int


class _DeclarationTrainingChannelsValue0(TypedDict):
    s3: str


class DeclarationTrainingChannelsValue0(_DeclarationTrainingChannelsValue0, total=False):
    inputMode: Literal["File", "FastFile"]


class _DeclarationTrainingChannelsValue1(TypedDict):
    fsxLustre: str
    directory: str


class DeclarationTrainingChannelsValue1(_DeclarationTrainingChannelsValue1, total=False):
    access: Literal["ro", "rw"]
    storageGigabytes: float
    usdPerGigabyteMonth: float


class _DeclarationTrainingChannelsValue2(TypedDict):
    efs: str


class DeclarationTrainingChannelsValue2(_DeclarationTrainingChannelsValue2, total=False):
    directory: str
    access: Literal["ro", "rw"]
    storageGigabytes: float
    usdPerGigabyteMonth: float


class DeclarationTrainingPackageIndex(TypedDict, total=False):
    url: str
    secret: str
    codeArtifact: DeclarationTrainingPackageIndexCodeArtifact


class DeclarationTrainingPackageIndexCodeArtifact(TypedDict):
    domain: str
    owner: str
    repository: str
    region: str


class _DeclarationEvaluation(TypedDict):
    entryPoint: str


class DeclarationEvaluation(_DeclarationEvaluation, total=False):
    arguments: list[Any | list[Any]]
    on: list[str]
    instanceTypes: list[str]
    maximumSeconds: int


class DeclarationPromote1(TypedDict, total=False):
    whenBetterBy: float | str
    notWorseBy: float | str
    confidence: float
    atLeast: float


class DeclarationRegistries(TypedDict, total=False):
    sagemaker: DeclarationRegistriesSagemaker
    mlflow: DeclarationRegistriesMlflow


class DeclarationRegistriesSagemaker(TypedDict, total=False):
    image: str
    approvalPromotes: bool


class DeclarationRegistriesMlflow(TypedDict, total=False):
    secret: str
    model: str


class DeclarationCompute(TypedDict, total=False):
    instanceTypes: list[str]
    nodes: int
    needs: DeclarationComputeNeeds
    regions: list[DeclarationComputeRegionsItem]
    helpers: list[DeclarationComputeHelpersItem]
    purchaseOption: Literal["spot", "on-demand", "spot-then-on-demand"]
    reserved: list[str | DeclarationComputeReservedItem1]
    launcher: Literal["sagemaker", "ec2", "cheapest"]
    ec2: DeclarationComputeEc2
    volumeGigabytes: int
    vpc: DeclarationComputeVpc


class _DeclarationComputeNeeds(TypedDict):
    accelerators: int


class DeclarationComputeNeeds(_DeclarationComputeNeeds, total=False):
    acceleratorMemoryGigabytes: float
    maximumNodes: int
    cpuInstead: bool


class _DeclarationComputeRegionsItem(TypedDict):
    name: str


class DeclarationComputeRegionsItem(_DeclarationComputeRegionsItem, total=False):
    vpc: DeclarationComputeRegionsItemVpc


class DeclarationComputeRegionsItemVpc(TypedDict):
    securityGroupIds: list[str]
    subnets: list[DeclarationComputeRegionsItemVpcSubnetsItem]


class DeclarationComputeRegionsItemVpcSubnetsItem(TypedDict):
    id: str
    zoneId: str


class DeclarationComputeHelpersItem(TypedDict):
    name: str
    instanceType: str
    nodes: int


class DeclarationComputeReservedItem1(TypedDict):
    tag: DeclarationComputeReservedItem1Tag


class DeclarationComputeReservedItem1Tag(TypedDict):
    key: str
    value: str


class _DeclarationComputeEc2(TypedDict):
    image: str


class DeclarationComputeEc2(_DeclarationComputeEc2, total=False):
    python: str
    rootDevice: str


class DeclarationComputeVpc(TypedDict):
    securityGroupIds: list[str]
    subnets: list[DeclarationComputeVpcSubnetsItem]


class DeclarationComputeVpcSubnetsItem(TypedDict):
    id: str
    zoneId: str


class DeclarationLimits(TypedDict, total=False):
    deadlineHours: float
    patienceHours: float
    maximumRunSeconds: int
    budgetUsd: float


class DeclarationRetention(TypedDict, total=False):
    checkpointDays: int | Literal["forever"]
    failedCheckpointDays: int | Literal["forever"]


class DeclarationDoctor(TypedDict, total=False):
    apply: Literal["none", "safe"]


class DeclarationNotifyItem(TypedDict, total=False):
    topic: str
    slack: str
    discord: str
    webhook: str
    on: list[Literal["finished", "failed", "stopped", "interrupted", "stalled", "doctor", "budget", "deadline", "model"]]
    afterInterruptions: int


class DeclarationTuning(TypedDict, total=False):
    settle: DeclarationTuningSettle
    packing: DeclarationTuningPacking
    dataset: DeclarationTuningDataset
    training: DeclarationTuningTraining
    compute: DeclarationTuningCompute
    limits: DeclarationTuningLimits
    retention: DeclarationTuningRetention


class DeclarationTuningSettle(TypedDict, total=False):
    maximumWaitSeconds: int


class DeclarationTuningPacking(TypedDict, total=False):
    seed: int
    shardsMultipleOf: int
    leastShardsPerWorker: int
    waitHours: float
    mayReject: str
    remainder: Literal["ragged", "even", "drop"]
    prepare: DeclarationTuningPackingPrepare


class DeclarationTuningPackingPrepare(TypedDict, total=False):
    image: DeclarationTuningPackingPrepareImage


class DeclarationTuningPackingPrepareImage(TypedDict, total=False):
    mostMegapixels: float
    expectedKilobytes: float
    background: str
    columns: list[str]


class DeclarationTuningDataset(TypedDict, total=False):
    compactAfter: Literal["never"] | int


class DeclarationTuningTraining(TypedDict, total=False):
    instrument: bool
    pinGpus: bool
    distribution: Literal["FullyReplicated", "ShardedByS3Key"]


class DeclarationTuningCompute(TypedDict, total=False):
    mayAddHelpers: DeclarationTuningComputeMayAddHelpers
    spotWithHelpers: bool
    needs: DeclarationTuningComputeNeeds
    ec2: DeclarationTuningComputeEc2


class DeclarationTuningComputeMayAddHelpers(TypedDict, total=False):
    name: str
    instanceTypes: list[str]
    maximumNodes: int


class DeclarationTuningComputeNeeds(TypedDict, total=False):
    kinds: list[Literal["T4", "V100", "A10G", "L4", "L40S", "A100", "H100", "H200", "Trainium"]]
    vcpus: int
    memoryGigabytes: float
    acceleratorsPerNode: int
    resumeOnOtherTopology: bool


class DeclarationTuningComputeEc2(TypedDict, total=False):
    privateSubnets: bool


class DeclarationTuningLimits(TypedDict, total=False):
    valueOfTimeUsdPerHour: float
    attempts: int
    hangSeconds: int


class DeclarationTuningRetention(TypedDict, total=False):
    workDays: int | Literal["forever"]
    sourceDays: int | Literal["forever"]


class _DeleteCheckpointsAnswer(TypedDict):
    runId: str
    status: RunStatus
    isDeleted: bool


class DeleteCheckpointsAnswer(_DeleteCheckpointsAnswer, total=False):
    deletion: DeleteCheckpointsAnswerDeletion


class DeleteCheckpointsAnswerDeletion(TypedDict):
    at: str
    requestedBy: str


class _DeletePipelineAnswer(TypedDict):
    name: str
    kind: Literal["valid", "invalid", "gone"]


class DeletePipelineAnswer(_DeletePipelineAnswer, total=False):
    woken: DeletePipelineAnswerWoken0 | DeletePipelineAnswerWoken1
    problems: list[Problem]


class DeletePipelineAnswerWoken0(TypedDict):
    kind: Literal["started", "running"]
    runId: str


class DeletePipelineAnswerWoken1(TypedDict):
    kind: Literal["ignored"]
    reason: str


class EvaluateModelAnswer(TypedDict):
    runId: str
    kind: Literal["started", "running"]
    model: str


class EvaluateModelBody(TypedDict, total=False):
    runId: str
    on: list[str]


class _GetDatasetAnswer(TypedDict):
    versions: list[GetDatasetAnswerVersionsItem]
    generations: list[GetDatasetAnswerGenerationsItem]


class GetDatasetAnswer(_GetDatasetAnswer, total=False):
    pinned: str
    newest: int


class GetDatasetAnswerVersionsItem(TypedDict):
    number: int
    kind: Literal["sealed", "compacted", "pruned", "restored"]
    changed: list[str]
    generations: list[str]


class _GetDatasetAnswerGenerationsItem(TypedDict):
    name: str
    state: Literal["sealed", "replaced", "pruned", "rejectionsOnly", "damaged"]


class GetDatasetAnswerGenerationsItem(_GetDatasetAnswerGenerationsItem, total=False):
    problem: str
    listedAt: str
    format: str
    shards: int
    samples: int
    repeated: int
    bytes: int
    packed: int
    rejected: int


class GetGenerationAnswer(TypedDict):
    generation: GetGenerationAnswerGeneration
    classes: list[GetGenerationAnswerClassesItem]
    rejectedByReason: dict[str, int]
    rejected: list[GetGenerationAnswerRejectedItem]
    samples: list[GetGenerationAnswerSamplesItem]


class _GetGenerationAnswerGeneration(TypedDict):
    name: str
    state: Literal["sealed", "replaced", "pruned", "rejectionsOnly", "damaged"]


class GetGenerationAnswerGeneration(_GetGenerationAnswerGeneration, total=False):
    problem: str
    listedAt: str
    format: str
    shards: int
    samples: int
    repeated: int
    bytes: int
    packed: int
    rejected: int


class GetGenerationAnswerClassesItem(TypedDict):
    label: str
    arrived: int
    sealed: int


class GetGenerationAnswerRejectedItem(TypedDict):
    key: str
    reason: str


class _GetGenerationAnswerSamplesItem(TypedDict):
    shard: str
    member: str
    bytes: int


class GetGenerationAnswerSamplesItem(_GetGenerationAnswerSamplesItem, total=False):
    key: str
    label: str


class GetImageAnswer(TypedDict):
    type: Literal["image/png", "image/jpeg", "image/gif", "image/webp"]
    base64: str


class _GetLogAnswer(TypedDict):
    entries: list[GetLogAnswerEntriesItem0 | GetLogAnswerEntriesItem1]
    isCurrent: bool


class GetLogAnswer(_GetLogAnswer, total=False):
    nextToken: str


class GetLogAnswerEntriesItem0(TypedDict):
    kind: Literal["began", "ended"]
    attempt: int
    at: str
    text: str


class GetLogAnswerEntriesItem1(TypedDict):
    kind: Literal["line"]
    attempt: int
    at: str
    host: str
    text: str


class GetMarketAnswer(TypedDict):
    since: str
    pools: list[GetMarketAnswerPoolsItem]
    running: list[GetMarketAnswerRunningItem]


class _GetMarketAnswerPoolsItem(TypedDict):
    instanceType: str
    zoneId: str
    history: list[GetMarketAnswerPoolsItemHistoryItem]
    luck: GetMarketAnswerPoolsItemLuck


class GetMarketAnswerPoolsItem(_GetMarketAnswerPoolsItem, total=False):
    score: float
    spotUsd: float
    onDemandUsd: float
    readAt: str


class _GetMarketAnswerPoolsItemHistoryItem(TypedDict):
    at: str


class GetMarketAnswerPoolsItemHistoryItem(_GetMarketAnswerPoolsItemHistoryItem, total=False):
    score: float
    spotUsd: float


class GetMarketAnswerPoolsItemLuck(TypedDict):
    kept: int
    lost: int
    refused: int


class _GetMarketAnswerRunningItem(TypedDict):
    runId: str
    attempt: int
    instanceType: str
    purchaseOption: Literal["spot", "on-demand", "reserved"]
    nodes: int
    since: str


class GetMarketAnswerRunningItem(_GetMarketAnswerRunningItem, total=False):
    zoneId: str


class _GetModelAnswer(TypedDict):
    uri: str


class GetModelAnswer(_GetModelAnswer, total=False):
    startedFrom: GetModelAnswerStartedFrom
    model: GetModelAnswerModel
    current: GetModelAnswerCurrent
    judgement: GetModelAnswerJudgement


class _GetModelAnswerStartedFrom(TypedDict):
    uri: str


class GetModelAnswerStartedFrom(_GetModelAnswerStartedFrom, total=False):
    runId: str
    bytes: float
    etag: str
    digest: str


class _GetModelAnswerModel(TypedDict):
    runId: str
    uri: str
    state: Literal["candidate", "current", "former", "rejected"]
    number: int
    at: str
    by: str
    reason: str


class GetModelAnswerModel(_GetModelAnswerModel, total=False):
    bytes: float
    etag: str
    digest: str
    judged: GetModelAnswerModelJudged


class _GetModelAnswerModelJudged(TypedDict):
    verdict: Literal["first", "better", "notBetter", "inconclusive", "rejected"]
    metric: str


class GetModelAnswerModelJudged(_GetModelAnswerModelJudged, total=False):
    mode: Literal["min", "max"]
    mean: float
    against: str
    pairs: int
    better: float
    interval: list[float]
    earlier: GetModelAnswerModelJudgedEarlier
    fresh: GetModelAnswerModelJudgedFresh
    samplesNeeded: int


class _GetModelAnswerModelJudgedEarlier(TypedDict):
    samples: int
    mean: float


class GetModelAnswerModelJudgedEarlier(_GetModelAnswerModelJudgedEarlier, total=False):
    better: float
    interval: list[float]


class _GetModelAnswerModelJudgedFresh(TypedDict):
    samples: int
    mean: float


class GetModelAnswerModelJudgedFresh(_GetModelAnswerModelJudgedFresh, total=False):
    better: float
    interval: list[float]


class _GetModelAnswerCurrent(TypedDict):
    runId: str
    uri: str
    state: Literal["candidate", "current", "former", "rejected"]
    number: int
    at: str
    by: str
    reason: str


class GetModelAnswerCurrent(_GetModelAnswerCurrent, total=False):
    bytes: float
    etag: str
    digest: str
    judged: GetModelAnswerCurrentJudged


class _GetModelAnswerCurrentJudged(TypedDict):
    verdict: Literal["first", "better", "notBetter", "inconclusive", "rejected"]
    metric: str


class GetModelAnswerCurrentJudged(_GetModelAnswerCurrentJudged, total=False):
    mode: Literal["min", "max"]
    mean: float
    against: str
    pairs: int
    better: float
    interval: list[float]
    earlier: GetModelAnswerCurrentJudgedEarlier
    fresh: GetModelAnswerCurrentJudgedFresh
    samplesNeeded: int


class _GetModelAnswerCurrentJudgedEarlier(TypedDict):
    samples: int
    mean: float


class GetModelAnswerCurrentJudgedEarlier(_GetModelAnswerCurrentJudgedEarlier, total=False):
    better: float
    interval: list[float]


class _GetModelAnswerCurrentJudgedFresh(TypedDict):
    samples: int
    mean: float


class GetModelAnswerCurrentJudgedFresh(_GetModelAnswerCurrentJudgedFresh, total=False):
    better: float
    interval: list[float]


class _GetModelAnswerJudgement(TypedDict):
    version: Literal[1]
    runId: str
    metric: str
    verdict: Literal["first", "better", "notBetter", "inconclusive", "rejected"]
    reasons: list[str]


class GetModelAnswerJudgement(_GetModelAnswerJudgement, total=False):
    mode: Literal["min", "max"]
    against: str
    mean: float
    samplesNeeded: int
    difference: GetModelAnswerJudgementDifference
    sides: GetModelAnswerJudgementSides
    earlier: GetModelAnswerJudgementEarlier
    fresh: GetModelAnswerJudgementFresh
    byLabel: list[GetModelAnswerJudgementByLabelItem]
    worst: list[GetModelAnswerJudgementWorstItem]


class GetModelAnswerJudgementDifference(TypedDict):
    pairs: int
    candidate: float
    current: float
    better: float
    interval: list[float]


class GetModelAnswerJudgementSides(TypedDict):
    gained: int
    lost: int


class _GetModelAnswerJudgementEarlier(TypedDict):
    samples: int
    mean: float


class GetModelAnswerJudgementEarlier(_GetModelAnswerJudgementEarlier, total=False):
    current: float
    better: float
    interval: list[float]
    sides: GetModelAnswerJudgementEarlierSides


class GetModelAnswerJudgementEarlierSides(TypedDict):
    gained: int
    lost: int


class _GetModelAnswerJudgementFresh(TypedDict):
    samples: int
    mean: float


class GetModelAnswerJudgementFresh(_GetModelAnswerJudgementFresh, total=False):
    current: float
    better: float
    interval: list[float]
    sides: GetModelAnswerJudgementFreshSides


class GetModelAnswerJudgementFreshSides(TypedDict):
    gained: int
    lost: int


class GetModelAnswerJudgementByLabelItem(TypedDict):
    candidate: float
    current: float
    label: str
    samples: int


class _GetModelAnswerJudgementWorstItem(TypedDict):
    candidate: float
    current: float
    key: str


class GetModelAnswerJudgementWorstItem(_GetModelAnswerJudgementWorstItem, total=False):
    label: str


class _GetModelsAnswer(TypedDict):
    pipeline: str
    number: int
    models: list[GetModelsAnswerModelsItem]


class GetModelsAnswer(_GetModelsAnswer, total=False):
    current: GetModelsAnswerCurrent


class _GetModelsAnswerCurrent(TypedDict):
    runId: str
    uri: str
    state: Literal["candidate", "current", "former", "rejected"]
    number: int
    at: str
    by: str
    reason: str


class GetModelsAnswerCurrent(_GetModelsAnswerCurrent, total=False):
    bytes: float
    etag: str
    digest: str
    judged: GetModelsAnswerCurrentJudged


class _GetModelsAnswerCurrentJudged(TypedDict):
    verdict: Literal["first", "better", "notBetter", "inconclusive", "rejected"]
    metric: str


class GetModelsAnswerCurrentJudged(_GetModelsAnswerCurrentJudged, total=False):
    mode: Literal["min", "max"]
    mean: float
    against: str
    pairs: int
    better: float
    interval: list[float]
    earlier: GetModelsAnswerCurrentJudgedEarlier
    fresh: GetModelsAnswerCurrentJudgedFresh
    samplesNeeded: int


class _GetModelsAnswerCurrentJudgedEarlier(TypedDict):
    samples: int
    mean: float


class GetModelsAnswerCurrentJudgedEarlier(_GetModelsAnswerCurrentJudgedEarlier, total=False):
    better: float
    interval: list[float]


class _GetModelsAnswerCurrentJudgedFresh(TypedDict):
    samples: int
    mean: float


class GetModelsAnswerCurrentJudgedFresh(_GetModelsAnswerCurrentJudgedFresh, total=False):
    better: float
    interval: list[float]


class _GetModelsAnswerModelsItem(TypedDict):
    runId: str
    uri: str
    state: Literal["candidate", "current", "former", "rejected"]
    number: int
    at: str
    by: str
    reason: str


class GetModelsAnswerModelsItem(_GetModelsAnswerModelsItem, total=False):
    bytes: float
    etag: str
    digest: str
    judged: GetModelsAnswerModelsItemJudged


class _GetModelsAnswerModelsItemJudged(TypedDict):
    verdict: Literal["first", "better", "notBetter", "inconclusive", "rejected"]
    metric: str


class GetModelsAnswerModelsItemJudged(_GetModelsAnswerModelsItemJudged, total=False):
    mode: Literal["min", "max"]
    mean: float
    against: str
    pairs: int
    better: float
    interval: list[float]
    earlier: GetModelsAnswerModelsItemJudgedEarlier
    fresh: GetModelsAnswerModelsItemJudgedFresh
    samplesNeeded: int


class _GetModelsAnswerModelsItemJudgedEarlier(TypedDict):
    samples: int
    mean: float


class GetModelsAnswerModelsItemJudgedEarlier(_GetModelsAnswerModelsItemJudgedEarlier, total=False):
    better: float
    interval: list[float]


class _GetModelsAnswerModelsItemJudgedFresh(TypedDict):
    samples: int
    mean: float


class GetModelsAnswerModelsItemJudgedFresh(_GetModelsAnswerModelsItemJudgedFresh, total=False):
    better: float
    interval: list[float]


class _GetPipelineAnswer(TypedDict):
    name: str
    declaration: str


class GetPipelineAnswer(_GetPipelineAnswer, total=False):
    openBatch: int
    closedAt: str
    seen: str
    notified: GetPipelineAnswerNotified
    sweptAt: str
    sweptObjects: int
    valid: bool
    declarationEtag: str
    checkedBy: str
    isScheduled: bool
    removedAt: str
    problems: list[Problem]
    updatedAt: str


class _GetPipelineAnswerNotified(TypedDict):
    since: str
    listedAt: str


class GetPipelineAnswerNotified(_GetPipelineAnswerNotified, total=False):
    closedAt: str


class GetPlacementAnswer(TypedDict):
    attempt: int
    decision: PlacementDecision


class _GetRunAnswer(TypedDict):
    asOf: str
    run: Run
    attempts: list[AttemptSummary]
    timeline: list[TimelineEntry]
    timelineCount: int
    money: GetRunAnswerMoney


class GetRunAnswer(_GetRunAnswer, total=False):
    progress: Progress
    report: GetRunAnswerReport


class _GetRunAnswerMoney(TypedDict):
    asOf: str
    usd: float
    usdPerSecond: float
    byPurchaseOption: list[GetRunAnswerMoneyByPurchaseOptionItem]
    lost: GetRunAnswerMoneyLost
    onDemandUsd: float


class GetRunAnswerMoney(_GetRunAnswerMoney, total=False):
    expected: GetRunAnswerMoneyExpected
    deadlineAt: str
    budgetUsd: float


class GetRunAnswerMoneyByPurchaseOptionItem(TypedDict):
    purchaseOption: Literal["spot", "on-demand", "reserved"]
    seconds: float
    usd: float


class GetRunAnswerMoneyLost(TypedDict):
    seconds: float
    usd: float


class _GetRunAnswerMoneyExpected(TypedDict):
    usd: GetRunAnswerMoneyExpectedUsd
    finishAt: GetRunAnswerMoneyExpectedFinishAt
    onDemandUsd: float
    basis: Literal["measured", "declared"]
    widths: GetRunAnswerMoneyExpectedWidths


class GetRunAnswerMoneyExpected(_GetRunAnswerMoneyExpected, total=False):
    lateChance: float


class GetRunAnswerMoneyExpectedUsd(TypedDict):
    low: float
    expected: float
    high: float


class GetRunAnswerMoneyExpectedFinishAt(TypedDict):
    low: str
    expected: str
    high: str


class GetRunAnswerMoneyExpectedWidths(TypedDict):
    end: float
    cost: float


class _GetRunAnswerReport(TypedDict):
    version: Literal[1]
    runId: str
    pipeline: str
    status: Literal["succeeded", "failed", "stopped", "empty", "notNeeded"]
    metrics: dict[str, Any]
    interruptions: int
    lostSeconds: float
    costUsd: float
    onDemandUsd: float
    savedUsd: float
    savedPercent: float
    deadline: GetRunAnswerReportDeadline
    startedAt: str
    finishedAt: str
    attempts: list[GetRunAnswerReportAttemptsItem]


class GetRunAnswerReport(_GetRunAnswerReport, total=False):
    owner: str
    tags: dict[str, str]
    failure: str
    stop: GetRunAnswerReportStop
    retry: GetRunAnswerReportRetry
    modelUri: str
    modelEtag: str
    reads: GetRunAnswerReportReads
    source: str
    startedFrom: GetRunAnswerReportStartedFrom
    need: GetRunAnswerReportNeed
    git: GetRunAnswerReportGit
    objective: GetRunAnswerReportObjective
    restarts: GetRunAnswerReportRestarts
    fileSystemsUsd: float
    onDemandNode: GetRunAnswerReportOnDemandNode
    promises: list[GetRunAnswerReportPromisesItem]


class GetRunAnswerReportStop(TypedDict):
    mode: Literal["afterSave", "now"]
    at: str
    requestedBy: str
    execution: int


class GetRunAnswerReportRetry(TypedDict):
    number: int
    at: str
    requestedBy: str
    attempts: int


class _GetRunAnswerReportReads(TypedDict):
    whole: list[str]
    replay: float
    new: int
    replayed: int
    earlier: int


class GetRunAnswerReportReads(_GetRunAnswerReportReads, total=False):
    drawn: str


class _GetRunAnswerReportStartedFrom(TypedDict):
    uri: str


class GetRunAnswerReportStartedFrom(_GetRunAnswerReportStartedFrom, total=False):
    runId: str
    bytes: float
    etag: str
    digest: str


class _GetRunAnswerReportNeed(TypedDict):
    isNeeded: bool
    reason: str


class GetRunAnswerReportNeed(_GetRunAnswerReportNeed, total=False):
    probe: str
    since: int
    scores: GetRunAnswerReportNeedScores


class GetRunAnswerReportNeedScores(TypedDict):
    metric: str
    model: str
    samples: int
    mean: float
    known: float


class _GetRunAnswerReportGit(TypedDict):
    commit: str
    isDirty: bool


class GetRunAnswerReportGit(_GetRunAnswerReportGit, total=False):
    branch: str


class _GetRunAnswerReportObjective(TypedDict):
    metric: str
    mode: Literal["min", "max"]


class GetRunAnswerReportObjective(_GetRunAnswerReportObjective, total=False):
    best: GetRunAnswerReportObjectiveBest


class GetRunAnswerReportObjectiveBest(TypedDict):
    value: float
    position: float
    unit: Literal["step", "epoch"]


class GetRunAnswerReportRestarts(TypedDict, total=False):
    detect: float
    place: float
    capacity: float
    download: float
    image: float
    requirements: float
    resume: float
    firstStep: float


class GetRunAnswerReportOnDemandNode(TypedDict):
    instanceType: str
    accelerators: int
    hours: float
    usd: float


class _GetRunAnswerReportDeadline(TypedDict):
    met: Any


class GetRunAnswerReportDeadline(_GetRunAnswerReportDeadline, total=False):
    at: str


class GetRunAnswerReportPromisesItem(TypedDict):
    share: float
    finishAt: GetRunAnswerReportPromisesItemFinishAt
    usd: GetRunAnswerReportPromisesItemUsd
    widths: GetRunAnswerReportPromisesItemWidths


class GetRunAnswerReportPromisesItemFinishAt(TypedDict):
    low: str
    expected: str
    high: str


class GetRunAnswerReportPromisesItemUsd(TypedDict):
    low: float
    expected: float
    high: float


class GetRunAnswerReportPromisesItemWidths(TypedDict):
    end: float
    cost: float


class _GetRunAnswerReportAttemptsItem(TypedDict):
    attempt: int
    outcome: Literal["completed", "interrupted", "capacity", "timeLimit", "serviceError", "userError", "recalled", "stopped"]
    lostSeconds: float
    costUsd: float


class GetRunAnswerReportAttemptsItem(_GetRunAnswerReportAttemptsItem, total=False):
    restart: GetRunAnswerReportAttemptsItemRestart


class GetRunAnswerReportAttemptsItemRestart(TypedDict, total=False):
    detect: float
    place: float
    capacity: float
    download: float
    image: float
    requirements: float
    resume: float
    firstStep: float


class GetSeriesAnswer(TypedDict):
    series: list[GetSeriesAnswerSeriesItem]


class GetSeriesAnswerSeriesItem(TypedDict):
    name: str
    source: str
    unit: Literal["step", "epoch"]
    pointCount: int
    points: list[GetSeriesAnswerSeriesItemPointsItem]
    lost: list[GetSeriesAnswerSeriesItemLostItem]


class GetSeriesAnswerSeriesItemPointsItem(TypedDict):
    position: float
    value: float | None
    at: str
    attempt: int


class GetSeriesAnswerSeriesItemLostItem(TypedDict):
    position: float
    value: float | None
    at: str
    attempt: int


class GetTimelineAnswer(TypedDict):
    timeline: list[TimelineEntry]


class _GetUtilisationAnswer(TypedDict):
    points: list[GetUtilisationAnswerPointsItem]
    hostsLeftOut: int
    verdicts: list[GetUtilisationAnswerVerdictsItem]


class GetUtilisationAnswer(_GetUtilisationAnswer, total=False):
    reason: str


class _GetUtilisationAnswerPointsItem(TypedDict):
    at: str
    attempt: int
    hosts: int
    cpuBusy: float
    waiting: float


class GetUtilisationAnswerPointsItem(_GetUtilisationAnswerPointsItem, total=False):
    gpuBusy: float


class _GetUtilisationAnswerVerdictsItem(TypedDict):
    attempt: int
    at: str
    cause: str


class GetUtilisationAnswerVerdictsItem(_GetUtilisationAnswerVerdictsItem, total=False):
    remedy: str


class GetWhatIfAnswer(TypedDict):
    decidedAt: str
    again: PlacementDecision
    isSame: bool
    changed: PlacementDecision
    notes: list[str]


class ListAttemptsAnswer(TypedDict):
    attempts: list[Attempt]


class _ListModelsAnswer(TypedDict):
    models: list[ListModelsAnswerModelsItem]


class ListModelsAnswer(_ListModelsAnswer, total=False):
    unreadable: list[str]
    nextToken: str


class _ListModelsAnswerModelsItem(TypedDict):
    pipeline: str
    means: list[float]


class ListModelsAnswerModelsItem(_ListModelsAnswerModelsItem, total=False):
    current: ListModelsAnswerModelsItemCurrent
    waiting: ListModelsAnswerModelsItemWaiting
    metric: str


class _ListModelsAnswerModelsItemCurrent(TypedDict):
    runId: str
    uri: str
    state: Literal["candidate", "current", "former", "rejected"]
    number: int
    at: str
    by: str
    reason: str


class ListModelsAnswerModelsItemCurrent(_ListModelsAnswerModelsItemCurrent, total=False):
    bytes: float
    etag: str
    digest: str
    judged: ListModelsAnswerModelsItemCurrentJudged


class _ListModelsAnswerModelsItemCurrentJudged(TypedDict):
    verdict: Literal["first", "better", "notBetter", "inconclusive", "rejected"]
    metric: str


class ListModelsAnswerModelsItemCurrentJudged(_ListModelsAnswerModelsItemCurrentJudged, total=False):
    mode: Literal["min", "max"]
    mean: float
    against: str
    pairs: int
    better: float
    interval: list[float]
    earlier: ListModelsAnswerModelsItemCurrentJudgedEarlier
    fresh: ListModelsAnswerModelsItemCurrentJudgedFresh
    samplesNeeded: int


class _ListModelsAnswerModelsItemCurrentJudgedEarlier(TypedDict):
    samples: int
    mean: float


class ListModelsAnswerModelsItemCurrentJudgedEarlier(_ListModelsAnswerModelsItemCurrentJudgedEarlier, total=False):
    better: float
    interval: list[float]


class _ListModelsAnswerModelsItemCurrentJudgedFresh(TypedDict):
    samples: int
    mean: float


class ListModelsAnswerModelsItemCurrentJudgedFresh(_ListModelsAnswerModelsItemCurrentJudgedFresh, total=False):
    better: float
    interval: list[float]


class _ListModelsAnswerModelsItemWaiting(TypedDict):
    runId: str
    uri: str
    state: Literal["candidate", "current", "former", "rejected"]
    number: int
    at: str
    by: str
    reason: str


class ListModelsAnswerModelsItemWaiting(_ListModelsAnswerModelsItemWaiting, total=False):
    bytes: float
    etag: str
    digest: str
    judged: ListModelsAnswerModelsItemWaitingJudged


class _ListModelsAnswerModelsItemWaitingJudged(TypedDict):
    verdict: Literal["first", "better", "notBetter", "inconclusive", "rejected"]
    metric: str


class ListModelsAnswerModelsItemWaitingJudged(_ListModelsAnswerModelsItemWaitingJudged, total=False):
    mode: Literal["min", "max"]
    mean: float
    against: str
    pairs: int
    better: float
    interval: list[float]
    earlier: ListModelsAnswerModelsItemWaitingJudgedEarlier
    fresh: ListModelsAnswerModelsItemWaitingJudgedFresh
    samplesNeeded: int


class _ListModelsAnswerModelsItemWaitingJudgedEarlier(TypedDict):
    samples: int
    mean: float


class ListModelsAnswerModelsItemWaitingJudgedEarlier(_ListModelsAnswerModelsItemWaitingJudgedEarlier, total=False):
    better: float
    interval: list[float]


class _ListModelsAnswerModelsItemWaitingJudgedFresh(TypedDict):
    samples: int
    mean: float


class ListModelsAnswerModelsItemWaitingJudgedFresh(_ListModelsAnswerModelsItemWaitingJudgedFresh, total=False):
    better: float
    interval: list[float]


class _ListPipelineRunsAnswer(TypedDict):
    runs: list[RunSummary]


class ListPipelineRunsAnswer(_ListPipelineRunsAnswer, total=False):
    unreadable: list[str]
    nextToken: str


class _ListPipelinesAnswer(TypedDict):
    pipelines: list[Pipeline]


class ListPipelinesAnswer(_ListPipelinesAnswer, total=False):
    unreadable: list[str]
    nextToken: str


class _ListPlacementsAnswer(TypedDict):
    placements: list[ListPlacementsAnswerPlacementsItem]


class ListPlacementsAnswer(_ListPlacementsAnswer, total=False):
    unreadable: list[str]


class _ListPlacementsAnswerPlacementsItem(TypedDict):
    attempt: int
    kind: Literal["launch", "wait", "giveUp"]
    reason: str


class ListPlacementsAnswerPlacementsItem(_ListPlacementsAnswerPlacementsItem, total=False):
    placement: Placement


class _ListProbesAnswer(TypedDict):
    probes: list[ListProbesAnswerProbesItem]


class ListProbesAnswer(_ListProbesAnswer, total=False):
    unreadable: list[str]
    nextToken: str


class _ListProbesAnswerProbesItem(TypedDict):
    runId: str
    number: int
    status: RunStatus
    createdAt: str
    costUsd: float


class ListProbesAnswerProbesItem(_ListProbesAnswerProbesItem, total=False):
    evaluates: str
    failure: str
    steps: int
    declaration: RunDeclaration
    topology: str
    usdPerHour: float
    speed: ListProbesAnswerProbesItemSpeed


class _ListProbesAnswerProbesItemSpeed(TypedDict):
    basis: Literal["hooks", "printed"]
    clock: Literal["machine", "host"]
    hosts: int
    steps: int
    stepSeconds: ListProbesAnswerProbesItemSpeedStepSeconds


class ListProbesAnswerProbesItemSpeed(_ListProbesAnswerProbesItemSpeed, total=False):
    samplesPerSecond: ListProbesAnswerProbesItemSpeedSamplesPerSecond


class ListProbesAnswerProbesItemSpeedStepSeconds(TypedDict):
    mean: float
    low: float
    high: float


class ListProbesAnswerProbesItemSpeedSamplesPerSecond(TypedDict):
    mean: float
    low: float
    high: float


class _ListRunsAnswer(TypedDict):
    runs: list[RunSummary]


class ListRunsAnswer(_ListRunsAnswer, total=False):
    unreadable: list[str]
    nextToken: str
    searchedTo: str


class _Pipeline(TypedDict):
    name: str
    openBatch: int
    valid: bool
    updatedAt: str


class Pipeline(_Pipeline, total=False):
    closedAt: str
    seen: str
    notified: PipelineNotified
    sweptAt: str
    sweptObjects: int
    declarationEtag: str
    checkedBy: str
    isScheduled: bool
    removedAt: str
    problems: list[Problem]


class _PipelineNotified(TypedDict):
    since: str
    listedAt: str


class PipelineNotified(_PipelineNotified, total=False):
    closedAt: str


class _Placement(TypedDict):
    pool: Pool
    topology: Topology
    onDemandHourlyUsd: float
    maximumRunSeconds: float
    reason: str
    decidedAt: str


class Placement(_Placement, total=False):
    subnetId: str
    alternatives: list[PlacementAlternativesItem]
    helpersHourlyUsd: float
    fileSystemsHourlyUsd: float
    transfer: PlacementTransfer
    expectedSeconds: float
    maximumWaitSeconds: float
    spotUntil: str
    reserved: PlacementReserved


class PlacementAlternativesItem(TypedDict):
    instanceType: str
    onDemandHourlyUsd: float


class PlacementTransfer(TypedDict):
    gigabytes: float
    usd: float
    seconds: float
    priceNote: str


class _PlacementReserved(TypedDict):
    kind: Literal["capacity-reservation", "capacity-block", "training-plan"]


class PlacementReserved(_PlacementReserved, total=False):
    until: str
    placementGroup: str


class _PlacementDecision0(TypedDict):
    kind: Literal["launch"]
    placement: PlacementDecision0Placement


class PlacementDecision0(_PlacementDecision0, total=False):
    expected: PlacementDecision0Expected
    offers: list[str]


class _PlacementDecision0Placement(TypedDict):
    pool: Pool
    topology: Topology
    onDemandHourlyUsd: float
    maximumRunSeconds: float
    reason: str
    decidedAt: str
    considered: list[PoolAssessment]


class PlacementDecision0Placement(_PlacementDecision0Placement, total=False):
    subnetId: str
    alternatives: list[PlacementDecision0PlacementAlternativesItem]
    helpersHourlyUsd: float
    fileSystemsHourlyUsd: float
    transfer: PlacementDecision0PlacementTransfer
    expectedSeconds: float
    maximumWaitSeconds: float
    spotUntil: str
    reserved: PlacementDecision0PlacementReserved


class PlacementDecision0PlacementAlternativesItem(TypedDict):
    instanceType: str
    onDemandHourlyUsd: float


class PlacementDecision0PlacementTransfer(TypedDict):
    gigabytes: float
    usd: float
    seconds: float
    priceNote: str


class _PlacementDecision0PlacementReserved(TypedDict):
    kind: Literal["capacity-reservation", "capacity-block", "training-plan"]


class PlacementDecision0PlacementReserved(_PlacementDecision0PlacementReserved, total=False):
    until: str
    placementGroup: str


class _PlacementDecision0Expected(TypedDict):
    seconds: PlacementDecision0ExpectedSeconds
    usd: PlacementDecision0ExpectedUsd


class PlacementDecision0Expected(_PlacementDecision0Expected, total=False):
    lateChance: float


class PlacementDecision0ExpectedSeconds(TypedDict):
    low: float
    expected: float
    high: float


class PlacementDecision0ExpectedUsd(TypedDict):
    low: float
    expected: float
    high: float


class _PlacementDecision1(TypedDict):
    kind: Literal["wait"]
    seconds: float
    reason: str
    considered: list[PoolAssessment]


class PlacementDecision1(_PlacementDecision1, total=False):
    expected: PlacementDecision1Expected
    offers: list[str]


class _PlacementDecision1Expected(TypedDict):
    seconds: PlacementDecision1ExpectedSeconds
    usd: PlacementDecision1ExpectedUsd


class PlacementDecision1Expected(_PlacementDecision1Expected, total=False):
    lateChance: float


class PlacementDecision1ExpectedSeconds(TypedDict):
    low: float
    expected: float
    high: float


class PlacementDecision1ExpectedUsd(TypedDict):
    low: float
    expected: float
    high: float


class PlacementDecision2(TypedDict):
    kind: Literal["giveUp"]
    reason: str
    considered: list[PoolAssessment]


class _PlanRunAnswer(TypedDict):
    pipeline: str
    asOf: str
    runId: str
    packing: PlanRunAnswerPacking
    dataset: PlanRunAnswerDataset
    findings: list[PlanRunAnswerFindingsItem0 | PlanRunAnswerFindingsItem1 | PlanRunAnswerFindingsItem2 | PlanRunAnswerFindingsItem3]
    notes: list[str]


class PlanRunAnswer(_PlanRunAnswer, total=False):
    decision: PlacementDecision
    training: PlanRunAnswerTraining
    bounds: PlanRunAnswerBounds
    deadlineAt: str


class PlanRunAnswerPacking(TypedDict):
    basis: Literal["counted", "given"]
    files: float
    bytes: float
    samples: float
    rejected: float
    shards: float
    items: float


class _PlanRunAnswerDataset(TypedDict):
    generations: float
    shards: float
    bytes: float


class PlanRunAnswerDataset(_PlanRunAnswerDataset, total=False):
    isUnpacked: Literal[True]


class _PlanRunAnswerTraining(TypedDict):
    basis: Literal["measured", "declared"]
    workSeconds: float
    seconds: PlanRunAnswerTrainingSeconds
    usd: PlanRunAnswerTrainingUsd
    onDemandUsd: float
    finishAt: PlanRunAnswerTrainingFinishAt
    widths: PlanRunAnswerTrainingWidths
    overBudgetChance: float


class PlanRunAnswerTraining(_PlanRunAnswerTraining, total=False):
    lateChance: float


class PlanRunAnswerTrainingSeconds(TypedDict):
    low: float
    expected: float
    high: float


class PlanRunAnswerTrainingUsd(TypedDict):
    low: float
    expected: float
    high: float


class PlanRunAnswerTrainingFinishAt(TypedDict):
    low: str
    expected: str
    high: str


class PlanRunAnswerTrainingWidths(TypedDict):
    end: float
    cost: float


class PlanRunAnswerBounds(TypedDict):
    mostUsd: float
    probeUsd: float


class PlanRunAnswerFindingsItem0(TypedDict):
    kind: Literal["passed"]
    check: str
    field: str
    value: str


class PlanRunAnswerFindingsItem1(TypedDict):
    kind: Literal["limited"]
    check: str
    field: str
    value: str
    message: str
    remedy: str


class PlanRunAnswerFindingsItem2(TypedDict):
    kind: Literal["fails"]
    check: str
    field: str
    value: str
    message: str
    remedy: str


class PlanRunAnswerFindingsItem3(TypedDict):
    kind: Literal["notSeen"]
    check: str
    field: str
    message: str
    remedy: str


class _PlanRunBody(TypedDict):
    pipeline: str


class PlanRunBody(_PlanRunBody, total=False):
    declaration: str
    change: dict[str, Any]
    retryOf: str
    data: PlanRunBodyData


class PlanRunBodyData(TypedDict):
    files: int
    bytes: int


class _Pool(TypedDict):
    instanceType: str
    purchaseOption: Literal["spot", "on-demand", "reserved"]
    launcher: Literal["sagemaker", "ec2"]


class Pool(_Pool, total=False):
    zoneId: str
    reservation: str
    region: str


class _PoolAssessment(TypedDict):
    pool: Pool
    topology: Topology
    hourlyUsd: float
    verdict: str


class PoolAssessment(_PoolAssessment, total=False):
    score: float
    expectedCostUsd: float
    expectedSeconds: float
    expectedSecondsBetween: list[Any]
    chanceNow: float
    expectedWaitSeconds: float
    expectedUpSeconds: float
    transfer: PoolAssessmentTransfer


class PoolAssessmentTransfer(TypedDict):
    gigabytes: float
    usd: float
    seconds: float
    priceNote: str


class Problem(TypedDict):
    path: str
    message: str


class _Progress(TypedDict):
    step: float
    totalSteps: float
    checkpoint: str
    updatedAt: str


class Progress(_Progress, total=False):
    unit: Literal["step", "epoch", "saves"]
    checkpointBytes: float
    trainingSeconds: float
    saveSeconds: float
    usage: ProgressUsage
    metrics: dict[str, float]
    proof: Literal["whole", "quiet"]
    comparedBy: Literal["checksums", "sizes"]


class ProgressUsage(TypedDict, total=False):
    cpuPercent: float
    gpuPercent: float


class _PutLimitsAnswer(TypedDict):
    runId: str
    status: RunStatus
    limits: PutLimitsAnswerLimits


class PutLimitsAnswer(_PutLimitsAnswer, total=False):
    placement: PlacementDecision


class _PutLimitsAnswerLimits(TypedDict):
    maximumRunSeconds: int
    attempts: int


class PutLimitsAnswerLimits(_PutLimitsAnswerLimits, total=False):
    deadlineHours: float
    patienceHours: float
    valueOfTimeUsdPerHour: float
    budgetUsd: float
    hangSeconds: int
    steps: int


class _PutPinAnswer(TypedDict):
    name: str
    generations: list[str]


class PutPinAnswer(_PutPinAnswer, total=False):
    pinned: str


class PutPinBody(TypedDict):
    generation: Any


class _PutPipelineAnswer(TypedDict):
    name: str
    kind: Literal["valid", "gone"]


class PutPipelineAnswer(_PutPipelineAnswer, total=False):
    woken: PutPipelineAnswerWoken0 | PutPipelineAnswerWoken1


class PutPipelineAnswerWoken0(TypedDict):
    kind: Literal["started", "running"]
    runId: str


class PutPipelineAnswerWoken1(TypedDict):
    kind: Literal["ignored"]
    reason: str


class _Refusal(TypedDict):
    message: str


class Refusal(_Refusal, total=False):
    problems: list[Problem]


class _Report(TypedDict):
    version: Literal[1]
    runId: str
    pipeline: str
    status: Literal["succeeded", "failed", "stopped", "empty", "notNeeded"]
    generations: list[str]
    metrics: dict[str, Any]
    attempts: list[ReportAttemptsItem]
    speeds: list[ReportSpeedsItem]
    interruptions: int
    lostSeconds: float
    costUsd: float
    onDemandUsd: float
    savedUsd: float
    savedPercent: float
    deadline: ReportDeadline
    startedAt: str
    finishedAt: str
    timeline: list[TimelineEntry]


class Report(_Report, total=False):
    owner: str
    tags: dict[str, str]
    failure: str
    stop: ReportStop
    retry: ReportRetry
    modelUri: str
    modelEtag: str
    reads: ReportReads
    source: str
    startedFrom: ReportStartedFrom
    need: ReportNeed
    git: ReportGit
    rejected: ReportRejected
    objective: ReportObjective
    restarts: ReportRestarts
    fileSystemsUsd: float
    onDemandNode: ReportOnDemandNode
    promises: list[ReportPromisesItem]


class ReportStop(TypedDict):
    mode: Literal["afterSave", "now"]
    at: str
    requestedBy: str
    execution: int


class ReportRetry(TypedDict):
    number: int
    at: str
    requestedBy: str
    attempts: int


class _ReportReads(TypedDict):
    whole: list[str]
    replay: float
    new: int
    replayed: int
    earlier: int


class ReportReads(_ReportReads, total=False):
    drawn: str


class _ReportStartedFrom(TypedDict):
    uri: str


class ReportStartedFrom(_ReportStartedFrom, total=False):
    runId: str
    bytes: float
    etag: str
    digest: str


class _ReportNeed(TypedDict):
    isNeeded: bool
    reason: str


class ReportNeed(_ReportNeed, total=False):
    probe: str
    since: int
    scores: ReportNeedScores


class ReportNeedScores(TypedDict):
    metric: str
    model: str
    samples: int
    mean: float
    known: float


class _ReportGit(TypedDict):
    commit: str
    isDirty: bool


class ReportGit(_ReportGit, total=False):
    branch: str


class ReportRejected(TypedDict):
    count: int
    byReason: dict[str, int]
    examples: list[ReportRejectedExamplesItem]


class ReportRejectedExamplesItem(TypedDict):
    key: str
    reason: str


class _ReportObjective(TypedDict):
    metric: str
    mode: Literal["min", "max"]


class ReportObjective(_ReportObjective, total=False):
    best: ReportObjectiveBest


class ReportObjectiveBest(TypedDict):
    value: float
    position: float
    unit: Literal["step", "epoch"]


class _ReportAttemptsItem(TypedDict):
    attempt: int
    jobName: str
    pool: Pool
    nodes: int
    outcome: Literal["completed", "interrupted", "capacity", "timeLimit", "serviceError", "userError", "recalled", "stopped"]
    message: str
    fromStep: float
    toStep: float
    trainingSeconds: float
    billableSeconds: float
    lostSeconds: float
    costUsd: float


class ReportAttemptsItem(_ReportAttemptsItem, total=False):
    restart: ReportAttemptsItemRestart
    speed: ReportAttemptsItemSpeed
    applied: ReportAttemptsItemApplied
    verdicts: list[ReportAttemptsItemVerdictsItem]
    log: ReportAttemptsItemLog


class ReportAttemptsItemRestart(TypedDict, total=False):
    detect: float
    place: float
    capacity: float
    download: float
    image: float
    requirements: float
    resume: float
    firstStep: float


class _ReportAttemptsItemSpeed(TypedDict):
    stepSeconds: ReportAttemptsItemSpeedStepSeconds
    cpuBusy: float
    seconds: float
    steps: float


class ReportAttemptsItemSpeed(_ReportAttemptsItemSpeed, total=False):
    samplesPerSecond: float
    samplesPerDollar: float
    gpuBusy: float


class ReportAttemptsItemSpeedStepSeconds(TypedDict):
    median: float
    p95: float


class _ReportAttemptsItemApplied(TypedDict):
    changes: list[str]


class ReportAttemptsItemApplied(_ReportAttemptsItemApplied, total=False):
    measured: ReportAttemptsItemAppliedMeasured


class _ReportAttemptsItemAppliedMeasured(TypedDict):
    besides: ReportAttemptsItemAppliedMeasuredBesides
    speed: ReportAttemptsItemAppliedMeasuredSpeed
    stepRatio: float


class ReportAttemptsItemAppliedMeasured(_ReportAttemptsItemAppliedMeasured, total=False):
    startSeconds: float
    samplesPerDollarRatio: float


class _ReportAttemptsItemAppliedMeasuredBesides(TypedDict):
    jobName: str
    speed: ReportAttemptsItemAppliedMeasuredBesidesSpeed


class ReportAttemptsItemAppliedMeasuredBesides(_ReportAttemptsItemAppliedMeasuredBesides, total=False):
    startSeconds: float


class _ReportAttemptsItemAppliedMeasuredBesidesSpeed(TypedDict):
    stepSeconds: ReportAttemptsItemAppliedMeasuredBesidesSpeedStepSeconds
    cpuBusy: float
    seconds: float
    steps: float


class ReportAttemptsItemAppliedMeasuredBesidesSpeed(_ReportAttemptsItemAppliedMeasuredBesidesSpeed, total=False):
    samplesPerSecond: float
    samplesPerDollar: float
    gpuBusy: float


class ReportAttemptsItemAppliedMeasuredBesidesSpeedStepSeconds(TypedDict):
    median: float
    p95: float


class _ReportAttemptsItemAppliedMeasuredSpeed(TypedDict):
    stepSeconds: ReportAttemptsItemAppliedMeasuredSpeedStepSeconds
    cpuBusy: float
    seconds: float
    steps: float


class ReportAttemptsItemAppliedMeasuredSpeed(_ReportAttemptsItemAppliedMeasuredSpeed, total=False):
    samplesPerSecond: float
    samplesPerDollar: float
    gpuBusy: float


class ReportAttemptsItemAppliedMeasuredSpeedStepSeconds(TypedDict):
    median: float
    p95: float


class _ReportAttemptsItemVerdictsItem(TypedDict):
    cause: str
    evidence: dict[str, float]
    gain: ReportAttemptsItemVerdictsItemGain
    also: list[str]
    unknown: list[str]


class ReportAttemptsItemVerdictsItem(_ReportAttemptsItemVerdictsItem, total=False):
    remedy: ReportAttemptsItemVerdictsItemRemedy
    others: list[ReportAttemptsItemVerdictsItemOthersItem]
    next: str


class ReportAttemptsItemVerdictsItemRemedy(TypedDict):
    change: ReportAttemptsItemVerdictsItemRemedyChange
    where: Literal["declaration", "script", "run"]
    text: str


class ReportAttemptsItemVerdictsItemRemedyChange(TypedDict):
    kind: str


class ReportAttemptsItemVerdictsItemGain(TypedDict):
    seconds: ReportAttemptsItemVerdictsItemGainSeconds
    dollars: ReportAttemptsItemVerdictsItemGainDollars


class ReportAttemptsItemVerdictsItemGainSeconds(TypedDict):
    low: float
    expected: float
    high: float


class ReportAttemptsItemVerdictsItemGainDollars(TypedDict):
    low: float
    expected: float
    high: float


class ReportAttemptsItemVerdictsItemOthersItem(TypedDict):
    remedy: ReportAttemptsItemVerdictsItemOthersItemRemedy
    gain: ReportAttemptsItemVerdictsItemOthersItemGain
    unknown: list[str]


class ReportAttemptsItemVerdictsItemOthersItemRemedy(TypedDict):
    change: ReportAttemptsItemVerdictsItemOthersItemRemedyChange
    where: Literal["declaration", "script", "run"]
    text: str


class ReportAttemptsItemVerdictsItemOthersItemRemedyChange(TypedDict):
    kind: str


class ReportAttemptsItemVerdictsItemOthersItemGain(TypedDict):
    seconds: ReportAttemptsItemVerdictsItemOthersItemGainSeconds
    dollars: ReportAttemptsItemVerdictsItemOthersItemGainDollars


class ReportAttemptsItemVerdictsItemOthersItemGainSeconds(TypedDict):
    low: float
    expected: float
    high: float


class ReportAttemptsItemVerdictsItemOthersItemGainDollars(TypedDict):
    low: float
    expected: float
    high: float


class ReportAttemptsItemLog(TypedDict):
    group: str
    streamPrefix: str


class _ReportSpeedsItem(TypedDict):
    topology: str
    attempts: list[int]
    stepSeconds: ReportSpeedsItemStepSeconds
    seconds: float


class ReportSpeedsItem(_ReportSpeedsItem, total=False):
    samplesPerSecond: float
    samplesPerDollar: float


class ReportSpeedsItemStepSeconds(TypedDict):
    median: float
    p95: float


class ReportRestarts(TypedDict, total=False):
    detect: float
    place: float
    capacity: float
    download: float
    image: float
    requirements: float
    resume: float
    firstStep: float


class ReportOnDemandNode(TypedDict):
    instanceType: str
    accelerators: int
    hours: float
    usd: float


class _ReportDeadline(TypedDict):
    met: Any


class ReportDeadline(_ReportDeadline, total=False):
    at: str


class ReportPromisesItem(TypedDict):
    share: float
    finishAt: ReportPromisesItemFinishAt
    usd: ReportPromisesItemUsd
    widths: ReportPromisesItemWidths


class ReportPromisesItemFinishAt(TypedDict):
    low: str
    expected: str
    high: str


class ReportPromisesItemUsd(TypedDict):
    low: float
    expected: float
    high: float


class ReportPromisesItemWidths(TypedDict):
    end: float
    cost: float


class _RetryRunAnswer(TypedDict):
    runId: str
    status: RunStatus


class RetryRunAnswer(_RetryRunAnswer, total=False):
    retry: RetryRunAnswerRetry
    checkpoint: RetryRunAnswerCheckpoint


class RetryRunAnswerRetry(TypedDict):
    number: int
    at: str
    requestedBy: str
    attempts: int


class RetryRunAnswerCheckpoint(TypedDict):
    name: str
    step: float


class RetryRunBody(TypedDict, total=False):
    source: Literal["pinned", "current"]


class _Run(TypedDict):
    runId: str
    pipeline: str
    batch: int
    status: RunStatus
    trigger: Literal["arrival", "schedule", "api"]
    execution: int
    createdAt: str
    updatedAt: str


class Run(_Run, total=False):
    probe: RunProbe
    newestEventAt: str
    request: RunRequest
    declaration: RunDeclaration
    closedAt: str
    startedFrom: RunStartedFrom
    evaluation: RunEvaluation
    judged: RunJudged
    need: RunNeed
    notifiedSince: str
    sealedAt: str
    generation: str
    rejected: RunRejected
    generations: list[str]
    reads: RunReads
    source: str
    git: RunGit
    failure: str
    stop: RunStop
    retry: RunRetry
    modelUri: str
    promises: list[RunPromisesItem]
    result: RunResult
    checkpointDeletion: RunCheckpointDeletion
    annotation: RunAnnotation
    acknowledgement: RunAcknowledgement
    expired: list[Literal["work", "checkpoints", "source"]]


class _RunProbe(TypedDict):
    number: int


class RunProbe(_RunProbe, total=False):
    evaluates: RunProbeEvaluates


class _RunProbeEvaluates(TypedDict):
    runId: str
    decides: bool


class RunProbeEvaluates(_RunProbeEvaluates, total=False):
    after: str
    arrivals: str


class _RunRequest(TypedDict):
    at: str
    requestedBy: str
    changed: list[str]


class RunRequest(_RunRequest, total=False):
    again: str
    source: str


class _RunStartedFrom(TypedDict):
    uri: str


class RunStartedFrom(_RunStartedFrom, total=False):
    runId: str
    bytes: float
    etag: str
    digest: str


class RunEvaluation(TypedDict, total=False):
    set: str
    current: RunEvaluationCurrent
    candidate: RunEvaluationCandidate


class _RunEvaluationCurrent(TypedDict):
    uri: str


class RunEvaluationCurrent(_RunEvaluationCurrent, total=False):
    runId: str
    bytes: float
    etag: str
    digest: str


class _RunEvaluationCandidate(TypedDict):
    uri: str


class RunEvaluationCandidate(_RunEvaluationCandidate, total=False):
    runId: str
    bytes: float
    etag: str
    digest: str


class _RunJudged(TypedDict):
    verdict: Literal["first", "better", "notBetter", "inconclusive", "rejected"]
    metric: str


class RunJudged(_RunJudged, total=False):
    mode: Literal["min", "max"]
    mean: float
    against: str
    pairs: int
    better: float
    interval: list[float]
    earlier: RunJudgedEarlier
    fresh: RunJudgedFresh
    samplesNeeded: int


class _RunJudgedEarlier(TypedDict):
    samples: int
    mean: float


class RunJudgedEarlier(_RunJudgedEarlier, total=False):
    better: float
    interval: list[float]


class _RunJudgedFresh(TypedDict):
    samples: int
    mean: float


class RunJudgedFresh(_RunJudgedFresh, total=False):
    better: float
    interval: list[float]


class _RunNeed(TypedDict):
    isNeeded: bool
    reason: str


class RunNeed(_RunNeed, total=False):
    probe: str
    since: int
    scores: RunNeedScores


class RunNeedScores(TypedDict):
    metric: str
    model: str
    samples: int
    mean: float
    known: float


class RunRejected(TypedDict):
    count: int
    byReason: dict[str, int]
    examples: list[RunRejectedExamplesItem]


class RunRejectedExamplesItem(TypedDict):
    key: str
    reason: str


class _RunReads(TypedDict):
    whole: list[str]
    replay: float
    new: int
    replayed: int
    earlier: int


class RunReads(_RunReads, total=False):
    drawn: str


class _RunGit(TypedDict):
    commit: str
    isDirty: bool


class RunGit(_RunGit, total=False):
    branch: str


class RunStop(TypedDict):
    mode: Literal["afterSave", "now"]
    at: str
    requestedBy: str
    execution: int


class RunRetry(TypedDict):
    number: int
    at: str
    requestedBy: str
    attempts: int


class RunPromisesItem(TypedDict):
    share: float
    finishAt: RunPromisesItemFinishAt
    usd: RunPromisesItemUsd
    widths: RunPromisesItemWidths


class RunPromisesItemFinishAt(TypedDict):
    low: str
    expected: str
    high: str


class RunPromisesItemUsd(TypedDict):
    low: float
    expected: float
    high: float


class RunPromisesItemWidths(TypedDict):
    end: float
    cost: float


class _RunResult(TypedDict):
    finishedAt: str
    attempts: int
    interruptions: int
    lostSeconds: float
    costUsd: float
    onDemandUsd: float
    isDeadlineMet: Any


class RunResult(_RunResult, total=False):
    misses: list[RunResultMissesItem]
    metric: RunResultMetric
    metrics: dict[str, Any]


class RunResultMissesItem(TypedDict):
    share: float
    end: float
    cost: float


class RunResultMetric(TypedDict):
    name: str
    value: Any


class RunCheckpointDeletion(TypedDict):
    at: str
    requestedBy: str


class _RunAnnotation(TypedDict):
    at: str
    requestedBy: str
    tags: list[str]


class RunAnnotation(_RunAnnotation, total=False):
    note: str


class RunAcknowledgement(TypedDict):
    at: str
    requestedBy: str


class _RunDeclaration(TypedDict):
    name: str
    settle: RunDeclarationSettle
    packing: RunDeclarationPacking
    training: RunDeclarationTraining
    compute: RunDeclarationCompute
    limits: RunDeclarationLimits
    retention: RunDeclarationRetention
    trainWithoutNewData: bool


class RunDeclaration(_RunDeclaration, total=False):
    owner: str
    tags: dict[str, str]
    dataset: RunDeclarationDataset
    evaluation: RunDeclarationEvaluation
    promote: Literal["always", "byHand", "never"] | RunDeclarationPromote1
    registries: RunDeclarationRegistries
    doctor: RunDeclarationDoctor
    schedule: str
    notify: list[RunDeclarationNotifyItem]
    tuning: RunDeclarationTuning


class _RunDeclarationSettle(TypedDict):
    quietSeconds: int


class RunDeclarationSettle(_RunDeclarationSettle, total=False):
    marker: str


class _RunDeclarationPacking(TypedDict):
    format: Literal["webdataset", "tfrecord", "recordio", "mds", "parquet", "lines", "records", "none"]
    shardMegabytes: float
    label: Literal["parentFolder", "namePattern", "annotations", "none"]
    labelType: Literal["text", "integer"]
    shuffle: bool
    lines: RunDeclarationPackingLines
    records: RunDeclarationPackingRecords
    whenDone: Literal["keep", "delete"]


class RunDeclarationPacking(_RunDeclarationPacking, total=False):
    accept: list[str]
    ignore: Literal["none"] | list[str]
    archives: Literal["pack", "unpack"]
    innerSuffixes: list[str]
    join: dict[str, str]
    labelPattern: str
    labelLevel: int
    annotations: RunDeclarationPackingAnnotations
    split: RunDeclarationPackingSplit
    require: Literal["learn"] | list[str]
    reject: list[Literal["notText", "notJson"]]
    balance: Literal["over", "under"]
    tfrecord: RunDeclarationPackingTfrecord
    prepare: RunDeclarationPackingPrepare
    hold: RunDeclarationPackingHold


class _RunDeclarationPackingAnnotations(TypedDict):
    file: str
    key: str
    label: str


class RunDeclarationPackingAnnotations(_RunDeclarationPackingAnnotations, total=False):
    folder: str
    prefix: str


class _RunDeclarationPackingSplit(TypedDict):
    by: Literal["key", "group", "folder", "list"]


class RunDeclarationPackingSplit(_RunDeclarationPackingSplit, total=False):
    train: float | list[str]
    validation: float | list[str]
    test: float | list[str]
    groupPattern: str


class RunDeclarationPackingLines(TypedDict):
    kind: Literal["text", "jsonl", "csv", "libsvm"]
    header: Literal["none", "perShard", "drop"]


class RunDeclarationPackingRecords(TypedDict):
    kind: Literal["tfrecord", "recordio"]


class RunDeclarationPackingTfrecord(TypedDict):
    compression: Literal["none", "gzip"]


class RunDeclarationPackingPrepare(TypedDict):
    image: RunDeclarationPackingPrepareImage


class _RunDeclarationPackingPrepareImage(TypedDict):
    format: Literal["jpeg", "png", "webp"]


class RunDeclarationPackingPrepareImage(_RunDeclarationPackingPrepareImage, total=False):
    maxSide: int
    width: int
    height: int
    fit: Literal["cover", "contain", "fill", "inside", "outside"]
    quality: int
    masks: list[str]


class RunDeclarationPackingHold(TypedDict, total=False):
    classShare: str
    rejected: str
    conflictingLabels: str
    singleSampleClasses: str
    leakage: str


class _RunDeclarationDataset(TypedDict):
    onChange: Literal["replace", "keep"]
    onDelete: Literal["keep", "retract"]


class RunDeclarationDataset(_RunDeclarationDataset, total=False):
    pin: str
    read: Literal["all", "new"] | RunDeclarationDatasetRead1
    keep: Literal["versions"]


class RunDeclarationDatasetRead1(TypedDict):
    new: Literal["all"]
    replay: str


class _RunDeclarationTraining(TypedDict):
    strategy: Literal["single", "ddp", "ray", "mpi", "parameter-server", "multi-worker-mirrored", "data-service"]
    source: str
    framework: Literal["pytorch", "tensorflow", "huggingface", "sklearn", "xgboost"]
    hyperparameters: dict[str, str | float | bool | RunDeclarationTrainingHyperparametersValue3]


class RunDeclarationTraining(_RunDeclarationTraining, total=False):
    entryPoint: str
    command: list[str]
    arguments: list[str | list[str]]
    environment: dict[str, str]
    workingDirectory: str
    checkpoint: Literal["automatic"] | RunDeclarationTrainingCheckpoint1
    progress: RunDeclarationTrainingProgress
    objective: RunDeclarationTrainingObjective
    processesPerHost: int
    frameworkVersion: str
    image: str
    startFrom: str
    when: RunDeclarationTrainingWhen
    model: Literal["required", "none"]
    inputMode: Literal["auto", "File", "FastFile", "Pipe"]
    channels: dict[str, RunDeclarationTrainingChannelsValue0 | RunDeclarationTrainingChannelsValue1 | RunDeclarationTrainingChannelsValue2]
    packageIndex: RunDeclarationTrainingPackageIndex


class RunDeclarationTrainingCheckpoint1(TypedDict, total=False):
    folder: str
    pattern: str
    step: str
    keep: int


class RunDeclarationTrainingProgress(TypedDict):
    pattern: str


class RunDeclarationTrainingObjective(TypedDict):
    metric: str
    mode: Literal["min", "max"]


class RunDeclarationTrainingHyperparametersValue3(TypedDict):
    number: str


class _RunDeclarationTrainingWhen(TypedDict):
    worseBy: float | str


class RunDeclarationTrainingWhen(_RunDeclarationTrainingWhen, total=False):
    orSamples: int


class RunDeclarationTrainingChannelsValue0(TypedDict):
    s3: str
    inputMode: Literal["File", "FastFile"]


class _RunDeclarationTrainingChannelsValue1(TypedDict):
    fsxLustre: str
    directory: str
    access: Literal["ro", "rw"]


class RunDeclarationTrainingChannelsValue1(_RunDeclarationTrainingChannelsValue1, total=False):
    storageGigabytes: float
    usdPerGigabyteMonth: float


class _RunDeclarationTrainingChannelsValue2(TypedDict):
    efs: str
    directory: str
    access: Literal["ro", "rw"]


class RunDeclarationTrainingChannelsValue2(_RunDeclarationTrainingChannelsValue2, total=False):
    storageGigabytes: float
    usdPerGigabyteMonth: float


class RunDeclarationTrainingPackageIndex(TypedDict, total=False):
    url: str
    secret: str
    codeArtifact: RunDeclarationTrainingPackageIndexCodeArtifact


class RunDeclarationTrainingPackageIndexCodeArtifact(TypedDict):
    domain: str
    owner: str
    repository: str
    region: str


class _RunDeclarationEvaluation(TypedDict):
    entryPoint: str
    on: list[str]
    maximumSeconds: int


class RunDeclarationEvaluation(_RunDeclarationEvaluation, total=False):
    arguments: list[str | list[str]]
    instanceTypes: list[str]


class _RunDeclarationPromote1(TypedDict):
    confidence: float


class RunDeclarationPromote1(_RunDeclarationPromote1, total=False):
    whenBetterBy: float | str
    notWorseBy: float | str
    atLeast: float


class RunDeclarationRegistries(TypedDict, total=False):
    sagemaker: RunDeclarationRegistriesSagemaker
    mlflow: RunDeclarationRegistriesMlflow


class _RunDeclarationRegistriesSagemaker(TypedDict):
    approvalPromotes: bool


class RunDeclarationRegistriesSagemaker(_RunDeclarationRegistriesSagemaker, total=False):
    image: str


class RunDeclarationRegistriesMlflow(TypedDict, total=False):
    secret: str
    model: str


class _RunDeclarationCompute(TypedDict):
    nodes: int
    purchaseOption: Literal["spot", "on-demand", "spot-then-on-demand"]
    volumeGigabytes: int


class RunDeclarationCompute(_RunDeclarationCompute, total=False):
    instanceTypes: list[str]
    needs: RunDeclarationComputeNeeds
    regions: list[RunDeclarationComputeRegionsItem]
    helpers: list[RunDeclarationComputeHelpersItem]
    reserved: list[str | RunDeclarationComputeReservedItem1]
    launcher: Literal["sagemaker", "ec2", "cheapest"]
    ec2: RunDeclarationComputeEc2
    vpc: RunDeclarationComputeVpc


class _RunDeclarationComputeNeeds(TypedDict):
    accelerators: int
    maximumNodes: int
    cpuInstead: bool


class RunDeclarationComputeNeeds(_RunDeclarationComputeNeeds, total=False):
    acceleratorMemoryGigabytes: float


class _RunDeclarationComputeRegionsItem(TypedDict):
    name: str


class RunDeclarationComputeRegionsItem(_RunDeclarationComputeRegionsItem, total=False):
    vpc: RunDeclarationComputeRegionsItemVpc


class RunDeclarationComputeRegionsItemVpc(TypedDict):
    securityGroupIds: list[str]
    subnets: list[RunDeclarationComputeRegionsItemVpcSubnetsItem]


class RunDeclarationComputeRegionsItemVpcSubnetsItem(TypedDict):
    id: str
    zoneId: str


class RunDeclarationComputeHelpersItem(TypedDict):
    name: str
    instanceType: str
    nodes: int


class RunDeclarationComputeReservedItem1(TypedDict):
    tag: RunDeclarationComputeReservedItem1Tag


class RunDeclarationComputeReservedItem1Tag(TypedDict):
    key: str
    value: str


class RunDeclarationComputeEc2(TypedDict):
    image: str
    python: str
    rootDevice: str


class RunDeclarationComputeVpc(TypedDict):
    securityGroupIds: list[str]
    subnets: list[RunDeclarationComputeVpcSubnetsItem]


class RunDeclarationComputeVpcSubnetsItem(TypedDict):
    id: str
    zoneId: str


class _RunDeclarationLimits(TypedDict):
    maximumRunSeconds: int


class RunDeclarationLimits(_RunDeclarationLimits, total=False):
    deadlineHours: float
    patienceHours: float
    budgetUsd: float


class RunDeclarationRetention(TypedDict):
    checkpointDays: int | Literal["forever"]
    failedCheckpointDays: int | Literal["forever"]


class RunDeclarationDoctor(TypedDict):
    apply: Literal["none", "safe"]


class _RunDeclarationNotifyItem(TypedDict):
    on: list[Literal["finished", "failed", "stopped", "interrupted", "stalled", "doctor", "budget", "deadline", "model"]]
    afterInterruptions: int


class RunDeclarationNotifyItem(_RunDeclarationNotifyItem, total=False):
    topic: str
    slack: str
    discord: str
    webhook: str


class RunDeclarationTuning(TypedDict, total=False):
    settle: RunDeclarationTuningSettle
    packing: RunDeclarationTuningPacking
    dataset: RunDeclarationTuningDataset
    training: RunDeclarationTuningTraining
    compute: RunDeclarationTuningCompute
    limits: RunDeclarationTuningLimits
    retention: RunDeclarationTuningRetention


class RunDeclarationTuningSettle(TypedDict):
    maximumWaitSeconds: int


class _RunDeclarationTuningPacking(TypedDict):
    seed: int
    waitHours: float
    mayReject: str
    remainder: Literal["ragged", "even", "drop"]


class RunDeclarationTuningPacking(_RunDeclarationTuningPacking, total=False):
    shardsMultipleOf: int
    leastShardsPerWorker: int
    prepare: RunDeclarationTuningPackingPrepare


class RunDeclarationTuningPackingPrepare(TypedDict, total=False):
    image: RunDeclarationTuningPackingPrepareImage


class _RunDeclarationTuningPackingPrepareImage(TypedDict):
    mostMegapixels: float
    background: str
    columns: list[str]


class RunDeclarationTuningPackingPrepareImage(_RunDeclarationTuningPackingPrepareImage, total=False):
    expectedKilobytes: float


class RunDeclarationTuningDataset(TypedDict):
    compactAfter: Literal["never"] | int


class _RunDeclarationTuningTraining(TypedDict):
    distribution: Literal["FullyReplicated", "ShardedByS3Key"]


class RunDeclarationTuningTraining(_RunDeclarationTuningTraining, total=False):
    instrument: bool
    pinGpus: bool


class RunDeclarationTuningCompute(TypedDict, total=False):
    mayAddHelpers: RunDeclarationTuningComputeMayAddHelpers
    spotWithHelpers: bool
    needs: RunDeclarationTuningComputeNeeds
    ec2: RunDeclarationTuningComputeEc2


class _RunDeclarationTuningComputeMayAddHelpers(TypedDict):
    name: str
    maximumNodes: int


class RunDeclarationTuningComputeMayAddHelpers(_RunDeclarationTuningComputeMayAddHelpers, total=False):
    instanceTypes: list[str]


class _RunDeclarationTuningComputeNeeds(TypedDict):
    resumeOnOtherTopology: bool


class RunDeclarationTuningComputeNeeds(_RunDeclarationTuningComputeNeeds, total=False):
    kinds: list[Literal["T4", "V100", "A10G", "L4", "L40S", "A100", "H100", "H200", "Trainium"]]
    vcpus: int
    memoryGigabytes: float
    acceleratorsPerNode: int


class RunDeclarationTuningComputeEc2(TypedDict):
    privateSubnets: bool


class _RunDeclarationTuningLimits(TypedDict):
    attempts: int


class RunDeclarationTuningLimits(_RunDeclarationTuningLimits, total=False):
    valueOfTimeUsdPerHour: float
    hangSeconds: int


class RunDeclarationTuningRetention(TypedDict):
    workDays: int | Literal["forever"]
    sourceDays: int | Literal["forever"]


class _RunSummary(TypedDict):
    runId: str
    pipeline: str
    batch: int
    status: RunStatus
    trigger: Literal["arrival", "schedule", "api"]
    execution: int
    createdAt: str
    updatedAt: str


class RunSummary(_RunSummary, total=False):
    probe: RunSummaryProbe
    request: RunSummaryRequest
    closedAt: str
    startedFrom: RunSummaryStartedFrom
    evaluation: RunSummaryEvaluation
    judged: RunSummaryJudged
    need: RunSummaryNeed
    generation: str
    source: str
    git: RunSummaryGit
    failure: str
    stop: RunSummaryStop
    retry: RunSummaryRetry
    modelUri: str
    promises: list[RunSummaryPromisesItem]
    result: RunSummaryResult
    checkpointDeletion: RunSummaryCheckpointDeletion
    annotation: RunSummaryAnnotation
    acknowledgement: RunSummaryAcknowledgement
    expired: list[Literal["work", "checkpoints", "source"]]
    deadlineAt: str
    owner: str
    tags: dict[str, str]
    hyperparameters: dict[str, str]


class _RunSummaryProbe(TypedDict):
    number: int


class RunSummaryProbe(_RunSummaryProbe, total=False):
    evaluates: RunSummaryProbeEvaluates


class _RunSummaryProbeEvaluates(TypedDict):
    runId: str
    decides: bool


class RunSummaryProbeEvaluates(_RunSummaryProbeEvaluates, total=False):
    after: str
    arrivals: str


class _RunSummaryRequest(TypedDict):
    at: str
    requestedBy: str
    changed: list[str]


class RunSummaryRequest(_RunSummaryRequest, total=False):
    again: str
    source: str


class _RunSummaryStartedFrom(TypedDict):
    uri: str


class RunSummaryStartedFrom(_RunSummaryStartedFrom, total=False):
    runId: str
    bytes: float
    etag: str
    digest: str


class RunSummaryEvaluation(TypedDict, total=False):
    set: str
    current: RunSummaryEvaluationCurrent
    candidate: RunSummaryEvaluationCandidate


class _RunSummaryEvaluationCurrent(TypedDict):
    uri: str


class RunSummaryEvaluationCurrent(_RunSummaryEvaluationCurrent, total=False):
    runId: str
    bytes: float
    etag: str
    digest: str


class _RunSummaryEvaluationCandidate(TypedDict):
    uri: str


class RunSummaryEvaluationCandidate(_RunSummaryEvaluationCandidate, total=False):
    runId: str
    bytes: float
    etag: str
    digest: str


class _RunSummaryJudged(TypedDict):
    verdict: Literal["first", "better", "notBetter", "inconclusive", "rejected"]
    metric: str


class RunSummaryJudged(_RunSummaryJudged, total=False):
    mode: Literal["min", "max"]
    mean: float
    against: str
    pairs: int
    better: float
    interval: list[float]
    earlier: RunSummaryJudgedEarlier
    fresh: RunSummaryJudgedFresh
    samplesNeeded: int


class _RunSummaryJudgedEarlier(TypedDict):
    samples: int
    mean: float


class RunSummaryJudgedEarlier(_RunSummaryJudgedEarlier, total=False):
    better: float
    interval: list[float]


class _RunSummaryJudgedFresh(TypedDict):
    samples: int
    mean: float


class RunSummaryJudgedFresh(_RunSummaryJudgedFresh, total=False):
    better: float
    interval: list[float]


class _RunSummaryNeed(TypedDict):
    isNeeded: bool
    reason: str


class RunSummaryNeed(_RunSummaryNeed, total=False):
    probe: str
    since: int
    scores: RunSummaryNeedScores


class RunSummaryNeedScores(TypedDict):
    metric: str
    model: str
    samples: int
    mean: float
    known: float


class _RunSummaryGit(TypedDict):
    commit: str
    isDirty: bool


class RunSummaryGit(_RunSummaryGit, total=False):
    branch: str


class RunSummaryStop(TypedDict):
    mode: Literal["afterSave", "now"]
    at: str
    requestedBy: str
    execution: int


class RunSummaryRetry(TypedDict):
    number: int
    at: str
    requestedBy: str
    attempts: int


class RunSummaryPromisesItem(TypedDict):
    share: float
    finishAt: RunSummaryPromisesItemFinishAt
    usd: RunSummaryPromisesItemUsd
    widths: RunSummaryPromisesItemWidths


class RunSummaryPromisesItemFinishAt(TypedDict):
    low: str
    expected: str
    high: str


class RunSummaryPromisesItemUsd(TypedDict):
    low: float
    expected: float
    high: float


class RunSummaryPromisesItemWidths(TypedDict):
    end: float
    cost: float


class _RunSummaryResult(TypedDict):
    finishedAt: str
    attempts: int
    interruptions: int
    lostSeconds: float
    costUsd: float
    onDemandUsd: float
    isDeadlineMet: Any


class RunSummaryResult(_RunSummaryResult, total=False):
    misses: list[RunSummaryResultMissesItem]
    metric: RunSummaryResultMetric
    metrics: dict[str, Any]


class RunSummaryResultMissesItem(TypedDict):
    share: float
    end: float
    cost: float


class RunSummaryResultMetric(TypedDict):
    name: str
    value: Any


class RunSummaryCheckpointDeletion(TypedDict):
    at: str
    requestedBy: str


class _RunSummaryAnnotation(TypedDict):
    at: str
    requestedBy: str
    tags: list[str]


class RunSummaryAnnotation(_RunSummaryAnnotation, total=False):
    note: str


class RunSummaryAcknowledgement(TypedDict):
    at: str
    requestedBy: str


class _StartProbeAnswer(TypedDict):
    runId: str
    number: int
    kind: Literal["started", "running"]


class StartProbeAnswer(_StartProbeAnswer, total=False):
    pin: str


class StartProbeBody(TypedDict):
    number: int
    change: dict[str, Any]
    steps: int


class _StartRunAnswer(TypedDict):
    kind: Literal["started", "running"]
    runId: str
    changed: list[str]


class StartRunAnswer(_StartRunAnswer, total=False):
    again: str


class StartRunBody(TypedDict, total=False):
    again: str
    source: Literal["pinned", "current"]
    clientToken: str


class _StopRunAnswer(TypedDict):
    runId: str
    status: RunStatus
    stop: StopRunAnswerStop


class StopRunAnswer(_StopRunAnswer, total=False):
    unsaved: StopRunAnswerUnsaved


class StopRunAnswerStop(TypedDict):
    mode: Literal["afterSave", "now"]
    at: str
    requestedBy: str
    execution: int


class _StopRunAnswerUnsaved(TypedDict):
    seconds: float
    usd: float


class StopRunAnswerUnsaved(_StopRunAnswerUnsaved, total=False):
    step: float


class StopRunBody(TypedDict, total=False):
    mode: Literal["afterSave", "now"]


class TimelineEntry(TypedDict):
    id: str
    at: str
    kind: str
    text: str


class _Topology(TypedDict):
    nodes: int
    acceleratorsPerNode: int


class Topology(_Topology, total=False):
    helpers: list[TopologyHelpersItem]


class TopologyHelpersItem(TypedDict):
    name: str
    instanceType: str
    nodes: int


GetMoneyAnswer = dict[str, Any]
GetOpenApiAnswer = dict[str, Any]
PlacementDecision = PlacementDecision0 | PlacementDecision1 | PlacementDecision2
PutLimitsBody = dict[str, Any]
RunStatus = Literal["settling", "packing", "placing", "training", "succeeded", "failed", "stopped", "empty", "notNeeded"]
