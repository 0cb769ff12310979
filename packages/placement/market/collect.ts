/**
 * collect-scores: keeps a history of the market, which AWS does not keep for placement scores, and the outcomes of our
 * attempts.
 */

import type { FactsOf } from '@tidewheel/catalog/catalog.ts';
import { familyOf } from '@tidewheel/declaration/instance-types.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { eachItem, type Round } from '@tidewheel/kit/each-item.ts';
import { noneIfUnreadable } from '@tidewheel/kit/errors.ts';
import { poolOutcomeOf } from '../belief/attempt-observations.ts';
import { typesOf } from '../candidates/topologies.ts';
import type { FormerRuns } from '../records/attempts.ts';
import { type MarketSample, type MarketSource, type MarketStores, taken } from '../records/market-history.ts';
import { askScores, questionKey, regionsOf, type ScoreAnswer, scoreNeeds } from './ask-scores.ts';
import { type RefreshDeps, refreshHardware, refreshPrices } from './refresh-catalog.ts';

type EndedOrOpen = { readonly runId: string; readonly updatedAt: string };

export interface CollectDeps
  extends RefreshDeps,
    Pick<MarketStores, 'marketSamples' | 'poolOutcomes' | 'scoreQuestions'> {
  readonly pipelines: { list(): Promise<readonly { readonly name: string }[]> };
  /** What the pipeline declares; undefined for a missing or invalid declaration, which `settle` reports to its owner. */
  readonly computeOf: (pipeline: string) => Promise<Pipeline['compute'] | undefined>;
  /** Whose records changed since then. */
  readonly recentRuns: (since: string) => Promise<readonly EndedOrOpen[]>;
  readonly attempts: FormerRuns['attempts'];
  /** The market of a region by its name. */
  readonly market: (region: string) => MarketSource;
  /** Rejects when a pipeline or a run takes too long. Absent: no limit. */
  readonly withinLimit?: ((work: Promise<unknown>) => Promise<unknown>) | undefined;
}

/** How often the schedule of functions/handlers/collect-scores/function.ts looks; samples carry the start of their step. */
const STEP_MILLISECONDS = 15 * 60_000;
/** Several schedules may be missed. */
const LOOK_BACK_MILLISECONDS = 6 * 3_600_000;
const LANES = 8;

/** Safe to repeat at any time: a second look within a step replaces the first. */
export async function collectScores(deps: CollectDeps) {
  const notes: string[] = [];
  const names = (await deps.pipelines.list()).map(({ name }) => name);
  const computes: Pipeline['compute'][] = [];
  const round = { now: deps.clock.now(), failures: notes, lanes: LANES, withinLimit: deps.withinLimit };
  const read = async (name: string): Promise<void> => {
    const compute = await deps.computeOf(name);
    if (compute !== undefined) computes.push(compute);
  };
  await eachItem(names, (name) => name, read, round);
  const hardware = await refreshHardware(deps, computes, notes);
  const questions = await askScores(deps, scoreNeeds(computes, { home: deps.region, hardware }), notes);
  let samples = 0;
  for (const region of new Set(computes.flatMap((compute) => regionsOf(compute, deps.region)))) {
    const here = computes.filter((compute) => regionsOf(compute, deps.region).includes(region));
    const requested = questions.filter(({ need }) => need.region === region);
    const seen = await samplesOf(deps, region, { computes: here, questions: requested, hardware, notes });
    for (const sample of seen) await deps.marketSamples.put(sample);
    samples += seen.length;
  }
  await refreshPrices(deps, { computes, hardware, notes });
  return {
    samples,
    poolOutcomes: await keepPoolOutcomes(deps, round),
    questions: questions.length,
    /** What could not be learned this time, each with its reason. */
    notes,
  };
}

type Draft = { -readonly [K in 'scores' | 'spotUsd' | 'onDemandUsd']: Record<string, number> };

interface Given {
  readonly computes: readonly Pipeline['compute'][];
  readonly questions: readonly ScoreAnswer[];
  readonly hardware: FactsOf;
  readonly notes: string[];
}

async function samplesOf(
  { market, clock, region: home }: CollectDeps,
  region: string,
  given: Given,
): Promise<readonly MarketSample[]> {
  const types = [...new Set(given.computes.flatMap((compute) => typesOf(compute, given.hardware)))].sort();
  if (types.length === 0) return [];
  const source = market(region);
  const there = region === home ? '' : ` of ${region}`;
  const [spot, onDemand] = await Promise.all([source.spotPrices(types), source.onDemandPrices(types)]);
  const drafts = new Map<string, Draft>();
  const draft = (family: string, zoneId: string): Draft => {
    const key = `${family} ${zoneId}`;
    const known = drafts.get(key) ?? { scores: {}, spotUsd: {}, onDemandUsd: {} };
    drafts.set(key, known);
    return known;
  };
  for (const { need, scores } of given.questions)
    for (const family of new Set(need.instanceTypes.map(familyOf)))
      for (const { zoneId, score } of scores)
        draft(family, zoneId).scores[questionKey(need.instanceTypes, need.nodes)] = score;
  // A snapshot price is not news and must not be stored as if it were.
  for (const { instanceType, zoneId, hourlyUsd, basis } of taken(`Spot prices${there}`, spot, given.notes))
    if (basis === 'quoted') draft(familyOf(instanceType), zoneId).spotUsd[instanceType] = hourlyUsd;
  const listed = taken(`On-Demand prices${there}`, onDemand, given.notes);
  const now = clock.now();
  const at = new Date(Math.floor(now.getTime() / STEP_MILLISECONDS) * STEP_MILLISECONDS).toISOString();
  return [...drafts].map(([key, values]) => {
    const [family = '', zoneId = ''] = key.split(' ');
    for (const { instanceType, hourlyUsd } of listed)
      if (familyOf(instanceType) === family) values.onDemandUsd[instanceType] = hourlyUsd;
    return { family, zoneId, at, readAt: now.toISOString(), ...values };
  });
}

/** `place` records the attempts of a run in progress. */
async function keepPoolOutcomes(
  { recentRuns, attempts, poolOutcomes }: CollectDeps,
  round: Round,
): Promise<number> {
  const since = new Date(round.now.getTime() - LOOK_BACK_MILLISECONDS).toISOString();
  let count = 0;
  const keep = async ({ runId }: EndedOrOpen): Promise<void> => {
    for (const attempt of (await attempts.list(runId).catch(noneIfUnreadable)) ?? []) {
      const met = poolOutcomeOf(attempt);
      if (met === undefined || met.endedAt < since) continue;
      await poolOutcomes.put(met);
      count += 1;
    }
  };
  await eachItem(await recentRuns(since), ({ runId }) => runId, keep, round);
  return count;
}
