/** The Place state: decides where the next attempt of a run goes, and stores the decision with its numbers. */
import { type FactsOf, snapshotDates } from '../../catalog/catalog.ts';
import { factsWith, type ReadFacts } from '../../catalog/hardware.ts';
import { datasetSize } from '../../dataset/dataset.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import type { MarketSample } from '../../runs/market-history.ts';
import type { PlacementDecision } from '../../runs/placement-records.ts';
import { furthestProgress } from '../../runs/progress.ts';
import type { AttemptRecord, RunRecord } from '../../runs/run-records.ts';
import { safeRemedies, withRemedies } from '../../runs/safe-remedies.ts';
import type { Stores } from '../../runs/stores.ts';
import { RunNotFoundError } from '../../shared/errors.ts';
import type { Clock, ObjectStore } from '../../shared/ports.ts';
import { observationsOfOthers, poolOutcomeOf } from '../belief/attempt-observations.ts';
import { helperTypesOf } from '../candidates/helpers.ts';
import { pricedFrom } from '../candidates/priced-from-list.ts';
import { type RegionDeps, readElsewhere } from '../candidates/regions.ts';
import { gangsOf, typesOf } from '../candidates/topologies.ts';
import { withinPlan } from '../market/ask-scores.ts';
import { filledFrom, type MemoryQuestion, samplesFor } from '../market/market-memory.ts';
import { readMarket } from '../market/read-market.ts';
import { attemptTimeoutSeconds } from '../model/attempt-timeout.ts';
import type { MarketSource, MarketView } from '../model/market-source.ts';
import { choosePlacement } from './choose.ts';
import { formerRunOf } from './former-runs.ts';
import { type PlacementInput, storedPart } from './situation.ts';

export interface PlaceDeps
  extends Pick<
    Stores,
    | 'runs'
    | 'attempts'
    | 'placements'
    | 'marketSamples'
    | 'poolOutcomes'
    | 'scoreQuestions'
    | 'listPrices'
    | 'hardware'
  > {
  readonly market: MarketSource;
  /** Says how much data a start downloads. */
  readonly store: ObjectStore;
  /** Needed only for a pipeline that names other regions. */
  readonly regions?: RegionDeps | undefined;
  readonly clock: Clock;
}

export type PlaceResult =
  | {
      readonly kind: 'launch';
      readonly attempt: number;
      /** How long the state machine waits for the attempt's end before it looks for itself. */
      readonly timeoutSeconds: number;
    }
  | { readonly kind: 'wait'; readonly seconds: number }
  | { readonly kind: 'giveUp'; readonly reason: string };

/** Can run twice: it returns an attempt that is still open and never starts a second one. */
export async function place(deps: PlaceDeps, { runId }: { readonly runId: string }): Promise<PlaceResult> {
  const run = await deps.runs.get(runId);
  if (!run) throw new RunNotFoundError(runId);
  const { declaration } = run;
  if (!declaration) return { kind: 'giveUp', reason: 'the run was never closed: it has no declaration' };
  const attempts = await deps.attempts.list(runId);
  const last = attempts.at(-1);
  if (last && last.outcome === undefined) return launchOf(last);
  const now = deps.clock.now();
  const met = last && poolOutcomeOf(last);
  if (met) await deps.poolOutcomes.put(met);
  const remedied = withRemedies(declaration, await safeRemedies(deps, run, attempts));
  const input = await questionFor(deps, { run, declaration: remedied, attempts, now });
  const attempt = (last?.attempt ?? 0) + 1;
  const decision = { ...choosePlacement(input), question: storedPart(input) };
  // A retried `place` may have led to a launch while this one asked the market; a running attempt keeps its
  // decision.
  const begun = await deps.attempts.get(runId, attempt);
  if (begun) return launchOf(begun);
  await deps.placements.put(runId, attempt, decision);
  return resultOf(attempt, decision);
}

const launchOf = ({ attempt, placement }: Pick<AttemptRecord, 'attempt' | 'placement'>): PlaceResult => ({
  kind: 'launch',
  attempt,
  timeoutSeconds: attemptTimeoutSeconds(placement),
});

interface Known {
  readonly run: RunRecord;
  readonly declaration: Pipeline;
  readonly attempts: readonly AttemptRecord[];
  readonly now: Date;
}

async function questionFor(
  deps: PlaceDeps,
  { run, declaration, attempts, now }: Known,
): Promise<PlacementInput> {
  const { compute, limits, training } = declaration;
  const read = await readHardware(deps, compute);
  const facts = factsWith(read);
  const types = typesOf(compute, facts);
  const wanted = [...types, ...helperTypesOf(compute)];
  const readView = (source: MarketSource) => viewOf(deps, source, { compute, facts, wanted, now });
  const progress = furthestProgress(attempts);
  const [market, observations, former, dataset] = await Promise.all([
    readView(deps.market),
    observationsOfOthers(deps.poolOutcomes, { runId: run.runId, instanceTypes: types, now }),
    formerRunOf(deps, run),
    datasetSize(deps.store, run),
  ]);
  const checkpointBytes = progress?.checkpointBytes ?? former?.checkpointBytes;
  const elsewhere = deps.regions
    ? await readElsewhere(deps.regions, {
        run,
        home: market.region,
        attempts,
        datasetBytes: dataset?.bytes,
        checkpointBytes,
        read: readView,
        listPrices: (region) => deps.listPrices.get(region),
        now,
      })
    : [];
  return {
    compute,
    limits,
    training,
    market: { ...market, notes: [...market.notes, ...read.map(noteOn)] },
    ...(read.length === 0 ? {} : { hardware: read }),
    ...(elsewhere.length === 0 ? {} : { elsewhere }),
    closedAt: run.closedAt ?? run.createdAt,
    sealedAt: run.sealedAt,
    ...sinceRetry(run, limits),
    now: now.toISOString(),
    dataset,
    attempts,
    progress,
    observations: observations,
    expectedSeconds: former?.seconds,
    expectedOn: former?.on,
    formerThroughputs: former?.throughputs,
  };
}

/** A retry has a deadline, a patience and attempts of its own. */
const sinceRetry = (
  { retry }: RunRecord,
  limits: Pipeline['limits'],
): Partial<Pick<PlacementInput, 'limits' | 'closedAt' | 'sealedAt'>> =>
  retry === undefined
    ? {}
    : {
        limits: { ...limits, attempts: limits.attempts + retry.attempts },
        closedAt: retry.at,
        sealedAt: retry.at,
      };

interface Viewed {
  readonly compute: Pipeline['compute'];
  readonly facts: FactsOf;
  readonly wanted: readonly string[];
  readonly now: Date;
}

/** A region's market; stored samples fill in what it does not answer. */
async function viewOf(
  deps: PlaceDeps,
  source: MarketSource,
  { compute, facts, wanted, now }: Viewed,
): Promise<MarketView> {
  const gangs = gangsOf(compute, facts);
  const { scoreQuestions, clock } = deps;
  const planned = withinPlan(source, { scoreQuestions, clock, home: deps.market.region });
  const view = await readMarket(planned, {
    gangs,
    spot: compute.purchaseOption !== 'on-demand',
    alsoPriced: helperTypesOf(compute),
  });
  const zoneIds = view.zones.map(({ zoneId }) => zoneId);
  const question = {
    compute,
    hardware: facts,
    region: source.region,
    now,
    ...(zoneIds.length === 0 ? {} : { zoneIds }),
  };
  const [samples, list] = await Promise.all([
    remembered(deps, view, { ...question, gangs }),
    deps.listPrices.get(source.region),
  ]);
  return pricedFrom(list, filledFrom(samples, view, question), { wanted, now });
}

/** For the types that the pipeline may use: where EC2's answer differs from the snapshot. */
async function readHardware(
  { hardware }: PlaceDeps,
  compute: Pipeline['compute'],
): Promise<readonly ReadFacts[]> {
  const read = (await hardware.get())?.facts ?? [];
  const types = new Set([...typesOf(compute, factsWith(read)), ...helperTypesOf(compute)]);
  return read.filter(({ facts }) => types.has(facts.type));
}

const noteOn = ({ facts, readAt }: ReadFacts): string =>
  `the hardware of ${facts.type} is EC2's of ${readAt.slice(0, 10)}, not the snapshot's of ${snapshotDates.instances}`;

/** Reads the market's history only for gang sizes that the market itself does not answer. */
async function remembered(
  { marketSamples }: PlaceDeps,
  view: MarketView,
  question: MemoryQuestion & { readonly gangs: ReturnType<typeof gangsOf> },
): Promise<readonly MarketSample[]> {
  if (question.compute.purchaseOption === 'on-demand') return [];
  const priced = view.spotPrices.some(({ basis }) => basis === 'quoted');
  const scored = question.gangs.every(({ nodes }) => view.scores.some((each) => each.nodes === nodes));
  return scored && priced ? [] : samplesFor(marketSamples, question);
}

function resultOf(attempt: number, decision: PlacementDecision): PlaceResult {
  switch (decision.kind) {
    case 'launch':
      return launchOf({ attempt, placement: decision.placement });
    case 'wait':
      return { kind: 'wait', seconds: decision.seconds };
    case 'giveUp':
      return { kind: 'giveUp', reason: decision.reason };
  }
}
