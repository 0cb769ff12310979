/** A look at a running attempt: which scores it goes by, and what it costs in questions. */

import { instanceFacts } from '@tidewheel/catalog/catalog.ts';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { type PlacementInput, storedPart } from '@tidewheel/placement/choose.ts';
import { type MarketSource, QUESTIONS_A_DAY, questionKey } from '@tidewheel/placement/market.ts';
import type { Pool } from '@tidewheel/placement/records.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import type { TrainingJobDescription } from '../../../../functions/launch/job/training-service.ts';
import { reviseAttempt } from '../../../../functions/run/attempts/revise-attempt.ts';
import { market, question, spot, vpc } from '../../../support/builders/placement.ts';
import {
  AT,
  attemptOf,
  declarationOf,
  placementOf,
  progressOf,
  runOf,
  secondsAfter,
} from '../../../support/builders/records.ts';
import { type Ground, ground } from '../../../support/world/ground.ts';

const RUN = 'digits-000001';
const HOUR = 3_600;
const TYPES = ['g6.xlarge'];
const KEY = questionKey(TYPES, 2);
const ON_DEMAND: Pool = {
  instanceType: 'g6.xlarge',
  zoneId: 'use1-az1',
  launcher: 'sagemaker',
  purchaseOption: 'on-demand',
};
const ZONES = ['use1-az1', 'use1-az2', 'use1-az4'];

let at: Ground;
let requested: string[];

/** A market that says the same score of every zone. */
const saying = (score: number): Pick<MarketSource, 'region' | 'scores'> => ({
  region: 'us-east-1',
  scores: (types, nodes) => {
    requested.push(questionKey(types, nodes));
    const value = ZONES.map((zoneId) => ({ zoneId, score }));
    return Promise.resolve({ kind: 'known', value, notes: [] });
  },
});

/** Placed when Spot was gone, two hours ago; a fifth is done. */
async function prepare(
  pool: Pool,
  deadlineHours = 24,
  change: Partial<PlacementInput> = {},
  shape: object = { instanceTypes: TYPES, nodes: 2 },
): Promise<void> {
  const declaration = declarationOf('digits', { compute: { ...shape, vpc }, limits: { deadlineHours } });
  const { compute } = declaration;
  await at.runs.create(runOf('digits', 1, { declaration, closedAt: AT }));
  const scores = ZONES.map((zoneId) => ({ zoneId, score: 1, nodes: 2 }));
  const stored = question({ compute, market: market({ scores }), closedAt: AT, now: AT, ...change });
  const placement = placementOf({ pool, considered: [] });
  await at.placements.put(RUN, 1, { kind: 'launch', placement, question: storedPart(stored) });
  await at.attempts.create(attemptOf(RUN, 1, { placement }));
  at.clock.advance(2 * HOUR);
  const progress = progressOf(20, { trainingSeconds: 2 * HOUR, updatedAt: secondsAfter(2 * HOUR) });
  at.store.put(bucketKeys.progress('digits', RUN), JSON.stringify(progress));
  at.store.put(`${bucketKeys.checkpoints('digits', RUN)}step-20/COMPLETE.json`, '{}');
}

async function look(score: number): Promise<'recalled' | 'left'> {
  const attempt = await at.attempts.get(RUN, 1);
  if (attempt === undefined) throw new Error('no attempt');
  const began = new Date(AT);
  const job: TrainingJobDescription = {
    TrainingJobName: attempt.jobName,
    TrainingJobStatus: 'InProgress',
    SecondaryStatus: 'Training',
    CreationTime: began,
    TrainingStartTime: began,
    SecondaryStatusTransitions: [{ Status: 'Training', StartTime: began }],
  };
  return reviseAttempt({ ...at, market: saying(score) }, attempt, job);
}

const sampled = (score: number) =>
  Promise.all(
    ZONES.map((zoneId) =>
      at.marketSamples.put({
        family: 'g6',
        zoneId,
        at: secondsAfter(2 * HOUR - 600),
        readAt: secondsAfter(2 * HOUR - 600),
        scores: { [KEY]: score },
        spotUsd: {},
        onDemandUsd: {},
      }),
    ),
  );

beforeEach(() => {
  at = ground();
  requested = [];
});

describe('a look at a run on demand', () => {
  it('uses current scores instead of minutes-old samples', async () => {
    await prepare(ON_DEMAND);
    await sampled(1);
    expect(await look(9)).toBe('recalled');
    expect(requested).toEqual([KEY]);
    expect((await at.attempts.get(RUN, 1))?.recall?.cause).toBe('spot');
  });

  it('stays when current scores show no Spot', async () => {
    await prepare(ON_DEMAND);
    await sampled(9);
    expect(await look(1)).toBe('left');
  });

  it('repeats a known score request and counts it', async () => {
    await prepare(ON_DEMAND);
    await look(1);
    expect(await at.scoreQuestions.list(AT)).toEqual([{ key: KEY, at: secondsAfter(2 * HOUR) }]);
  });

  it('requests scores for types outside the catalog', async () => {
    const g6 = instanceFacts('g6.xlarge');
    if (g6 === undefined) throw new Error('the catalog has it');
    const hardware = [{ facts: { ...g6, type: 'g7.2xlarge' }, readAt: AT }];
    const needs = { accelerators: 2, kinds: ['L4'], maximumNodes: 2 };
    await prepare(ON_DEMAND, 24, { hardware }, { instanceTypes: ['g6.xlarge', 'g7.2xlarge'], needs });
    await look(1);
    expect(requested).toEqual(['2 x g6.xlarge g7.2xlarge']);
  });

  it("uses samples once the day's score requests are spent", async () => {
    await prepare(ON_DEMAND);
    const before = secondsAfter(2 * HOUR - 700);
    for (let k = 0; k < QUESTIONS_A_DAY; k += 1)
      await at.scoreQuestions.put({ key: `${k} x other`, at: before });
    await sampled(9);
    expect(await look(1)).toBe('recalled');
    expect(requested).toEqual([]);
  });

  it('requests no scores without slack for a loss', async () => {
    await prepare(ON_DEMAND, 10.4);
    expect(await look(9)).toBe('left');
    expect(requested).toEqual([]);
  });
});

describe('another region with a high score at placement', () => {
  const zoneId = 'usw2-az1';
  const vpcThere = { securityGroupIds: ['sg-2'], subnets: [{ id: 'subnet-2', zoneId }] };
  const west = {
    market: market({
      region: 'us-west-2',
      scores: [{ zoneId, score: 9, nodes: 2 }],
      spotPrices: [spot('g6.xlarge', zoneId, 0.2)],
    }),
    vpc: vpcThere,
    transfer: { gigabytes: 0, usd: 0, seconds: 60, priceNote: 'test price' },
  };
  const samples = (score: number) =>
    at.marketSamples.put({
      family: 'g6',
      zoneId,
      at: secondsAfter(2 * HOUR - 600),
      readAt: secondsAfter(2 * HOUR - 600),
      scores: { [KEY]: score },
      spotUsd: {},
      onDemandUsd: {},
    });

  it('is moved to only while newer looks agree', async () => {
    await prepare(ON_DEMAND, 24, { elsewhere: [west] });
    await samples(1);
    expect(await look(1)).toBe('left');
    await samples(9);
    expect(await look(1)).toBe('recalled');
  });
});

it('asks nothing for a run on Spot', async () => {
  await prepare({ ...ON_DEMAND, purchaseOption: 'spot' });
  expect(await look(9)).toBe('left');
  expect(requested).toEqual([]);
});
