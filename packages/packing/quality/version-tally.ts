/**
 * Which versions a report compares: the one that a generation made, and the one before it. Adds up their generations, and
 * compares a generation's samples with those of the others.
 */

import { SPLITS, type SplitName } from '@tidewheel/declaration/packing-settings.ts';
import { supersededSamples } from '../compaction/superseded-samples.ts';
import type { BlobStore } from '../documents/blob-store.ts';
import type { Manifest } from '../documents/manifest.ts';
import { manifestsOf, readSealedManifest } from '../documents/sealed-arrivals.ts';
import {
  batchOf,
  blobVersions,
  type DatasetVersion,
  newestVersion,
  readVersion,
  type VersionStore,
} from '../documents/versions.ts';
import { commonOf, NumberList, repeatedIn } from './digest-list.ts';
import { factsWithout, type GenerationFacts, generationFacts } from './generation-facts.ts';
import { heldFor } from './held.ts';
import { type Tally, TallyCounter } from './tally.ts';

export interface VersionPair {
  readonly before: readonly string[];
  readonly now: readonly string[];
  /** Generations between the two that are held back, oldest first. */
  readonly held: readonly string[];
}

/**
 * @param skipsHeld a version that is held back does not count as the one before: otherwise the next run would take the
 * data that this one held
 */
export async function versionPair(
  store: BlobStore,
  { pipeline, generation }: Pick<Manifest, 'pipeline' | 'generation'>,
  skipsHeld: boolean,
): Promise<VersionPair> {
  const chain = blobVersions(store);
  const newest = await newestVersion(chain, pipeline);
  if (newest === undefined) return { before: [], now: [generation], held: [] };
  const read = (one: number): Promise<DatasetVersion> => readVersion(chain, pipeline, one);
  const generationsOf = async (one: number): Promise<readonly string[]> =>
    one === 0 ? [] : (await read(one)).generations;
  // A generation with corrections is in no version before a compaction.
  const number = newest.added[generation] ?? newest.number + 1;
  let before = number - 1;
  const held = new Set<string>();
  for (; skipsHeld && before > 0; before -= 1) {
    const judged = await heldIn(chain, pipeline, { newest: before, read });
    if (judged === undefined) break;
    held.add(judged);
  }
  // The compaction that added a correction has joined it. The report speaks of the generation as it was sealed.
  const made = await generationsOf(Math.min(number, newest.number));
  const isJoined = number <= newest.number && !made.includes(generation);
  const now = isJoined ? await generationsOf(number - 1) : made;
  return {
    before: await generationsOf(before),
    now: now.includes(generation) ? now : [...now, generation].sort((a, b) => batchOf(a) - batchOf(b)),
    held: [...held].reverse(),
  };
}

interface Chain {
  readonly newest: number;
  readonly read: (number: number) => Promise<DatasetVersion>;
}

/** The generation that holds a version back. */
async function heldIn(store: VersionStore, pipeline: string, chain: Chain): Promise<string | undefined> {
  const judged = await judgedGeneration(chain);
  const isHeld = judged !== undefined && (await heldFor(store, pipeline, judged)).length > 0;
  return isHeld ? judged : undefined;
}

/**
 * The generation of a run whose report judged the data of a version. A version that joins, prunes or restores is as the
 * one before, unless a correction came in with it.
 */
async function judgedGeneration({ newest, read }: Chain): Promise<string | undefined> {
  for (let number = newest; number > 0; number -= 1) {
    const { change, added } = await read(number);
    if (change.kind === 'sealed') return change.generation;
    const replaced = change.kind === 'compacted' ? change.replaced : [];
    const corrections = replaced.filter((name) => added[name] === number);
    if (corrections.length > 0) return corrections.sort((a, b) => batchOf(b) - batchOf(a))[0];
  }
  return undefined;
}

export interface Compared {
  readonly before: Tally;
  readonly now: Tally;
  /** Samples that repeat another of the same generation. */
  readonly within: number;
  /** Samples that repeat one of another generation. */
  readonly earlier: number;
  /** Half digests that occur several times, or in another generation too, at most MOST_REPEATED of each. */
  readonly repeated: readonly bigint[];
  /** Generations that hold some of them. */
  readonly elsewhere: readonly string[];
  /** Of the other generations. */
  readonly looks: BigUint64Array;
  readonly leaks: readonly SplitLeak[];
}

/** More than this are only counted: keys and labels of each are held in memory. */
const MOST_REPEATED = 200_000;
/** Pairs of numbers; 16 bytes an image. */
const MOST_LOOKS = 4_000_000;

export async function compareWithVersion(
  store: BlobStore,
  {
    pipeline,
    generation,
    facts,
    pair,
  }: {
    readonly pipeline: string;
    readonly generation: string;
    readonly facts: GenerationFacts;
    readonly pair: VersionPair;
  },
): Promise<Compared> {
  const [before, now] = [new TallyCounter(), new TallyCounter()];
  const others = new OtherSamples(facts);
  const splits = new SplitDigests();
  const staying = await stayingFacts(store, pipeline, pair.now);
  for (const name of new Set([...pair.before, ...pair.now])) {
    const one = name === generation ? facts : await factsOf(store, pipeline, name);
    if (one === undefined) continue;
    if (pair.before.includes(name)) before.addAll(one.tally);
    if (!pair.now.includes(name)) continue;
    const stays = staying.get(name) ?? one;
    now.addAll(stays.tally);
    splits.add(stays);
    if (name !== generation) others.add(name, one);
  }
  const own = repeatedIn(facts.digests);
  return {
    before: before.tally,
    now: now.tally,
    within: own.further,
    earlier: others.repeats(),
    repeated: [...own.numbers.slice(0, MOST_REPEATED), ...others.shared()],
    elsewhere: others.holders,
    looks: others.looks,
    leaks: splits.leaks(),
  };
}

async function factsOf(
  store: BlobStore,
  pipeline: string,
  generation: string,
): Promise<GenerationFacts | undefined> {
  const manifest = await readSealedManifest(store, pipeline, generation);
  return manifest && generationFacts(store, manifest);
}

/**
 * Of the generations that hold samples and their corrections both, what stays when the compaction that follows the seal
 * has left the old ones out.
 */
async function stayingFacts(
  store: BlobStore,
  pipeline: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, GenerationFacts>> {
  const sealed = (await manifestsOf(store, pipeline, names)).filter(({ pruned }) => pruned !== true);
  const staying = new Map<string, GenerationFacts>();
  if (sealed.every(({ changes }) => changes === undefined)) return staying;
  const manifests = sealed.toSorted((a, b) => batchOf(a.generation) - batchOf(b.generation));
  const leftOut = await supersededSamples(store, manifests, {});
  for (const [index, manifest] of manifests.entries()) {
    const gone = leftOut[index];
    if (gone === undefined || gone.size === 0) continue;
    staying.set(manifest.generation, await factsWithout(store, manifest, gone));
  }
  return staying;
}

/** The samples of other generations, as far as they concern one generation. */
class OtherSamples {
  readonly #facts: GenerationFacts;
  readonly #known = new NumberList();
  readonly #looks = new NumberList();
  /** Generations that hold samples of this one. */
  readonly holders: string[] = [];

  constructor(facts: GenerationFacts) {
    this.#facts = facts;
  }

  add(name: string, { digests, looks }: GenerationFacts): void {
    const { numbers } = commonOf(this.#facts.digests, digests);
    if (numbers.length > 0) this.holders.push(name);
    for (const number of numbers) this.#known.push(number);
    if (this.#facts.looks.length === 0 || this.#looks.values.length >= MOST_LOOKS * 2) return;
    for (const number of looks) this.#looks.push(number);
  }

  /** Samples of the generation that are among the others. */
  repeats(): number {
    return commonOf(this.#facts.digests, this.#known.sorted()).entries;
  }

  shared(): readonly bigint[] {
    return [...new Set(this.#known.values.subarray(0, MOST_REPEATED))];
  }

  get looks(): BigUint64Array {
    return this.#looks.values;
  }
}

/**
 * Samples of one split whose bytes another split holds too. Keys decide the split, so two copies of one picture under
 * two names may train and test: a model is then tested on what it has learnt.
 */
interface SplitLeak {
  /** Its samples are measured on. */
  readonly split: SplitName;
  readonly other: SplitName;
  /** Samples of `split` in the version whose bytes `other` holds too. */
  readonly samples: number;
  /** Half digests, at most MOST_EXAMPLES. */
  readonly examples: readonly bigint[];
}

const MOST_EXAMPLES = 10;

/** Holds 8 bytes for each sample of the version. */
class SplitDigests {
  readonly #digests = new Map<SplitName, NumberList>();

  add({ splits }: GenerationFacts): void {
    for (const [name, digests] of splits) {
      const list = this.#digests.get(name) ?? new NumberList();
      for (const number of digests) list.push(number);
      this.#digests.set(name, list);
    }
  }

  leaks(): SplitLeak[] {
    const sorted = SPLITS.flatMap((name) => {
      const list = this.#digests.get(name);
      return list === undefined ? [] : [{ name, digests: list.sorted() }];
    });
    return sorted.flatMap((one, index) =>
      sorted.slice(0, index).map((other): SplitLeak => {
        const { entries, numbers } = commonOf(one.digests, other.digests);
        return {
          split: one.name,
          other: other.name,
          samples: entries,
          examples: numbers.slice(0, MOST_EXAMPLES),
        };
      }),
    );
  }
}
