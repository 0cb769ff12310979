/** What the doctor's remedies brought that an attempt started with, as measured. */
import * as z from 'zod';
import { speedSchema } from '../../doctor/speed.ts';
import { remedyOf } from '../../doctor/verdict.ts';
import type { AttemptRecord } from '../../runs/run-records.ts';
import { list, seconds } from '../../shared/fields.ts';

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

export const appliedReportSchema = z
  .object({
    changes: list(z.string()),
    /** Absent where one of the two attempts was not measured. */
    measured: measured.optional(),
  })
  .describe("The doctor's remedies that it started with, and what they brought.");
type AppliedReport = z.output<typeof appliedReportSchema>;

/** @param all attempts in order, those of the run before first */
export function broughtBy(attempt: AttemptRecord, all: readonly AttemptRecord[]): AppliedReport | undefined {
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
