/** A decision about 80 types in six zones of eight regions: its market alone is about as large as an item may be. */
import type { StoredDecision } from '@tidewheel/placement/records.ts';
import { AT } from './records.ts';

export const decisionWith = (prices: number): StoredDecision => ({
  kind: 'giveUp',
  reason: 'test',
  considered: [],
  question: {
    version: 1,
    closedAt: AT,
    now: AT,
    market: {
      region: 'us-east-1',
      scores: [],
      spotPrices: Array.from({ length: prices }, (_, k) => ({
        instanceType: `m${k % 90}.xlarge`,
        zoneId: `use1-az${k % 6}`,
        hourlyUsd: Math.sqrt(k + 1),
        basis: 'quoted',
      })),
      onDemandPrices: [],
      zones: [],
      notes: [],
    },
  },
});

export const LARGE_DECISION = decisionWith(80 * 6 * 8);
