/** Packs one pipeline's arrivals with our engine, in a process of its own. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { packingSchema } from '@tidewheel/declaration/packing-settings.ts';
import { itemSchema } from '@tidewheel/packing/dataset.ts';
import { KeptMemory, packItem } from '@tidewheel/packing/pack.ts';
import { planShards } from '@tidewheel/packing/plan.ts';
import { sealDataset } from '@tidewheel/packing/seal.ts';
import { readText } from '@tidewheel/packing/store.ts';
import { openBenchStore } from '../bench-store.ts';

const run = { pipeline: 'bench', runId: 'bench-000001', packing: packingSchema.parse({ label: 'none' }) };
await using opened = await openBenchStore();
const { store } = opened;
await planShards({ store, now: () => new Date() }, run);
const text = await readText(store, bucketKeys.planItems(run.pipeline, run.runId));
const memory = new KeptMemory();
for (const item of itemSchema.array().parse(JSON.parse(text ?? '[]')))
  await packItem({ store, memory }, { ...run, item });
await sealDataset({ store }, run);
