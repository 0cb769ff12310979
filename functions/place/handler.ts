import * as z from 'zod';
import * as clients from '../aws/clients.ts';
import { config } from '../aws/config.ts';
import { marketOf } from '../aws/markets.ts';
import { onion } from '../aws/onion.ts';
import { whyClosed } from '../aws/regions.ts';
import { clock, runs, store } from '../aws/services.ts';
import { datasetBytes } from '../core/dataset.ts';
import { place } from '../core/placement/place.ts';

export const handler = onion('place', z.object({ runId: z.string() }), ({ runId }) => {
  const regions = {
    market: marketOf,
    whyClosed: (region: string) =>
      whyClosed(region, { dataBucket: config.bucket(), there: clients.s3In(region) }),
    datasetBytes: (run: Parameters<typeof datasetBytes>[1]) => datasetBytes(store(), run),
  };
  return place({ runs: runs(), market: marketOf(config.region()), regions, clock }, { runId });
});
