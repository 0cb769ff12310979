/** One shard, built as often as it takes: what turns out unfit after it was written is left out of the next try. */

import { layOut } from '../model/sample-layout.ts';
import { hasFixedLayout } from '../model/shard-format.ts';
import { measureImages } from './measure-images.ts';
import { ShardBuilder } from './shard-builder.ts';
import {
  type BuiltShard,
  type PackDeps,
  placeOf,
  SamplesSpoiled,
  type ShardJob,
  type Unfitting,
} from './shard-job.ts';
import { ShardUpload } from './shard-upload.ts';

export async function buildShard(deps: PackDeps, job: ShardJob): Promise<BuiltShard> {
  const excluded = new Map<string, Unfitting>();
  const { preparations, format, incoming, packing: settings } = job;
  if (preparations !== undefined && hasFixedLayout(format)) {
    const laid = Array.from(job.samples, (sample) => layOut(sample, { incoming, format, settings }));
    await measureImages(deps, laid, preparations);
  }
  for (;;) {
    const upload = new ShardUpload(deps.store, await deps.store.createUpload(job.key), deps.buffers);
    const builder = new ShardBuilder(deps, job, { upload, excluded });
    try {
      return await builder.build();
    } catch (error: unknown) {
      await builder.close();
      await upload.abandon();
      if (!(error instanceof SamplesSpoiled)) throw error;
      for (const one of error.unfitting) excluded.set(placeOf(one.sample), one);
    }
  }
}
