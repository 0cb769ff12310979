/** Which further types an On-Demand request names, and when. */
import { describe, expect, it } from 'vitest';
import {
  attempt,
  hoursLater,
  launched,
  market,
  onDemand,
  poolOf,
  question,
  spot,
  ZONES,
} from '../../../../test/support/builders/placement.ts';
import { observationsOf } from '../../belief/attempt-observations.ts';
import { choosePlacement } from '../../decision/choose.ts';
import type { PlacementInput } from '../../decision/situation.ts';
import { asSelected, namedPools, type Placement } from '../../records/placement-records.ts';

const [HERE] = ZONES;
/** As fast as each other but for the last three: one is faster, one too slow, one has four accelerators. */
const PRICES = {
  'g5.xlarge': 1.4,
  'g5.2xlarge': 1.5,
  'g5.4xlarge': 1.6,
  'g5.8xlarge': 2,
  'g5.16xlarge': 4,
  'g6e.xlarge': 3.2,
  'g4dn.xlarge': 0.7,
  'g5.12xlarge': 9,
};
const base = question();
/** An hour of work is left on a g5.xlarge. */
const LATE = hoursLater(24 - 1.35);

const placed = (change: Partial<PlacementInput> = {}, compute: object = {}): Placement =>
  launched(
    choosePlacement(
      question({
        compute: {
          ...base.compute,
          instanceTypes: Object.keys(PRICES),
          nodes: 1,
          purchaseOption: 'on-demand',
          ...compute,
        },
        market: market({
          onDemandPrices: [...Object.entries(PRICES), ['c5.xlarge', 0.2] as const].map(([type, usd]) =>
            onDemand(type, usd),
          ),
          spotPrices: Object.entries(PRICES).map(([type, usd]) => spot(type, HERE, usd / 3)),
        }),
        expectedSeconds: 3_600,
        expectedOn: { instanceType: 'g5.xlarge', nodes: 1 },
        now: LATE,
        ...change,
      }),
    ),
  );
const alternatives = (change?: Partial<PlacementInput>, compute?: object) =>
  placed(change, compute).alternatives?.map(({ instanceType }) => instanceType) ?? [];

describe('when a wait for On-Demand would be late', () => {
  it('four types that end in time are named by cost', () => {
    const { pool, alternatives: named, reason, considered } = placed();
    expect(pool).toEqual(poolOf('g5.xlarge', HERE, 'on-demand'));
    expect(named).toEqual([
      { instanceType: 'g5.2xlarge', onDemandHourlyUsd: 1.5 },
      { instanceType: 'g5.4xlarge', onDemandHourlyUsd: 1.6 },
      { instanceType: 'g6e.xlarge', onDemandHourlyUsd: 3.2 },
      { instanceType: 'g5.8xlarge', onDemandHourlyUsd: 2 },
    ]);
    expect(reason).toContain('it takes g5.2xlarge, or g5.4xlarge, or g6e.xlarge, or g5.8xlarge');
    const rows = considered.slice(0, 5).map((row) => row.pool);
    expect(rows).toEqual(namedPools(placed()));
    expect(considered[4]?.verdict).toMatch(/^named in the same request/);
  });

  it('a learnt wait makes that moment earlier', () => {
    const now = hoursLater(24 - 2);
    expect(alternatives({ now })).toEqual([]);
    expect(alternatives({ now, onDemandWaits: Array.from({ length: 20 }, () => 3_000) })).toHaveLength(4);
  });

  it('Spot names one type', () => {
    const spotAlone = placed({}, { purchaseOption: 'spot' });
    expect(spotAlone.pool.purchaseOption).toBe('spot');
    expect(spotAlone.alternatives).toBeUndefined();
  });

  it('a type without quota is left out', () => {
    const refused = attempt(1, poolOf('g5.2xlarge', HERE, 'on-demand'), {
      kind: 'capacity',
      quota: true,
      endedAt: hoursLater(1),
    });
    const others = ['g5.4xlarge', 'g6e.xlarge', 'g5.8xlarge'];
    expect(alternatives({ attempts: [refused] })).toEqual(others);
  });

  it('a type that cools down is named all the same', () => {
    const starved = attempt(1, poolOf('g5.2xlarge', HERE, 'on-demand'), {
      kind: 'capacity',
      endedAt: LATE,
    });
    expect(alternatives({ attempts: [starved] })).toContain('g5.2xlarge');
  });

  it('the budget lasts for every type that is named', () => {
    const limits = { ...base.limits, budgetUsd: 2.2 };
    const { alternatives: named, maximumRunSeconds } = placed({ limits });
    expect(named?.map(({ instanceType }) => instanceType)).toEqual(['g5.2xlarge', 'g5.4xlarge']);
    expect(maximumRunSeconds).toBe(Math.floor((2.2 / 1.6) * 3_600));
  });

  it('a type much dearer than the chosen is left out', () => {
    const compute = { instanceTypes: ['g5.xlarge', 'g5.8xlarge', 'g5.16xlarge'] };
    expect(alternatives({}, compute)).toEqual(['g5.8xlarge']);
  });

  it('helper groups have no alternatives', () => {
    const helpers = [{ name: 'prepare', instanceType: 'c5.xlarge', nodes: 1 }];
    expect(alternatives({}, { helpers })).toEqual([]);
  });

  it('another number of accelerators is no alternative', () => {
    const compute = { instanceTypes: ['g5.xlarge', 'g5.2xlarge', 'g5.12xlarge'] };
    const { considered, alternatives: named } = placed({}, compute);
    expect(considered.map(({ pool }) => pool.instanceType)).toContain('g5.12xlarge');
    expect(named).toEqual([{ instanceType: 'g5.2xlarge', onDemandHourlyUsd: 1.5 }]);
  });
});

it('a refused request cools every type that it named', () => {
  const refused = (more: object) => {
    const pool = poolOf('g5.xlarge', HERE, 'on-demand');
    const of = attempt(1, pool, { kind: 'capacity', endedAt: LATE, ...more });
    const alternatives = [{ instanceType: 'g5.2xlarge', onDemandHourlyUsd: 1.5 }];
    return observationsOf([{ ...of, placement: { ...of.placement, alternatives } }]);
  };
  const typesOf = (more: object) => refused(more).map(({ instanceType }) => instanceType);
  expect(typesOf({})).toEqual(['g5.xlarge', 'g5.2xlarge']);
  expect(typesOf({ quota: true })).toEqual(['g5.xlarge']);
  expect(typesOf({ kind: 'interrupted', startedAt: LATE })).not.toContain('g5.2xlarge');
});

describe('the type that AWS selected', () => {
  it('takes pool and price of its alternative', () => {
    const placement = placed();
    expect(asSelected(placement, 'g5.4xlarge')).toEqual({
      ...placement,
      pool: poolOf('g5.4xlarge', HERE, 'on-demand'),
      onDemandHourlyUsd: 1.6,
      alternatives: undefined,
    });
    for (const type of [undefined, 'g5.xlarge', 'p5.48xlarge'])
      expect(asSelected(placement, type)).toBe(placement);
  });
});
