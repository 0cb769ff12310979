/** The report of a run: its cost, its cost on demand, and what interruptions lost. */

import { gitIdentitySchema } from '@tidewheel/declaration/script.ts';
import { remedyOf, shownVerdictSchema, speedSchema } from '@tidewheel/doctor/verdict.ts';
import { list, seconds, time, usd } from '@tidewheel/kit/fields.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { kindOf } from '@tidewheel/kit/stored.ts';
import {
  type AttemptOutcome,
  attemptCost,
  fileSystemsCost,
  fileSystemsUsd,
  hoursCost,
  outcomeSchema,
  type Progress,
  poolSchema,
  promiseSchema,
} from '@tidewheel/placement/records.ts';
import * as z from 'zod';
import { REPORT_VERSION, readReportAs } from '../../records/ended.ts';
import { archiveSchema, needSchema } from '../../records/models.ts';
import { advanced } from '../../records/progress.ts';
import {
  type AttemptRecord,
  jobLogSchema,
  type ListedRun,
  listedOf,
  type RunRecord,
  readsSchema,
  rejectedSchema,
  retrySchema,
  stopSchema,
  type TimelineEntry,
  timelineEntrySchema,
} from '../../records/run-records.ts';
import type { Series } from '../../records/series.ts';
import { speedsOf, topologySpeedSchema } from './doctor/topology-speed.ts';
import { restartPartsOf, restartPartsSchema, restartSum } from './restart-parts.ts';
import { objectiveReportSchema, shownMetrics } from './shown-metrics.ts';
import { bestSingleNode, singleNodeSchema } from './single-node.ts';
import { beganAt, startedOver } from './watch-resume.ts';

const measured = z.object({
  /** The newest earlier one without all of the changes; of the run before, if this run has none. */
  besides: z.object({ jobName: z.string(), speed: speedSchema, startSeconds: seconds.optional() }),
  speed: speedSchema,
  startSeconds: seconds
    .optional()
    .describe('From the start of the instances to that of the script, with its download.'),
  stepRatio: z.number().describe('Steps a second, over those before.'),
  /** Over those before. */
  samplesPerDollarRatio: z.number().optional(),
});

const appliedReportSchema = z
  .object({
    changes: list(z.string()),
    /** Absent where one of the two attempts was not measured. */
    measured: measured.optional(),
  })
  .describe(
    "The doctor's remedies that it started with, and what they brought; and more disk, where it was full.",
  );
type AppliedReport = z.output<typeof appliedReportSchema>;

/** @param all attempts in order, those of the run before first */
function broughtBy(attempt: AttemptRecord, all: readonly AttemptRecord[]): AppliedReport | undefined {
  const { applied = [], diagnosis } = attempt;
  if (applied.length === 0) return undefined;
  const changes = applied.map((change) => remedyOf(change).text);
  const place = all.findIndex(({ jobName }) => jobName === attempt.jobName);
  const before = all
    .slice(0, place)
    .findLast((each) => each.diagnosis?.speed !== undefined && (each.applied ?? []).length < applied.length);
  const [was, is] = [before?.diagnosis?.speed, diagnosis?.speed];
  if (before === undefined || was === undefined || is === undefined) return { changes };
  const [dearer, cheaper] = [was.samplesPerDollar, is.samplesPerDollar];
  return {
    changes,
    measured: {
      besides: { jobName: before.jobName, speed: was, startSeconds: startSecondsOf(before) },
      speed: is,
      startSeconds: startSecondsOf(attempt),
      stepRatio: was.stepSeconds.median / is.stepSeconds.median,
      samplesPerDollarRatio: dearer === undefined || cheaper === undefined ? undefined : cheaper / dearer,
    },
  };
}

function startSecondsOf({ outcome }: AttemptRecord): number | undefined {
  const { startedAt = '', scriptStartedAt = '' } = outcome ?? {};
  const seconds = (Date.parse(scriptStartedAt) - Date.parse(startedAt)) / 1_000;
  return seconds >= 0 ? seconds : undefined;
}

export const attemptReportSchema = z.object({
  attempt: z.number().int(),
  jobName: z.string(),
  pool: poolSchema,
  nodes: z.number().int(),
  outcome: outcomeSchema.shape.kind,
  message: z.string(),
  fromStep: z.number(),
  toStep: z.number(),
  trainingSeconds: seconds,
  billableSeconds: seconds,
  lostSeconds: seconds.describe('Training that no checkpoint covers, or that was done again.'),
  restart: restartPartsSchema.optional(),
  costUsd: usd,
  /** Where the agent could measure it. */
  speed: speedSchema.optional(),
  applied: appliedReportSchema.optional(),
  /** Of the doctor, the most worthwhile first. */
  verdicts: list(shownVerdictSchema).optional(),
  log: jobLogSchema.optional(),
});
export type AttemptReport = z.output<typeof attemptReportSchema>;

/** Whose money it is, as the run's declaration says. */
export const ownership = {
  owner: z.string().optional(),
  tags: z.record(z.string(), z.string()).readonly().optional(),
};

export const reportSchema = z.object({
  version: z.literal(REPORT_VERSION),
  runId: z.string(),
  pipeline: z.string(),
  ...ownership,
  status: z.enum(['succeeded', 'failed', 'stopped', 'empty', 'notNeeded']),
  failure: z.string().optional(),
  stop: stopSchema.optional(),
  retry: retrySchema.optional(),
  modelUri: z.string().optional(),
  /** Absent in reports of earlier releases, and where there is no object of that name. */
  modelEtag: z.string().optional().describe("S3's digest of the model when the run ended."),
  generations: list(z.string()),
  reads: readsSchema.optional(),
  /** SHA-256 of the packed source. */
  source: z.string().optional(),
  startedFrom: archiveSchema.optional().describe('The model that it began from.'),
  need: needSchema.optional(),
  git: gitIdentitySchema.optional(),
  /** The generation's manifest names up to a hundred. */
  rejected: rejectedSchema.optional(),
  metrics: z
    .record(z.string(), z.number().nullable())
    .readonly()
    .describe('null where the script gave infinity or no number. Those that say most come first.'),
  objective: objectiveReportSchema.optional(),
  attempts: list(attemptReportSchema),
  /** Reports of earlier releases name none. */
  speeds: list(topologySpeedSchema).default([]).describe('Of all measured attempts, by nodes and type.'),
  interruptions: z.number().int(),
  lostSeconds: seconds,
  restarts: restartPartsSchema.optional().describe('Of all attempts but the first, summed.'),
  costUsd: usd,
  /** While an attempt lasted; absent where no price is known. */
  fileSystemsUsd: usd.optional().describe('Part of it: the file systems that channels read.'),
  onDemandUsd: usd.describe(
    'What ran, on On-Demand instances of the same type: without the work that Spot lost. An On-Demand attempt costs the same.',
  ),
  /** Absent where no type could. */
  onDemandNode: singleNodeSchema
    .optional()
    .describe('The cheapest single On-Demand node that could have done that work.'),
  savedUsd: usd,
  savedPercent: z.number(),
  deadline: z.object({ at: time.optional(), met: z.boolean().nullable() }),
  promises: list(promiseSchema).optional().describe('What was forecast while it ran.'),
  startedAt: time,
  finishedAt: time,
  timeline: list(timelineEntrySchema),
});
export type RunReport = Readonly<z.output<typeof reportSchema>>;

export interface ReportInput {
  /** Attempts of the run before, to which remedies compare. */
  readonly former?: readonly AttemptRecord[] | undefined;
  readonly run: RunRecord;
  readonly attempts: readonly AttemptRecord[];
  readonly timeline: readonly TimelineEntry[];
  readonly series?: readonly Series[] | undefined;
  readonly status: RunReport['status'];
  readonly failure?: string | undefined;
  readonly finishedAt: string;
  readonly modelEtag?: string | undefined;
  /** The archive of its model is empty, and so is the folder that outlives its hosts. */
  readonly savedNothing?: boolean;
}

export function makeReport(input: ReportInput): RunReport {
  const { run, status, failure, finishedAt } = input;
  const attempts = input.attempts.flatMap((attempt, index) => reportAttempt(attempt, index, input));
  const costUsd = sum(attempts.map((attempt) => attempt.costUsd));
  const onDemandUsd = endedOnDemandUsd(input.attempts);
  const last = input.attempts.at(-1);
  const { metrics, objective } = metricsOf(input);
  return {
    version: REPORT_VERSION,
    runId: run.runId,
    pipeline: run.pipeline,
    owner: run.declaration?.owner,
    tags: run.declaration?.tags,
    status,
    failure,
    stop: status === 'stopped' ? run.stop : undefined,
    retry: run.retry,
    modelUri: input.savedNothing === true ? undefined : last?.outcome?.modelUri,
    modelEtag: input.modelEtag,
    generations: run.generations ?? [],
    reads: run.reads,
    source: run.source,
    startedFrom: run.startedFrom,
    need: run.need,
    git: run.git,
    rejected: run.rejected,
    metrics,
    objective,
    attempts,
    speeds: speedsOf(input.attempts),
    interruptions: sum(input.attempts.map(interruptionsOf)),
    lostSeconds: round(sum(attempts.map((attempt) => attempt.lostSeconds)), 1),
    restarts: restartSum(attempts.map(({ restart }) => restart)),
    costUsd,
    fileSystemsUsd: sum(input.attempts.map(fileSystemsCost)) || undefined,
    onDemandUsd,
    onDemandNode: bestSingleNode(
      input.attempts.map((attempt, index) => ({
        placement: attempt.placement,
        seconds: secondsWithoutLoss(attempt, laterThan(input.attempts, index)),
      })),
    ),
    ...savedOf({ costUsd, onDemandUsd }),
    deadline: deadlineOf(run, status, finishedAt),
    promises: run.promises,
    startedAt: run.createdAt,
    finishedAt,
    timeline: input.timeline,
  };
}

/** The last values of its series, and of its newest checkpoint what no series has. */
export const metricsOf = ({ run, attempts, series = [] }: Pick<ReportInput, 'run' | 'attempts' | 'series'>) =>
  shownMetrics(series, newestProgress(attempts)?.metrics, run.declaration?.training);

/** @returns none while the attempt goes on */
function reportAttempt(
  attempt: AttemptRecord,
  index: number,
  { run, attempts, former = [] }: ReportInput,
): readonly AttemptReport[] {
  const { placement, outcome } = attempt;
  if (outcome === undefined) return [];
  // A person's retry is no restart.
  const before = index === run.retry?.attempts ? undefined : attempts[index - 1];
  return [
    {
      attempt: attempt.attempt,
      jobName: attempt.jobName,
      pool: placement.pool,
      nodes: placement.topology.nodes,
      outcome: outcome.kind,
      message: outcome.message,
      fromStep: fromStepOf(attempt),
      toStep: attempt.progressAfter?.step ?? attempt.progressBefore?.step ?? 0,
      trainingSeconds: outcome.trainingSeconds,
      billableSeconds: outcome.billableSeconds,
      lostSeconds: round(lostSecondsOf(attempt, outcome, laterThan(attempts, index)), 1),
      restart: restartPartsOf(attempt, before),
      costUsd: attemptCost(attempt),
      speed: attempt.diagnosis?.speed,
      applied: broughtBy(attempt, [...former, ...attempts]),
      verdicts: attempt.diagnosis?.verdicts,
      log: attempt.log,
    },
  ];
}

const fromStepOf = (attempt: AttemptRecord): number => beganAt(attempt) ?? attempt.progressBefore?.step ?? 0;

/** How attempts went on after this one. */
interface Later {
  /** The lowest step from which one did: what lies past it had to be done again. */
  readonly restart: number;
  readonly next: AttemptRecord | undefined;
}

const laterThan = (attempts: readonly AttemptRecord[], index: number): Later => ({
  restart: Math.min(...attempts.slice(index + 1).map((later) => restartOf(later))),
  next: attempts[index + 1],
});

function restartOf(attempt: AttemptRecord): number {
  if (startedOver(attempt)) return beganAt(attempt) ?? 0;
  const isBack = attempt.resume !== undefined && attempt.resume.repairs.length > 0;
  return isBack ? (attempt.resume?.checkpoint?.step ?? 0) : Number.POSITIVE_INFINITY;
}

/** What the ended attempts would have cost on On-Demand instances of the same types, where Spot loses nothing. */
export const endedOnDemandUsd = (attempts: readonly AttemptRecord[]): number =>
  sum(attempts.map((attempt, index) => onDemandCost(attempt, laterThan(attempts, index))));

/** Lost training, and its share of what the ended attempts cost. */
export function lostTraining(attempts: readonly AttemptRecord[]) {
  const each = attempts.flatMap((attempt, index) => {
    const { outcome } = attempt;
    if (outcome === undefined || outcome.trainingSeconds <= 0) return [];
    const seconds = lostSecondsOf(attempt, outcome, laterThan(attempts, index));
    return [{ seconds, usd: (attemptCost(attempt) * seconds) / outcome.trainingSeconds }];
  });
  return { seconds: sum(each.map(({ seconds }) => seconds)), usd: sum(each.map(({ usd }) => usd)) };
}

function onDemandCost(attempt: AttemptRecord, later: Later): number {
  if (attempt.placement.pool.purchaseOption === 'on-demand') return attemptCost(attempt);
  const seconds = secondsWithoutLoss(attempt, later);
  return hoursCost(attempt, seconds) + fileSystemsUsd(attempt.placement, seconds);
}

/** Training of an attempt as On-Demand would have had it: its script fails, or is stopped, there too. */
function secondsWithoutLoss(attempt: AttemptRecord, later: Later): number {
  const { outcome, recall } = attempt;
  if (outcome === undefined) return 0;
  const isSpotsLoss =
    outcome.kind === 'interrupted' ||
    outcome.kind === 'capacity' ||
    ['capacity', 'deadline', 'spot'].includes(recall?.cause ?? '');
  const lost = isSpotsLoss ? lostSecondsOf(attempt, outcome, later) : replaySecondsOf(attempt);
  return Math.max(0, outcome.trainingSeconds - lost);
}

const replaySecondsOf = ({ resume }: AttemptRecord): number => resume?.replaySeconds ?? 0;

/**
 * Time from the last complete checkpoint to the end of an attempt that did not complete, the time of the steps that
 * a later attempt did again, and of those that automatic checkpoints replayed.
 */
function lostSecondsOf(attempt: AttemptRecord, outcome: AttemptOutcome, later: Later): number {
  const replayed = Math.min(outcome.trainingSeconds, replaySecondsOf(attempt));
  // An attempt that was lost in its evaluation had trained to the end.
  if (outcome.kind === 'completed' || outcome.modelUri !== undefined) return replayed;
  const trained = outcome.trainingSeconds - replayed;
  return replayed + lostOf({ ...outcome, trainingSeconds: trained }, attempt, later);
}

function lostOf(outcome: AttemptOutcome, attempt: AttemptRecord, { restart, next }: Later): number {
  const saved = attempt.progressAfter;
  if (saved === undefined || !advanced(attempt.progressBefore, saved))
    return outcome.trainingSeconds * shareByPositions(attempt, next);
  const unsaved =
    outcome.endedAt === undefined
      ? 0
      : (new Date(outcome.endedAt).getTime() - new Date(saved.updatedAt).getTime()) / 1000;
  const lost = Math.min(outcome.trainingSeconds, Math.max(0, unsaved));
  const from = fromStepOf(attempt);
  const again = saved.step > from ? (saved.step - Math.max(from, restart)) / (saved.step - from) : 0;
  return lost + (outcome.trainingSeconds - lost) * Math.max(0, again);
}

/** The share that was done again of an attempt whose files are unknown, by the position of the next one. */
function shareByPositions({ resume }: AttemptRecord, next: AttemptRecord | undefined): number {
  const verdict = next?.resume?.verdict;
  const begun = resume?.verdict?.position ?? 0;
  if (verdict?.kind !== 'resumed' || verdict.stood === undefined || verdict.stood <= begun) return 1;
  return Math.min(1, Math.max(0, verdict.stood - verdict.position) / (verdict.stood - begun));
}

/** Restarts inside jobs, or 1 for an interrupted job without a restart. */
const interruptionsOf = ({ outcome }: AttemptRecord): number =>
  Math.max(outcome?.interruptions ?? 0, outcome?.kind === 'interrupted' ? 1 : 0);

const newestProgress = (attempts: readonly AttemptRecord[]): Progress | undefined =>
  attempts.map(({ progressAfter }) => progressAfter).findLast((progress) => progress !== undefined);

export const deadlineAt = ({
  declaration,
  ...run
}: Pick<ListedRun, 'closedAt' | 'retry'> & Pick<RunRecord, 'declaration'>): Date | undefined =>
  deadlineOfListed({ ...run, listed: listedOf({ declaration }) });

export function deadlineOfListed({
  closedAt,
  retry,
  listed,
}: Pick<ListedRun, 'closedAt' | 'retry' | 'listed'>): Date | undefined {
  if (closedAt === undefined || listed?.deadlineHours === undefined) return undefined;
  return new Date(Date.parse(retry?.at ?? closedAt) + listed.deadlineHours * 3_600_000);
}

function deadlineOf(run: RunRecord, status: RunReport['status'], finishedAt: string): RunReport['deadline'] {
  const at = deadlineAt(run);
  if (at === undefined || (status !== 'succeeded' && status !== 'failed'))
    return { at: at?.toISOString(), met: null };
  return { at: at.toISOString(), met: status === 'succeeded' && new Date(finishedAt) <= at };
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const round = (value: number, digits: number) => Math.round(value * 10 ** digits) / 10 ** digits;

/**
 * @returns undefined where there is none, or a person has damaged it
 * @throws UnreadableRecordError
 */
export const readReport = (
  store: Pick<ObjectStore, 'readText'>,
  run: Pick<RunRecord, 'pipeline' | 'runId'>,
): Promise<RunReport | undefined> => readReportAs(store, run, kindOf(reportSchema));

/** Below 0 where Spot cost more. @param onDemandUsd the cost of the same on On-Demand */
export const savedOf = ({ costUsd, onDemandUsd }: Readonly<Record<'costUsd' | 'onDemandUsd', number>>) => ({
  savedUsd: onDemandUsd - costUsd,
  savedPercent: onDemandUsd > 0 ? Math.round((1 - costUsd / onDemandUsd) * 1_000) / 10 : 0,
});
