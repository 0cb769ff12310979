/** What the doctor's remedies brought that an attempt started with, as measured. */
import type { Speed } from '../../doctor/speed.ts';
import { remedyOf } from '../../doctor/verdict.ts';
import type { AttemptRecord } from '../../runs/run-records.ts';

export interface AppliedReport {
  readonly changes: readonly string[];
  /** Absent where one of the two attempts was not measured. */
  readonly measured?:
    | {
        /** The newest earlier one without all of the changes; of the run before, if this run has none. */
        readonly besides: {
          readonly jobName: string;
          readonly speed: Speed;
          readonly startSeconds?: number | undefined;
        };
        readonly speed: Speed;
        /** From the start of the instances to that of the script, with its download. */
        readonly startSeconds?: number | undefined;
        /** Steps a second, over those before. */
        readonly stepRatio: number;
        /** Samples a dollar, over those before. */
        readonly samplesPerDollarRatio?: number | undefined;
      }
    | undefined;
}

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
