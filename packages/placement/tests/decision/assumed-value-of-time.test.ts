/** Where no value of time is declared, a small one holds: no run stands still for hours to save a cent. */
import { describe, expect, it } from 'vitest';
import { formatDecision } from '../../../../cli/show/decision-text.ts';
import {
  CLOSED_AT,
  launched,
  market,
  onDemand,
  question,
  spot,
} from '../../../../test/support/builders/placement.ts';
import { choosePlacement } from '../../decision/choose.ts';
import type { PlacementDecision } from '../../records/placement-records.ts';

const ZONE = 'use1-az1';
const { compute, limits } = question();

/** As seen on one machine: half an hour of work, 1.4 h of slack, score 1, and Spot that would save $0.008. */
const drought = (given: object = {}): PlacementDecision =>
  choosePlacement(
    question({
      compute: { ...compute, instanceTypes: ['m5.xlarge'], nodes: 1 },
      market: market({
        scores: [{ zoneId: ZONE, score: 1 }],
        spotPrices: [spot('m5.xlarge', ZONE, 0.03)],
        onDemandPrices: [onDemand('m5.xlarge', 0.23)],
        zones: [{ zoneId: ZONE, zoneName: 'us-east-1a' }],
      }),
      limits: { ...limits, deadlineHours: 2, ...given },
      expectedSeconds: 1_800,
      now: CLOSED_AT,
    }),
  );

describe('an assumed value of time', () => {
  it('takes On-Demand where Spot saves under a cent', () => {
    // With next to no value of time, the run asks for Spot at a chance of 5 % to save $0.0081.
    const patient = launched(drought({ valueOfTimeUsdPerHour: 0.0001 }));
    expect(patient.pool.purchaseOption).toBe('spot');
    expect(patient.considered[0]?.chanceNow).toBeLessThan(0.06);
    expect(launched(drought()).pool.purchaseOption).toBe('on-demand');
  });

  it('is stated with its source', () => {
    expect(launched(drought()).reason).toContain(
      'an hour sooner is assumed to be worth $0.01, which every expected cost holds (1 % of the cheapest On-Demand price, at least $0.01; tuning.limits.valueOfTimeUsdPerHour changes it)',
    );
    expect(launched(drought({ valueOfTimeUsdPerHour: 2 })).reason).toContain(
      'an hour sooner is worth $2.00, which every expected cost holds',
    );
  });

  it('grows with the price of the gang', () => {
    // Two nodes of g6.xlarge cost $2.25 an hour on demand.
    expect(launched(choosePlacement(question())).reason).toContain('assumed to be worth $0.02,');
  });

  it('keeps Spot where it saves more than a cent', () => {
    expect(launched(choosePlacement(question())).pool.purchaseOption).toBe('spot');
  });
});

describe('the table', () => {
  it('gives the wait for when there is no capacity', () => {
    const decision = drought();
    const [onDemandRow, spotRow] = launched(decision).considered;
    expect(onDemandRow).toMatchObject({ chanceNow: 1, expectedWaitSeconds: 0 });
    expect(spotRow?.chanceNow).toBeLessThan(0.1);
    const text = formatDecision(decision, CLOSED_AT);
    expect(text).toMatch(/there now +else in/);
    expect(text).toMatch(/on-demand +- +0\.230 +100 % +- /);
    expect(text).toMatch(/spot +1 +0\.038 +5 % +\d+\.\d h /);
  });
});
