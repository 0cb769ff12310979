import { factsWith } from '@tidewheel/catalog/hardware.ts';
import { familyOf } from '@tidewheel/declaration/instance-types.ts';
import { list, time, usd } from '@tidewheel/kit/fields.ts';
import { typesOf } from '@tidewheel/placement/estimate.ts';
import type { MarketSample, PoolOutcome } from '@tidewheel/placement/market.ts';
import { poolSchema } from '@tidewheel/placement/records.ts';
import * as z from 'zod';
import { thinned } from '../../records/series.ts';
import { declaredCompute } from '../../run/ingest/register-pipeline.ts';
import { ok } from '../shared/answers.ts';
import { type ApiDeps, defineOperation, READS } from '../shared/operation.ts';

const seen = z.object({
  at: time,
  score: z
    .number()
    .optional()
    .describe('Spot placement score, 1 to 10: the best of all questions that name this type.'),
  spotUsd: usd.optional().describe('Price of one instance in an hour.'),
});

const market = z.object({
  since: time,
  pools: list(
    z.object({
      instanceType: z.string(),
      zoneId: z.string(),
      score: z.number().optional(),
      spotUsd: usd.optional(),
      onDemandUsd: usd.optional(),
      readAt: time.optional().describe('When AWS was last read.'),
      history: list(seen).describe('At most 60, oldest first.'),
      luck: z
        .object({ kept: z.number().int(), lost: z.number().int(), refused: z.number().int() })
        .describe('Spot attempts of this account that ended: kept, interrupted, or without capacity.'),
    }),
  ),
  running: list(
    z.object({
      runId: z.string(),
      attempt: z.number().int(),
      instanceType: z.string(),
      zoneId: z.string().optional(),
      purchaseOption: poolSchema.shape.purchaseOption,
      nodes: z.number().int(),
      since: time,
    }),
  ).describe('Attempts that hold capacity, or wait for it.'),
});

type PoolView = z.input<typeof market>['pools'][number];

const DAY_MILLISECONDS = 86_400_000;
const MOST_POINTS = 60;

/** The history that placement itself uses, by pool. */
export const getMarket = defineOperation(
  {
    ...READS,
    route: 'GET /market',
    id: 'getMarket',
    summary: 'Shows scores and prices of the pools that pipelines may use, and what attempts met there.',
    query: z.strictObject({
      days: z.coerce.number().int().min(1).max(90).default(7).describe('How far back.'),
    }),
    answer: market,
  },
  async (deps, { query }) => {
    const since = new Date(deps.clock.now().getTime() - query.days * DAY_MILLISECONDS).toISOString();
    const families = await declaredFamilies(deps);
    const pools = await Promise.all(families.map((family) => poolsOf(deps, family, since)));
    // The index may lag behind an end.
    const open = (await deps.attempts.listOpen()).filter(({ outcome }) => outcome === undefined);
    const running = open.map(({ runId, attempt, placement, createdAt }) => {
      const { instanceType, zoneId, purchaseOption } = placement.pool;
      const { nodes } = placement.topology;
      return { runId, attempt, instanceType, zoneId, purchaseOption, nodes, since: createdAt };
    });
    return ok({ since, pools: pools.flat(), running });
  },
);

/** The history contains what `collect-scores` asks: the families of the declarations. */
async function declaredFamilies({ pipelines, store, hardware }: ApiDeps): Promise<string[]> {
  const facts = factsWith((await hardware.get())?.facts);
  const families = await Promise.all(
    (await pipelines.list()).map(async ({ name }) => {
      const compute = await declaredCompute(store, name);
      return compute === undefined ? [] : typesOf(compute, facts).map(familyOf);
    }),
  );
  return [...new Set(families.flat())].sort();
}

async function poolsOf(
  { marketSamples, poolOutcomes }: ApiDeps,
  family: string,
  since: string,
): Promise<PoolView[]> {
  const [zones, outcomes] = await Promise.all([
    marketSamples.zones(family),
    poolOutcomes.list(family, since),
  ]);
  const met = outcomes.flatMap(({ zoneId }) => (zoneId === undefined ? [] : [zoneId]));
  const all = [...new Set([...zones, ...met])].sort();
  const pools = await Promise.all(
    all.map(async (zoneId) => {
      const samples = await marketSamples.list(family, zoneId, since);
      return poolsOfZone(
        samples,
        zoneId,
        outcomes.filter((each) => each.zoneId === zoneId),
      );
    }),
  );
  return pools.flat();
}

/** @param samples of one family in the zone, oldest first */
function poolsOfZone(
  samples: readonly MarketSample[],
  zoneId: string,
  outcomes: readonly PoolOutcome[],
): PoolView[] {
  const types = new Set([
    ...samples.flatMap((sample) => [...Object.keys(sample.spotUsd), ...Object.keys(sample.onDemandUsd)]),
    ...outcomes.map(({ instanceType }) => instanceType),
  ]);
  return [...types].sort().map((instanceType) => {
    const seen = samples.map((sample) => ({
      at: sample.at,
      score: scoreOf(sample, instanceType),
      spotUsd: sample.spotUsd[instanceType],
      onDemandUsd: sample.onDemandUsd[instanceType],
    }));
    const history = seen.map(({ at, score, spotUsd }) => ({ at, score, spotUsd }));
    return {
      instanceType,
      zoneId,
      score: seen.findLast(({ score }) => score !== undefined)?.score,
      spotUsd: seen.findLast(({ spotUsd }) => spotUsd !== undefined)?.spotUsd,
      onDemandUsd: seen.findLast(({ onDemandUsd }) => onDemandUsd !== undefined)?.onDemandUsd,
      readAt: samples.at(-1)?.readAt,
      history: thinned(history, MOST_POINTS),
      luck: luckOf(outcomes, instanceType),
    };
  });
}

/** A question names several types and a size of the gang; its score holds for each of them. */
function scoreOf({ scores }: MarketSample, instanceType: string): number | undefined {
  const own = Object.entries(scores).flatMap(([question, score]) =>
    question.split(' ').includes(instanceType) ? [score] : [],
  );
  return own.length === 0 ? undefined : Math.max(...own);
}

function luckOf(outcomes: readonly PoolOutcome[], instanceType: string): PoolView['luck'] {
  const own = outcomes.filter((each) => each.instanceType === instanceType && each.purchaseOption === 'spot');
  const count = (end: PoolOutcome['end']): number => own.filter((each) => each.end === end).length;
  return { kept: count('kept'), lost: count('lost'), refused: count('capacityError') };
}
