/** One random history of a pipeline's data: the service's own steps, killed at random, and what lies in the bucket after each. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { OnDelete, PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { ConfigurationError } from '@tidewheel/kit/errors.ts';
import { seededUint32 } from '@tidewheel/kit/seeded-random.ts';
import { compareKeys } from '@tidewheel/packing/bundles.ts';
import { type CompactionInput, compact, readCompactionPlan } from '@tidewheel/packing/compact.ts';
import {
  blobVersions,
  manifestsOf,
  newestVersion,
  packingKeys,
  parseArrival,
  planSchema,
  sealedLines,
} from '@tidewheel/packing/dataset.ts';
import { deletePacked, pruneGenerations } from '@tidewheel/packing/maintain.ts';
import { planShards } from '@tidewheel/packing/plan.ts';
import { versionContents } from '@tidewheel/packing/report.ts';
import { sealDataset } from '@tidewheel/packing/seal.ts';
import type { BlobStore } from '@tidewheel/packing/store.ts';
import { decompress, linesOf } from '../../packages/packing/documents/compressed-lines.ts';
import { seedBundle } from '../support/builders/bundles.ts';
import { current, incoming, problems, runOf } from '../support/builders/compaction.ts';
import { PIPELINE, planAndPack } from '../support/builders/packing.ts';
import { faultyStore, Killed } from '../support/fakes/faulty-blob-store.ts';
import { MemoryBlobStore } from '../support/fakes/memory-blob-store.ts';
import { damage } from './damage.ts';
import { ANNOTATIONS, type Options, optionsOf } from './options.ts';
import type { Persist, Row, Step } from './steps.ts';

const STEMS = 6;
const BODIES = 3;
/** Of one body: its MD5, and others as multipart uploads and KMS give it. */
const ETAGS = 3;
const STEPS = 30;
/** Between two steps. S3 tells seconds. */
const STEP_MS = 10_000;
const MOST_TRIES = 400;
/** Of a run, most of the time: ranges, plan, shards, members, lists, manifest, version, and its compaction. */
const MOST_WRITES = 24;

/** A retraction or a correction that meets a run in progress. */
interface Race {
  readonly runId: string;
  readonly isRetraction: boolean;
  isOver: boolean;
  writes: number;
  /** What was retracted. */
  key?: string | undefined;
  when?: Step['when'];
  /** The number of retractions after it. */
  noted?: number;
  /** What was put. */
  put?: { readonly key: string; readonly body: string; readonly etag: string };
}

export interface History {
  readonly format: PackingSettings['format'];
  readonly require: readonly string[];
  readonly split: PackingSettings['split'];
  readonly onDelete: OnDelete;
  /** Labels come from a file. */
  readonly annotated: boolean;
  /** All shards of a generation, or of its split, have as many samples. */
  readonly even: boolean;
  /** All classes to train on have as many samples: of a run, and of a compaction that leaves samples out. */
  readonly balanced: boolean;
  readonly steps: readonly Step[];
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
    annotated: options.packing.label === 'annotations',
    even: options.packing.remainder === 'even',
    // What makes shards even copies samples of any class.
    balanced: options.packing.balance !== undefined && options.packing.remainder !== 'even',
    steps: world.steps,
  };
}

/** Undefined until the run has committed it. */
function planOf(store: MemoryBlobStore, runId: string) {
  const { planCommit } = packingKeys(PIPELINE, runId);
  return store.objects.has(planCommit)
    ? planSchema.parse(JSON.parse(store.body(planCommit).toString()))
    : undefined;
}

/** What the run has planned of its arrivals. */
function plannedLines(store: MemoryBlobStore, runId: string) {
  const { digest = '', arrivalParts = 0 } = planOf(store, runId) ?? {};
  const keys = packingKeys(PIPELINE, runId);
  const parts = Array.from({ length: arrivalParts }, (_, part) =>
    decompress(store.body(keys.planArrivals(digest, part))),
  );
  return parts.flatMap((text) => [...linesOf(text)]).map(parseArrival);
}

const stemOf = (number: number): string => `${number % 2}/s${number}`;
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
  readonly #randomOfLabels: () => number;
  readonly #randomOfCases: () => number;
  readonly #randomOfJunk: () => number;
  readonly #randomOfReturns: () => number;
  readonly #randomOfDamage: () => number;
  readonly #randomOfRaces: () => number;
  /** What was deleted last. */
  #deleted: { readonly key: string; readonly body: string; readonly etag: string } | undefined;
  /** The files of each bundle, by the key of its index. */
  readonly #bundles = new Map<string, Readonly<Record<string, string>>>();
  /** Runs that packed less than they had balanced. */
  readonly #incomplete: string[] = [];
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
    this.#randomOfLabels = seededUint32(`labels ${seed}`);
    this.#randomOfCases = seededUint32(`cases ${seed}`);
    this.#randomOfJunk = seededUint32(`junk ${seed}`);
    this.#randomOfReturns = seededUint32(`returns ${seed}`);
    this.#randomOfDamage = seededUint32(`damage ${seed}`);
    this.#randomOfRaces = seededUint32(`races ${seed}`);
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
    this.#besides();
    const dice = this.#below(20);
    if (dice < 5 && this.#options.bundles) this.#bundle();
    else if (dice < 11) this.#put();
    else if (dice < 13) this.#delete();
    else if (dice < 17) await this.run();
    else if (dice < 18) await this.#compact();
    else if (dice < 19) await this.#retract();
    else await this.#prune();
    if (this.#randomOfDamage() % 12 === 0) await this.#damage();
  }

  /** Each of a stream of its own, so that the others stay as they are. */
  #besides(): void {
    if (this.#options.redeclares && this.#randomOfDeclarations() % 4 === 0) this.#declare();
    if (this.#packing.label === 'annotations' && this.#randomOfLabels() % 4 === 0) this.#annotate();
    if (this.#options.junk && this.#randomOfJunk() % 4 === 0) this.#putJunk();
    if (this.#randomOfReturns() % 8 === 0) this.#putAgain();
  }

  /** `whenDone: delete` excludes `onDelete: retract`. */
  #declare(): void {
    const choice = this.#randomOfDeclarations() % 3;
    this.#onDelete = choice === 0 ? 'retract' : 'keep';
    this.#isCleaning = choice > 1;
    this.steps.push({ kind: 'declare', onDelete: this.#onDelete });
  }

  /** Some samples have no row, and some have two. */
  #annotate(): void {
    const rows = Array.from({ length: 2 * STEMS }, (_, row): Row[] => {
      const dice = this.#randomOfLabels() % 6;
      const isThere = row < STEMS ? dice > 0 : dice > 4;
      return isThere ? [[stemOf(row % STEMS), `label${this.#randomOfLabels() % 3}`]] : [];
    }).flat();
    const text = rows.map(([stem, label]) => `${stem},${label}\n`).join('');
    this.#store.seed(`${incoming}${ANNOTATIONS.file}`, `key,label\n${text}`);
    this.steps.push({ kind: 'annotate', rows });
  }

  #key(): string {
    const stem = stemOf(this.#below(STEMS));
    const suffix = this.#below(2) === 0 ? 'jpg' : 'json';
    const isUpper = this.#options.cases && this.#randomOfCases() % 3 === 0;
    return `${stem}.${isUpper ? suffix.toUpperCase() : suffix}`;
  }

  #put(): void {
    const [key, number] = [this.#key(), this.#below(BODIES)];
    const [body, version] = [bodyOf(number), this.#below(ETAGS)];
    const etag = version === 0 ? undefined : `${number}v${version}`;
    this.#store.seed(`${incoming}${key}`, body, etag);
    this.steps.push({ kind: 'put', key, body, etag });
  }

  /** Beside samples, and named like their members. */
  #putJunk(): void {
    const stem = stemOf(this.#randomOfJunk() % STEMS);
    const names = [
      `${stem}.jpg.tmp`,
      `${stem}.json.part`,
      `__MACOSX/${stem}.jpg`,
      '0/.DS_Store',
      '1/_SUCCESS',
    ];
    const key = names[this.#randomOfJunk() % names.length] ?? '';
    const body = bodyOf(this.#randomOfJunk() % BODIES);
    this.#store.seed(`${incoming}${key}`, body);
    this.steps.push({ kind: 'junk', key, body });
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
    const found = this.#store.objects.get(`${incoming}${key}`);
    if (found !== undefined)
      this.#deleted = { key, body: Buffer.from(found.body).toString(), etag: found.etag };
    this.#store.objects.delete(`${incoming}${key}`);
    this.steps.push({ kind: 'delete', key });
  }

  /** The same object as before. */
  #putAgain(): void {
    if (this.#deleted === undefined) return;
    const { key, body, etag } = this.#deleted;
    this.#store.seed(`${incoming}${key}`, body, etag);
    // A bundle of the same second would be neither older nor newer.
    this.#ticks += 1;
    this.steps.push({ kind: 'put', key, body, etag });
  }

  /** Plans, packs, seals and compacts, as the state machine does. */
  async run(): Promise<void> {
    this.#batch += 1;
    this.#ticks += 1;
    const runId = runOf(this.#batch);
    const run = { runId, pipeline: PIPELINE, packing: this.#packing };
    const pack = async (store: BlobStore): Promise<void> => {
      const onDelete = this.#onDelete;
      const deps = { store, now: () => this.#clock(), rangeObjects: 2 };
      await planShards(deps, { ...run, onChange: 'replace', onDelete });
      await planAndPack(store, this.#packing, runId);
    };
    const race: Race = {
      runId,
      // The model knows no correction of one of two samples with the same stem.
      isRetraction: this.#randomOfRaces() % 2 === 0 || this.#options.cases,
      isOver: this.#randomOfRaces() % 2 > 0,
      writes: this.#randomOfRaces() % MOST_WRITES,
    };
    const racing = (store: BlobStore): BlobStore => this.#racing(store, race);
    await this.#persist(async (store) => {
      await pack(racing(store));
      await sealDataset({ store: racing(store) }, run);
    });
    const missed = await this.#missed(race);
    if (missed.length > 0) this.#incomplete.push(runId);
    await this.#compactUnlessLast({ after: this.#batch % 3 === 0 ? 3 : 'never' }, racing);
    this.#store.seed(bucketKeys.report(PIPELINE, runId), '{}');
    await this.#observeRun(race, missed);
    if (this.#isCleaning) await this.#clean(runId);
  }

  /** A correction is a step before the run if the plan has it, and otherwise one after it. */
  async #observeRun({ runId, put, key, noted = 0, when }: Race, missed: readonly string[]): Promise<void> {
    const { retractions = 0 } = planOf(this.#store, runId) ?? {};
    const retracted = key !== undefined && { key, when: retractions >= noted ? 'before' : when };
    const isListed = plannedLines(this.#store, runId).some(([, , etag]) => etag === put?.etag);
    const corrected: Step[] = put === undefined ? [] : [{ kind: 'put', ...put }];
    if (isListed) this.steps.push(...corrected);
    await this.#observe({ kind: 'run', missed, ...retracted });
    if (!isListed) this.steps.push(...corrected);
  }

  /** The planned object that a correction replaced before it was packed. */
  async #missed({ runId, put }: Race): Promise<string[]> {
    const planned = plannedLines(this.#store, runId).find(
      ([key, , etag, sample]) =>
        key === `${incoming}${put?.key}` && etag !== put?.etag && typeof sample === 'number',
    );
    if (put === undefined || planned === undefined) return [];
    for (const manifest of await manifestsOf(this.#store, PIPELINE, [runId]))
      for await (const [key, etag] of sealedLines(this.#store, manifest))
        if (key === planned[0] && etag === planned[2]) return [];
    return [put.key];
  }

  /** Something comes before any write of a run. */
  #racing(store: BlobStore, race: Race): BlobStore {
    const meet = async (key: string): Promise<void> => {
      if (race.isOver) return;
      race.writes -= 1;
      if (race.writes > 0) return;
      race.isOver = true;
      if (race.isRetraction) await this.#retractPlanned(race, key);
      else await this.#correctPlanned(race);
    };
    return {
      ...store,
      put: async (key, body, options) => {
        await meet(key);
        return store.put(key, body, options);
      },
      completeUpload: async (upload, parts) => {
        await meet(upload.key);
        return store.completeUpload(upload, parts);
      },
    };
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

  /** While a run is in progress, any object that it or the dataset holds. */
  async #chosenOf(runId: string): Promise<{ readonly chosen?: string; readonly held: readonly string[] }> {
    const newest = await newestVersion(blobVersions(this.#store), PIPELINE);
    const contents = await versionContents(this.#store, PIPELINE, newest ?? { generations: [] });
    const held = contents.map(({ key }) => key);
    const planned = plannedLines(this.#store, runId).filter(([, , , sample]) => typeof sample === 'number');
    const keys = [...new Set([...held, ...planned.map(([key]) => key)])].sort(compareKeys);
    const chosen = keys[this.#randomOfRaces() % Math.max(1, keys.length)];
    return { ...(chosen !== undefined && { chosen }), held };
  }

  async #retractPlanned(race: Race, writing: string): Promise<void> {
    const { chosen, held } = await this.#chosenOf(race.runId);
    // A compaction that would leave no sample waits, and the model does not.
    const stem = chosen?.replace(/\.\w+$/, '.');
    if (chosen === undefined || held.every((key) => key.startsWith(stem ?? ''))) return;
    race.when = await this.#momentOf(race.runId, writing);
    await this.#compactUnlessLast({ after: 'never', retracted: new Set([chosen]) });
    race.key = chosen.slice(incoming.length);
    race.noted = this.#store.keys(bucketKeys.retractions(PIPELINE)).length;
  }

  async #momentOf(runId: string, writing: string): Promise<Step['when']> {
    const manifest = bucketKeys.manifest(PIPELINE, runId);
    if (!this.#store.objects.has(manifest)) return writing === manifest ? 'sealed' : 'planned';
    const newest = await newestVersion(blobVersions(this.#store), PIPELINE);
    // One that replaces samples waits for its compaction.
    return newest?.added[runId] === undefined ? 'sealed' : 'after';
  }

  async #correctPlanned(race: Race): Promise<void> {
    const { chosen } = await this.#chosenOf(race.runId);
    if (chosen === undefined) return;
    const body = bodyOf(this.#randomOfRaces() % BODIES);
    race.put = { key: chosen.slice(incoming.length), body, etag: `race${this.#batch}` };
    // S3 tells seconds.
    this.#ticks += 1;
    this.#store.seed(chosen, body, race.put.etag);
    this.#ticks += 1;
  }

  /** A dataset has a sample: a compaction that would leave none is refused. */
  async #compactUnlessLast(
    how: Pick<CompactionInput, 'after' | 'everything' | 'retracted'>,
    through = (store: BlobStore): BlobStore => store,
  ): Promise<void> {
    try {
      await this.#persist((store) => compact(through(store), { ...this.#compaction, ...how }));
    } catch (error: unknown) {
      if (!(error instanceof ConfigurationError)) throw error;
    }
  }

  async #prune(): Promise<void> {
    const request = { pipeline: PIPELINE, what: 'replaced', pin: () => Promise.resolve(undefined) } as const;
    await this.#persist((store) => pruneGenerations(store, request));
    await this.#observe({ kind: 'prune' });
  }

  async #damage(): Promise<void> {
    const persist: Persist = (work) => this.#persist(work);
    const done = await damage(this.#store, { packing: this.#packing, random: this.#randomOfDamage, persist });
    if (done !== undefined) await this.#observe(done);
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
        const body = this.#store.body(`${folder}${name}`).toString('base64');
        return [name, body, manifest.generation] as const;
      }),
    );
    this.steps.push({ ...step, shards, thinned: await this.#thinned(), incomplete: [...this.#incomplete] });
  }

  /** Generations of the newest version whose compaction left samples out. */
  async #thinned(): Promise<string[]> {
    const names: string[] = [];
    for (const { generation, compacted } of await current(this.#store)) {
      if (compacted === undefined) continue;
      const { of } = await readCompactionPlan(this.#store, PIPELINE, generation);
      if (of.some(({ leftOut = [] }) => leftOut.length > 0)) names.push(generation);
    }
    return names;
  }
}
