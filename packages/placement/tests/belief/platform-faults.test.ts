/** A pool whose hosts did not work is avoided by the run, and is no worse for other runs. */
import { describe, expect, it } from 'vitest';
import { AT, attemptOf, outcomeOf, secondsAfter } from '../../../../test/support/builders/records.ts';
import { observationsFrom, observationsOf, poolOutcomeOf } from '../../belief/attempt-observations.ts';

const attempt = attemptOf('digits-000001', 1, {
  createdAt: AT,
  outcome: outcomeOf('serviceError', {
    fault: 'silent',
    startedAt: secondsAfter(10),
    endedAt: secondsAfter(900),
    trainingSeconds: 890,
  }),
});

describe('a pool with a platform failure', () => {
  it('cools down as after a capacity error', () => {
    expect(observationsOf([attempt]).map(({ seen }) => seen)).toEqual(['capacityError']);
  });

  it('counts as capacity for other runs', () => {
    const outcome = poolOutcomeOf(attempt);
    if (outcome === undefined) throw new Error('the attempt has ended');
    expect(observationsFrom([outcome]).map(({ seen }) => seen)).toEqual(['up', 'up']);
  });
});
