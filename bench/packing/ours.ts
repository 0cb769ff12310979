/** Packs one pipeline's arrivals with our engine, in a process of its own. */

import { readText } from '../../functions/core/packing/model/blob-store.ts';
import { itemSchema } from '../../functions/core/packing/model/documents.ts';
import { planShards } from '../../functions/core/packing/plan/plan-shards.ts';
import { sealDataset } from '../../functions/core/packing/seal/seal-dataset.ts';
import { packItem } from '../../functions/core/packing/shard/pack-item.ts';
import { KeptMemory } from '../../functions/core/packing/shard/pack-memory.ts';
import { packingSchema } from '../../functions/core/pipeline/packing.ts';
import { bucketKeys } from '../../functions/core/shared/keys.ts';
import { openBenchStore } from '../bench-store.ts';
import { openUndici } from './undici-transport.ts';

const run = { pipeline: 'bench', runId: 'bench-000001', packing: packingSchema.parse({ label: 'none' }) };
await using opened = await openBenchStore({
  transport: process.env['READS'] === 'undici' ? openUndici : undefined,
});
const { store } = opened;
await planShards({ store, now: () => new Date() }, run);
const text = await readText(store, bucketKeys.planItems(run.pipeline, run.runId));
const memory = new KeptMemory();
for (const item of itemSchema.array().parse(JSON.parse(text ?? '[]')))
  await packItem({ store, memory }, { ...run, item });
await sealDataset({ store }, run);
