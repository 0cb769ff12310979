import { trainingPrice } from '@tidewheel/catalog/catalog.ts';
import { choosePlacement } from '@tidewheel/placement/choose.ts';
import { attemptCost } from '@tidewheel/placement/records.ts';
import { describe, expect, it } from 'vitest';
import { market, onDemand, question } from '../../support/builders/placement.ts';
import { attemptOf, outcomeOf, placementOf } from '../../support/builders/records.ts';

const HOUR = outcomeOf('completed', { billableSeconds: 3_600 });
const helpers = [
  { name: 'prepare', instanceType: 'c5.2xlarge', nodes: 3 },
  { name: 'more', instanceType: 'c5.xlarge', nodes: 1 },
];
const usd = (type: string) => trainingPrice(type, 'us-east-1')?.hourlyUsd ?? Number.NaN;

describe('the cost of an attempt', () => {
  it('counts every node and every helper group', () => {
    const given = question();
    const prices = helpers.map(({ instanceType }) => onDemand(instanceType, usd(instanceType)));
    const decision = choosePlacement({
      ...given,
      compute: { ...given.compute, purchaseOption: 'on-demand', instanceTypes: ['g5.xlarge'], helpers },
      market: market({ onDemandPrices: [onDemand('g5.xlarge', 1.5), ...prices] }),
    });
    if (decision.kind !== 'launch') throw new Error(decision.reason);
    const attempt = attemptOf('digits-000001', 1, { placement: decision.placement, outcome: HOUR });
    expect(attemptCost(attempt)).toBeCloseTo(2 * 1.5 + 3 * usd('c5.2xlarge') + usd('c5.xlarge'), 9);
  });

  it('counts the data that moved to another region', () => {
    const transfer = { gigabytes: 10, usd: 0.2, seconds: 60, priceNote: 'test price' };
    const attempt = attemptOf('digits-000001', 1, { placement: placementOf({ transfer }), outcome: HOUR });
    expect(attemptCost(attempt)).toBeCloseTo(2 * 1.5 + 0.2, 9);
  });
});
