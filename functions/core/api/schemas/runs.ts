/** What the API says of runs. */
import * as z from 'zod';
import { pipelineSchema } from '../../pipeline/pipeline.ts';
import { EXPIRING, STOP_MODES } from '../../runs/run-records.ts';
import { attempt, attemptSummary, jobLog, metrics, outcomeKind, progress } from './attempts.ts';
import { applied, speed, topologySpeed, verdict } from './diagnoses.ts';
import { list, seconds, time, usd } from './operation.ts';
import { nextToken, pageQuery } from './page.ts';
import { placement, pool } from './placements.ts';

export const runStatus = z.enum([
  'settling',
  'packing',
  'placing',
  'training',
  'succeeded',
  'failed',
  'stopped',
  'empty',
]);

export const stop = z.object({
  mode: z.enum(STOP_MODES),
  at: time,
  requestedBy: z.string().describe('Who asked.'),
  execution: z.number().int(),
});

export const retry = z.object({
  number: z.number().int().describe('1 for the first one.'),
  at: time,
  requestedBy: z.string().describe('Who asked.'),
  attempts: z.number().int().describe('How many attempts there were before.'),
});

const runRequest = z
  .object({
    at: time,
    requestedBy: z.string().describe('Who asked.'),
    changed: list(z.string()).describe('Fields that hold for this run alone.'),
    again: z.string().optional().describe('The run that it does again.'),
    source: z.string().optional().describe('SHA-256 of the packed source to train with.'),
  })
  .describe('Of a person; absent where data or a schedule started the run.');

const rejected = z
  .object({
    count: z.number().int(),
    byReason: z.record(z.string(), z.number().int()).readonly(),
    examples: list(z.object({ key: z.string(), reason: z.string() })),
  })
  .describe('Arrivals that are in no shard.');

export const run = z.object({
  runId: z.string(),
  pipeline: z.string(),
  batch: z.number().int(),
  status: runStatus,
  trigger: z.enum(['arrival', 'schedule', 'api']),
  probe: z
    .object({ number: z.number().int() })
    .optional()
    .describe('A trial of other settings, which takes no batch.'),
  execution: z.number().int(),
  createdAt: time,
  updatedAt: time,
  newestEventAt: time.optional(),
  request: runRequest.optional(),
  declaration: pipelineSchema.optional(),
  closedAt: time.optional().describe('When its batch was closed.'),
  notifiedSince: time.optional(),
  sealedAt: time.optional().describe('When its data was packed; absent without new data.'),
  generation: z.string().optional().describe('What it packed.'),
  rejected: rejected.optional(),
  generations: list(z.string()).optional().describe('What it trains on, oldest first.'),
  source: z.string().optional().describe('SHA-256 of the packed source.'),
  failure: z.string().optional(),
  stop: stop.optional(),
  retry: retry.optional(),
  modelUri: z.string().optional(),
  result: z
    .object({
      finishedAt: time,
      attempts: z.number().int(),
      interruptions: z.number().int(),
      lostSeconds: seconds,
      costUsd: usd,
      onDemandUsd: usd,
      isDeadlineMet: z.boolean().nullable(),
    })
    .optional()
    .describe('Of its report, once it has ended.'),
  checkpointDeletion: z
    .object({ at: time, requestedBy: z.string() })
    .optional()
    .describe('Who asked for the deletion of its checkpoints, and when.'),
  expired: list(z.enum(EXPIRING)).optional().describe('What was deleted after its end.'),
});

export const runSummary = run
  .omit({ declaration: true, generations: true, rejected: true, notifiedSince: true })
  .extend({ deadlineAt: time.optional() });

export const runList = z.object({ runs: list(runSummary), nextToken });

/** Statuses with commas between them. */
const statuses = z.string().transform((text, context) => {
  const wanted = text.split(',');
  const unknown = wanted.filter((each) => !runStatus.safeParse(each).success);
  if (unknown.length === 0) return wanted.flatMap((each) => runStatus.safeParse(each).data ?? []);
  const message = `no status is called ${unknown.join(', ')}: give some of ${runStatus.options.join(', ')}, with commas`;
  context.addIssue({ code: 'custom', message, input: text });
  return z.NEVER;
});

const moment = z.iso.datetime({ offset: true, error: 'give a time such as 2026-11-25T08:00:00Z' });

export const runsQuery = pageQuery(50).extend({
  pipeline: z.string().optional().describe('Only runs of this pipeline.'),
  status: statuses.optional().describe('Only runs of these statuses, with commas between them.'),
  since: moment.optional().describe('Only runs that began at this time or later.'),
});

export const runQuery = z.strictObject({
  since: moment
    .optional()
    .describe('`asOf` of an answer that the caller has: attempts and timeline are what has changed since.'),
});

export const timelineEntry = z.object({
  id: z.string(),
  at: time,
  kind: z.string().describe('Such as AttemptInterrupted; docs/events.md lists those that are events, too.'),
  text: z.string(),
});

const reportedAttempt = z.object({
  attempt: z.number().int(),
  jobName: z.string(),
  pool,
  nodes: z.number().int(),
  outcome: outcomeKind,
  message: z.string(),
  fromStep: z.number(),
  toStep: z.number(),
  trainingSeconds: seconds,
  billableSeconds: seconds,
  lostSeconds: seconds.describe('Training that no checkpoint covers, or that was done again.'),
  costUsd: usd,
  speed: speed.optional(),
  applied: applied.optional(),
  verdicts: list(verdict).optional(),
  log: jobLog.optional(),
});

export const report = z.object({
  version: z.literal(1),
  runId: z.string(),
  pipeline: z.string(),
  status: z.enum(['succeeded', 'failed', 'stopped', 'empty']),
  failure: z.string().optional(),
  stop: stop.optional(),
  retry: retry.optional(),
  modelUri: z.string().optional(),
  generations: list(z.string()),
  source: z.string().optional(),
  rejected: rejected.optional(),
  metrics,
  attempts: list(reportedAttempt),
  speeds: list(topologySpeed).describe('Of all measured attempts, by nodes and type.'),
  interruptions: z.number().int(),
  lostSeconds: seconds,
  costUsd: usd,
  fileSystemsUsd: usd.optional().describe('Part of it: the file systems that channels read.'),
  onDemandUsd: usd.describe('Cost of the same useful work on On-Demand instances of the same type.'),
  onDemandNode: z
    .object({ instanceType: z.string(), accelerators: z.number().int(), hours: z.number(), usd })
    .optional()
    .describe('The cheapest single On-Demand node that could have done that work.'),
  savedUsd: usd,
  savedPercent: z.number(),
  deadline: z.object({ at: time.optional(), met: z.boolean().nullable() }),
  startedAt: time,
  finishedAt: time,
  timeline: list(timelineEntry),
});

const interval = z.object({ low: z.number(), expected: z.number(), high: z.number() });

const money = z.object({
  asOf: time,
  usd: usd.describe('So far.'),
  usdPerSecond: z.number().describe('By how much it grows while hosts are held.'),
  byPurchaseOption: list(z.object({ purchaseOption: z.enum(['spot', 'on-demand']), seconds, usd })),
  lost: z.object({ seconds, usd }).describe('Work that was not saved, or was done again.'),
  onDemandUsd: usd.describe('What the useful work so far would have cost on On-Demand instances.'),
  expected: z
    .object({
      usd: interval.describe('Of the whole run; 90 % interval.'),
      finishAt: z.object({ low: time, expected: time, high: time }).describe('90 % interval.'),
      onDemandUsd: usd,
      basis: z.enum(['measured', 'declared']).describe('declared: from former runs.'),
    })
    .optional()
    .describe('Absent for an ended run, and while nothing says how much is left.'),
  deadlineAt: time.optional(),
  budgetUsd: usd.optional(),
});

export const runAnswer = z.object({
  asOf: time.describe('Give it as `since` to learn what changes from here on. It is a few seconds ago.'),
  run,
  attempts: list(attemptSummary),
  timeline: list(timelineEntry).describe('The newest 100 entries, oldest first.'),
  timelineCount: z.number().int().describe('How many entries there are.'),
  progress: progress.optional().describe('The newest checkpoint that is whole.'),
  money,
  report: report
    .omit({ timeline: true, generations: true, rejected: true, attempts: true, speeds: true })
    .extend({
      attempts: list(
        reportedAttempt.pick({ attempt: true, outcome: true, lostSeconds: true, costUsd: true }),
      ),
    })
    .optional()
    .describe('What an ended run came to; the whole report has a route of its own.'),
});

export const attemptList = z.object({ attempts: list(attempt) });
export const timelineAnswer = z.object({ timeline: list(timelineEntry) });

export const placementList = z.object({
  placements: list(
    z.object({
      attempt: z.number().int(),
      kind: z.enum(['launch', 'wait', 'giveUp']),
      reason: z.string(),
      placement: placement.optional(),
    }),
  ),
});
