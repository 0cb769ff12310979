/** What the API says of runs. */
import * as z from 'zod';
import { pipelineSchema } from '../../pipeline/pipeline.ts';
import { EXPIRING, STOP_MODES } from '../../runs/run-records.ts';
import { attempt, jobLog, metrics, outcomeKind, progress } from './attempts.ts';
import { applied, speed, topologySpeed, verdict } from './diagnoses.ts';
import { list, seconds, time, usd } from './operation.ts';
import { nextToken } from './page.ts';
import { pool, storedPlacement } from './placements.ts';

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
  execution: z.number().int(),
  createdAt: time,
  updatedAt: time,
  newestEventAt: time.optional(),
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
  expired: list(z.enum(EXPIRING)).optional().describe('What was deleted after its end.'),
});

export const runList = z.object({ runs: list(run), nextToken });

export const timelineEntry = z.object({
  id: z.string(),
  at: time,
  kind: z.string().describe('Such as AttemptInterrupted; docs/events.md lists those that are events, too.'),
  text: z.string(),
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
  attempts: list(
    z.object({
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
    }),
  ),
  speeds: list(topologySpeed).describe('Of all measured attempts, by nodes and type.'),
  interruptions: z.number().int(),
  lostSeconds: seconds,
  costUsd: usd,
  onDemandUsd: usd.describe('Cost of the same useful work on On-Demand instances of the same type.'),
  savedUsd: usd,
  savedPercent: z.number(),
  deadline: z.object({ at: time.optional(), met: z.boolean().nullable() }),
  startedAt: time,
  finishedAt: time,
  timeline: list(timelineEntry),
});

export const runAnswer = z.object({
  run,
  attempts: list(attempt),
  placements: list(storedPlacement),
  timeline: list(timelineEntry),
  progress: progress.optional().describe('The newest checkpoint that is whole.'),
  report: report.optional().describe('Present once the run has ended.'),
});
