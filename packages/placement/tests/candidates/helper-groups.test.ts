/** Helper groups that a pipeline declares: what they cost, and beside what they run. */
import { describe, expect, it } from 'vitest';
import { launched, market, onDemand, question } from '../../../../test/support/builders/placement.ts';
import { choosePlacement } from '../../decision/choose.ts';
import type { PlacementInput } from '../../decision/situation.ts';
import type { Placement } from '../../records/placement-records.ts';

const place = (change: Partial<PlacementInput>) => launched(choosePlacement(question(change)));
const base = question();

it('exclude Spot unless the pipeline asks for it', () => {
  const helpers = [{ name: 'prepare', instanceType: 'c5.4xlarge', nodes: 1 }];
  const priced = market({ onDemandPrices: [...market().onDemandPrices, onDemand('c5.4xlarge', 0.8)] });
  const kept = place({ compute: { ...base.compute, helpers }, market: priced });
  expect(kept.pool.purchaseOption).toBe('on-demand');
  expect(kept.considered.some(({ verdict }) => verdict.includes('spotWithHelpers'))).toBe(true);
  const tried = { ...base.compute, helpers, spotWithHelpers: true };
  expect(place({ compute: tried, market: priced }).pool.purchaseOption).toBe('spot');
});

describe('helper groups', () => {
  const compute = {
    ...question().compute,
    purchaseOption: 'on-demand' as const,
    helpers: [{ name: 'load', instanceType: 'c5.4xlarge', nodes: 3 }],
  };
  const requested = {
    compute,
    market: market({ onDemandPrices: [...market().onDemandPrices, onDemand('c5.4xlarge', 1)] }),
  };
  const free = { compute: { ...compute, helpers: undefined } };

  it('are paid for in row and placement', () => {
    const ofG5 = ({ considered }: Placement) =>
      considered.find(({ pool }) => pool.instanceType === 'g5.xlarge');
    const without = ofG5(place(free));
    const placement = place(requested);
    const hours = 6 + 300 / 3_600;
    // An hour is assumed to be worth 1 % of what it costs.
    expect((ofG5(placement)?.expectedCostUsd ?? 0) - (without?.expectedCostUsd ?? 0)).toBeCloseTo(
      3 * hours * 1.01,
    );
    expect(placement).toMatchObject({
      helpersHourlyUsd: 3,
      reason: expect.stringContaining('$3.00 an hour'),
    });
  });

  it('are paid for from the budget', () => {
    const limits = { ...question().limits, budgetUsd: 20 };
    expect(place({ ...free, limits }).pool.purchaseOption).toBe('on-demand');
    expect(choosePlacement(question({ ...requested, limits }))).toMatchObject({
      kind: 'giveUp',
      reason: expect.stringContaining('budget'),
    });
  });
});

it('exclude every pool whose helpers have no known price', () => {
  const helpers = [{ name: 'load', instanceType: 'c5.4xlarge', nodes: 3 }];
  const decision = choosePlacement(question({ compute: { ...base.compute, helpers } }));
  expect(decision).toMatchObject({ kind: 'giveUp' });
  const rows = decision.kind === 'giveUp' ? decision.considered : [];
  expect(rows.every(({ verdict }) => verdict.includes('no price of c5.4xlarge in us-east-1'))).toBe(true);
});
