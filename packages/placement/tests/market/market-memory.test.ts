/** What stands in when the market does not answer, and what a pool's record of weeks changes. */
import { describe, expect, it } from 'vitest';
import { place } from '../../../../functions/run/attempts/place.ts';
import {
  attempt,
  CLOSED_AT,
  hoursLater,
  market,
  poolOf,
  question,
  vpc,
} from '../../../../test/support/builders/placement.ts';
import { declarationOf, runOf } from '../../../../test/support/builders/records.ts';
import { fakeClock } from '../../../../test/support/fakes/clock.ts';
import { memoryObjectStore } from '../../../../test/support/fakes/object-store.ts';
import { memoryStores } from '../../../../test/support/fakes/stores.ts';
import {
  type Observation,
  observationsOfOthers,
  poolOutcomeOf,
  recordFor,
  recordsOf,
} from '../../belief/attempt-observations.ts';
import { beliefModel, outlookOf } from '../../belief/beliefs.ts';
import { fittedRegimes } from '../../belief/regimes.ts';
import { questionKey } from '../../market/ask-scores.ts';
import { filledFrom, refreshedBy, samplesFor } from '../../market/market-memory.ts';
import type { MarketSource, PoolOutcome } from '../../records/market-history.ts';

const TYPES = ['g5.xlarge', 'g6.xlarge'];
const KEY = questionKey(TYPES, 2);
const sample = (zoneId: string, at: string, score: number, spotUsd = 0.4) => ({
  family: 'g5',
  zoneId,
  at,
  readAt: at,
  scores: { [KEY]: score },
  spotUsd: { 'g5.xlarge': spotUsd },
  onDemandUsd: {},
});

async function remembering() {
  const stores = memoryStores();
  await stores.marketSamples.put(sample('use1-az1', hoursLater(0), 2));
  await stores.marketSamples.put(sample('use1-az1', hoursLater(1), 9, 0.31));
  await stores.marketSamples.put(sample('use1-az2', hoursLater(0.5), 3));
  return stores;
}
const requested = (hours: number) => ({
  compute: question().compute,
  region: 'us-east-1',
  now: new Date(hoursLater(hours)),
});
const silent = market({ scores: [], spotPrices: [] });

describe('kept scores and prices', () => {
  it('stand in where the market says nothing', async () => {
    const samples = await samplesFor((await remembering()).marketSamples, requested(2));
    const view = filledFrom(samples, silent, requested(2));
    expect(view.scores).toEqual([
      { zoneId: 'use1-az1', score: 9, nodes: 2, ageSeconds: 3_600 },
      { zoneId: 'use1-az2', score: 3, nodes: 2, ageSeconds: 5_400 },
    ]);
    expect(view.spotPrices).toContainEqual(
      expect.objectContaining({ instanceType: 'g5.xlarge', zoneId: 'use1-az1', hourlyUsd: 0.31 }),
    );
    expect(view.notes.join('; ')).toMatch(
      /scores kept 60 min to 90 min ago stand in.*Spot prices of g5\.xlarge/,
    );
  });

  it("never replace the market's own, nor after a day", async () => {
    const samples = await samplesFor((await remembering()).marketSamples, requested(2));
    const current = market({ scores: [{ zoneId: 'use1-az1', score: 5, nodes: 2 }] });
    expect(filledFrom(samples, current, requested(2))).toEqual(current);
    expect(filledFrom(samples, silent, requested(26)).scores).toEqual([]);
  });

  it('bring a stored view up to date', async () => {
    const samples = await samplesFor((await remembering()).marketSamples, requested(2));
    const stored = market({
      scores: ['use1-az1', 'use1-az2'].map((zoneId) => ({ zoneId, score: 5, nodes: 2 })),
    });
    const view = refreshedBy(samples, stored, { ...requested(2), readAt: hoursLater(0.75) });
    expect(view.scores).toEqual([
      { zoneId: 'use1-az2', score: 5, nodes: 2, ageSeconds: 4_500 },
      { zoneId: 'use1-az1', score: 9, nodes: 2, ageSeconds: 3_600 },
    ]);
  });

  it('are as old as their reading, not their step', async () => {
    const stores = memoryStores();
    await stores.marketSamples.put({ ...sample('use1-az1', hoursLater(1), 9), readAt: hoursLater(1.2) });
    const samples = await samplesFor(stores.marketSamples, requested(1.25));
    expect(filledFrom(samples, silent, requested(1.25)).scores).toEqual([
      { zoneId: 'use1-az1', score: 9, nodes: 2, ageSeconds: 180 },
    ]);
    const stored = market({ scores: [{ zoneId: 'use1-az1', score: 5, nodes: 2 }] });
    expect(
      refreshedBy(samples, stored, { ...requested(1.25), readAt: hoursLater(1.1) }).scores,
    ).toMatchObject([{ score: 9 }]);
  });

  it('decide a placement when questions are used up', async () => {
    const stores = await remembering();
    const declaration = declarationOf('digits', { compute: { instanceTypes: TYPES, nodes: 2, vpc } });
    await stores.runs.create(runOf('digits', 1, { declaration, closedAt: CLOSED_AT }));
    const full = market();
    const known = <T>(value: T) => Promise.resolve({ kind: 'known' as const, value, notes: [] });
    const source: MarketSource = {
      region: 'us-east-1',
      scores: () =>
        Promise.resolve({
          kind: 'unknown',
          failure: 'configurationLimit',
          message: 'MaxConfigLimitExceeded',
        }),
      spotPrices: () => known(full.spotPrices),
      onDemandPrices: () => known(full.onDemandPrices),
      zones: () => known(full.zones),
    };
    const clock = fakeClock(hoursLater(2));
    const deps = { ...stores, store: memoryObjectStore(clock), market: source, clock };
    await place(deps, { runId: 'digits-000001' });
    const decision = (await stores.placements.list('digits-000001'))[0]?.decision;
    expect(decision).toMatchObject({ placement: { pool: { zoneId: 'use1-az1', purchaseOption: 'spot' } } });
    expect(decision?.kind === 'launch' && decision.placement.reason).toMatch(
      /configurationLimit.*kept 60 min/s,
    );
  });
});

const model = beliefModel(fittedRegimes);
const pool = poolOf('g5.xlarge', 'use1-az1');

describe('an old score', () => {
  const chance = (score: number, scoreAgeSeconds?: number) =>
    outlookOf(model, pool, { observations: [], score, scoreAgeSeconds, nowMilliseconds: 1e12 }).chanceUp;

  it('says less the older it is', () => {
    const high = [chance(9), chance(9, 3_600), chance(9, 24 * 3_600)];
    expect(high).toEqual(high.toSorted((a, b) => b - a));
    const low = [chance(1), chance(1, 3_600), chance(1, 24 * 3_600)];
    expect(low).toEqual(low.toSorted((a, b) => a - b));
  });
});

describe('the record of a pool', () => {
  const now = Date.parse(hoursLater(0));
  const at = (daysAgo: number): string => hoursLater(-24 * daysAgo);
  /** Capacity that was requested so many days ago and held for so many, or missing. */
  const met = (daysAgo: number, end: PoolOutcome['end'], days?: number): PoolOutcome => ({
    runId: `run-${daysAgo}`,
    attempt: 1,
    ...pool,
    nodes: 1,
    requestedAt: at(daysAgo),
    startedAt: days === undefined ? undefined : at(daysAgo),
    endedAt: at(daysAgo - (days ?? 0)),
    end,
  });
  /** What another run learns of them. */
  const observed = async (outcomes: readonly PoolOutcome[]) =>
    observationsOfOthers(
      { ...memoryStores().poolOutcomes, list: () => Promise.resolve([...outcomes]) },
      { runId: 'digits-000001', instanceTypes: [pool.instanceType], now: new Date(now) },
    );
  const outlook = (observations: readonly Observation[]) =>
    outlookOf(model, pool, { observations: [], records: recordsOf(observations, now), nowMilliseconds: now });
  const good = [20, 18, 16, 14].map((day) => met(day, 'lost', 1.5));
  const bad = [20.3, 18.3, 16.3, 14.3].map((day) => met(day, 'capacityError'));

  it('counts outcomes older than a week', async () => {
    const records = recordsOf(await observed([...good, ...bad, met(3, 'capacityError')]), now);
    expect(recordFor(records, pool)).toEqual({
      had: 4,
      capacityErrors: 4,
      heldSeconds: 4 * 1.5 * 86_400,
      lost: 4,
    });
  });

  it('keeps simultaneous attempts in one pool apart', async () => {
    const beside = await observed([
      met(20, 'kept', 1),
      met(19.8, 'lost', 0.1),
      met(12, 'kept', 1),
      met(30.5, 'kept', 1),
    ]);
    expect(recordFor(recordsOf(beside, now), pool)).toEqual({
      had: 4,
      capacityErrors: 0,
      heldSeconds: expect.closeTo(3.1 * 86_400, 3),
      lost: 1,
    });
  });

  it('moves the belief towards the statistics', async () => {
    const [none, had, refused] = [outlook([]), outlook(await observed(good)), outlook(await observed(bad))];
    expect(had.chanceUp).toBeGreaterThan(none.chanceUp);
    expect(refused.chanceUp).toBeLessThan(none.chanceUp);
    expect(refused.waitSeconds).toBeGreaterThan(none.waitSeconds);
    expect(had.upSeconds).toBeGreaterThan(none.upSeconds);
  });

  it('counts a recalled attempt as capacity to the end', () => {
    const recalled = attempt(1, pool, { kind: 'recalled', startedAt: CLOSED_AT, endedAt: hoursLater(3) });
    expect(poolOutcomeOf(recalled)?.end).toBe('kept');
  });
});
