/** From the manifest that packing writes to the channel of the job, and the words about it on the timeline. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { type Manifest, manifestSchema } from '@tidewheel/packing/dataset.ts';
import { expect, it } from 'vitest';
import { launchAttempt } from '../../../functions/run/attempts/launch-attempt.ts';
import { packAll, settings } from '../../support/builders/packing.ts';
import { declarationOf, launchOf, runOf } from '../../support/builders/records.ts';
import { sealGeneration } from '../../support/builders/sealed-generation.ts';
import { MemoryBlobStore } from '../../support/fakes/memory-blob-store.ts';
import { ground } from '../../support/world/ground.ts';

const RUN = 'digits-000001';

async function packedManifest(): Promise<Manifest> {
  const blobs = new MemoryBlobStore();
  for (let index = 0; index < 12; index += 1) {
    blobs.seed(`${bucketKeys.incoming('digits')}${index % 3}/${index}.png`, Buffer.alloc(900, index));
  }
  await packAll(blobs, settings({ shardsMultipleOf: 4 }), RUN);
  return manifestSchema.parse(JSON.parse(blobs.body(bucketKeys.manifest('digits', RUN)).toString()));
}

/** The manifest of a dataset whose shards are so many times as large. */
const grown = (manifest: Manifest, factor: number): Manifest => ({
  ...manifest,
  bytes: manifest.bytes * factor,
  shards: manifest.shards.map((shard) => ({ ...shard, bytes: shard.bytes * factor })),
});

async function launched(manifest: Manifest) {
  const at = ground();
  const now = at.clock.now().toISOString();
  await at.pipelines.ensure('digits', { firstBatch: 1, at: now });
  await at.runs.create(runOf('digits', 1));
  await at.runs.closeBatch(runOf('digits', 1), { at: now, declaration: declarationOf('digits') });
  const pool = { instanceType: 'g5.xlarge', launcher: 'sagemaker', purchaseOption: 'spot' } as const;
  await at.placements.put(RUN, 1, launchOf({ pool }));
  await sealGeneration(at.store, RUN, manifest);
  const deps = {
    ...at,
    region: 'us-east-1',
    publishAgent: () => Promise.resolve('agent/0a1b/'),
  };
  await launchAttempt(deps, { runId: RUN, attempt: 1, taskToken: 'token' });
  const [request] = at.training.jobs.values();
  const train = request?.InputDataConfig.find(({ ChannelName }) => ChannelName === 'train');
  const [started] = (await at.timeline.list(RUN)).filter(({ kind }) => kind === 'AttemptStarted');
  return { mode: train?.InputMode, text: started?.text };
}

it('a small dataset is downloaded', async () => {
  const { mode, text } = await launched(await packedManifest());
  expect(mode).toBe('File');
  expect(text).toMatch(/data: File: about 0 s to download/);
});

it('one beyond the disk is streamed with figures', async () => {
  const { mode, text } = await launched(grown(await packedManifest(), 1e8));
  expect(mode).toBe('FastFile');
  expect(text).toMatch(/data: FastFile: \d+\.\d TB do not fit the \d+\.\d GB that a host has for them/);
});

it('one with a long repeated download is streamed', async () => {
  const { mode, text } = await launched(grown(await packedManifest(), 5e6));
  expect(mode).toBe('FastFile');
  expect(text).toMatch(/FastFile: about \d+ s to download .* at every start, also after an interruption/);
});
