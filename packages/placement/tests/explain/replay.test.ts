import { pipelineSchema } from '@tidewheel/declaration/pipeline.ts';
import { UnreadableRecordError } from '@tidewheel/kit/errors.ts';
import { describe, expect, it } from 'vitest';
import { formatDecision } from '../../../../cli/show/decision-text.ts';
import type { RunRecord } from '../../../../functions/records/run-records.ts';
import {
  attempt,
  CLOSED_AT,
  hoursLater,
  market,
  progress,
  question,
  ZONES,
} from '../../../../test/support/builders/placement.ts';
import { choosePlacement } from '../../decision/choose.ts';
import { type PlacementInput, storedPart } from '../../decision/situation.ts';
import { questionOf, whyUnreadable } from '../../explain/stored-decision.ts';
import { decideIf } from '../../explain/what-if.ts';
import type { PlacementDecision, StoredDecision } from '../../records/placement-records.ts';

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
const decide = (requested: PlacementInput): StoredDecision => ({
  ...choosePlacement(requested),
  question: storedPart(requested),
});
const decided = decide(input);
const wait = { kind: 'wait', seconds: 60, reason: 'all had capacity errors', considered: [] } as const;
const poolOf = (decision: PlacementDecision | undefined) =>
  decision?.kind === 'launch' ? decision.placement.pool : decision?.kind;

describe('a zone that was not offered', () => {
  it('is not offered in a what-if either', () => {
    const left = market({ spotPrices: market().spotPrices.filter(({ zoneId }) => zoneId !== 'use1-az4') });
    const decision = decide({ ...input, market: left, expectedSeconds: 7_200 });
    const requested = questionOf({ run, attempts: [first], attempt: 2, decision });
    if (!requested) throw new Error('no question');
    expect(requested.expectedSeconds).toBe(7_200);
    const other = decideIf(requested, { deadlineHours: 48 }, 'seed');
    if (other.kind !== 'launch') throw new Error('nothing launched');
    const weighed = other.placement.considered.filter(({ hourlyUsd }) => hourlyUsd > 0);
    expect(weighed.length).toBeGreaterThan(0);
    expect(weighed.filter(({ pool }) => pool.zoneId === 'use1-az4')).toEqual([]);
  });
});

describe('a stored decision', () => {
  const replayed = questionOf({ run, attempts: [first], attempt: 2, decision: decided });

  it('is decided the same again from its question', () => {
    const again = replayed && choosePlacement(replayed);
    expect(poolOf(again)).toEqual(poolOf(decided));
    const costs = (decision: PlacementDecision | undefined) =>
      decision?.kind === 'launch' ? decision.placement.considered.map((row) => row.expectedCostUsd) : [];
    expect(costs(again)).toEqual(costs(decided));
  });

  it('answers what-ifs of Spot, deadline and zones', () => {
    if (!replayed) throw new Error('no question');
    expect(poolOf(decideIf(replayed, { purchaseOption: 'on-demand' }, 'seed'))).toMatchObject({
      purchaseOption: 'on-demand',
    });
    expect(poolOf(decideIf(replayed, { deadlineHours: 6 }, 'seed'))).toMatchObject({
      purchaseOption: 'on-demand',
    });
    expect(poolOf(decideIf(replayed, { zoneIds: ['use1-az2'] }, 'seed'))).toMatchObject({
      zoneId: 'use1-az2',
    });
    expect(poolOf(decideIf(replayed, { instanceTypes: ['g5.xlarge'] }, 'seed'))).toMatchObject({
      instanceType: 'g5.xlarge',
    });
    expect(poolOf(decideIf(replayed, { budgetUsd: 0.5 }, 'seed'))).toBe('giveUp');
  });

  it("shows each pool's cost when giving up", () => {
    if (!replayed) throw new Error('no question');
    const text = formatDecision(decideIf(replayed, { budgetUsd: 0.01 }, 'seed'), replayed.now);
    expect(text).toContain('the budget of $0.01 does not last');
    expect(text.split('\n').find((line) => line.includes('use1-az1 spot'))).toMatch(
      / \$\d+\.\d\d +\d+\.\d h /,
    );
  });

  it.each([
    [{}, /^decision kind: is missing, give one of launch, .*; its item in the table is damaged$/],
    [{ kind: 'launch' }, /^decision placement: /],
    [
      { kind: 'giveUp', reason: '', considered: [{ pool: {} }] },
      /^decision considered\[0\]\.pool\.instanceType: /,
    ],
    [
      { ...wait, question: { version: 1, now: 'then' } },
      /^question market: .*; its item in the table is damaged$/,
    ],
    [wait, /has no version, and release [\d.]+ reads version 1: use the release/],
    [{ ...wait, question: { version: 2 } }, /has version 2, and release [\d.]+ reads version 1/],
  ])('is refused with the reason: %j', (stored, why) => {
    const decision: StoredDecision = JSON.parse(JSON.stringify(stored));
    expect(whyUnreadable(decision)).toMatch(why);
  });

  it('is readable as stored', () => {
    for (const each of [decided, { ...wait, question: storedPart(input) }]) {
      const copy: StoredDecision = JSON.parse(JSON.stringify(each));
      expect(whyUnreadable(copy)).toBeUndefined();
    }
  });

  it('tells costs below a cent apart', () => {
    if (decided.kind !== 'launch') throw new Error('nothing launched');
    const costs = [0.0019, 0.0015];
    const considered = decided.placement.considered.flatMap((row, k) => {
      const expectedCostUsd = costs[k];
      return expectedCostUsd === undefined ? [] : [{ ...row, expectedCostUsd }];
    });
    const text = formatDecision({ ...wait, considered }, input.now);
    expect(text).toMatch(/ \$0\.0019 /);
    expect(text).toMatch(/ \$0\.0015 /);
  });

  it('is shown with its forecast', () => {
    if (!replayed) throw new Error('no question');
    const shown = (change: Parameters<typeof decideIf>[1]) =>
      formatDecision(decideIf(replayed, change, 'seed'), replayed.now).split('\n')[2] ?? '';
    expect(shown({})).toMatch(/^expected: done by 2026-11-2\d \d\d:\d\d \(nine times in ten .*\$/);
    expect(shown({ purchaseOption: 'on-demand' })).not.toBe(shown({}));
  });

  it('is shown with a line for each pool', () => {
    const text = formatDecision(decided, input.now);
    expect(text.split('\n').filter((line) => line.includes('.xlarge use1-az'))).toHaveLength(12);
    expect(text).toContain('chosen');
    expect(formatDecision(wait, input.now)).toContain('wait 60 s');
  });

  it.each([undefined, null, {}, { version: 2 }, 'text'])(
    'is refused with a remedy for question %j',
    (question) => {
      const ask = () =>
        questionOf({ run, attempts: [first], attempt: 2, decision: { ...decided, question } });
      expect(ask).toThrow(UnreadableRecordError);
      expect(ask).toThrow(/ has (no version|version 2), and release [\d.]+ reads version 1: use the release/);
    },
  );
});
