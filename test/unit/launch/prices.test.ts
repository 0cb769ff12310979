import { describe, expect, it } from 'vitest';
import { ec2OnDemandUsd, trainingPrice } from '../../../functions/core/catalog/catalog.ts';
import { priced } from '../../../functions/core/launch/job/prices.ts';
import { attemptCost } from '../../../functions/core/runs/attempt-cost.ts';
import { attemptOf, outcomeOf, placementOf } from '../../support/builders/records.ts';

const helpers = [
  { name: 'prepare', instanceType: 'c5.2xlarge', nodes: 3 },
  { name: 'more', instanceType: 'c5.xlarge', nodes: 1 },
];

describe('an attempt with helper groups', () => {
  it('costs what all of its groups cost', () => {
    const placement = priced(placementOf(), { helpers }, 'us-east-1');
    const usd = (type: string) => trainingPrice(type, 'us-east-1')?.hourlyUsd ?? Number.NaN;
    const attempt = attemptOf('digits-000001', 1, {
      placement,
      outcome: outcomeOf('completed', { billableSeconds: 3_600 }),
    });
    expect(attemptCost(attempt)).toBeCloseTo(2 * 1.5 + 3 * usd('c5.2xlarge') + usd('c5.xlarge'), 9);
  });
});

describe('an attempt on EC2', () => {
  it('costs what EC2 asks, and its Spot price keeps its share of that', () => {
    const onSageMaker = placementOf({
      onDemandHourlyUsd: trainingPrice('g5.xlarge', 'us-east-1')?.hourlyUsd ?? 0,
    });
    const placement = priced(onSageMaker, { launcher: 'ec2' }, 'us-east-1');
    expect(placement.onDemandHourlyUsd).toBeCloseTo(ec2OnDemandUsd('g5.xlarge', 'us-east-1') ?? 0, 9);
    const share = (each: typeof placement) => (each.considered[0]?.hourlyUsd ?? 0) / each.onDemandHourlyUsd;
    expect(share(placement)).toBeCloseTo(share(onSageMaker), 9);
  });

  it('keeps the figures of a type whose price nobody knows', () => {
    const unknown = placementOf({ pool: { instanceType: 'h9.xlarge', purchaseOption: 'spot' } });
    expect(priced(unknown, { launcher: 'ec2' }, 'us-east-1').onDemandHourlyUsd).toBe(1.5);
  });
});

it('leaves any other attempt as it was placed', () => {
  expect(priced(placementOf(), {}, 'us-east-1')).toEqual(placementOf());
});
