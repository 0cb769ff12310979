import { choosePlacement } from '@tidewheel/placement/choose.ts';
import { attemptCost, hoursCost } from '@tidewheel/placement/records.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeFleet } from '../../../../functions/launch/ec2/fleet-state.ts';
import type { TrainingJobDescription } from '../../../../functions/launch/job/training-service.ts';
import { attemptTimeoutSeconds, whyStop } from '../../../../functions/run/attempts/stop-rules.ts';
import { CLOSED_AT, hoursLater, question } from '../../../support/builders/placement.ts';
import { AT, attemptOf, outcomeOf, placementOf, secondsAfter } from '../../../support/builders/records.ts';

const job = (change: Partial<TrainingJobDescription> = {}): TrainingJobDescription => ({
  TrainingJobName: 'a',
  TrainingJobStatus: 'InProgress',
  SecondaryStatus: 'Training',
  CreationTime: new Date(AT),
  TrainingStartTime: new Date(secondsAfter(60)),
  SecondaryStatusTransitions: [{ Status: 'Training', StartTime: new Date(secondsAfter(60)) }],
  ...change,
});
const waiting = job({
  SecondaryStatus: 'Starting',
  TrainingStartTime: undefined,
  SecondaryStatusTransitions: [{ Status: 'Starting', StartTime: new Date(AT) }],
});
/** Two nodes at 0.60 USD: 1.20 USD an hour. */
const stop = (seconds: number, change: Partial<Parameters<typeof whyStop>[0]> = {}) =>
  whyStop({
    attempt: attemptOf('budget-000001', 2),
    job: job(),
    now: new Date(secondsAfter(60 + seconds)),
    others: [],
    ...change,
  });
const ask = (...question: Parameters<typeof stop>) => stop(...question)?.why;

describe('an attempt under a budget', () => {
  it('continues while the budget covers the next look', () => {
    expect(ask(3_600 - 421, { budgetUsd: 1.2 })).toBeUndefined();
    expect(ask(3_600 - 419, { budgetUsd: 1.2 })).toMatch(/budget of \$1\.20/);
  });

  it('counts earlier attempts and itself once', () => {
    // 720 s at the On-Demand price of 1.50 are what 1,800 s on Spot at 0.60 cost.
    const outcome = outcomeOf('interrupted', { billableSeconds: 720, trainingSeconds: 1_800 });
    const others = [attemptOf('budget-000001', 1, { outcome }), attemptOf('budget-000001', 2)];
    expect(ask(1_800 - 421, { budgetUsd: 1.2, others })).toBeUndefined();
    expect(ask(1_800 - 419, { budgetUsd: 1.2, others })).toMatch(/budget/);
  });

  it('is stopped for the budget and for nothing else', () => {
    expect(stop(3_600, { budgetUsd: 1.2 })?.cause).toBe('budget');
  });

  it('counts its helpers', () => {
    const attempt = attemptOf('budget-000001', 2, { placement: placementOf({ helpersHourlyUsd: 1.2 }) });
    expect(ask(1_800 - 419, { budgetUsd: 1.2, attempt })).toMatch(/budget/);
  });

  it('counts the cost of copies to another region', () => {
    const placement = placementOf({
      transfer: { gigabytes: 30, usd: 0.6, seconds: 130, priceNote: 'test price' },
    });
    const attempt = attemptOf('budget-000001', 2, { placement });
    expect(ask(1_800 - 421, { budgetUsd: 1.2, attempt })).toBeUndefined();
    expect(ask(1_800 - 419, { budgetUsd: 1.2, attempt })).toMatch(/budget/);
  });

  it('on EC2 counts its hosts from their launch', () => {
    const booting = describeFleet({
      jobName: 'a',
      nodes: 2,
      managedSpot: true,
      priceRatio: 0.4,
      maximumRunSeconds: 3_600,
      refills: false,
      instances: ['i-1', 'i-2'].map((instanceId) => ({
        instanceId,
        state: 'running',
        launchedAt: new Date(secondsAfter(60)),
      })),
      reports: [],
      now: new Date(secondsAfter(660)),
    });
    if (booting === undefined) throw new Error('the fleet is unknown');
    // 600 s have passed, and the next look and the save are 420 s.
    expect(ask(600, { job: booting, budgetUsd: (1_019 * 1.2) / 3_600 })).toMatch(/budget/);
    expect(ask(600, { job: booting, budgetUsd: (1_021 * 1.2) / 3_600 })).toBeUndefined();
  });

  it('is stopped within the budget at five-minute looks', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.3, max: 20, noNaN: true }),
        fc.integer({ min: 0, max: 299 }),
        (budgetUsd, offset) => {
          let seconds = offset;
          while (ask(seconds, { budgetUsd }) === undefined) seconds += 300;
          expect(((seconds + 120) * 1.2) / 3_600).toBeLessThanOrEqual(
            Math.max(budgetUsd, (420 * 1.2) / 3_600),
          );
        },
      ),
    );
  });

  it('is left alone without a budget, waiting or stopping', () => {
    expect(ask(1e6)).toBeUndefined();
    expect(ask(60, { budgetUsd: 0.001, job: waiting })).toBeUndefined();
    expect(ask(1e6, { budgetUsd: 0.001, job: job({ TrainingJobStatus: 'Stopping' }) })).toBeUndefined();
  });
});

describe('an On-Demand job in a queue', () => {
  const pool = { instanceType: 'p5.48xlarge', purchaseOption: 'on-demand', launcher: 'sagemaker' } as const;
  const row = { pool, hourlyUsd: 1, expectedCostUsd: 1, expectedSeconds: 3_600, verdict: 'chosen' };
  const placement = placementOf({ pool });
  const attempt = attemptOf('queue-000001', 1, {
    createdAt: AT,
    placement: { ...placement, considered: [{ ...row, topology: placement.topology }] },
  });
  const queued = { job: { ...waiting, SecondaryStatus: 'Pending' }, attempt };

  it('keeps its place while slack is left', () => {
    const deadlineAt = new Date(secondsAfter(24 * 3_600));
    expect(ask(23 * 3_600 - 61, { ...queued, deadlineAt })).toBeUndefined();
    expect(ask(23 * 3_600 - 59, { ...queued, deadlineAt })).toMatch(/found no capacity/);
    expect(ask(1e6, queued)).toBeUndefined();
  });

  it('is awaited for a day beyond its run time', () => {
    const { maximumRunSeconds } = attempt.placement;
    const onDemand = { ...attempt.placement, maximumWaitSeconds: undefined };
    expect(attemptTimeoutSeconds(onDemand)).toBe(maximumRunSeconds + 86_400 + 1_800);
  });

  it('queues for two hours even without slack', () => {
    const deadlineAt = new Date(AT);
    expect(ask(7_139, { ...queued, deadlineAt })).toBeUndefined();
    expect(ask(7_141, { ...queued, deadlineAt })).toMatch(/found no capacity/);
  });
});

describe('a Spot job that waits', () => {
  const until = (spotUntil: string) => attemptOf('wait-000001', 1, { placement: placementOf({ spotUntil }) });

  it('is recalled for On-Demand at the latest safe moment', () => {
    const attempt = until(secondsAfter(100));
    expect(ask(39, { job: waiting, attempt })).toBeUndefined();
    expect(ask(41, { job: waiting, attempt })).toMatch(/latest safe moment/);
  });

  it('is moved when it has waited ten minutes', () => {
    const attempt = until(secondsAfter(9_999));
    expect(ask(530, { job: waiting, attempt })).toBeUndefined();
    expect(stop(541, { job: waiting, attempt })).toEqual({
      cause: 'capacity',
      why: 'found no capacity in use1-az4: recalled',
    });
  });

  it('is given time while its instances are prepared', () => {
    const message = 'Preparing the instances for training.';
    const [first] = waiting.SecondaryStatusTransitions;
    if (first === undefined) throw new Error('there is no transition');
    const preparing = { ...waiting, SecondaryStatusTransitions: [{ ...first, StatusMessage: message }] };
    const topology = { nodes: 4, acceleratorsPerNode: 8 };
    const placement = placementOf({ topology, spotUntil: secondsAfter(99_999) });
    const attempt = attemptOf('wait-000001', 1, { placement });
    // 600 s times 3, and one more for four nodes, and one for large types.
    expect(ask(2_939, { job: preparing, attempt })).toBeUndefined();
    expect(ask(2_941, { job: preparing, attempt })).toMatch(/found no capacity/);
  });

  it('is left alone at that moment when it runs', () => {
    expect(ask(9_999, { attempt: until(AT) })).toBeUndefined();
  });

  it('makes way for On-Demand at the next decision', () => {
    const first = choosePlacement(question({ now: CLOSED_AT }));
    if (first.kind !== 'launch') throw new Error('nothing was launched');
    expect(first.placement.pool.purchaseOption).toBe('spot');
    const now = first.placement.spotUntil ?? '';
    expect(Date.parse(now)).toBeLessThan(Date.parse(hoursLater(18)));
    const minuteLater = new Date(Date.parse(now) + 60_000).toISOString();
    const second = choosePlacement(question({ now: minuteLater }));
    expect(second).toMatchObject({ kind: 'launch', placement: { pool: { purchaseOption: 'on-demand' } } });
  });
});

describe('a job in a reservation', () => {
  const until = secondsAfter(60 + 3_600);
  const pool = {
    ...placementOf().pool,
    purchaseOption: 'reserved' as const,
    reservation: 'cr-0123456789abcdef0',
  };
  const attempt = attemptOf('budget-000001', 2, {
    placement: placementOf({ pool, reserved: { kind: 'capacity-block', until } }),
  });

  it('leaves at the last look that allows a save', () => {
    expect(stop(3_600 - 421, { attempt })).toBeUndefined();
    expect(stop(3_600 - 419, { attempt })).toEqual({
      cause: 'reservation',
      why: `has to leave cr-0123456789abcdef0 by ${until}: stopped after a save`,
    });
  });

  it('costs nothing, and saves what On-Demand costs', () => {
    const outcome = outcomeOf('completed', { billableSeconds: 7_200, trainingSeconds: 7_200 });
    const done = { ...attempt, outcome };
    expect(attemptCost(done)).toBe(0);
    expect(hoursCost(done, 7_200)).toBeGreaterThan(1);
  });
});
