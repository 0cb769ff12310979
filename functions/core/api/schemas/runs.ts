/** What the API says of runs. */
import * as z from 'zod';
import { attemptReportSchema, reportSchema } from '../../attempts/report.ts';
import { writtenSchema } from '../../pipeline/tuning.ts';
import {
  runRecordSchema,
  runRequestSchema,
  runStatusSchema,
  timelineEntrySchema,
} from '../../runs/run-records.ts';
import { list, seconds, time, usd } from '../../shared/fields.ts';
import { attempt, attemptSummary, progress } from './attempts.ts';
import { nextToken, pageQuery, unreadable } from './page.ts';
import { placement } from './placements.ts';

export const run = runRecordSchema.extend({
  request: runRequestSchema.omit({ tokens: true, parts: true }).optional(),
  declaration: writtenSchema.optional(),
});

export const runSummary = run
  .omit({ declaration: true, generations: true, rejected: true, notifiedSince: true })
  .extend({ deadlineAt: time.optional() });

export const runList = z.object({ runs: list(runSummary), unreadable, nextToken });

/** Statuses with commas between them. */
const statuses = z.string().transform((text, context) => {
  const wanted = text.split(',');
  const unknown = wanted.filter((each) => !runStatusSchema.safeParse(each).success);
  if (unknown.length === 0) return wanted.flatMap((each) => runStatusSchema.safeParse(each).data ?? []);
  const message = `no status is called ${unknown.join(', ')}: give some of ${runStatusSchema.options.join(', ')}, with commas`;
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
  timeline: list(timelineEntrySchema).describe('The newest 100 entries, oldest first.'),
  timelineCount: z.number().int().describe('How many entries there are.'),
  progress: progress.optional().describe('The newest checkpoint that is whole.'),
  money,
  report: reportSchema
    .omit({ timeline: true, generations: true, rejected: true, attempts: true, speeds: true })
    .extend({
      attempts: list(
        attemptReportSchema.pick({ attempt: true, outcome: true, lostSeconds: true, costUsd: true }),
      ),
    })
    .optional()
    .describe('What an ended run came to; the whole report has a route of its own.'),
});

export const attemptList = z.object({ attempts: list(attempt) });
export const timelineAnswer = z.object({ timeline: list(timelineEntrySchema) });

export const placementList = z.object({
  placements: list(
    z.object({
      attempt: z.number().int(),
      kind: z.enum(['launch', 'wait', 'giveUp']),
      reason: z.string(),
      placement: placement.optional(),
    }),
  ),
  unreadable,
});
