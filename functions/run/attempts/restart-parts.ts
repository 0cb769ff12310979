/** What a restart costs, split: from the end of one attempt to the first step of the next. Pure. */
import { seconds } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { type AttemptRecord, scriptStartSchema } from '../../records/run-records.ts';

const part = seconds.optional();

/** What nothing measured is absent, such as the last three where the hooks are declined. */
export const restartPartsSchema = z
  .object({
    detect: part.describe('From the end before to the decision where to go on, with a wait for a pool.'),
    place: part.describe('From there to the request for hosts.'),
    capacity: part.describe('Waiting for the hosts and preparing them.'),
    download: part,
    image: part,
    ...scriptStartSchema.partial().shape,
  })
  .describe('Seconds between the end of the attempt before and the first step.');
export type RestartParts = z.output<typeof restartPartsSchema>;

const PARTS = restartPartsSchema.keyof().options;

/** @returns undefined for a run's first attempt */
export function restartPartsOf(
  { placement, createdAt, outcome, startUp = outcome?.startUp, diagnosis }: AttemptRecord,
  before: AttemptRecord | undefined,
): RestartParts | undefined {
  if (before === undefined) return undefined;
  return {
    detect: between(before.outcome?.endedAt, placement.decidedAt),
    place: between(placement.decidedAt, createdAt),
    capacity: startUp?.hosts,
    download: startUp?.download,
    image: startUp?.image,
    ...diagnosis?.start,
  };
}

/** @returns undefined without a restart */
export function restartSum(all: readonly (RestartParts | undefined)[]): RestartParts | undefined {
  const known = all.filter((each) => each !== undefined);
  if (known.length === 0) return undefined;
  const sumOf = (name: keyof RestartParts): number | undefined => {
    const measured = known.flatMap((each) => each[name] ?? []);
    const total = measured.reduce((sum, each) => sum + each, 0);
    return measured.length === 0 ? undefined : Math.round(total * 10) / 10;
  };
  return Object.fromEntries(PARTS.map((name) => [name, sumOf(name)]));
}

function between(begin: string | undefined, end: string): number | undefined {
  const length = (Date.parse(end) - Date.parse(begin ?? '')) / 1_000;
  return length >= 0 ? length : undefined;
}
