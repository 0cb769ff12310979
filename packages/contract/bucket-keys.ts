/** Where everything lies in the data bucket. The only place that knows; no other code builds keys. */
import { attemptFile, DOCUMENT_FILES, folderOf } from './files.ts';

export const PIPELINES_PREFIX = 'pipelines/';

const checkpoints = (pipeline: string, runId: string) => `${pipeline}/runs/${runId}/checkpoints/`;

/** What a run has drawn lies apart from the generations, so that it may expire. */
const generationFolder = (pipeline: string, name: string): string =>
  `${pipeline}/dataset/${isDrawn(name) ? 'drawn/' : ''}${name}/`;

const runFiles = (pipeline: string, runId: string) => `${pipeline}/runs/${runId}/files/`;

export const bucketKeys = {
  pipeline: (name: string) => `${PIPELINES_PREFIX}${name}.yaml`,
  incoming: (pipeline: string) => `${pipeline}/incoming/`,
  /** Many small files in one object each, with its index (core/packing/arrivals). */
  bundles: (pipeline: string) => `${pipeline}/incoming/.tidewheel/bundles/`,
  /** Keys of notifications, of a folder too large to be listed for each run. */
  notified: (pipeline: string) => `${pipeline}/notified/`,
  source: (pipeline: string) => `${pipeline}/source/`,
  /** `training.source` of a declaration, when it is relative to the pipeline's own folder. */
  sourceAt: (pipeline: string, source: string) => `${pipeline}/${source}`,
  /** What git said of the source when it was sent; no part of it. */
  gitNote: (pipeline: string, source: string) => `${pipeline}/${source}${GIT_NOTE}`,
  /** One folder a run, and one a compaction for its plan. */
  runs: (pipeline: string) => `${pipeline}/runs/`,
  /** Everything one run writes about itself. */
  run: (pipeline: string, runId: string) => `${pipeline}/runs/${runId}/`,
  plan: (pipeline: string, runId: string) => `${pipeline}/runs/${runId}/plan/`,
  /** The array of Map items that `PackShards` reads. */
  planItems: (pipeline: string, runId: string) => `${pipeline}/runs/${runId}/plan/items.json`,
  /** What Step Functions notes of the items of a Map. */
  map: (pipeline: string, runId: string) => `${pipeline}/runs/${runId}/map/`,
  /** How far the run has deleted what it packed. */
  deletion: (pipeline: string, runId: string) => `${pipeline}/runs/${runId}/deletion.json`,
  /** Written when a target of the declaration has heard of an event. */
  noticeMark: (pipeline: string, runId: string, id: string) => `${pipeline}/runs/${runId}/notices/${id}.json`,
  report: (pipeline: string, runId: string) => `${pipeline}/runs/${runId}/report.json`,
  /** All generations of the pipeline's dataset; one folder a generation, named as its run. */
  dataset: (pipeline: string) => `${pipeline}/dataset/`,
  generation: generationFolder,
  /**
   * The shards themselves: nothing but shards lies here, so that it can be a training channel. A plan that was made in
   * the place of another has a revision, and a folder of its own below.
   */
  shards: (pipeline: string, generation: string, revision?: string) =>
    `${generationFolder(pipeline, generation)}${shardsFolder(revision)}`,
  manifest: (pipeline: string, generation: string) =>
    `${generationFolder(pipeline, generation)}manifest.json`,
  /** Prefix of what the run has drawn of the dataset. */
  drawn: (pipeline: string, runId: string) => `${pipeline}/dataset/drawn/${runId}-`,
  /** Which generations were last compared with a file of annotations. */
  comparedLabels: (pipeline: string) => `${pipeline}/dataset/compared-labels.json`,
  /** The dataset's versions, each written once and never changed. */
  datasetVersions: (pipeline: string) => `${pipeline}/dataset/versions/`,
  datasetVersion: (pipeline: string, number: number) =>
    `${pipeline}/dataset/versions/${String(number).padStart(VERSION_DIGITS, '0')}.json`,
  /** Copies of files that no shard holds, by their ETag and their name below `incoming/`. */
  keptFiles: (pipeline: string) => `${pipeline}/dataset/kept/`,
  keptFile: (pipeline: string, { key, etag }: { readonly key: string; readonly etag: string }) =>
    `${pipeline}/dataset/kept/${etag}/${belowIncoming(pipeline, key)}`,
  /** What became of archives whose files are arrivals: a folder for each, named by its key. */
  archives: (pipeline: string) => `${pipeline}/dataset/archives/`,
  /** What people have retracted, numbered like versions. */
  retractions: (pipeline: string) => `${pipeline}/dataset/retractions/`,
  retraction: (pipeline: string, number: number) =>
    `${pipeline}/dataset/retractions/${String(number).padStart(VERSION_DIGITS, '0')}.json`,
  /** What a run reads, noted before it reads: nothing of it is deleted while the run has no report. */
  reads: (pipeline: string, runId: string) => `${pipeline}/runs/${runId}/reads/`,
  /** SageMaker keeps this in step with /opt/ml/checkpoints; every attempt of a run shares it. */
  checkpoints,
  /** The agent's documents; packages/contract has what each contains. */
  automatic: (pipeline: string, runId: string) => checkpoints(pipeline, runId) + DOCUMENT_FILES.automatic,
  hangs: (pipeline: string, runId: string) => checkpoints(pipeline, runId) + folderOf('hangs'),
  progress: (pipeline: string, runId: string) => checkpoints(pipeline, runId) + DOCUMENT_FILES.progress,
  series: (pipeline: string, runId: string) => checkpoints(pipeline, runId) + folderOf('series'),
  evidence: (pipeline: string, runId: string) => checkpoints(pipeline, runId) + folderOf('points'),
  resumes: (pipeline: string, runId: string) => checkpoints(pipeline, runId) + folderOf('resume'),
  resume: (pipeline: string, runId: string, attempt: number) =>
    checkpoints(pipeline, runId) + attemptFile('resume', attempt),
  /** What an attempt's evaluation wrote of each sample. */
  attemptScores: (
    pipeline: string,
    runId: string,
    attempt: number,
    of: 'scores' | 'currentScores' = 'scores',
  ) => checkpoints(pipeline, runId) + attemptFile(of, attempt),
  /** The model of an attempt before its evaluation, and the note that proves it. */
  finishedModel: (pipeline: string, runId: string, attempt: number) =>
    checkpoints(pipeline, runId) + attemptFile('finishedModel', attempt),
  finished: (pipeline: string, runId: string, attempt: number) =>
    checkpoints(pipeline, runId) + attemptFile('finished', attempt),
  allScores: (pipeline: string, runId: string) => checkpoints(pipeline, runId) + folderOf('scores'),
  /** The agent's copies of the last whole checkpoints. */
  keptCheckpoints: (pipeline: string, runId: string) => checkpoints(pipeline, runId) + folderOf('kept'),
  /** Names the shards of several generations for a channel of SageMaker (S3DataType ManifestFile). */
  channelManifest: (pipeline: string, runId: string, channel: string) =>
    `${pipeline}/runs/${runId}/${channel}.manifest`,
  /** The files of a channel in one place, where not all lie under `incoming/` any more. */
  channelFiles: (pipeline: string, runId: string, channel: string) =>
    `${runFiles(pipeline, runId)}${channel}/`,
  runFiles,
  /** What one attempt on EC2 knows and says: job.json, and a file per host under hosts/. */
  attempt: (pipeline: string, runId: string, attempt: number) =>
    `${pipeline}/runs/${runId}/attempts/${attempt}/`,
  /** What the close of the run's batch decided. No job writes here. */
  closeRecord: (pipeline: string, runId: string) => `${pipeline}/runs/${runId}/records/close.json`,
  /** One object an attempt. No job writes here. */
  attemptRecords: (pipeline: string, runId: string) => `${pipeline}/runs/${runId}/records/attempts/`,
  attemptRecord: (pipeline: string, runId: string, attempt: number) =>
    `${pipeline}/runs/${runId}/records/attempts/${attempt}.json`,
  /** The scores that its model was judged by. They outlive its checkpoints. */
  scores: (pipeline: string, runId: string) => `${pipeline}/runs/${runId}/scores.jsonl`,
  /** What one script made of one model on one set of samples, by the digest of all three. */
  modelScores: (pipeline: string, digest: string) => `${pipeline}/models/scores/${digest}.jsonl`,
  /** How its model was compared with the one in use. */
  judgement: (pipeline: string, runId: string) => `${pipeline}/runs/${runId}/judgement.json`,
  models: (pipeline: string, runId: string) => `${pipeline}/runs/${runId}/models/`,
  /** Which model is in use: written from the table's item (functions/run/models/publish-models.ts). */
  currentModel: (pipeline: string) => `${pipeline}/models/current.json`,
  /** One source, packed: nothing but `SOURCE_FILE` lies here, so that it can be a training channel. */
  packedSource: (pipeline: string, digest: string) => `${pipeline}/sources/${digest}/`,
  /** What attempts have installed, for later ones; the agent names each by all that decides over it. */
  wheels: (pipeline: string) => `${pipeline}/wheels/`,
  /** Which packed source all attempts of a run train with. */
  pinnedSource: (pipeline: string, runId: string) => `${pipeline}/runs/${runId}/source.json`,
  /** Nothing but the agent's files lies here, so that it can be a training channel. */
  agent: (digest: string) => `agent/${digest}/`,
  /** The bucket of another region in which attempts may run; its keys are those of the data bucket. */
  regionBucket: (dataBucket: string, region: string) => `${dataBucket}-${region}`,
} as const;

/** The agent: a zip that Python runs. */
export const AGENT_FILE = 'tidewheel.pyz';
/** Hooks for the script's processes: zips for PYTHONPATH, which jobs that need them get beside the agent. */
export const HOOK_FILES = { automatic: 'automatic.pyz', instrument: 'instrument.pyz' } as const;
export type AgentFile = typeof AGENT_FILE | (typeof HOOK_FILES)[keyof typeof HOOK_FILES];
export const AGENT_FILES: readonly AgentFile[] = [AGENT_FILE, ...Object.values(HOOK_FILES)];
/** Relative to a source. */
export const GIT_NOTE = '.git/tidewheel.json';
/** A packed source. */
export const SOURCE_FILE = 'source.zip';

const VERSION_DIGITS = 8;

/** Of a generation, relative to its own folder. */
export const shardsFolder = (revision?: string): string =>
  revision === undefined ? 'shards/' : `shards/${revision}/`;

/** The key of an arrival as a person named it. */
export function belowIncoming(pipeline: string, key: string): string {
  const incoming = bucketKeys.incoming(pipeline);
  return key.startsWith(incoming) ? key.slice(incoming.length) : key;
}

/** `s3://bucket/key` for requests that name data by URI. */
export const s3Uri = (bucket: string, key: string): string => `s3://${bucket}/${key}`;

/** The key of an object of this bucket; undefined for one that lies elsewhere. */
export const keyOfUri = (bucket: string, uri: string): string | undefined =>
  uri.startsWith(s3Uri(bucket, '')) ? uri.slice(s3Uri(bucket, '').length) : undefined;

/** Digits that keep a listing of runs in order. */
const BATCH_DIGITS = 6;

/** A run is named by what it works on: the pipeline and the number of its batch. */
export const runIdOf = (pipeline: string, batch: number): string =>
  `${pipeline}-${String(batch).padStart(BATCH_DIGITS, '0')}`;

const PROBE_ENDING = '-probe';

/** No pipeline may be called so: the runs of a probe are named after their pipeline with this ending. */
export const isProbeName = (name: string): boolean => name.endsWith(PROBE_ENDING);

/** A probe takes no batch, so its runs have numbers of their own. */
export const probeIdOf = (pipeline: string, number: number): string =>
  runIdOf(`${pipeline}${PROBE_ENDING}`, number);

export interface RunIdParts {
  readonly pipeline: string;
  /** Of its batch, or of the probe. */
  readonly number: number;
  readonly isProbe: boolean;
}

/** What a run's name says, or undefined when it is no such name. */
export function parseRunId(runId: string): RunIdParts | undefined {
  const match = /^([a-z0-9][a-z0-9-]*?)(-probe)?-(\d{6,})$/.exec(runId);
  return match?.[1] && match[3]
    ? { pipeline: match[1], number: Number(match[3]), isProbe: match[2] !== undefined }
    : undefined;
}

/** A compacted generation is named by the newest batch in it and by what it was made of. */
export const compactedName = (pipeline: string, batch: number, digest: string): string =>
  `${runIdOf(pipeline, batch)}-c${digest.slice(0, 8)}`;

/** What a run draws is named by the run and by the samples. */
export const drawnName = (runId: string, digest: string): string => `${runId}-r${digest.slice(0, 8)}`;
const isDrawn = (name: string): boolean => /-\d{6,}-r[0-9a-f]{8}$/.test(name);

export interface GenerationName {
  readonly pipeline: string;
  /** Of the run that packed it; of a compacted one, the newest batch in it. */
  readonly batch: number;
  readonly isCompacted: boolean;
}

/** Pipelines cannot have these names, because their keys belong to the service. */
export const RESERVED_NAMES: readonly string[] = ['pipelines', 'agent', 'tidewheel-check'];

const TEST_OBJECTS = 'tidewheel-check/incoming/';
/** By which a deployment that is notified of markers alone hears of it (serverless/notifications.yml). */
const TEST_OBJECT_SUFFIX = '.check';

/** The object by which a check of the deployment sees that arrivals are taken. It starts nothing. */
export const testObjectKey = (id: string): string => `${TEST_OBJECTS}${id}${TEST_OBJECT_SUFFIX}`;

/** The id of a test object, or undefined when the key is no such object's. */
export const testObjectId = (key: string): string | undefined =>
  key.startsWith(TEST_OBJECTS) && key.endsWith(TEST_OBJECT_SUFFIX)
    ? key.slice(TEST_OBJECTS.length, -TEST_OBJECT_SUFFIX.length) || undefined
    : undefined;

/** What the name of a generation says, or undefined when it is none. */
export function parseGeneration(name: string): GenerationName | undefined {
  const match = /^([a-z0-9][a-z0-9-]*)-(\d{6,})(-c[0-9a-f]{8})?$/.exec(name);
  return match?.[1] && match[2]
    ? { pipeline: match[1], batch: Number(match[2]), isCompacted: match[3] !== undefined }
    : undefined;
}

/** The pipeline that a key under `PIPELINES_PREFIX` declares, or undefined for another file. */
export const pipelineOfDeclaration = (key: string): string | undefined =>
  new RegExp(`^${PIPELINES_PREFIX}(.+)\\.yaml$`, 's').exec(key)?.[1];

/** Which pipeline an arrival belongs to, or undefined when the key lies under no incoming prefix. */
export function pipelineOfArrival(key: string): string | undefined {
  return /^([a-z0-9][a-z0-9-]*)\/incoming\/./s.exec(key)?.[1];
}

/** The tag on everything that an attempt has on EC2; its value is the job's name. */
export const JOB_TAG = 'tidewheel:job';
