/** The bytes that each start downloads, in costs, slack and deadlines. */

import { describe, expect, it } from 'vitest';
import {
  attempt,
  CLOSED_AT,
  hoursLater,
  launched,
  market,
  onDemand,
  poolOf,
  progress,
  question,
  spot,
  vpc,
  ZONES,
} from '../../../../test/support/builders/placement.ts';
import { choosePlacement } from '../../decision/choose.ts';
import { secondsUntilUnsafe } from '../../decision/rules.ts';
import { type PlacementInput, situationOf, storedPart } from '../../decision/situation.ts';
import type { AttemptOutcome } from '../../records/attempts.ts';
import type { Pool } from '../../records/placement-records.ts';

const HOUR = 3_600;
/** Two generations, which SageMaker downloads whole. */
const dataset = (gigabytes: number) => ({ generations: 2, shards: 4_000, bytes: gigabytes * 1e9 });
const limits = { deadlineHours: 24, maximumRunSeconds: 86_400, attempts: 50 };
/** g5.xlarge: 2.5 Gbit/s, so 156 MB/s are expected, and 250 GB of NVMe. */
const pool: Pool = poolOf('g5.xlarge', ZONES[0]);
const asked = (gigabytes: number, change: Partial<PlacementInput> = {}) =>
  question({
    compute: { ...question().compute, instanceTypes: ['g5.xlarge'] },
    dataset: dataset(gigabytes),
    now: CLOSED_AT,
    ...change,
  });
const restartOf = (input: PlacementInput) => situationOf(input).work.restartSeconds;
const chosen = (input: PlacementInput) => launched(choosePlacement(input));

describe('a start', () => {
  it('takes as long as its download longer', () => {
    expect(restartOf(asked(0))).toBe(300);
    expect(restartOf(asked(100))).toBeCloseTo(300 + 640);
  });

  it('downloads its share of divided shards', () => {
    const training = { ...question().training, distribution: 'ShardedByS3Key' as const };
    expect(restartOf(asked(100, { training }))).toBeCloseTo(300 + 320);
  });

  it('downloads nothing that is streamed', () => {
    const training = { ...question().training, inputMode: 'FastFile' as const };
    expect(restartOf(asked(100, { training }))).toBe(300);
  });

  it('keeps its measured length', () => {
    // Of an hour 1,000 s brought no progress: 360 s beside the download of 640 s.
    const saved = progress(50, HOUR - 1_000);
    const lost = attempt(1, pool, { kind: 'interrupted', trainingSeconds: HOUR }, { progressAfter: saved });
    const input = asked(100, { attempts: [lost], progress: saved });
    expect(restartOf(input)).toBeCloseTo(1_000);
    expect(restartOf({ ...input, dataset: dataset(50) })).toBeCloseTo(1_000);
  });
});

describe('starts that are lost in their download', () => {
  const lostAfter = (seconds: number, outcome: Partial<AttemptOutcome> = {}) =>
    attempt(1, pool, {
      kind: 'interrupted',
      startedAt: CLOSED_AT,
      trainingSeconds: seconds,
      endedBeforeScript: true,
      ...outcome,
    });

  it('are at least as long as they lived', () => {
    expect(restartOf(asked(100, { attempts: [lostAfter(1_880)] }))).toBeCloseTo(1_880);
    expect(restartOf(asked(100, { attempts: [lostAfter(500)] }))).toBeCloseTo(940);
    expect(restartOf(asked(0, { attempts: [lostAfter(1_200)] }))).toBeCloseTo(1_200);
  });

  it('say nothing where the platform failed', () => {
    const attempts = [lostAfter(1_880, { kind: 'serviceError', fault: 'storage' })];
    expect(restartOf(asked(100, { attempts }))).toBeCloseTo(940);
  });

  it('are corrected by a start that reached its script', () => {
    const started = attempt(2, pool, {
      kind: 'interrupted',
      startedAt: CLOSED_AT,
      scriptStartedAt: hoursLater(470 / HOUR),
      trainingSeconds: 1_000,
    });
    // Half of the expected 940 s: the download took half as long, the rest is not known better.
    expect(restartOf(asked(100, { attempts: [lostAfter(1_880), started] }))).toBeCloseTo(300 + 320);
  });
});

describe('a deadline', () => {
  it('has room for a start with its download', () => {
    const slack = (gigabytes: number) => secondsUntilUnsafe(situationOf(asked(gigabytes)));
    // On-Demand's start and the one that a loss of Spot costs.
    expect(slack(0) - slack(100)).toBeCloseTo(2 * 640);
  });

  it('calls for On-Demand before a download is lost', () => {
    const now = hoursLater(24 - 6 - 0.8);
    expect(chosen(asked(0, { now })).pool.purchaseOption).toBe('spot');
    const late = chosen(asked(200, { now }));
    expect(late.pool.purchaseOption).toBe('on-demand');
    expect(late.considered.find((row) => row.pool.purchaseOption === 'spot')?.verdict).toContain(
      'most of it to download shards',
    );
  });

  it('is not tried where no download ends before it', () => {
    // 10 Gbit/s at best.
    const decision = choosePlacement(asked(200, { limits, now: hoursLater(23.96) }));
    expect(decision).toMatchObject({
      kind: 'giveUp',
      reason: expect.stringMatching(
        /200 GB of shards take a host at least 3 min to download, and 3 min are left until the deadline.*ShardedByS3Key/,
      ),
    });
    expect(choosePlacement(asked(200, { limits, now: hoursLater(23.9) })).kind).toBe('launch');
  });

  it('that has passed is not blamed on shards', () => {
    const decision = choosePlacement(asked(0, { limits, now: hoursLater(25) }));
    expect(decision).toMatchObject({ kind: 'giveUp', reason: 'the deadline of 24 h has passed' });
    expect(JSON.stringify(decision)).not.toContain('of shards');
  });

  it('yields to a tighter limit of an attempt', () => {
    const decision = choosePlacement(asked(200, { limits: { ...limits, maximumRunSeconds: 120 } }));
    expect(decision).toMatchObject({
      kind: 'giveUp',
      reason: expect.stringContaining('2 min is the limit of an attempt (limits.maximumRunSeconds)'),
    });
  });
});

describe('pools', () => {
  const types = ['g5.xlarge', 'g5.48xlarge'];
  const prices = { 'g5.xlarge': 1.25, 'g5.48xlarge': 20 };
  const both = (gigabytes: number) =>
    asked(gigabytes, {
      compute: { ...question().compute, instanceTypes: types, vpc },
      market: market({
        onDemandPrices: types.map((type) => onDemand(type, prices[type as keyof typeof prices])),
        spotPrices: types.flatMap((type) =>
          ZONES.map((zone) => spot(type, zone, prices[type as keyof typeof prices] * 0.3)),
        ),
      }),
    });

  it('whose disks are too small are left out', () => {
    const { considered, pool: at } = chosen(both(1_000));
    expect(at.instanceType).toBe('g5.48xlarge');
    expect(considered.find(({ pool: { instanceType } }) => instanceType === 'g5.xlarge')?.verdict).toMatch(
      /^left out: .* do not fit a host's disk/,
    );
  });

  it('tell how long each start downloads', () => {
    const { considered, reason } = chosen(asked(100));
    expect(considered[0]?.verdict).toContain('each start downloads 100 GB, about 11 min');
    expect(reason).toContain('each start downloads 100 GB, about 11 min');
    expect(chosen(asked(1)).reason).not.toContain('downloads');
  });

  it('tell that shards are streamed', () => {
    const training = { ...question().training, inputMode: 'FastFile' as const };
    const { considered } = chosen(asked(100, { training }));
    expect(considered[0]?.verdict).toContain('no start downloads: its shards are streamed');
    expect(chosen(asked(0, { training })).reason).not.toContain('streamed');
  });
});

it('a stored decision keeps the size of its dataset', () => {
  expect(storedPart(asked(100)).dataset).toEqual(dataset(100));
  expect(storedPart(question())).not.toHaveProperty('dataset');
});
