/** A pool whose hosts did not work is avoided by the run, and is no worse for other runs. */
import { describe, expect, it } from 'vitest';
import { AT, attemptOf, outcomeOf, secondsAfter } from '../../../../test/support/builders/records.ts';
import { memoryStores } from '../../../../test/support/fakes/stores.ts';
import { observationsOf, observationsOfOthers, poolOutcomeOf } from '../../belief/attempt-observations.ts';

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

  it('counts as capacity for other runs', async () => {
    const outcome = poolOutcomeOf(attempt);
    if (outcome === undefined) throw new Error('the attempt has ended');
    const { poolOutcomes } = memoryStores();
    await poolOutcomes.put(outcome);
    const instanceTypes = [attempt.placement.pool.instanceType];
    const question = { runId: 'another-000001', instanceTypes, now: new Date(secondsAfter(1_000)) };
    const seen = await observationsOfOthers(poolOutcomes, question);
    expect(seen.map((each) => each.seen)).toEqual(['up', 'up']);
  });
});
