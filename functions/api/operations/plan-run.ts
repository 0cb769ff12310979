import { list, seconds, time, usd } from '@tidewheel/kit/fields.ts';
import { intervalSchema, timesSchema } from '@tidewheel/placement/estimate.ts';
import { placementDecisionSchema, promiseSchema } from '@tidewheel/placement/records.ts';
import * as z from 'zod';
import { findingSchema } from '../../check/finding.ts';
import { READS } from '../shared/operation.ts';

/** Sizes of samples are held in memory. */
const MOST_FILES = 5_000_000;
const MOST_BYTES = 1e15;

const planBody = z.strictObject({
  pipeline: z.string().min(1).describe('Its name.'),
  declaration: z.string().optional().describe('In YAML or JSON; absent: the stored one.'),
  change: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('A part of a declaration: fields of training, compute, limits, retention and dataset.'),
  retryOf: z
    .string()
    .optional()
    .describe('A run that has ended: plans what is left of it, by its own declaration.'),
  data: z
    .strictObject({
      files: z.int().min(1).max(MOST_FILES),
      bytes: z.int().min(1).max(MOST_BYTES),
    })
    .optional()
    .describe('New data, in place of what is in incoming/; each file counts as a sample.'),
});

const interval = intervalSchema.describe('90 % interval.');

/** A function of its own answers it (functions/api/plan): it looks at the account, where the others have no business. */
export const planRun = {
  ...READS,
  route: 'POST /plan',
  id: 'planRun',
  summary: 'Says what the next run of a declaration would do, cost and miss. Nothing is started.',
  body: { schema: planBody, required: true },
  answer: z.object({
    pipeline: z.string(),
    asOf: time,
    runId: z.string().describe('The run that would take the data.'),
    packing: z
      .object({
        basis: z.enum(['counted', 'given']),
        files: z.number(),
        bytes: z.number(),
        samples: z.number(),
        rejected: z.number().describe('By names and sizes alone.'),
        shards: z.number(),
        items: z.number().describe('Invocations that pack them.'),
      })
      .describe('Of the new data.'),
    dataset: z
      .object({
        generations: z.number(),
        shards: z.number(),
        bytes: z.number(),
        isUnpacked: z
          .literal(true)
          .optional()
          .describe('There are no shards: the number is that of the files.'),
      })
      .describe('All that the run would train on.'),
    decision: placementDecisionSchema.optional().describe('Absent where no attempt could start.'),
    training: z
      .object({
        basis: z.enum(['measured', 'declared']).describe('declared: as former runs took.'),
        workSeconds: seconds.describe('Training alone, on the chosen topology.'),
        seconds: interval.describe('From the decision to the end; 90 % interval.'),
        usd: interval.describe('US dollars; 90 % interval.'),
        onDemandUsd: usd.describe('The same work at the On-Demand price, without an interruption.'),
        finishAt: timesSchema,
        lateChance: z.number().optional().describe('Chance to miss the deadline, 0 to 1.'),
        widths: promiseSchema.shape.widths,
        overBudgetChance: z.number().describe('Chance that the budget ends the run, 0 to 1.'),
      })
      .optional()
      .describe('Absent where nothing could train, and where nothing is known of the pace.'),
    bounds: z
      .object({
        mostUsd: usd.describe('By the budget, or On-Demand until the deadline or the longest run.'),
        probeUsd: usd.describe('About what a probe of some steps costs, which shows the pace.'),
      })
      .optional()
      .describe('In place of `training` where nothing is known of the pace.'),
    deadlineAt: time.optional(),
    findings: list(findingSchema).describe('Quotas, roles, networks, images and secrets of the account.'),
    notes: list(z.string()).describe('What is not known.'),
  }),
  refusals: [404, 409],
} as const;
