/** Packs one pipeline's arrivals with our engine, in a process of its own, and prints what it took as JSON. */
import * as z from 'zod';
import { readText } from '../../functions/core/packing/model/blob-store.ts';
import { itemSchema } from '../../functions/core/packing/model/documents.ts';
import { planShards } from '../../functions/core/packing/plan/plan-shards.ts';
import { sealDataset } from '../../functions/core/packing/seal/seal-dataset.ts';
import { packItem } from '../../functions/core/packing/shard/pack-item.ts';
import { KeptMemory } from '../../functions/core/packing/shard/pack-memory.ts';
import { packingSchema } from '../../functions/core/pipeline/pipeline.ts';
import { bucketKeys } from '../../functions/core/shared/keys.ts';
import { openBenchStore } from '../bench-store.ts';
import { openUndici } from './undici-transport.ts';

const [bucket = 'bench', pipeline = 'bench', runId = 'bench-000001', upTo = 'seal', settings = '{}'] =
  process.argv.slice(2);
const packing = packingSchema.parse({
  label: 'none',
  ...z.record(z.string(), z.unknown()).parse(JSON.parse(settings)),
});
await using opened = await openBenchStore({
  bucket,
  transport: process.env['READS'] === 'undici' ? openUndici : undefined,
});
const { store } = opened;
const started = process.hrtime.bigint();
const cpuStart = process.cpuUsage();
const cpu: Record<string, number> = {};
const memory: Record<string, unknown> = {};
const mark = (step: string): void => {
  const { rss, heapUsed, external, arrayBuffers } = process.memoryUsage();
  memory[step] = Object.entries({ rss, heapUsed, external, arrayBuffers })
    .map(([n, v]) => `${n} ${Math.round(v / 1e6)}`)
    .join(' ');
  const { user, system } = process.cpuUsage(cpuStart);
  cpu[step] = (user + system) / 1e6;
};
const plan = await planShards({ store, now: () => new Date() }, { runId, pipeline, packing });
mark('plan');
if (upTo !== 'plan') {
  const items = itemSchema
    .array()
    .parse(JSON.parse((await readText(store, bucketKeys.planItems(pipeline, runId))) ?? '[]'));
  const memory = new KeptMemory();
  for (const item of items) await packItem({ store, memory }, { runId, pipeline, packing, item });
  mark('pack');
  await sealDataset({ store }, { runId, pipeline, packing });
  mark('seal');
}
const seconds = Number(process.hrtime.bigint() - started) / 1e9;
const peakBytes = process.resourceUsage().maxRSS * 1024;
console.log(
  JSON.stringify({ objects: plan.objects, bytes: plan.bytes, seconds, cpuSeconds: cpu, memory, peakBytes }),
);
