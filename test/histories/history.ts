/** One random history of a pipeline's data: the service's own steps, killed at random, and what lies in the bucket after each. */
import { compact } from '../../functions/core/packing/compaction/compact.ts';
import type { CompactionInput } from '../../functions/core/packing/compaction/plan-compaction.ts';
import type { BlobStore } from '../../functions/core/packing/model/blob-store.ts';
import { blobVersions, newestVersion } from '../../functions/core/packing/model/versions.ts';
import { planShards } from '../../functions/core/packing/plan/plan-shards.ts';
import { sealDataset } from '../../functions/core/packing/seal/seal-dataset.ts';
import { pruneGenerations } from '../../functions/core/packing/versions/prune-generations.ts';
import { versionContents } from '../../functions/core/packing/versions/version-contents.ts';
import type { OnDelete } from '../../functions/core/pipeline/dataset.ts';
import type { PackingSettings } from '../../functions/core/pipeline/pipeline.ts';
import { ConfigurationError } from '../../functions/core/shared/errors.ts';
import { bucketKeys } from '../../functions/core/shared/keys.ts';
import { seededUint32 } from '../../functions/core/shared/seeded-random.ts';
import { current, incoming, problems, runOf } from '../support/builders/compaction.ts';
import { now, PIPELINE, planAndPack, settings } from '../support/builders/packing.ts';
import { faultyStore, Killed } from '../support/fakes/faulty-blob-store.ts';
import { MemoryBlobStore } from '../support/fakes/memory-blob-store.ts';

interface Step {
  readonly kind: 'put' | 'delete' | 'run' | 'compact' | 'retract' | 'prune';
  readonly key?: string;
  readonly body?: string;
  readonly etag?: string;
  /** Name and bytes in base64, of the newest version after a step that may change it. */
  shards?: readonly (readonly [name: string, body: string])[];
}

const STEMS = 6;
const BODIES = 3;
/** Of one body, as multipart uploads and KMS give it. */
const ETAGS = 3;
const STEPS = 30;
const MOST_TRIES = 400;

export interface History {
  readonly format: PackingSettings['format'];
  readonly require: readonly string[];
  readonly split: PackingSettings['split'];
  readonly onDelete: OnDelete;
  readonly steps: readonly Step[];
}

const FORMATS = ['webdataset', 'tfrecord', 'mds'] as const;

/** Half of the seeds have one. By group, the folder is the group. The shares are exact, so that every sum is 1. */
function splitOf(seed: number): PackingSettings['split'] {
  const random = seededUint32(`split ${seed}`);
  if (random() % 2 === 0) return undefined;
  const train = 1 + (random() % 6);
  const shares = { train: train / 8, validation: 1 / 8, test: (7 - train) / 8 };
  return random() % 2 === 0 ? { ...shares, by: 'key' } : { ...shares, by: 'group', groupPattern: '^([01])/' };
}

/** In mds, all samples have the same columns. */
function packingOf(seed: number): PackingSettings {
  const format = FORMATS[seed % FORMATS.length] ?? 'webdataset';
  const split = splitOf(seed);
  const isPaired = format === 'mds' || (seed >>> 2) % 2 === 0;
  return settings({
    format,
    shardMegabytes: 0.06,
    require: isPaired ? ['image', 'json'] : [],
    waitHours: 1e5,
    ...(split && { split }),
  });
}

const onDeleteOf = (seed: number): OnDelete => ((seed >>> 1) % 2 === 0 ? 'keep' : 'retract');

/** The steps of a seed and the shards after them. @throws Error if a generation is not intact */
export async function historyOf(seed: number): Promise<History> {
  const world = new World(seed);
  for (let step = 0; step < STEPS; step += 1) await world.next();
  await world.run();
  const { format, require, split } = packingOf(seed);
  return {
    format,
    require: Array.isArray(require) ? require : [],
    split,
    onDelete: onDeleteOf(seed),
    steps: world.steps,
  };
}

class World {
  readonly steps: Step[] = [];
  readonly #packing: PackingSettings;
  readonly #compaction;
  readonly #seed: number;
  readonly #random: () => number;
  readonly #store = new MemoryBlobStore();
  #batch = 0;

  constructor(seed: number) {
    this.#seed = seed;
    this.#packing = packingOf(seed);
    this.#compaction = { pipeline: PIPELINE, packing: this.#packing, onChange: 'replace' } as const;
    this.#random = seededUint32(`history ${seed}`);
  }

  #below(limit: number): number {
    return this.#random() % limit;
  }

  async next(): Promise<void> {
    const dice = this.#below(20);
    if (dice < 11) this.#put();
    else if (dice < 13) this.#delete();
    else if (dice < 17) await this.run();
    else if (dice < 18) await this.#compact();
    else if (dice < 19) await this.#retract();
    else await this.#prune();
  }

  #key(): string {
    const stem = this.#below(STEMS);
    return `${stem % 2}/s${stem}.${this.#below(2) === 0 ? 'jpg' : 'json'}`;
  }

  #put(): void {
    const [key, number] = [this.#key(), this.#below(BODIES)];
    const [body, etag] = [`"body ${number}"`, `${number}v${this.#below(ETAGS)}`];
    this.#store.seed(`${incoming}${key}`, body, etag);
    this.steps.push({ kind: 'put', key, body, etag });
  }

  #delete(): void {
    const key = this.#key();
    this.#store.objects.delete(`${incoming}${key}`);
    this.steps.push({ kind: 'delete', key });
  }

  /** Plans, packs, seals and compacts, as the state machine does. */
  async run(): Promise<void> {
    this.#batch += 1;
    const runId = runOf(this.#batch);
    const run = { runId, pipeline: PIPELINE, packing: this.#packing };
    await this.#persist(async (store) => {
      const onDelete = onDeleteOf(this.#seed);
      await planShards({ store, now, rangeObjects: 2 }, { ...run, onChange: 'replace', onDelete });
      await planAndPack(store, this.#packing, runId);
      await sealDataset({ store }, run);
    });
    await this.#compactUnlessLast({ after: this.#batch % 3 === 0 ? 3 : 'never' });
    this.#store.seed(bucketKeys.report(PIPELINE, runId), '{}');
    await this.#observe({ kind: 'run' });
  }

  async #compact(): Promise<void> {
    await this.#compactUnlessLast({ after: 2, everything: true });
    await this.#observe({ kind: 'compact' });
  }

  async #retract(): Promise<void> {
    const newest = await newestVersion(blobVersions(this.#store), PIPELINE);
    const held = await versionContents(this.#store, PIPELINE, newest ?? { generations: [] });
    const chosen = held[this.#below(Math.max(1, held.length))];
    if (chosen === undefined) return;
    const retracted = new Set([chosen.key]);
    await this.#compactUnlessLast({ after: 'never', retracted });
    await this.#observe({ kind: 'retract', key: chosen.key.slice(incoming.length) });
  }

  /** A dataset has a sample: a compaction that would leave none is refused. */
  async #compactUnlessLast(how: Pick<CompactionInput, 'after' | 'everything' | 'retracted'>): Promise<void> {
    try {
      await this.#persist((store) => compact(store, { ...this.#compaction, ...how }));
    } catch (error: unknown) {
      if (!(error instanceof ConfigurationError)) throw error;
    }
  }

  async #prune(): Promise<void> {
    const request = { pipeline: PIPELINE, what: 'replaced', pin: () => Promise.resolve(undefined) } as const;
    await this.#persist((store) => pruneGenerations(store, request));
    await this.#observe({ kind: 'prune' });
  }

  /** Starts over after every kill. */
  async #persist(work: (store: BlobStore) => Promise<unknown>): Promise<void> {
    for (let attempt = 0; attempt < MOST_TRIES; attempt += 1) {
      const name = `${this.#seed}/${this.steps.length}/${attempt}`;
      try {
        await work(faultyStore(this.#store, name, attempt < 5 ? 0.02 : 0));
        return;
      } catch (error: unknown) {
        if (!(error instanceof Killed)) throw error;
      }
    }
  }

  async #observe(step: Step): Promise<void> {
    const wrong = await problems(this.#store);
    if (wrong.length > 0) throw new Error(`seed ${this.#seed}: ${wrong.join('; ')}`);
    const shards = (await current(this.#store)).flatMap((manifest) =>
      manifest.shards.map(({ name }) => {
        const folder = bucketKeys.shards(PIPELINE, manifest.generation, manifest.revision);
        return [name, this.#store.body(`${folder}${name}`).toString('base64')] as const;
      }),
    );
    this.steps.push({ ...step, shards });
  }
}
