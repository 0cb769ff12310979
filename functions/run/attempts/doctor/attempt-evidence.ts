/** The doctor's evidence of an attempt: what the agent measured, the job's phases, the data, and types to choose from. */

import {
  instanceFacts,
  interchangeableTypes,
  regionOfZone,
  trainingPrice,
} from '@tidewheel/catalog/catalog.ts';
import type { EvidencePoint } from '@tidewheel/contract/evidence.ts';
import type { Evidence, PricedType } from '@tidewheel/doctor/diagnose.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { hourlyUsdOf } from '@tidewheel/placement/estimate.ts';
import type { Placement, StartUp } from '@tidewheel/placement/records.ts';
import { type MeasuredAttempt, readMeasured } from '../../../records/evidence-files.ts';
import { readProgress } from '../../../records/progress.ts';
import type { AttemptRecord, RunRecord } from '../../../records/run-records.ts';
import type { Stores } from '../../../records/stores.ts';

/** Fewer points of a host say nothing: diagnose leaves two out and wants three. */
const LEAST_POINTS = 5;
const POINT_SECONDS = 10;
/** Of the types that could stand in, the nearest. */
const MOST_ALTERNATIVES = 12;
/** Types of the c5 family have listed SageMaker prices; the accelerators are the cheapest of their kinds. */
const ALWAYS = ['c5.4xlarge', 'c5.9xlarge', 'g4dn.xlarge', 'g6.xlarge', 'g5.xlarge', 'g5.2xlarge'];

export interface AttemptQuestion {
  readonly run: RunRecord;
  readonly attempt: AttemptRecord;
  /** Of the last start, if the script has started. */
  readonly startUp: StartUp | undefined;
  /** Seconds of steps that a verdict asks for. */
  readonly leastSeconds: number;
  /** Absent where nothing tells. */
  readonly runsPerMonth?: number | undefined;
}

const MONTH_MILLISECONDS = 30 * 86_400_000;
/** As many runs as one list of them has. */
const MOST_RUNS = 100;

/** Runs of a pipeline read its whole dataset, so each of them would read the same files. */
export async function runsPerMonth(
  { runs }: Pick<Stores, 'runs'>,
  { pipeline, createdAt }: Pick<RunRecord, 'pipeline' | 'createdAt'>,
): Promise<number> {
  const since = Date.parse(createdAt) - MONTH_MILLISECONDS;
  const trained = (await runs.list(pipeline, MOST_RUNS)).filter(
    ({ status }) => status !== 'empty' && status !== 'notNeeded',
  );
  return trained.filter((each) => Date.parse(each.createdAt) > since).length;
}

/** @returns undefined where too little was measured, or the catalog does not know the type */
export async function evidenceOfAttempt(
  store: ObjectStore,
  { run, attempt, startUp, leastSeconds, runsPerMonth: runs }: AttemptQuestion,
): Promise<Evidence | undefined> {
  const { points, phases, lines, skippedSeconds: seconds } = await readMeasured(store, attempt);
  const instance = instanceOf(attempt.placement);
  const least = Math.max(LEAST_POINTS, Math.ceil(leastSeconds / POINT_SECONDS));
  const hosts = [...Map.groupBy(points, ({ host }) => host).values()];
  if (instance === undefined || !hosts.some((each) => each.length >= least)) return undefined;
  const { input } = attempt;
  return {
    points,
    phases: allPhases(phases, startUp),
    lines,
    ...(seconds > 0 && { skipped: { seconds, format: attempt.resume?.checkpoint?.format } }),
    data: { bytes: input?.bytes ?? 0, files: input?.shards ?? 0 },
    inputMode: input === undefined || input.mode === 'File' ? 'File' : 'FastFile',
    instance,
    alternatives: alternativesOf(run, attempt.placement, instance),
    declaration: run.declaration,
    steps: await stepsOf(store, attempt, points),
    runsPerMonth: runs,
  };
}

/** The agent knows what follows the start of its container; before it, the launcher alone does. */
const allPhases = (phases: MeasuredAttempt['phases'], startUp: StartUp | undefined): Evidence['phases'] => ({
  download: startUp?.download ?? phases.download ?? 0,
  image: startUp?.image ?? phases.image ?? 0,
  install: phases.install ?? 0,
  scriptStart: phases.scriptStart ?? 0,
  firstBatch: phases.firstBatch ?? 0,
  firstStep: phases.firstStep ?? 0,
});

/** Reserved instances cost nothing more, and count as On-Demand. */
function instanceOf(placement: Placement): PricedType | undefined {
  const facts = instanceFacts(placement.pool.instanceType);
  return facts && { facts, usdPerSecond: (hourlyUsdOf(placement) || placement.onDemandHourlyUsd) / 3600 };
}

/**
 * Declared types, those that can stand in, and cheap ones. Each costs beside the attempt's own as SageMaker lists them, so
 * at the same discount.
 */
function alternativesOf(
  { declaration }: RunRecord,
  placement: Placement,
  instance: PricedType,
): readonly PricedType[] {
  const { pool } = placement;
  const region = pool.region ?? regionOfZone(pool.zoneId ?? '') ?? 'us-east-1';
  const listUsd = (type: string): number | undefined => trainingPrice(type, region)?.hourlyUsd;
  const own = listUsd(instance.facts.type);
  if (own === undefined || own <= 0) return [];
  const names = [
    ...(declaration?.compute.instanceTypes ?? []),
    ...interchangeableTypes([instance.facts.type]).slice(0, MOST_ALTERNATIVES),
    ...ALWAYS,
  ];
  return [...new Set(names)].flatMap((type) => {
    const [facts, usd] = [instanceFacts(type), listUsd(type)];
    if (type === instance.facts.type || facts === undefined || usd === undefined) return [];
    return facts.arch === instance.facts.arch
      ? [{ facts, usdPerSecond: (usd / own) * instance.usdPerSecond }]
      : [];
  });
}

/** From the attempt's first step to the end of the job; without a known end, the steps that were measured. */
async function stepsOf(
  store: ObjectStore,
  attempt: AttemptRecord,
  points: readonly EvidencePoint[],
): Promise<number> {
  const perHost = [...Map.groupBy(points, ({ host }) => host).values()].map((each) =>
    each.reduce((sum, { steps }) => sum + steps, 0),
  );
  const measured = Math.max(0, ...perHost);
  const progress = attempt.progressAfter ?? (await readProgress(store, attempt.pipeline, attempt.runId));
  if (progress === undefined || (progress.unit ?? 'step') !== 'step') return measured;
  return Math.max(measured, progress.totalSteps - (attempt.progressBefore?.step ?? 0));
}
