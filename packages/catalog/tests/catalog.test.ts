import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  catalogTypes,
  ec2OnDemandUsd,
  ec2SpotUsd,
  instanceFacts,
  interchangeableTypes,
  offeredZoneIds,
  scoredFamily,
  trainingPrice,
} from '../facts/catalog.ts';

describe('the catalog', () => {
  it('knows hardware and returns undefined for unknown types', () => {
    expect(instanceFacts('p4d.24xlarge')).toMatchObject({
      vcpu: 96,
      accelerator: 'A100',
      acceleratorCount: 8,
      networkBaselineGbps: 400,
      efa: true,
    });
    expect(instanceFacts('x9.large')).toBeUndefined();
    expect(trainingPrice('x9.large', 'us-east-1')).toBeUndefined();
    expect(ec2SpotUsd('g5.xlarge', 'us-east-1', 'nowhere')).toBeUndefined();
    expect(offeredZoneIds('g5.xlarge', 'mars-1')).toBeUndefined();
  });

  it('has a US East price for every type', () => {
    for (const type of catalogTypes()) expect(ec2OnDemandUsd(type, 'us-east-1')).toBeGreaterThan(0);
  });

  it('says how a training price is known', () => {
    expect(trainingPrice('g5.xlarge', 'us-east-1')).toMatchObject({ basis: 'listed' });
    expect(trainingPrice('c6i.8xlarge', 'us-east-1')).toMatchObject({
      basis: 'estimated',
      hourlyUsd: (ec2OnDemandUsd('c6i.8xlarge', 'us-east-1') ?? 0) * 1.2,
    });
  });

  it('derives training prices near the listed ones', () => {
    for (const type of catalogTypes()) {
      const listed = trainingPrice(type, 'us-east-1');
      const ec2 = ec2OnDemandUsd(type, 'us-east-1');
      if (listed?.basis !== 'listed' || ec2 === undefined) continue;
      expect(listed.hourlyUsd / ec2).toBeGreaterThan(1.1);
      expect(listed.hourlyUsd / ec2).toBeLessThan(1.45);
    }
  });

  it('fills a family with types for its job size', () => {
    const others = interchangeableTypes(['g5.xlarge']);
    expect(others.length).toBeGreaterThanOrEqual(2);
    for (const type of others) {
      expect(instanceFacts(type)?.acceleratorMemoryMib).toBeGreaterThanOrEqual(
        instanceFacts('g5.xlarge')?.acceleratorMemoryMib ?? Number.POSITIVE_INFINITY,
      );
    }
    expect(
      interchangeableTypes(['c5.xlarge']).every((type) => instanceFacts(type)?.acceleratorCount === 0),
    ).toBe(true);
    expect(interchangeableTypes(['x9.large'])).toEqual([]);
  });

  it('fills a family alike for either order', () => {
    const family = ['g5.12xlarge', 'g5.xlarge', 'g6.xlarge'];
    expect(scoredFamily(['g6.xlarge', 'g5.12xlarge'])).toEqual(family);
    expect(scoredFamily(['g5.12xlarge', 'g6.xlarge'])).toEqual(family);
    const types = fc.uniqueArray(fc.constantFrom(...catalogTypes()), { minLength: 2, maxLength: 2 });
    fc.assert(
      fc.property(types, (some) => {
        const orders = [some, some.toReversed()];
        const isFilled = orders.some((each) => interchangeableTypes(each).length > 0);
        expect(scoredFamily(some)?.length).toBe(isFilled ? 3 : undefined);
        expect(scoredFamily(some.toReversed())).toEqual(scoredFamily(some));
      }),
    );
  });
});
