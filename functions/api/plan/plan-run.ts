/**
 * What the next run of a declaration would do with the data that is there, or with so many files and bytes: shards, pool,
 * cost and finish, and what would stand in its way. It starts nothing, and writes nothing but the note that a question
 * was put to the market.
 */

import type { DatasetSize } from '@tidewheel/catalog/data-on-hosts.ts';
import { runIdOf } from '@tidewheel/contract/bucket-keys.ts';
import { isUnpacked } from '@tidewheel/declaration/packing-settings.ts';
import { deadlineHoursOf, type Pipeline, readingHints } from '@tidewheel/declaration/pipeline.ts';
import { LaunchRefusedError } from '@tidewheel/kit/errors.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { type PackingPreview, packingInput, previewOfSize, previewPlan } from '@tidewheel/packing/plan.ts';
import type { BlobStore } from '@tidewheel/packing/store.ts';
import { choosePlacement, placementQuestion, type QuestionDeps } from '@tidewheel/placement/choose.ts';
import type { Forecast, Interval } from '@tidewheel/placement/estimate.ts';
import { fileSystemsOf, likelyReaders } from '@tidewheel/placement/estimate.ts';
import { offersThatPay } from '@tidewheel/placement/explain.ts';
import type { OfferSource } from '@tidewheel/placement/market.ts';
import type { PlacementDecision } from '@tidewheel/placement/records.ts';
import type { TrainingView } from '../../check/account-view.ts';
import { trainingFindings } from '../../check/check-deployment.ts';
import type { Finding } from '../../check/finding.ts';
import { roleFindings } from '../../check/roles.ts';
import { notifiedSinceOf } from '../../records/batches.ts';
import { generationsNow } from '../../records/dataset-version.ts';
import { datasetSize } from '../../records/run-dataset.ts';
import type { RunRecord } from '../../records/run-records.ts';
import type { Stores } from '../../records/stores.ts';
import { type PlannedEnd, plannedEnd } from './planned-end.ts';

export interface PlanRunDeps
  extends Omit<QuestionDeps, 'runs' | 'attempts'>,
    Pick<Stores, 'runs' | 'attempts' | 'pipelines'> {
  readonly store: ObjectStore;
  readonly offers?: OfferSource | undefined;
  readonly blobs: () => Promise<BlobStore>;
  /** Physical names of roles and policies by their logical ones in the template. */
  readonly roles: ReadonlyMap<string, string>;
  readonly stage: string;
  readonly stateMachineArn: string;
  readonly viewIn: (region: string) => TrainingView;
  /** Ends when the looks at the account have taken too long. */
  readonly tooLate: () => Promise<void>;
}

interface PlannedData {
  readonly files: number;
  readonly bytes: number;
}

export interface RunPlan {
  readonly asOf: string;
  /** The run that would take the data. */
  readonly runId: string;
  readonly packing: PackingPreview & { readonly basis: 'counted' | 'given' };
  /** All that the run would train on. */
  readonly dataset: DatasetSize;
  /** Absent where no attempt could start. */
  readonly decision?: PlacementDecision | undefined;
  /** Absent where nothing could train, and where nothing is known of the pace. */
  readonly training?: (Forecast & { readonly finishAt: ReturnType<typeof finishAt> }) | undefined;
  /** In its place where nothing is known of the pace. */
  readonly bounds?: PlannedEnd['bounds'];
  readonly deadlineAt?: string | undefined;
  readonly findings: readonly Finding[];
  readonly notes: readonly string[];
}

/** An API call ends after 30 seconds. Listing this many takes about five. */
const MOST_ARRIVALS = 300_000;

interface Planned {
  readonly pipeline: Pipeline;
  readonly data?: PlannedData | undefined;
  /** Plans the rest of it: a retry packs nothing. */
  readonly ended?: RunRecord | undefined;
}
const NO_DATA: PlannedData = { files: 0, bytes: 0 };

/** @throws TooManyArrivalsError where `data` is not given */
export async function planRun(
  deps: PlanRunDeps,
  { pipeline, ended, data = ended && NO_DATA }: Planned,
): Promise<RunPlan> {
  const now = deps.clock.now();
  const at = now.toISOString();
  const record = await deps.pipelines.get(pipeline.name);
  const attempts = ended ? await deps.attempts.list(ended.runId) : [];
  const run = ended
    ? retriedRun(ended, { declaration: pipeline, attempts: attempts.length, at })
    : plannedRun(pipeline, { batch: record?.openBatch ?? 1, at });
  const [packing, before, findings] = await Promise.all([
    packingOf(deps, run, { pipeline, data, notifiedSince: record && notifiedSinceOf(record) }),
    datasetBefore(deps.store, run),
    findingsOf(deps, pipeline),
  ]);
  const common = { asOf: at, runId: run.runId, packing, findings };
  if (typeof before === 'string') {
    const dataset = datasetAfter(pipeline, undefined, packing);
    return { ...common, dataset, notes: [`no attempt could start: ${before}`] };
  }
  const dataset = datasetAfter(pipeline, before, packing);
  const start = await startOfTraining(deps, { pipeline, now, isPacking: packing.files > 0 });
  const known = { run, declaration: pipeline, attempts, now };
  const input = await placementQuestion(deps, { ...known, dataset: () => Promise.resolve(dataset) });
  const decision = choosePlacement(input);
  const end = plannedEnd(input, decision, { seed: run.runId, packingSeconds: start.packingSeconds });
  // What begins on a date is of use only from when there is something to train on.
  const ready = later(start.closeAt, Math.max(0, ...start.packingSeconds));
  const begun = { ...input, closedAt: start.closeAt.toISOString(), sealedAt: ready, now: ready };
  const offers = await offersThatPay(deps.offers, begun, end.forecast);
  const hours = deadlineHoursOf(pipeline.limits);
  return {
    ...common,
    dataset,
    decision,
    bounds: end.bounds,
    ...(end.forecast && {
      training: { ...end.forecast, finishAt: finishAt(start.closeAt, end.forecast.seconds) },
    }),
    // It counts from the close of the batch, which comes when the arrivals have settled.
    ...(hours !== undefined && { deadlineAt: later(start.closeAt, hours * 3_600) }),
    notes: [
      ...(dataset.shards === 0 ? [WITHOUT_DATA] : []),
      ...readingHints(pipeline),
      ...start.notes,
      ...copiesNotes(pipeline, packing),
      ...end.notes,
      ...offers,
      ...fileSystemsOf(pipeline.training).notes,
      ...input.market.notes,
    ],
  };
}

/** As `trainAnyway` decides. */
const WITHOUT_DATA =
  'nothing is packed: a run that you start trains without a dataset, and any other ends as empty';

const copiesNotes = ({ dataset }: Pipeline, { samples, bytes }: PackingPreview): readonly string[] =>
  dataset?.keep === undefined || samples === 0
    ? []
    : [
        `dataset.keep: versions copies what is new of ${samples} files (${(bytes / 1e9).toFixed(3)} GB): it is stored twice, and each file takes three requests`,
      ];

const later = (at: Date, seconds: number): string => new Date(at.getTime() + seconds * 1_000).toISOString();

/** As the next run's record would be. It is stored nowhere. */
const plannedRun = (
  declaration: Pipeline,
  { batch, at }: { readonly batch: number; readonly at: string },
): RunRecord => ({
  runId: runIdOf(declaration.name, batch),
  pipeline: declaration.name,
  batch,
  status: 'placing',
  trigger: 'api',
  execution: 1,
  createdAt: at,
  updatedAt: at,
  closedAt: at,
  sealedAt: at,
  declaration,
});

/** As `reopenRun` would leave it. It is stored nowhere. */
const retriedRun = (
  ended: RunRecord,
  { declaration, attempts, at }: { declaration: Pipeline; attempts: number; at: string },
): RunRecord => {
  const number = (ended.retry?.number ?? 0) + 1;
  return { ...ended, declaration, status: 'placing', retry: { number, at, requestedBy: 'a plan', attempts } };
};

/** @returns why no run may read the dataset, such as a pin that is not there; or its size, undefined where it has none */
async function datasetBefore(
  store: PlanRunDeps['store'],
  run: RunRecord,
): Promise<DatasetSize | string | undefined> {
  try {
    await generationsNow(store, run);
  } catch (error: unknown) {
    if (error instanceof LaunchRefusedError) return error.message;
    throw error;
  }
  return datasetSize(store, run);
}

interface ToPack {
  readonly pipeline: Pipeline;
  readonly data: PlannedData | undefined;
  readonly notifiedSince: string | undefined;
}

async function packingOf(
  { blobs, clock }: PlanRunDeps,
  { runId }: RunRecord,
  { pipeline, data, notifiedSince }: ToPack,
): Promise<RunPlan['packing']> {
  const run = { runId, pipeline: pipeline.name, notifiedSince };
  const input = packingInput(run, pipeline, likelyReaders(pipeline));
  if (data !== undefined) return { basis: 'given', ...previewOfSize(data, input) };
  const counted = await previewPlan({ store: await blobs(), now: () => clock.now() }, input, MOST_ARRIVALS);
  return { basis: 'counted', ...counted };
}

/** A pinned version stays as it is, whatever is packed. */
function datasetAfter(
  { dataset, packing }: Pipeline,
  before: DatasetSize = { generations: 0, shards: 0, bytes: 0 },
  { samples, shards, bytes }: PackingPreview,
): DatasetSize {
  if (dataset?.pin !== undefined) return before;
  // A version of files has all of them, each in place of a shard.
  if (isUnpacked(packing))
    return samples === 0 ? before : { generations: 1, shards: samples, bytes, isUnpacked: true };
  if (shards === 0) return before;
  return {
    generations: before.generations + 1,
    shards: before.shards + shards,
    bytes: before.bytes + bytes,
  };
}

async function findingsOf(deps: PlanRunDeps, pipeline: Pipeline): Promise<readonly Finding[]> {
  const { market, store, viewIn, roles } = deps;
  const { region } = market;
  const looks = Promise.all([
    roleFindings({ resources: roles }, { ...deps, bucket: store.bucket }, viewIn(region)),
    trainingFindings({ pipelines: [pipeline], bucket: store.bucket, region, viewIn }),
  ]).then((groups) => groups.flat());
  return Promise.race([looks, deps.tooLate().then(() => [NOT_SEEN])]);
}

const NOT_SEEN: Finding = {
  kind: 'notSeen',
  check: 'account',
  field: 'quotas, roles, networks and images',
  message: 'AWS did not answer in time',
  remedy: 'make the call again, or look without a limit of time: npx --no-install tidewheel check',
};

const finishAt = (closeAt: Date, { low, expected, high }: Interval) => ({
  low: later(closeAt, low),
  expected: later(closeAt, expected),
  high: later(closeAt, high),
});

interface Start {
  /** When the batch would close: once the arrivals have settled. */
  readonly closeAt: Date;
  readonly packingSeconds: readonly number[];
  readonly notes: readonly string[];
}

const FORMER_RUNS = 20;

/** When a training would begin: after the arrivals have settled and are packed, as former runs took for it. */
async function startOfTraining(
  { runs }: Pick<Stores, 'runs'>,
  {
    pipeline,
    now,
    isPacking,
  }: { readonly pipeline: Pipeline; readonly now: Date; readonly isPacking: boolean },
): Promise<Start> {
  const took = isPacking ? (await runs.list(pipeline.name, FORMER_RUNS)).flatMap(packingSeconds) : [];
  const settle = isPacking ? pipeline.settle.quietSeconds : 0;
  return {
    closeAt: new Date(now.getTime() + settle * 1_000),
    packingSeconds: took,
    notes:
      isPacking && took.length === 0
        ? ['no run of this pipeline has packed yet: the finish holds no time for packing']
        : [],
  };
}

/** How long it took from the close to the seal. A retry counts its own. */
function packingSeconds({ closedAt, sealedAt }: RunRecord): readonly number[] {
  const seconds = (Date.parse(sealedAt ?? '') - Date.parse(closedAt ?? '')) / 1_000;
  return seconds > 0 ? [seconds] : [];
}
