/** What the API says of probes: short trials of other settings. */
import * as z from 'zod';
import { limitsSchema } from '../../pipeline/pipeline.ts';
import { writtenSchema } from '../../pipeline/tuning.ts';
import { runStatusSchema } from '../../runs/run-records.ts';
import { list, time, usd } from '../../shared/fields.ts';
import { nextToken, unreadable } from './page.ts';

export const probeBody = z.strictObject({
  number: z
    .int()
    .min(1)
    .max(999_999_999)
    .describe('A new one. The same call again with the same number starts nothing more.'),
  change: z
    .record(z.string(), z.unknown())
    .describe('A part of a declaration, such as { "compute": { "nodes": 2 } }.'),
  steps: limitsSchema.shape.steps.unwrap().describe('After so many steps the trial ends.'),
});

const probe = z.object({ runId: z.string(), number: z.number().int() });

export const startedProbe = probe.extend({
  kind: z.enum(['started', 'running']),
  pin: z
    .string()
    .optional()
    .describe('The version of the dataset that it trains on, by its last generation.'),
});

const measured = z.object({ mean: z.number(), low: z.number(), high: z.number() });

export const probeList = z.object({
  probes: list(
    probe.extend({
      status: runStatusSchema,
      failure: z.string().optional(),
      createdAt: time,
      steps: z.int().optional().describe('After so many it ends.'),
      declaration: writtenSchema.optional().describe('What it trains by.'),
      topology: z.string().optional().describe('Of the last attempt, such as 2 x g5.xlarge.'),
      usdPerHour: usd.optional().describe('Of all its hosts.'),
      costUsd: usd,
      speed: z
        .object({
          basis: z.enum(['hooks', 'printed']),
          clock: z
            .enum(['machine', 'host'])
            .describe('host: hosts that share one machine, each by the CPU time that it got.'),
          hosts: z.number().int(),
          steps: z.number().int().describe('The first fifth is not measured.'),
          stepSeconds: measured.describe('With a 95 % interval.'),
          samplesPerSecond: measured.optional(),
        })
        .optional()
        .describe('Absent until it has ended, and where too few steps were made.'),
    }),
  ),
  unreadable,
  nextToken,
});
