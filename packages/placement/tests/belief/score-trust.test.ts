/** How scores are taken: by a stated prior at first, by what attempts met under them then. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AttemptRecord } from '../../../../functions/records/run-records.ts';
import { attempt, hoursLater, poolOf } from '../../../../test/support/builders/placement.ts';
import { memoryStores } from '../../../../test/support/fakes/stores.ts';
import { observationsOf, observationsOfOthers, poolOutcomeOf } from '../../belief/attempt-observations.ts';
import { type ScoredMeeting, trustOf } from '../../belief/beliefs.ts';
import type { Pool } from '../../records/placement-records.ts';

const odds = (meetings: readonly ScoredMeeting[], score: number): number => {
  const observations = meetings.map(({ score: at, had }) => ({
    ...poolOf('g5.xlarge', ''),
    atMilliseconds: 0,
    seen: had ? ('up' as const) : ('capacityError' as const),
    score: at,
  }));
  const { up, down } = trustOf(observations)(score);
  return up / down;
};
const times = (count: number, meeting: ScoredMeeting): readonly ScoredMeeting[] =>
  Array.from({ length: count }, () => meeting);

describe('a placement score', () => {
  it('says something before anything was met, and never all', () => {
    expect(odds([], 8)).toBeCloseTo(3);
    expect(odds([], 3)).toBeCloseTo(1 / 3);
    expect(odds([], 10)).toBeLessThan(50);
  });

  it('says more the more often it was right', () => {
    const right = [...times(10, { score: 8, had: true }), ...times(10, { score: 3, had: false })];
    expect(odds(right, 8)).toBeGreaterThan(8);
    expect(odds(right, 3)).toBeLessThan(1 / 8);
    expect(odds(times(10, { score: 8, had: false }), 8)).toBeLessThan(1.5);
  });

  it('never says less for being better, whatever was met', () => {
    const meeting = fc.record({ score: fc.integer({ min: 1, max: 10 }), had: fc.boolean() });
    fc.assert(
      fc.property(fc.array(meeting, { maxLength: 60 }), (meetings) => {
        const all = Array.from({ length: 10 }, (_, k) => odds(meetings, k + 1));
        for (const [k, each] of all.entries()) expect(each).toBeGreaterThanOrEqual((all[k - 1] ?? 0) - 1e-9);
      }),
    );
  });
});

/** @param waitedHours for the capacity that it had in the end */
function requested(
  number: number,
  kind: 'capacity' | 'interrupted',
  score: number,
  waitedHours = 0,
): AttemptRecord {
  const pool: Pool = poolOf('g5.xlarge', 'use1-az1');
  const started = kind === 'interrupted' ? { startedAt: hoursLater(number + waitedHours) } : {};
  const ended = { kind, ...started, endedAt: hoursLater(number + 0.5) };
  const made = attempt(number, pool, ended, { createdAt: hoursLater(number) });
  const considered = made.placement.considered.map((row) => ({ ...row, score }));
  return { ...made, placement: { ...made.placement, considered } };
}

it('is learned from attempts that asked under one', () => {
  const attempts = Array.from({ length: 8 }, (_, k) =>
    k % 2 === 0 ? requested(k, 'capacity', 2) : requested(k, 'interrupted', 9),
  );
  const { up, down } = trustOf(observationsOf(attempts))(8);
  expect(up / down).toBeGreaterThan(odds([], 8));
});

it('is not contradicted by capacity that came minutes later', () => {
  const waited = Array.from({ length: 8 }, (_, k) => requested(k, 'interrupted', 2, 0.15));
  expect(trustOf(observationsOf(waited))(2)).toEqual(trustOf([])(2));
  const prompt = Array.from({ length: 8 }, (_, k) => requested(k, 'interrupted', 2, 0.05));
  expect(trustOf(observationsOf(prompt))(2).up).toBeGreaterThan(trustOf([])(2).up);
});

it('is never learned from a quota of the account', async () => {
  const pool: Pool = poolOf('g5.xlarge', 'use1-az1');
  const made = attempt(1, pool, { kind: 'capacity', quota: true, endedAt: hoursLater(1) });
  const considered = made.placement.considered.map((row) => ({ ...row, score: 9 }));
  const refused = { ...made, placement: { ...made.placement, considered } };
  const { poolOutcomes } = memoryStores();
  const met = poolOutcomeOf(refused);
  if (met) await poolOutcomes.put(met);
  const question = { runId: 'other', instanceTypes: ['g5.xlarge'], now: new Date(hoursLater(2)) };
  const toOthers = await observationsOfOthers(poolOutcomes, question);
  expect(toOthers).toMatchObject([{ seen: 'capacityError', quota: true }]);
  expect(observationsOf([refused])).toEqual(toOthers);
  expect(trustOf(toOthers)(9)).toEqual(trustOf([])(9));
});
