/** Joins the generations of one pipeline with our engine, in a process of its own: `compact.ts [PACKING [RETRACTED KEY…]]`. */
import * as z from 'zod';
import { compact } from '../../functions/core/packing/compaction/compact.ts';
import { packingSchema } from '../../functions/core/pipeline/pipeline.ts';
import { openBenchStore } from '../bench-store.ts';

await using opened = await openBenchStore();
const [settings = '{}', ...retracted] = process.argv.slice(2);
const declared = z.record(z.string(), z.unknown()).parse(JSON.parse(settings));
const packing = packingSchema.parse({ label: 'none', ...declared });
const done = await compact(opened.store, {
  pipeline: 'bench',
  packing,
  after: 2,
  everything: true,
  retracted: new Set(retracted),
});
if (done.status !== 'compacted') throw new Error(`nothing was joined: ${done.status}`);
