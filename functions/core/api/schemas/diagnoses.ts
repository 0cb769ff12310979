/** What the API says of the doctor's verdicts (docs/doctor.md). */
import * as z from 'zod';
import { list, seconds, time } from './operation.ts';

const interval = z.object({ low: z.number(), expected: z.number(), high: z.number() });

export const speed = z.object({
  samplesPerSecond: z.number().optional().describe('Of all hosts together.'),
  samplesPerDollar: z.number().optional(),
  stepSeconds: z.object({ median: seconds, p95: seconds }),
  cpuBusy: z.number().describe('Share of 1.'),
  gpuBusy: z.number().optional().describe('Share of 1.'),
  seconds: seconds.describe('Measured time.'),
  steps: z.number(),
});

const remedy = z.object({
  change: z.looseObject({ kind: z.string() }),
  where: z.enum(['declaration', 'script', 'run']),
  text: z.string(),
});
const gain = z.object({ seconds: interval, dollars: interval }).describe('Over the whole job.');

export const verdict = z.object({
  cause: z.string(),
  evidence: z.record(z.string(), z.number()).readonly(),
  remedy: remedy.optional(),
  gain,
  others: list(
    z.object({
      remedy,
      gain,
      unknown: list(z.string()),
    }),
  )
    .optional()
    .describe('Further remedies of the same cause, the most worthwhile first.'),
  also: list(z.string()).describe('Further remedies, without a forecast.'),
  unknown: list(z.string()),
  next: z.string().optional().describe('What limits the steps after the remedy.'),
});

const reading = z
  .object({
    inputMode: z.enum(['File', 'FastFile']),
    bytesPerStep: z.number(),
    dataBytes: z.number(),
    processBytes: z.number(),
  })
  .describe('What one host reads while it steps.');

export const diagnosis = z.object({
  at: time,
  isFinal: z.boolean().optional().describe('Whether the attempt had ended.'),
  speed: speed.optional(),
  reading: reading.optional(),
  verdicts: list(verdict),
});

export const topologySpeed = z.object({
  topology: z.string().describe('Such as 2 x g5.xlarge.'),
  attempts: list(z.number().int()),
  samplesPerSecond: z.number().optional(),
  samplesPerDollar: z.number().optional(),
  stepSeconds: z.object({ median: seconds, p95: seconds }),
  seconds: seconds.describe('Measured time of all its attempts.'),
});

export const applied = z
  .object({
    changes: list(z.string()),
    measured: z
      .object({
        besides: z.object({ jobName: z.string(), speed, startSeconds: seconds.optional() }),
        speed,
        startSeconds: seconds
          .optional()
          .describe('From the start of the instances to that of the script, with its download.'),
        stepRatio: z.number().describe('Steps a second, over those before.'),
        samplesPerDollarRatio: z.number().optional(),
      })
      .optional(),
  })
  .describe("The doctor's remedies that it started with, and what they brought.");
