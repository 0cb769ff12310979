import * as z from 'zod';
import * as clients from '../aws/clients.ts';
import { config } from '../aws/config.ts';
import { ec2Market } from '../aws/market.ts';
import { onion } from '../aws/onion.ts';
import { whyClosed } from '../aws/regions.ts';
import { clock, runs, store } from '../aws/services.ts';
import { datasetBytes } from '../core/dataset.ts';
import { place } from '../core/placement/place.ts';
import type { MarketSource } from '../core/placement/port.ts';

/** One a process and region, so that a question is asked again only when its answer has grown old. */
const markets = new Map<string, MarketSource>();

function marketOf(region: string): MarketSource {
  const ec2 = region === config.region() ? clients.ec2() : clients.ec2In(region);
  const market = markets.get(region) ?? ec2Market({ ec2, region, clock });
  markets.set(region, market);
  return market;
}

export const handler = onion('place', z.object({ runId: z.string() }), ({ runId }) => {
  const regions = {
    market: marketOf,
    whyClosed: (region: string) =>
      whyClosed(region, { dataBucket: config.bucket(), there: clients.s3In(region) }),
    datasetBytes: (run: Parameters<typeof datasetBytes>[1]) => datasetBytes(store(), run),
  };
  return place({ runs: runs(), market: marketOf(config.region()), regions, clock }, { runId });
});
