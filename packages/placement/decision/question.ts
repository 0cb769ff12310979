/** The question of a placement: the declaration, the run so far, and the market as it is now or was last seen. */

import { type FactsOf, snapshotDates } from '@tidewheel/catalog/catalog.ts';
import type { DatasetSize } from '@tidewheel/catalog/data-on-hosts.ts';
import { factsWith, type ReadFacts } from '@tidewheel/catalog/hardware.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import type { Clock } from '@tidewheel/kit/clock.ts';
import { observationsOfOthers } from '../belief/attempt-observations.ts';
import { formerRunOf } from '../candidates/former-runs.ts';
import { pricedFrom, type TransferQuestion, transferOf } from '../candidates/pool-costs.ts';
import type { RegionView } from '../candidates/pools.ts';
import { type ReservedQuestion, reservationProblem } from '../candidates/reserved-pools.ts';
import { helperTypesOf } from '../candidates/throughput.ts';
import { gangsOf, typesOf } from '../candidates/topologies.ts';
import { withinPlan } from '../market/ask-scores.ts';
import { filledFrom, type MemoryQuestion, samplesFor } from '../market/market-memory.ts';
import {
  type FormerRuns,
  furthestProgress,
  type PlacedAttempt,
  type PlacedRun,
} from '../records/attempts.ts';
import {
  type MarketSource,
  type MarketStores,
  type MarketView,
  type ReservationSource,
  readMarket,
} from '../records/market-history.ts';
import type { PlacementInput } from './situation.ts';

export interface QuestionDeps extends MarketStores, FormerRuns {
  readonly market: MarketSource;
  /** Needed only for a pipeline that declares `compute.reserved`. */
  readonly reservations?: ReservationSource | undefined;
  /** Needed only for a pipeline that names other regions. */
  readonly regions?:
    | {
        market(region: string): MarketSource;
        /** Why no job can be launched in the region, or undefined when one can. */
        whyClosed(region: string): Promise<string | undefined>;
      }
    | undefined;
  readonly clock: Clock;
}

interface Known {
  readonly run: PlacedRun;
  readonly declaration: Pipeline;
  readonly attempts: readonly PlacedAttempt[];
  readonly now: Date;
  /** How much data a start downloads; undefined where no manifest says. */
  readonly dataset: () => Promise<DatasetSize | undefined>;
}

export async function placementQuestion(
  deps: QuestionDeps,
  { run, declaration, attempts, now, dataset: readDataset }: Known,
): Promise<PlacementInput> {
  const { compute, limits, training } = declaration;
  const read = await readHardware(deps, compute);
  const hardware = factsWith(read);
  const types = typesOf(compute, hardware);
  const readView = (source: MarketSource) => viewOf(deps, source, { compute, hardware, now });
  const progress = furthestProgress(attempts);
  const [market, reserved, observations, former, dataset] = await Promise.all([
    readView(deps.market),
    reservationsOf(deps, { compute, instanceTypes: types, now }),
    observationsOfOthers(deps.poolOutcomes, { runId: run.runId, instanceTypes: types, now }),
    formerRunOf(deps, run),
    readDataset(),
  ]);
  const { checkpointBytes: formerBytes, ...expectations } = former ?? {};
  const checkpointBytes = progress?.checkpointBytes ?? formerBytes;
  const moved = { home: market.region, attempts, datasetBytes: dataset?.bytes, checkpointBytes };
  const elsewhere = await readElsewhere(deps, readView, { run, now }, moved);
  return {
    compute,
    training,
    market: {
      ...market,
      ...(reserved && { reservations: reserved.reservations, reservationNotes: reserved.notes }),
      notes: [...market.notes, ...(reserved?.notes ?? []), ...read.map(noteOn)],
    },
    ...(read.length > 0 && { hardware: read }),
    ...(elsewhere.length > 0 && { elsewhere }),
    ...sinceRetry(run, limits),
    now: now.toISOString(),
    dataset,
    attempts,
    progress,
    observations,
    ...expectations,
  };
}

/**
 * What `compute.reserved` names, as it is now, with a note on each that the pipeline cannot use.
 * @returns undefined where the pipeline declares none
 */
export async function reservationsOf(
  { reservations }: Pick<QuestionDeps, 'reservations'>,
  question: ReservedQuestion,
): Promise<Awaited<ReturnType<ReservationSource>> | undefined> {
  const { reserved } = question.compute;
  if (reserved === undefined || reservations === undefined) return undefined;
  const found = await reservations(reserved);
  const problems = found.reservations.flatMap((each) => reservationProblem(each, question) ?? []);
  return { ...found, notes: [...found.notes, ...problems] };
}

/** A retry has a deadline, a patience and attempts of its own. */
const sinceRetry = ({ retry, closedAt, createdAt, sealedAt }: PlacedRun, limits: Pipeline['limits']) => ({
  limits: { ...limits, attempts: limits.attempts + (retry?.attempts ?? 0) },
  closedAt: retry?.at ?? closedAt ?? createdAt,
  sealedAt: retry?.at ?? sealedAt,
});

/** A region's market; stored samples fill in what it does not answer. */
async function viewOf(
  deps: QuestionDeps,
  source: MarketSource,
  known: Pick<MemoryQuestion, 'compute' | 'now'> & { readonly hardware: FactsOf },
): Promise<MarketView> {
  const { compute, hardware, now } = known;
  const spot = compute.purchaseOption !== 'on-demand';
  const gangs = gangsOf(compute, hardware);
  const helperTypes = helperTypesOf(compute);
  const planned = withinPlan(source, { ...deps, home: deps.market.region });
  const view = await readMarket(planned, { gangs, spot, alsoPriced: helperTypes });
  const zoneIds = view.zones.map(({ zoneId }) => zoneId);
  const question = { ...known, region: source.region, ...(zoneIds.length > 0 && { zoneIds }) };
  const isAnswered =
    view.spotPrices.some(({ basis }) => basis === 'quoted') &&
    gangs.every(({ nodes }) => view.scores.some((each) => each.nodes === nodes));
  const [samples, list] = await Promise.all([
    spot && !isAnswered ? samplesFor(deps.marketSamples, question) : [],
    deps.listPrices.get(source.region),
  ]);
  const wanted = [...typesOf(compute, hardware), ...helperTypes];
  return pricedFrom(list, filledFrom(samples, view, question), { wanted, now });
}

/** For the types that the pipeline may use: where EC2's answer differs from the snapshot. */
async function readHardware(
  { hardware }: QuestionDeps,
  compute: Pipeline['compute'],
): Promise<readonly ReadFacts[]> {
  const read = (await hardware.get())?.facts ?? [];
  const types = new Set([...typesOf(compute, factsWith(read)), ...helperTypesOf(compute)]);
  return read.filter(({ facts }) => types.has(facts.type));
}

const noteOn = ({ facts, readAt }: ReadFacts): string =>
  `the hardware of ${facts.type} is EC2's of ${readAt.slice(0, 10)}, not the snapshot's of ${snapshotDates.instances}`;

/** One view for each named region but the data's own. */
async function readElsewhere(
  { regions, listPrices }: QuestionDeps,
  read: (source: MarketSource) => Promise<MarketView>,
  { run, now }: Pick<Known, 'run' | 'now'>,
  moved: Omit<TransferQuestion, 'region' | 'rates'>,
): Promise<readonly RegionView[]> {
  const { home } = moved;
  const named = (run.declaration?.compute.regions ?? []).filter(({ name }) => name !== home);
  if (regions === undefined || named.length === 0) return [];
  const homePrices = await listPrices.get(home);
  const source = run.declaration?.training.source ?? '';
  return Promise.all(
    named.map(async ({ name, vpc }): Promise<RegionView> => {
      const [market, closed, pricesThere] = await Promise.all([
        read(regions.market(name)),
        closedBy(source, name) ?? regions.whyClosed(name),
        listPrices.get(name),
      ]);
      const rates = { there: { list: homePrices, now }, back: { list: pricesThere, now } };
      const transfer = transferOf({ ...moved, region: name, rates });
      return { market, ...(vpc && { vpc }), transfer, ...(closed !== undefined && { closed }) };
    }),
  );
}

/** Code in a bucket that the user named is not copied: other things may belong to it. */
const closedBy = (source: string, region: string): string | undefined =>
  source.startsWith('s3://')
    ? `training.source names ${source}, and a job in ${region} takes code only from a bucket there: put it under the pipeline's source/`
    : undefined;
