/** What the account has reserved: used first while idle, waited for where it does the work, and left out otherwise. */
import { trainingSchema } from '@tidewheel/declaration/pipeline.ts';
import { describe, expect, it } from 'vitest';
import {
  attempt,
  hoursLater,
  launched,
  market,
  onDemand,
  poolOf,
  progress,
  question,
  ZONES,
} from '../../../../test/support/builders/placement.ts';
import { reservedFor } from '../../candidates/reserved-pools.ts';
import { choosePlacement } from '../../decision/choose.ts';
import { mayMoveToSpot, type RunningCampaign, revise } from '../../decision/revise.ts';
import type { PlacementInput } from '../../decision/situation.ts';
import { decide } from '../../futures/forecast.ts';
import type { Reservation } from '../../records/market-history.ts';
import type { Pool } from '../../records/placement-records.ts';

const HOUR = 3_600;
const PLAN = 'arn:aws:sagemaker:us-east-1:000000000000:training-plan/team-a';
/** Two idle instances from the close of the batch, for two days. */
const plan = (change: Partial<Reservation> = {}): Reservation => ({
  id: PLAN,
  kind: 'training-plan',
  instanceType: 'g5.xlarge',
  zoneId: 'use1-az1',
  instances: 2,
  availableInstances: 2,
  state: 'Active',
  windows: [{ startsAt: hoursLater(0), endsAt: hoursLater(48) }],
  ...change,
});
const between = (from: number, to: number) => [{ startsAt: hoursLater(from), endsAt: hoursLater(to) }];
const reserving = (
  change: Partial<Reservation> = {},
  more: Partial<PlacementInput> = {},
): PlacementInput => ({
  ...question({ market: market({ reservations: [plan(change)] }), ...more }),
  compute: { ...question().compute, reserved: [PLAN], ...more.compute },
});
const decided = (change?: Partial<Reservation>, more?: Partial<PlacementInput>) =>
  choosePlacement(reserving(change, more));
const chosen = (change?: Partial<Reservation>, more?: Partial<PlacementInput>) =>
  launched(decided(change, more));
/** Every other pool has just refused the run. */
const refusals = (now: number, more: object = {}) =>
  (['spot', 'on-demand'] as const)
    .flatMap((option) =>
      ['g5.xlarge', 'g6.xlarge'].flatMap((type) => ZONES.map((zone) => poolOf(type, zone, option))),
    )
    .map((pool, k) => attempt(k + 1, pool, { kind: 'capacity', endedAt: hoursLater(now - 0.01), ...more }));
const whyWaits = (...given: Parameters<typeof decided>) => {
  const decision = decided(...given);
  return decision.kind === 'wait' ? decision.reason : decision.kind;
};
const verdictOf = (change: Partial<Reservation>, more?: Partial<PlacementInput>) =>
  decided(change, more).kind === 'giveUp'
    ? undefined
    : chosen(change, more).considered.find(({ pool }) => pool.purchaseOption === 'reserved')?.verdict;

describe('a reservation that is idle', () => {
  it('is taken at no price, with its end', () => {
    const { pool, reserved, subnetId, reason, considered } = chosen();
    expect(pool).toEqual({ ...poolOf('g5.xlarge', 'use1-az1', 'reserved'), reservation: PLAN });
    // AWS takes the hosts of a plan from half an hour before its end.
    expect(reserved).toEqual({ kind: 'training-plan', until: hoursLater(47.5) });
    expect(subnetId).toBe('subnet-use1az1');
    expect(reason).toContain(
      'training plan team-a is idle and has been paid for; it has to be left in 46.5 h',
    );
    expect(considered[0]?.hourlyUsd).toBe(0);
  });

  it('is taken by a pipeline on demand', () => {
    const compute = { ...question().compute, purchaseOption: 'on-demand' as const };
    expect(chosen({}, { compute }).pool.purchaseOption).toBe('reserved');
  });

  it('is left out where the gang does not fit', () => {
    expect(verdictOf({ instances: 1, availableInstances: 1 })).toContain(
      'has 1 instances, and the gang needs 2',
    );
    expect(verdictOf({ availableInstances: 1 })).toContain('in use: 1 of its 2 instances are free');
  });

  it('is left out where hardly any of it is left', () => {
    expect(verdictOf({ windows: between(0, 1.7) })).toContain(
      'too little of it is left for a start: 0.2 h are left',
    );
    expect(chosen({ windows: between(0, 1.7) }).pool.purchaseOption).toBe('spot');
  });

  it('is left alone after a capacity error', () => {
    const pool: Pool = { ...poolOf('g5.xlarge', 'use1-az1', 'reserved'), reservation: PLAN };
    const refused = attempt(1, pool, { kind: 'capacity', endedAt: hoursLater(1) });
    expect(chosen({}, { attempts: [refused] }).pool.purchaseOption).toBe('spot');
    expect(chosen({}, { attempts: [refused], now: hoursLater(1.1) }).pool.purchaseOption).toBe('reserved');
  });

  it('that refuses does not end the wait for Spot', () => {
    const pool: Pool = { ...poolOf('g5.xlarge', 'use1-az1', 'reserved'), reservation: PLAN };
    const outcome = { kind: 'capacity', endedAt: hoursLater(0.99) } as const;
    const spot = refusals(1).slice(0, 6);
    expect(whyWaits({}, { attempts: [...spot, attempt(7, pool, outcome)] })).toMatch(
      /^Spot had a capacity error lately/,
    );
  });

  it('that has ended is named with the remedy', () => {
    expect(verdictOf({ state: 'Expired' })).toBe(
      'left out: training plan team-a is Expired: remove it from compute.reserved',
    );
    expect(verdictOf({ windows: between(0, 1) })).toContain('has ended: remove it from compute.reserved');
  });

  it('that comes to pass is waited for', () => {
    expect(verdictOf({ state: 'payment-pending' })).toBe(
      'left out: training plan team-a is payment-pending: wait for it, or remove it from compute.reserved',
    );
  });

  it('takes helper groups unless it is a training plan', () => {
    const helpers = [{ name: 'prepare', instanceType: 'c5.xlarge', nodes: 1 }];
    const given = { compute: { ...question().compute, helpers }, now: new Date(hoursLater(1)) };
    const problem = (kind: Reservation['kind'], launcher: 'ec2' | 'sagemaker') =>
      reservedFor({ instanceType: 'g5.xlarge', nodes: 2 }, [plan({ kind })], {
        ...given,
        compute: { ...given.compute, launcher },
        launcher,
      })[0]?.problem;
    expect(problem('training-plan', 'sagemaker')).toContain('helper groups');
    expect(problem('capacity-reservation', 'ec2')).toBeUndefined();
  });

  it('hides no quota that refuses all others', () => {
    const attempts = refusals(1, { quota: true, message: 'Max spot instance count exceeded' });
    expect(whyWaits({ windows: between(0, 1.7) }, { attempts })).toMatch(
      /^quotas of the account refuse every pool that may be used; AWS says: Max spot/,
    );
  });

  it('that leaves no time for the rest is left out', () => {
    const limits = { ...question().limits, deadlineHours: 7.3 };
    expect(chosen({ windows: between(0, 4) }, { limits }).pool.purchaseOption).toBe('on-demand');
    expect(verdictOf({ windows: between(0, 4) }, { limits })).toContain(
      'too slow to leave time for the rest',
    );
    expect(chosen({}, { limits }).pool.purchaseOption).toBe('reserved');
  });
});

describe('a reservation that begins later', () => {
  it('is waited for where it does all the work', () => {
    const decision = decided({ state: 'Scheduled', windows: between(1.5, 24) });
    expect(decision).toMatchObject({ kind: 'wait', seconds: 1_800 });
    expect(decision.kind !== 'launch' && decision.reason).toMatch(
      /^training plan team-a begins in 0\.5 h and has been paid for, which saves \$\d+\.\d\d against g\d\.xlarge in use1-az\d/,
    );
  });

  it('is what the run waits for while all others refuse', () => {
    expect(whyWaits({ windows: between(10, 30) }, { attempts: refusals(1) })).toMatch(
      /^training plan team-a begins in 9\.0 h and has been paid for; retried/,
    );
  });

  it('is named beside the work that it is for', () => {
    expect(chosen({ windows: between(18, 22) }).reason).toMatch(
      /^6\.2 h of work left \(.*\), 3\.4 h of them for training plan team-a, /,
    );
  });

  it('is looked at again within an hour', () => {
    expect(decided({ windows: between(10, 30) })).toMatchObject({ kind: 'wait', seconds: 3_600 });
  });

  it('leaves what it cannot do to Spot', () => {
    const part = chosen({ windows: between(18, 22) });
    expect(part.pool.purchaseOption).toBe('spot');
    const whole = chosen({ windows: between(30, 40) });
    expect(part.considered[0]?.expectedCostUsd).toBeLessThan(
      0.7 * (whole.considered[0]?.expectedCostUsd ?? 0),
    );
    expect(part.considered.find(({ pool }) => pool.reservation)?.verdict).toContain('begins in 17.0 h');
  });

  it('is not waited for where an hour is dear', () => {
    const limits = { ...question().limits, valueOfTimeUsdPerHour: 10 };
    expect(chosen({ windows: between(10, 30) }, { limits }).pool.purchaseOption).not.toBe('reserved');
  });

  it('needs no budget', () => {
    const limits = { ...question().limits, budgetUsd: 0.5 };
    expect(decided({ windows: between(10, 30) }, { limits }).kind).toBe('wait');
    expect(decided({ windows: between(30, 40) }, { limits }).kind).toBe('giveUp');
  });

  it('is in the forecast of end and cost', () => {
    const decision = decide(reserving({ windows: between(3, 30) }), 'seed');
    const { seconds, usd } = (decision.kind !== 'giveUp' && decision.expected) || {};
    expect(seconds?.expected).toBeGreaterThan(8 * HOUR);
    expect(seconds?.high).toBeLessThan(11 * HOUR);
    expect(usd?.expected).toBeLessThan(0.1);
  });
});

it('hours of a reservation pay for the file systems', () => {
  const channel = { fsxLustre: 'fs-0123456789abcdef0', directory: '/abcd/images', storageGigabytes: 1_200 };
  const training = trainingSchema.parse({ strategy: 'ddp', channels: { images: channel } });
  const decision = decide(reserving({ windows: between(3, 30) }, { training }), 'seed');
  const { seconds, usd } = (decision.kind !== 'giveUp' && decision.expected) || {};
  const held = (of = 0) => (of / HOUR) * ((1_200 * 0.14) / 730);
  expect(usd?.low).toBeGreaterThan(0.99 * held(seconds?.low));
  expect(usd?.expected).toBeLessThan(held(seconds?.expected) + 0.1);
});

describe('a running attempt beside a reservation', () => {
  const RESERVED: Pool = { ...poolOf('g5.xlarge', 'use1-az1', 'reserved'), reservation: PLAN };
  const campaign = (
    change: Partial<Reservation>,
    pool: Pool = poolOf('g5.xlarge', 'use1-az2', 'on-demand'),
    more: Partial<PlacementInput> = {},
  ): RunningCampaign => ({
    attempt: { ...attempt(1, pool, { kind: 'completed' }), outcome: undefined },
    progress: { ...progress(20, 2 * HOUR), updatedAt: hoursLater(2) },
    trainingSince: new Date(hoursLater(0)),
    now: new Date(hoursLater(2)),
    question: reserving(change, { market: market({ scores: [], reservations: [plan(change)] }), ...more }),
  });
  const look = (...given: Parameters<typeof campaign>) => revise(campaign(...given));

  it('moves into it once it is idle', () => {
    expect(look({})).toMatchObject({ cause: 'reservation' });
    expect(look({})?.why).toMatch(/^is moved into training plan team-a, which is idle/);
    expect(look({}, poolOf('g5.xlarge', 'use1-az2'))?.why).toMatch(/^is moved into/);
    expect(look({ availableInstances: 0 })?.cause).not.toBe('reservation');
  });

  it('is not moved into one that refused the run', () => {
    const refused = attempt(1, RESERVED, { kind: 'capacity', endedAt: hoursLater(0.5) });
    expect(look({}, undefined, { attempts: [refused] })?.cause).not.toBe('reservation');
  });

  it('leaves it the rest that it can do', () => {
    expect(look({ windows: between(8, 24) })?.why).toMatch(
      /^leaves the rest to training plan team-a, which begins in 6\.0 h/,
    );
    expect(look({ windows: between(20, 24) })?.cause).not.toBe('reservation');
  });

  it('stays in it while it works', () => {
    expect(look({ availableInstances: 0 }, RESERVED)).toBeUndefined();
  });

  it('leaves it for its deadline where it is slower', () => {
    const at = (deadlineHours: number, ...instanceTypes: [string, ...string[]]) => {
      const change = { windows: between(0, 6), instanceType: instanceTypes[0] };
      const onDemandPrices = ['g4dn.xlarge', 'g5.xlarge', 'g6e.xlarge'].map((type) => onDemand(type, 1));
      return look(
        change,
        { ...RESERVED, instanceType: instanceTypes[0] },
        {
          compute: { ...question().compute, instanceTypes, reserved: [PLAN] },
          limits: { ...question().limits, deadlineHours },
          market: market({ scores: [], onDemandPrices, reservations: [plan(change)] }),
        },
      );
    };
    // 8 h of work are left, and the slack stays what it is.
    expect(at(10.15, 'g5.xlarge')).toBeUndefined();
    expect(at(8.55, 'g4dn.xlarge', 'g6e.xlarge')).toEqual({
      cause: 'deadline',
      why: expect.stringMatching(/^is slower than On-Demand would be: 8\.0 h of work are left/) as string,
    });
  });

  it('requests scores only where Spot is allowed', () => {
    const here = poolOf('g5.xlarge', 'use1-az2', 'on-demand');
    expect(mayMoveToSpot(campaign({ availableInstances: 0 }, here))).toBe(true);
    const compute = { ...question().compute, purchaseOption: 'on-demand' as const, reserved: [PLAN] };
    expect(mayMoveToSpot(campaign({ availableInstances: 0 }, here, { compute }))).toBe(false);
  });
});
