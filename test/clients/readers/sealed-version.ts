/**
 * The channel of a version that holds two generations: the first was joined from a drop, its corrections, an addition
 * and a retraction; the second is a later drop.
 */

import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { compact } from '@tidewheel/packing/compact.ts';
import { planShards } from '@tidewheel/packing/plan.ts';
import { current, incoming, linesIn, runOf } from '../../support/builders/compaction.ts';
import { now, PIPELINE, packPipeline, settings } from '../../support/builders/packing.ts';
import { MemoryBlobStore } from '../../support/fakes/memory-blob-store.ts';
import {
  type Expected,
  FORMATS,
  imageOf,
  jsonOf,
  type SealedTree,
  STEMS,
  sha256,
  type TriedFormat,
} from './sealed-tree.ts';

/**
 * Numbers of the samples that come first, that are corrected, and that are retracted; others come later. 212 are left:
 * mosaicml-streaming repeats a sample where the ranks do not divide them.
 */
const isFirst = (index: number): boolean => index % 3 !== 2;
const isCorrected = (index: number): boolean => index % 12 === 1;
const isRetracted = (index: number): boolean => index % 19 === 4;
const isAddedByCorrection = (index: number): boolean => index % 6 === 2;

/** Any other content of a sample. */
const CORRECTED = 1_000;
const LINES_OF_A_SOURCE = 3;

/** A sample as it arrives: its objects, and what a reader has to see, by the name of the sample or the line. */
interface Arriving {
  readonly objects: readonly (readonly [key: string, body: Uint8Array | string])[];
  readonly seen: readonly (readonly [key: string, Expected])[];
}

async function imageSample(stem: string, index: number): Promise<Arriving> {
  const { png, pixels } = await imageOf(index);
  const [key, json] = [`${incoming}${stem}`, jsonOf(index)];
  const label = stem.split('/')[0] ?? '';
  return {
    objects: [
      [`${key}.png`, png],
      [`${key}.json`, json],
    ],
    seen: [[key, { image: sha256(png), pixels: sha256(pixels), json: sha256(json), label }]],
  };
}

function source(number: number, isOther: boolean): Arriving {
  const ids = Array.from({ length: LINES_OF_A_SOURCE }, (_, line) => LINES_OF_A_SOURCE * number + line);
  const texts = ids.map((id) => (isOther ? jsonOf(id).replace('line', 'LINE') : jsonOf(id)));
  return {
    objects: [[`${incoming}part-${number}.jsonl`, texts.join('\n')]],
    seen: ids.map((id, line) => [String(id), { json: sha256(texts[line] ?? '') }]),
  };
}

class History {
  readonly store = new MemoryBlobStore();
  readonly expected = new Map<string, Expected>();
  readonly #packing: PackingSettings;
  readonly #isLines: boolean;
  #batch = 0;

  constructor(format: TriedFormat) {
    this.#isLines = format === 'lines';
    // Small shards, so that each of a few workers of a few ranks has some.
    this.#packing = settings({
      ...FORMATS[format],
      shardMegabytes: this.#isLines ? 0.003 : 0.2,
      shardsMultipleOf: 1,
      leastShardsPerWorker: 8,
    });
  }

  #sample(index: number, isOther: boolean): Promise<Arriving> | Arriving {
    if (this.#isLines) return source(index, isOther);
    return imageSample(STEMS[index] ?? '', isOther ? index + CORRECTED : index);
  }

  async drop(isDropped: (index: number) => boolean, isOther = false): Promise<void> {
    for (const index of STEMS.keys()) {
      if (!isDropped(index)) continue;
      const { objects, seen } = await this.#sample(index, isOther);
      for (const [key, body] of objects) this.store.seed(key, body);
      for (const [key, found] of seen) this.expected.set(key, found);
    }
  }

  async run(): Promise<void> {
    this.#batch += 1;
    const run = { runId: runOf(this.#batch), pipeline: PIPELINE, packing: this.#packing };
    await planShards({ store: this.store, now }, { ...run, onChange: 'replace' });
    await packPipeline(this.store, run);
    await this.#compact();
  }

  async retract(isGone: (index: number) => boolean): Promise<void> {
    const retracted = new Set<string>();
    for (const index of STEMS.keys()) {
      if (!isGone(index) || !isFirst(index)) continue;
      const { objects, seen } = await this.#sample(index, false);
      for (const [key] of objects) retracted.add(key);
      for (const [key] of seen) this.expected.delete(key);
    }
    await this.#compact(retracted);
  }

  async #compact(retracted?: ReadonlySet<string>): Promise<void> {
    await compact(this.store, {
      pipeline: PIPELINE,
      packing: this.#packing,
      after: 'never',
      onChange: 'replace',
      ...(retracted && { retracted }),
    });
  }
}

/** Writes the shards and the indexes of the newest version, as a File channel of several generations holds them. */
export async function sealVersion(format: TriedFormat, folder: string): Promise<SealedTree> {
  const history = new History(format);
  await history.drop(isFirst);
  await history.run();
  await history.drop((index) => isFirst(index) && isCorrected(index), true);
  await history.drop(isAddedByCorrection);
  await history.run();
  await history.retract(isRetracted);
  await history.drop((index) => !isFirst(index) && !isAddedByCorrection(index));
  await history.run();
  const { store, expected } = history;
  const samples = new Map<string, Expected>();
  for (const manifest of await current(store)) {
    const { generation, revision, shards, indexes = [] } = manifest;
    const prefix = bucketKeys.shards(PIPELINE, generation, revision);
    for (const name of [...shards.map((shard) => shard.name), ...indexes]) {
      const file = path.join(folder, `${prefix}${name}`.slice(bucketKeys.dataset(PIPELINE).length));
      await mkdir(path.dirname(file), { recursive: true });
      await writeFile(file, store.body(`${prefix}${name}`));
    }
    for (const { key = '', name } of linesIn(store, manifest)) {
      const held = expected.get(key.slice(0, -'.png'.length));
      if (key.endsWith('.png') && held !== undefined) samples.set(name.slice(0, -'.png'.length), held);
    }
  }
  return { folder, samples: format === 'lines' ? expected : samples, places: new Map() };
}
