/** The S3 requests of packing, counted by planning, packing and sealing one item for real. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { packingSchema } from '@tidewheel/declaration/packing-settings.ts';
import { itemSchema } from '@tidewheel/packing/dataset.ts';
import { packItem } from '@tidewheel/packing/pack.ts';
import { planShards } from '@tidewheel/packing/plan.ts';
import { sealDataset } from '@tidewheel/packing/seal.ts';
import { readText } from '@tidewheel/packing/store.ts';
import { regularCorpus } from '../../test/support/memory-s3/listing.ts';
import { startMemoryS3 } from '../../test/support/memory-s3/memory-s3.ts';
import { openBenchStore } from '../bench-store.ts';
import { addRequests, type RequestKind, type Requests } from './lambda-prices.ts';

export interface ItemFiles {
  readonly files: number;
  readonly fileBytes: number;
}

/** 250 MB, one item of the drops in these cases. */
const LARGE_FILES: ItemFiles = { files: 50, fileBytes: 5_000_000 };
const RUN = { pipeline: 'bench', runId: 'bench-000001' };

export async function requestsOfOneItem({ files, fileBytes } = LARGE_FILES): Promise<Requests> {
  const prefix = bucketKeys.incoming(RUN.pipeline);
  const corpus = regularCorpus({ prefix, count: files, size: () => fileBytes, suffix: 'jpg' });
  const server = await startMemoryS3({ corpus, keepsShards: { now: false } });
  try {
    await using opened = await openBenchStore({ endpoint: server.url });
    const { store } = opened;
    const packing = packingSchema.parse({ label: 'none' });
    await planShards({ store, now: () => new Date() }, { ...RUN, packing });
    const text = (await readText(store, bucketKeys.planItems(RUN.pipeline, RUN.runId))) ?? '[]';
    const items = itemSchema.array().parse(JSON.parse(text));
    if (items.length !== 1) throw new Error(`the plan has ${items.length} items, not one`);
    for (const item of items) await packItem({ store }, { ...RUN, packing, item });
    await sealDataset({ store }, { ...RUN, packing });
    return inClasses(server.requests);
  } finally {
    await server.stop();
  }
}

/** The server's names of requests, in the classes of the price list; DELETE costs nothing. */
export function inClasses(counted: ReadonlyMap<string, number>): Map<RequestKind, number> {
  const requests = new Map<RequestKind, number>();
  for (const [name, count] of counted) {
    if (name === 'get' || name === 'head') addRequests(requests, 's3 get', count);
    else if (name !== 'delete' && name !== 'abortUpload') addRequests(requests, 's3 put or list', count);
  }
  return requests;
}
