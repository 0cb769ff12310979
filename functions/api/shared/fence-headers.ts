/** The headers by which a call says what runs may cost together at most (fence.ts). */
import { check } from '@tidewheel/kit/validation.ts';
import * as z from 'zod';
import { type ApiRequest, type Refusal, refused } from './answers.ts';
import { moment } from './query-text.ts';

export const FENCE_HEADERS = z.object({
  'tidewheel-max-usd': z
    .string()
    .regex(/^\d{1,9}(\.\d{1,6})?$/, 'write dollars, 0 or more, such as 20')
    .optional()
    .describe('What open runs may cost together, with what ended since. A call that could pass it gets 409.'),
  'tidewheel-max-usd-since': moment
    .optional()
    .describe('Runs that have ended since then count with their cost. Absent: open runs alone count.'),
});

export interface Fence {
  readonly maxUsd: number;
  readonly since: string | undefined;
}

/** @returns undefined for a call without one, or a refusal */
export function fenceIn({ headers = {} }: Pick<ApiRequest, 'headers'>): Fence | Refusal | undefined {
  const read = check(FENCE_HEADERS, headers, 'shown');
  if (!read.ok) return refused('the fence is not valid', read.problems);
  const { 'tidewheel-max-usd': most, 'tidewheel-max-usd-since': since } = read.value;
  return most === undefined
    ? undefined
    : { maxUsd: Number(most), since: since && new Date(since).toISOString() };
}
