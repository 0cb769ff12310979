/** One random history of a pipeline's data: the service's own steps, killed at random, and what lies in the bucket after each. */
import { compact } from '../../functions/core/packing/compaction/compact.ts';
import type { CompactionInput } from '../../functions/core/packing/compaction/plan-compaction.ts';
import type { BlobStore } from '../../functions/core/packing/model/blob-store.ts';
import { blobVersions, newestVersion } from '../../functions/core/packing/model/versions.ts';
import { planShards } from '../../functions/core/packing/plan/plan-shards.ts';
import { deletePacked } from '../../functions/core/packing/seal/delete-packed.ts';
import { sealDataset } from '../../functions/core/packing/seal/seal-dataset.ts';
import { pruneGenerations } from '../../functions/core/packing/versions/prune-generations.ts';
import { versionContents } from '../../functions/core/packing/versions/version-contents.ts';
import type { OnDelete } from '../../functions/core/pipeline/dataset.ts';
import type { PackingSettings } from '../../functions/core/pipeline/pipeline.ts';
import { ConfigurationError } from '../../functions/core/shared/errors.ts';
import { bucketKeys } from '../../functions/core/shared/keys.ts';
import { seededUint32 } from '../../functions/core/shared/seeded-random.ts';
import { seedBundle } from '../support/builders/bundles.ts';
import { current, incoming, problems, runOf } from '../support/builders/compaction.ts';
import { PIPELINE, planAndPack, settings } from '../support/builders/packing.ts';
import { faultyStore, Killed } from '../support/fakes/faulty-blob-store.ts';
import { MemoryBlobStore } from '../support/fakes/memory-blob-store.ts';

interface Step {
  readonly kind: 'put' | 'bundle' | 'delete' | 'run' | 'compact' | 'retract' | 'prune' | 'declare' | 'clean';
  readonly key?: string;
  readonly body?: string;
  /** None where S3's is the MD5 of the body. */
  readonly etag?: string | undefined;
  /** Keys and bodies of a bundle. */
  readonly files?: Readonly<Record<string, string>>;
  /** What a new declaration says. */
  readonly onDelete?: OnDelete;
  /** What `whenDone: delete` has left, and how far it came. */
  readonly cleaned?: Cleaned;
  /** Name and bytes in base64, of the newest version after a step that may change it. */
  shards?: readonly (readonly [name: string, body: string])[];
}

interface Cleaned {
  readonly isBegun: boolean;
  readonly isWhole: boolean;
  readonly objects: readonly string[];
  /** Each with its files. */
  readonly bundles: readonly Readonly<Record<string, string>>[];
}

const STEMS = 6;
const BODIES = 3;
/** Of one body: its MD5, and others as multipart uploads and KMS give it. */
const ETAGS = 3;
const STEPS = 30;
/** Between two steps. S3 tells seconds. */
const STEP_MS = 10_000;
const MOST_TRIES = 400;

export interface History {
  readonly format: PackingSettings['format'];
  readonly require: readonly string[];
  readonly split: PackingSettings['split'];
  readonly onDelete: OnDelete;
  readonly steps: readonly Step[];
}

const FORMATS = ['webdataset', 'tfrecord', 'mds', 'parquet'] as const;

/** What a seed's history is about. */
interface Options {
  readonly packing: PackingSettings;
  readonly onDelete: OnDelete;
  /** Some files come in bundles. */
  readonly bundles: boolean;
  /** Some runs delete what they packed, and the declaration changes between runs. */
  readonly redeclares: boolean;
}

/** Half of the seeds have one. By group, the folder is the group. The shares are exact, so that every sum is 1. */
function splitOf(random: () => number): PackingSettings['split'] {
  if (random() % 2 === 0) return undefined;
  const train = 1 + (random() % 6);
  const shares = { train: train / 8, validation: 1 / 8, test: (7 - train) / 8 };
  return random() % 2 === 0 ? { ...shares, by: 'key' } : { ...shares, by: 'group', groupPattern: '^([01])/' };
}

/** In mds and parquet, all samples have the same columns. */
function optionsOf(seed: number): Options {
  const random = seededUint32(`options ${seed}`);
  const format = FORMATS[random() % FORMATS.length] ?? 'webdataset';
  const split = splitOf(random);
  const isPaired = random() % 2 === 0 || format === 'mds' || format === 'parquet';
  const packing = settings({
    format,
    shardMegabytes: 0.06,
    require: isPaired ? ['image', 'json'] : [],
    waitHours: 1e5,
    ...(split && { split }),
  });
  return {
    packing,
    onDelete: random() % 2 === 0 ? 'keep' : 'retract',
    bundles: random() % 2 === 0,
    redeclares: random() % 2 === 0,
  };
}

/** The steps of a seed and the shards after them. @throws Error if a generation is not intact */
export async function historyOf(seed: number): Promise<History> {
  const options = optionsOf(seed);
  const world = new World(seed, options);
  for (let step = 0; step < STEPS; step += 1) await world.next();
  await world.run();
  const { format, require, split } = options.packing;
  return {
    format,
    require: Array.isArray(require) ? require : [],
    split,
    onDelete: options.onDelete,
    steps: world.steps,
  };
}

const bodyOf = (number: number): string => `"body ${number}"`;

class World {
  readonly steps: Step[] = [];
  readonly #packing: PackingSettings;
  readonly #options: Options;
  readonly #compaction;
  readonly #seed: number;
  readonly #random: () => number;
  /** Of a stream of its own. */
  readonly #randomOfDeclarations: () => number;
  /** The files of each bundle, by the key of its index. */
  readonly #bundles = new Map<string, Readonly<Record<string, string>>>();
  #onDelete: OnDelete;
  #isCleaning = false;
  readonly #store = new MemoryBlobStore();
  #batch = 0;
  #ticks = 0;

  constructor(seed: number, options: Options) {
    this.#seed = seed;
    this.#options = options;
    this.#packing = options.packing;
    this.#onDelete = options.onDelete;
    this.#randomOfDeclarations = seededUint32(`declarations ${seed}`);
    this.#store.now = () => this.#clock();
    this.#compaction = { pipeline: PIPELINE, packing: this.#packing, onChange: 'replace' } as const;
    this.#random = seededUint32(`history ${seed}`);
  }

  #below(limit: number): number {
    return this.#random() % limit;
  }

  #clock(): Date {
    return new Date(Date.UTC(2026, 0, 1) + this.#ticks * STEP_MS);
  }

  async next(): Promise<void> {
    this.#ticks += 1;
    if (this.#options.redeclares && this.#randomOfDeclarations() % 4 === 0) this.#declare();
    const dice = this.#below(20);
    if (dice < 5 && this.#options.bundles) this.#bundle();
    else if (dice < 11) this.#put();
    else if (dice < 13) this.#delete();
    else if (dice < 17) await this.run();
    else if (dice < 18) await this.#compact();
    else if (dice < 19) await this.#retract();
    else await this.#prune();
  }

  /** `whenDone: delete` excludes `onDelete: retract`. */
  #declare(): void {
    const choice = this.#randomOfDeclarations() % 3;
    this.#onDelete = choice === 0 ? 'retract' : 'keep';
    this.#isCleaning = choice > 1;
    this.steps.push({ kind: 'declare', onDelete: this.#onDelete });
  }

  #key(): string {
    const stem = this.#below(STEMS);
    return `${stem % 2}/s${stem}.${this.#below(2) === 0 ? 'jpg' : 'json'}`;
  }

  #put(): void {
    const [key, number] = [this.#key(), this.#below(BODIES)];
    const [body, version] = [bodyOf(number), this.#below(ETAGS)];
    const etag = version === 0 ? undefined : `${number}v${version}`;
    this.#store.seed(`${incoming}${key}`, body, etag);
    this.steps.push({ kind: 'put', key, body, etag });
  }

  /** The same files again are the same bundle, with a newer index. */
  #bundle(): void {
    const count = 1 + this.#below(4);
    const entries = Array.from({ length: count }, () => [this.#key(), bodyOf(this.#below(BODIES))] as const);
    const files = Object.fromEntries(entries);
    this.#bundles.set(seedBundle(this.#store, files).index, files);
    this.steps.push({ kind: 'bundle', files });
  }

  #delete(): void {
    const key = this.#key();
    this.#store.objects.delete(`${incoming}${key}`);
    this.steps.push({ kind: 'delete', key });
  }

  /** Plans, packs, seals and compacts, as the state machine does. */
  async run(): Promise<void> {
    this.#batch += 1;
    this.#ticks += 1;
    const runId = runOf(this.#batch);
    const run = { runId, pipeline: PIPELINE, packing: this.#packing };
    await this.#persist(async (store) => {
      const onDelete = this.#onDelete;
      const deps = { store, now: () => this.#clock(), rangeObjects: 2 };
      await planShards(deps, { ...run, onChange: 'replace', onDelete });
      await planAndPack(store, this.#packing, runId);
      await sealDataset({ store }, run);
    });
    await this.#compactUnlessLast({ after: this.#batch % 3 === 0 ? 3 : 'never' });
    this.#store.seed(bucketKeys.report(PIPELINE, runId), '{}');
    await this.#observe({ kind: 'run' });
    if (this.#isCleaning) await this.#clean(runId);
  }

  /** Objects may come and go between a run's end and its deletion, which may fail for good. */
  async #clean(runId: string): Promise<void> {
    if (this.#randomOfDeclarations() % 3 === 0) this.#put();
    const fails = this.#randomOfDeclarations() % 4 === 0;
    const run = { pipeline: PIPELINE, runId };
    const work = (store: BlobStore) =>
      deletePacked({ store, isTimeUp: () => false, deletesPerBookmark: 2 }, run);
    const isWhole = fails ? await this.#attempt(work, 0, 0.05) : await this.#persist(work);
    const left = [...this.#store.objects.keys()].filter((key) => key.startsWith(incoming));
    const cleaned = {
      isBegun: this.#store.objects.has(bucketKeys.deletion(PIPELINE, runId)),
      isWhole,
      objects: left.map((key) => key.slice(incoming.length)).filter((key) => !key.startsWith('.')),
      bundles: left.flatMap((key) => {
        const files = this.#bundles.get(key);
        // An index without its data holds nothing.
        const isWhole = this.#store.objects.has(key.replace(/index$/, 'data'));
        return files === undefined || !isWhole ? [] : [files];
      }),
    };
    await this.#observe({ kind: 'clean', cleaned });
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
  async #persist(work: (store: BlobStore) => Promise<unknown>): Promise<boolean> {
    for (let attempt = 0; attempt < MOST_TRIES; attempt += 1)
      if (await this.#attempt(work, attempt, attempt < 5 ? 0.02 : 0)) return true;
    return false;
  }

  /** @returns false where it was killed */
  async #attempt(
    work: (store: BlobStore) => Promise<unknown>,
    attempt: number,
    killShare: number,
  ): Promise<boolean> {
    try {
      await work(faultyStore(this.#store, `${this.#seed}/${this.steps.length}/${attempt}`, killShare));
      return true;
    } catch (error: unknown) {
      if (!(error instanceof Killed)) throw error;
      return false;
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
