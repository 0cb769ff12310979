/** The other regions that a pipeline names: their markets, what moving there costs, and whether anything can be launched. */

import type { ListPrices } from '../../catalog/price-list.ts';
import type { PlacedAttempt, PlacedRun } from '../attempts.ts';
import type { MarketSource, MarketView } from '../model/market-source.ts';
import type { RegionView } from './pools.ts';
import { transferOf } from './transfer.ts';

export interface RegionDeps {
  market(region: string): MarketSource;
  /** Why no job can be launched in the region, or undefined when one can. */
  whyClosed(region: string): Promise<string | undefined>;
}

export interface RegionsQuestion {
  readonly run: PlacedRun;
  readonly home: string;
  readonly attempts: readonly PlacedAttempt[];
  /** Of all shards that the run trains on; undefined where no manifest says. */
  readonly datasetBytes: number | undefined;
  readonly checkpointBytes: number | undefined;
  readonly read: (source: MarketSource) => Promise<MarketView>;
  /** What was last read of the AWS Price List for a region. */
  readonly listPrices: (region: string) => Promise<ListPrices | undefined>;
  readonly now: Date;
}

/** One view for each named region but the data's own. */
export async function readElsewhere(
  deps: RegionDeps,
  { run, home, attempts, datasetBytes, checkpointBytes, read, listPrices, now }: RegionsQuestion,
): Promise<readonly RegionView[]> {
  const named = (run.declaration?.compute.regions ?? []).filter(({ name }) => name !== home);
  if (named.length === 0) return [];
  const homePrices = await listPrices(home);
  const source = run.declaration?.training.source ?? '';
  return Promise.all(
    named.map(async ({ name, vpc }): Promise<RegionView> => {
      const [market, closed, pricesThere] = await Promise.all([
        read(deps.market(name)),
        closedBy(source, name) ?? deps.whyClosed(name),
        listPrices(name),
      ]);
      const rates = { there: { list: homePrices, now }, back: { list: pricesThere, now } };
      return {
        market,
        ...(vpc === undefined ? {} : { vpc }),
        transfer: transferOf({ home, region: name, datasetBytes, checkpointBytes, attempts, rates }),
        ...(closed === undefined ? {} : { closed }),
      };
    }),
  );
}

/** Code in a bucket that the user named is not copied: other things may belong to it. */
const closedBy = (source: string, region: string): string | undefined =>
  source.startsWith('s3://')
    ? `training.source names ${source}, and a job in ${region} takes code only from a bucket there: put it under the pipeline's source/`
    : undefined;
