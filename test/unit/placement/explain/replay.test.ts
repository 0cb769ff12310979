import { describe, expect, it } from 'vitest';
import { pipelineSchema } from '../../../../functions/core/pipeline/pipeline.ts';
import { choosePlacement } from '../../../../functions/core/placement/decision/choose.ts';
import { storedPart } from '../../../../functions/core/placement/decision/situation.ts';
import { formatDecision } from '../../../../functions/core/placement/explain/format-decision.ts';
import { questionOf } from '../../../../functions/core/placement/explain/replay.ts';
import { damageIn } from '../../../../functions/core/placement/explain/stored-decision.ts';
import { decideIf } from '../../../../functions/core/placement/explain/what-if.ts';
import type { PlacementDecision, RunRecord } from '../../../../functions/core/runs/run-records.ts';
import {
  attempt,
  CLOSED_AT,
  hoursLater,
  market,
  progress,
  question,
  ZONES,
} from '../../../support/builders/placement.ts';

const base = question();
const first = attempt(
  1,
  { instanceType: 'g6.xlarge', zoneId: 'use1-az1', launcher: 'sagemaker', purchaseOption: 'spot' },
  { kind: 'interrupted', startedAt: hoursLater(1), endedAt: hoursLater(3), trainingSeconds: 7_200 },
  { progressAfter: progress(40, 6_900) },
);
const input = {
  ...base,
  expectedSeconds: undefined,
  attempts: [first],
  progress: progress(40, 6_900),
  now: hoursLater(3.1),
  market: market({ scores: ZONES.map((zoneId, k) => ({ zoneId, score: 4 + k })) }),
};
const run: RunRecord = {
  runId: 'digits-000001',
  pipeline: 'digits',
  batch: 1,
  status: 'training',
  trigger: 'arrival',
  execution: 1,
  createdAt: CLOSED_AT,
  updatedAt: hoursLater(4),
  closedAt: CLOSED_AT,
  declaration: pipelineSchema.parse({
    name: 'digits',
    training: { strategy: 'ddp' },
    compute: base.compute,
    limits: base.limits,
  }),
};
const decided = choosePlacement(input);
const poolOf = (decision: PlacementDecision | undefined) =>
  decision?.kind === 'launch' ? decision.placement.pool : decision?.kind;

describe('a zone that was not offered', () => {
  it('is not offered in a what-if either', () => {
    const left = market({ spotPrices: market().spotPrices.filter(({ zoneId }) => zoneId !== 'use1-az4') });
    const decision = choosePlacement({ ...input, market: left, expectedSeconds: 7_200 });
    const asked = questionOf({ run, attempts: [first], attempt: 2, decision });
    if (!asked) throw new Error('no question');
    expect(asked.expectedSeconds).toBe(7_200);
    const other = decideIf(asked, { deadlineHours: 48 });
    if (other.kind !== 'launch') throw new Error('nothing launched');
    const weighed = other.placement.considered.filter(({ hourlyUsd }) => hourlyUsd > 0);
    expect(weighed.length).toBeGreaterThan(0);
    expect(weighed.filter(({ pool }) => pool.zoneId === 'use1-az4')).toEqual([]);
  });
});

describe('a stored decision', () => {
  const replayed = questionOf({ run, attempts: [first], attempt: 2, decision: decided });

  it('is decided the same again from its own table', () => {
    const again = replayed && choosePlacement(replayed);
    expect(poolOf(again)).toEqual(poolOf(decided));
    const costs = (decision: PlacementDecision | undefined) =>
      decision?.kind === 'launch' ? decision.placement.considered.map((row) => row.expectedCostUsd) : [];
    const before = costs(decided);
    for (const [k, cost] of costs(again).entries()) expect(cost).toBeCloseTo(before[k] ?? 0, 6);
  });

  it('answers what-ifs of Spot, deadline and zones', () => {
    if (!replayed) throw new Error('no question');
    expect(poolOf(decideIf(replayed, { purchaseOption: 'on-demand' }))).toMatchObject({
      purchaseOption: 'on-demand',
    });
    expect(poolOf(decideIf(replayed, { deadlineHours: 6 }))).toMatchObject({ purchaseOption: 'on-demand' });
    expect(poolOf(decideIf(replayed, { zoneIds: ['use1-az2'] }))).toMatchObject({ zoneId: 'use1-az2' });
    expect(poolOf(decideIf(replayed, { instanceTypes: ['g5.xlarge'] }))).toMatchObject({
      instanceType: 'g5.xlarge',
    });
    expect(poolOf(decideIf(replayed, { budgetUsd: 0.5 }))).toBe('giveUp');
  });

  it("shows each pool's end when giving up", () => {
    if (!replayed) throw new Error('no question');
    const text = formatDecision(decideIf(replayed, { budgetUsd: 0.01 }));
    expect(text).toContain('the budget of $0.01 does not last');
    expect(text.split('\n').find((line) => line.includes('use1-az1 spot'))).toMatch(
      / 2026-11-2\d \d\d:\d\d /,
    );
  });

  it('is damaged when a field is missing', () => {
    const kept = { ...decided, question: storedPart(input) };
    const copy = (): unknown => JSON.parse(JSON.stringify(kept));
    expect(damageIn(copy())).toBeUndefined();
    expect(damageIn(JSON.parse(JSON.stringify(decided)))).toBeUndefined();
    expect(damageIn({ kind: 'wait', seconds: 60, reason: 'all refused', considered: [] })).toBeUndefined();
    expect(damageIn(undefined)).toMatch(/^decision: /);
    expect(damageIn({ kind: 'launch' })).toMatch(/^placement: /);
    expect(damageIn(Object.assign(copy() as object, { question: { now: 'then' } }))).toMatch(
      /^question\.market: /,
    );
    expect(damageIn({ kind: 'giveUp', reason: '', considered: [{ pool: {} }] })).toMatch(
      /^considered\[0\]\.pool\.instanceType: /,
    );
  });

  it('tells costs below a cent apart', () => {
    if (decided.kind !== 'launch') throw new Error('nothing launched');
    const costs = [0.0019, 0.0015];
    const considered = decided.placement.considered.flatMap((row, k) => {
      const expectedCostUsd = costs[k];
      return expectedCostUsd === undefined ? [] : [{ ...row, expectedCostUsd }];
    });
    const text = formatDecision({ kind: 'wait', seconds: 60, reason: 'all refused', considered });
    expect(text).toMatch(/ \$0\.0019 /);
    expect(text).toMatch(/ \$0\.0015 /);
  });

  it('is shown with a line for each pool', () => {
    const text = formatDecision(decided);
    expect(text.split('\n').filter((line) => line.includes('.xlarge use1-az'))).toHaveLength(12);
    expect(text).toContain('chosen');
    expect(formatDecision({ kind: 'wait', seconds: 60, reason: 'all refused', considered: [] })).toContain(
      'wait 60 s',
    );
  });
});
