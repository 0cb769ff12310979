import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { runsChangedIn } from '../../../../functions/records/recent-runs.ts';
import { declaredCompute } from '../../../../functions/run/ingest/register-pipeline.ts';
import { market, ZONES } from '../../../../test/support/builders/placement.ts';
import {
  AT,
  attemptOf,
  declarationOf,
  outcomeOf,
  progressOf,
  runOf,
  secondsAfter,
} from '../../../../test/support/builders/records.ts';
import { fakeClock } from '../../../../test/support/fakes/clock.ts';
import { memoryStores } from '../../../../test/support/fakes/stores.ts';
import { observationsOfOthers, poolOutcomeOf } from '../../belief/attempt-observations.ts';
import { formerRunOf } from '../../candidates/former-runs.ts';
import { askScores, QUESTIONS_A_DAY, questionKey, scoreNeeds, withinPlan } from '../../market/ask-scores.ts';
import { collectScores } from '../../market/collect.ts';
import type { MarketSource } from '../../records/market-history.ts';

const TYPES = ['g5.xlarge', 'g6.xlarge', 'g4dn.xlarge'];
const KEY = '2 x g4dn.xlarge g5.xlarge g6.xlarge';

/** @param region its zones are named after it */
function source(requested: string[], region = 'us-east-1'): MarketSource {
  const home = market();
  const zoneIn = (zoneId: string): string =>
    region === home.region ? zoneId : zoneId.replace('use1', 'usw2');
  const zoned = <T extends { readonly zoneId: string }>(rows: readonly T[]): readonly T[] =>
    rows.map((each) => ({ ...each, zoneId: zoneIn(each.zoneId) }));
  const view = {
    ...home,
    region,
    scores: zoned(home.scores),
    spotPrices: zoned(home.spotPrices),
    zones: zoned(home.zones),
  };
  const known = <T>(value: T) => Promise.resolve({ kind: 'known' as const, value, notes: [] });
  return {
    region: view.region,
    scores: (types, nodes) => {
      requested.push(`${region === home.region ? '' : `${region}: `}${questionKey(types, nodes)}`);
      return known(view.scores);
    },
    spotPrices: () => known(view.spotPrices),
    onDemandPrices: () => known(view.onDemandPrices),
    zones: () => known(view.zones),
  };
}

let requested: string[];
let declare: (name: string, compute: Readonly<Record<string, unknown>>) => void;
let deps: Parameters<typeof collectScores>[0] &
  ReturnType<typeof memoryStores> & { readonly clock: ReturnType<typeof fakeClock> };

beforeEach(async () => {
  requested = [];
  const stores = memoryStores();
  const texts = new Map<string, string>();
  declare = (name, compute) => {
    const declaration = { name, training: { strategy: 'ddp' }, compute };
    texts.set(bucketKeys.pipeline(name), JSON.stringify(declaration));
  };
  for (const [name, instanceTypes] of [
    ['one', TYPES],
    ['two', TYPES.toReversed()],
  ] as const) {
    await stores.pipelines.ensure(name, { firstBatch: 1, at: AT });
    declare(name, { instanceTypes, nodes: 2 });
  }
  await stores.pipelines.ensure('gone', { firstBatch: 1, at: AT });
  const store = {
    readText: (key: string) => {
      const text = texts.get(key);
      return Promise.resolve(text === undefined ? undefined : { text, etag: '', lastModified: new Date(AT) });
    },
  };
  deps = {
    ...stores,
    computeOf: (name) => declaredCompute(store, name),
    recentRuns: (from) => runsChangedIn(stores, { from }),
    region: 'us-east-1',
    market: (region) => source(requested, region),
    clock: fakeClock(AT),
  };
});

describe('collect-scores', () => {
  it('merges equal questions, and keeps scores and prices', async () => {
    expect(await collectScores(deps)).toMatchObject({ questions: 1, samples: 9, notes: [] });
    expect(requested).toEqual([KEY]);
    const [sample, ...more] = await deps.marketSamples.list('g5', 'use1-az1', AT);
    expect(more).toEqual([]);
    expect(sample).toEqual({
      family: 'g5',
      zoneId: 'use1-az1',
      at: AT,
      readAt: AT,
      scores: { [KEY]: 6 },
      spotUsd: { 'g5.xlarge': 0.4 },
      onDemandUsd: { 'g5.xlarge': 1.25 },
    });
  });

  it('replaces samples within a quarter of an hour', async () => {
    await collectScores(deps);
    deps.clock.advance(600);
    await collectScores(deps);
    expect(await deps.marketSamples.list('g6', ZONES[0], AT)).toHaveLength(1);
    deps.clock.advance(600);
    await collectScores(deps);
    expect(await deps.marketSamples.list('g6', ZONES[0], AT)).toHaveLength(2);
    expect(await deps.scoreQuestions.list(AT)).toEqual([{ key: KEY, at: secondsAfter(1_200) }]);
  });

  it('keeps known values when the market answers nothing', async () => {
    const silent = () =>
      Promise.resolve({ kind: 'unknown' as const, failure: 'throttled' as const, message: 'slow down' });
    const done = await collectScores({
      ...deps,
      market: (region) => ({
        region,
        scores: silent,
        spotPrices: silent,
        onDemandPrices: silent,
        zones: silent,
      }),
    });
    expect(done).toMatchObject({ samples: 0, questions: 1 });
    expect(done.notes).toHaveLength(3);
  });

  it('keeps the history of every declared region', async () => {
    const regions = [{ name: 'us-east-1' }, { name: 'us-west-2' }];
    declare('far', { instanceTypes: TYPES, nodes: 2, regions });
    await deps.pipelines.ensure('far', { firstBatch: 1, at: AT });
    expect(await collectScores(deps)).toMatchObject({ questions: 2, samples: 18, notes: [] });
    expect(requested).toEqual([KEY, `us-west-2: ${KEY}`]);
    expect(await deps.marketSamples.list('g5', 'usw2-az1', AT)).toMatchObject([
      { zoneId: 'usw2-az1', scores: { [KEY]: 6 }, spotUsd: { 'g5.xlarge': 0.4 } },
    ]);
  });

  it('asks new questions of other regions last', async () => {
    const far = ['eu-west-1', 'us-west-2', 'us-east-2', 'eu-central-1', 'ap-northeast-1'];
    for (const nodes of [4, 8, 16, 32]) {
      const name = `far-${nodes}`;
      declare(name, { instanceTypes: TYPES, nodes, regions: far.map((each) => ({ name: each })) });
      await deps.pipelines.ensure(name, { firstBatch: 1, at: AT });
    }
    const { notes, questions } = await collectScores(deps);
    expect(questions).toBe(QUESTIONS_A_DAY);
    expect(requested.slice(0, 5).every((key) => !key.includes(':'))).toBe(true);
    expect(notes.filter((note) => note.includes("the day's new questions are used up"))).toHaveLength(5);
    await collectScores(deps);
    expect(new Set(requested).size).toBe(QUESTIONS_A_DAY);
  });

  it('skips types without two substitutes, and says so', async () => {
    declare('rare', { instanceTypes: ['p5.4xlarge'], nodes: 1 });
    await deps.pipelines.ensure('rare', { firstBatch: 1, at: AT });
    const { notes, questions } = await collectScores(deps);
    expect(questions).toBe(1);
    expect(notes.join()).toContain(
      'scores of 1 x p5.4xlarge are not requested: there are no three interchangeable',
    );
    expect(await deps.scoreQuestions.list(AT)).toEqual([{ key: KEY, at: AT }]);
  });

  it('remembers what the attempts of every pipeline met, once', async () => {
    await deps.runs.create(runOf('one', 1));
    const outcome = outcomeOf('interrupted', { startedAt: secondsAfter(60), endedAt: secondsAfter(660) });
    await deps.attempts.create(attemptOf('one-000001', 1, { outcome, status: 'interrupted' }));
    await deps.attempts.create(attemptOf('one-000001', 2));
    deps.clock.advance(900);
    const since: string[] = [];
    const recentRuns: typeof deps.recentRuns = (from) => {
      since.push(from);
      return deps.recentRuns(from);
    };
    await collectScores({ ...deps, recentRuns });
    await collectScores(deps);
    expect(since).toEqual([secondsAfter(900 - 6 * 3_600)]);
    const met = await deps.poolOutcomes.list('g5', AT);
    expect(met).toMatchObject([
      {
        runId: 'one-000001',
        attempt: 1,
        end: 'lost',
        zoneId: 'use1-az4',
        requestedAt: AT,
        startedAt: secondsAfter(60),
        endedAt: secondsAfter(660),
      },
    ]);
  });
});

describe('the plan of questions', () => {
  it('never passes the daily limit of distinct questions', () => {
    const types = fc.subarray(['c4.xlarge', 'c4.2xlarge', 'c4.4xlarge', 'c4.8xlarge', 'm4.xlarge'], {
      minLength: 1,
    });
    const regions = fc
      .subarray(['us-east-1', 'us-west-2', 'eu-west-1'], { minLength: 1 })
      .map((names) => names.map((name) => ({ name })));
    const compute = fc.record({ instanceTypes: types, nodes: fc.integer({ min: 1, max: 64 }), regions });
    return fc.assert(
      fc.asyncProperty(fc.array(fc.array(compute, { maxLength: 12 }), { maxLength: 8 }), async (looks) => {
        const sent: string[] = [];
        const wanted = new Set<string>();
        const deps = {
          ...memoryStores(),
          clock: fakeClock(AT),
          market: (region: string) => source(sent, region),
        };
        for (let before = 4; before < QUESTIONS_A_DAY; before += 1)
          await deps.scoreQuestions.put({ key: `before ${before}`, at: AT });
        for (const computes of looks) {
          const declared = computes.map((each) => declarationOf('p', { compute: each }).compute);
          const needs = scoreNeeds(declared, { home: 'us-east-1' });
          const notes: string[] = [];
          const answers = await askScores(deps, needs, notes);
          expect(answers.length + notes.length).toBe(needs.length);
          // The catalog knows no substitutes for these types.
          for (const { key, instanceTypes } of needs) if (instanceTypes.length >= 3) wanted.add(key);
        }
        expect(new Set(sent).size).toBe(Math.min(4, wanted.size));
        expect(await deps.scoreQuestions.list('')).toHaveLength(QUESTIONS_A_DAY - 4 + new Set(sent).size);
      }),
    );
  });

  it.each([[['g6.xlarge', 'g5.12xlarge']], [['g5.12xlarge', 'g6.xlarge']]])(
    'asks for %j, filled up to three types',
    async (instanceTypes) => {
      const needs = scoreNeeds([declarationOf('p', { compute: { instanceTypes, nodes: 2 } }).compute], {
        home: 'us-east-1',
      });
      expect(await askScores(deps, needs, [])).toHaveLength(1);
      await withinPlan(source(requested), { ...deps, home: 'us-east-1' }).scores(instanceTypes, 2);
      const key = '2 x g5.12xlarge g6.xlarge';
      expect([requested, await deps.scoreQuestions.list(AT)]).toEqual([[key, key], [{ key, at: AT }]]);
    },
  );

  it('reads the questions of the day once', async () => {
    let lists = 0;
    const scoreQuestions: typeof deps.scoreQuestions = {
      ...deps.scoreQuestions,
      list: (since) => {
        lists += 1;
        return deps.scoreQuestions.list(since);
      },
    };
    const computes = [2, 4, 8].map(
      (nodes) => declarationOf('p', { compute: { instanceTypes: TYPES, nodes } }).compute,
    );
    await askScores({ ...deps, scoreQuestions }, scoreNeeds(computes, { home: 'us-east-1' }), []);
    expect([requested.length, lists]).toEqual([3, 1]);
  });

  it('asks nothing for a pipeline that never uses Spot', () => {
    const compute = { instanceTypes: TYPES, purchaseOption: 'on-demand' };
    expect(scoreNeeds([declarationOf('p', { compute }).compute], { home: 'us-east-1' })).toEqual([]);
  });
});

describe('what other runs met', () => {
  const refused = attemptOf('other-000001', 1, {
    outcome: outcomeOf('capacity', { endedAt: secondsAfter(600) }),
  });
  const met = (attempt = refused) => {
    const outcome = poolOutcomeOf(attempt);
    if (outcome === undefined) throw new Error('the attempt has an outcome');
    return outcome;
  };

  it('counts for a month, never for its own run', async () => {
    await deps.poolOutcomes.put(met());
    const see = (runId: string, seconds: number) =>
      observationsOfOthers(deps.poolOutcomes, {
        runId,
        instanceTypes: TYPES,
        now: new Date(secondsAfter(seconds)),
      });
    expect(await see('mine-000001', 3_600)).toMatchObject([
      { seen: 'capacityError', instanceType: 'g5.xlarge' },
    ]);
    expect(await see('other-000001', 3_600)).toEqual([]);
    expect(await see('mine-000001', 31 * 86_400)).toEqual([]);
  });

  it('says nothing before the attempt has ended', () => {
    expect(poolOutcomeOf(attemptOf('other-000001', 1))).toBeUndefined();
  });

  it('predicts the next run by the longest similar one', async () => {
    const times = [900, 2_000, 1_000];
    for (const [index, seconds] of times.entries()) {
      const batch = index + 1;
      const compute = { instanceTypes: TYPES, nodes: seconds === 2_000 ? 4 : 2 };
      const declaration = declarationOf('digits', { compute });
      const run = runOf('digits', batch, { status: 'succeeded', declaration });
      await deps.runs.create(run);
      await deps.attempts.create(
        attemptOf(run.runId, 1, {
          outcome: outcomeOf('completed', {
            trainingSeconds: seconds + 200,
            startedAt: AT,
            scriptStartedAt: secondsAfter(90),
          }),
          progressAfter: progressOf(100, { trainingSeconds: seconds }),
        }),
      );
    }
    const next = (nodes: number) =>
      runOf('digits', 9, {
        declaration: declarationOf('digits', { compute: { instanceTypes: TYPES, nodes } }),
      });
    expect(await formerRunOf(deps, next(2))).toMatchObject({
      expectedSeconds: 1_000,
      expectedOn: { nodes: 2 },
      formerStarts: [{ unprovenSeconds: 200 }, { unprovenSeconds: 200 }],
    });
    expect(await formerRunOf(deps, next(8))).toBeUndefined();
    // A schedule that found no new data hides none of them.
    for (let batch = 4; batch < 12; batch += 1)
      await deps.runs.create(runOf('digits', batch, { status: 'empty' }));
    expect(await formerRunOf(deps, next(2))).toMatchObject({ expectedSeconds: 1_000 });
  });
});
