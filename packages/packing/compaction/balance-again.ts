/**
 * Balances the classes of a joined generation where it leaves samples out, because their copies leave with them. The
 * rule is that of a run, for all samples that are joined. Copies stay where they lie, as far as the rule wants them.
 */
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import type { BlobStore } from '../documents/blob-store.ts';
import type { Manifest } from '../documents/manifest.ts';
import { packingKeys } from '../documents/packing-keys.ts';
import { memberLines } from '../documents/sealed-lines.ts';
import { copiesFor, MOST_CLASSES, MOST_COPIES_IN_ALL } from '../plan/balance.ts';
import { splitOfShard } from '../splits/split-rule.ts';
import type { LeftOutSamples } from './superseded-samples.ts';

/** A copy that is not joined: index of its shard in the input, and the copy's numbers. */
export type DroppedCopy = readonly [shard: number, sample: number, repeat: number];

/** What becomes of the copies of one input. */
export interface CopyChanges {
  /** New copies of samples, by their numbers. */
  readonly added: ReadonlyMap<number, number>;
  readonly dropped: readonly DroppedCopy[];
}

export const NO_CHANGES: CopyChanges = { added: new Map(), dropped: [] };

/** Looks up the copies that are not joined. */
export class DroppedCopies {
  readonly #names: ReadonlySet<string>;

  constructor(dropped: readonly DroppedCopy[]) {
    this.#names = new Set(dropped.map((copy) => copy.join('/')));
  }

  has(shard: number, sample: number, repeat: number | undefined): boolean {
    return repeat !== undefined && this.#names.size > 0 && this.#names.has(`${shard}/${sample}/${repeat}`);
  }
}

export interface BalancedAgain {
  /** For each input. */
  readonly changes: readonly CopyChanges[];
  readonly classes: NonNullable<Manifest['balance']>['classes'];
}

/** Above the numbers of all copies. */
const SHARD = 2 ** 32;

interface Sample {
  readonly input: number;
  readonly number: number;
  /** The shard and number of each copy, as one number: there may be millions. */
  readonly copies: number[];
}

/**
 * @param leftOut for each input
 * @returns undefined if nothing is to be balanced
 */
export async function balancedAgain(
  store: BlobStore,
  { inputs, leftOut }: { readonly inputs: readonly Manifest[]; readonly leftOut: readonly LeftOutSamples[] },
  { balance }: Pick<PackingSettings, 'balance'>,
): Promise<BalancedAgain | undefined> {
  const packed = inputs.filter(({ shards }) => shards.length > 0);
  const isBalanced = balance === 'over' && packed.every((one) => one.balance?.mode === 'over');
  if (!isBalanced || leftOut.every(({ size }) => size === 0)) return undefined;
  const classes = new Map<string, Sample[]>();
  for (const [input, manifest] of inputs.entries())
    await addSamples(classes, store, { input, manifest, leftOut: leftOut[input] ?? new Map() });
  return planned(classes, inputs.length);
}

interface OneInput {
  readonly input: number;
  readonly manifest: Manifest;
  readonly leftOut: LeftOutSamples;
}

/** Only what trains is balanced. A sample with a label of its own has no class, and no copies. */
async function addSamples(
  classes: Map<string, Sample[]>,
  store: BlobStore,
  { input, manifest, leftOut }: OneInput,
): Promise<void> {
  const keys = packingKeys(manifest.pipeline, manifest.generation);
  const samples = new Map<number, Sample>();
  for (const [shard, one] of manifest.shards.entries()) {
    if (manifest.split !== undefined && splitOfShard(one.name) !== 'train') continue;
    for (const { sample: number, label, made, repeat } of await memberLines(store, keys, one)) {
      if (made !== 'label' || label === undefined || leftOut.has(number)) continue;
      const sample = samples.get(number) ?? { input, number, copies: [] };
      samples.set(number, sample);
      if (repeat !== undefined) sample.copies.push(shard * SHARD + repeat);
      else pushTo(classes, label, sample);
    }
  }
}

function pushTo(classes: Map<string, Sample[]>, label: string, sample: Sample): void {
  const some = classes.get(label);
  if (some === undefined) classes.set(label, [sample]);
  else some.push(sample);
}

/** @returns undefined where a run would refuse to balance such classes */
function planned(classes: ReadonlyMap<string, readonly Sample[]>, inputs: number): BalancedAgain | undefined {
  const target = [...classes.values()].reduce((most, { length }) => Math.max(most, length), 0);
  const missingOf = ({ length }: readonly Sample[]): number => copiesFor(length, target);
  const all = [...classes.values()].reduce((sum, some) => sum + missingOf(some), 0);
  if (classes.size > MOST_CLASSES || all > MOST_COPIES_IN_ALL) return undefined;
  const changes = Array.from({ length: inputs }, () => ({
    added: new Map<number, number>(),
    dropped: [] as DroppedCopy[],
  }));
  for (const some of classes.values())
    for (const { input, number, copies, wanted } of shared(some, missingOf(some))) {
      const mine = changes[input];
      if (wanted > copies.length) mine?.added.set(number, wanted - copies.length);
      for (const copy of copies.slice(wanted))
        mine?.dropped.push([Math.floor(copy / SHARD), number, copy % SHARD]);
    }
  const counts = [...classes].map(
    ([name, some]) => [name, { samples: some.length, planned: some.length + missingOf(some) }] as const,
  );
  return { changes, classes: Object.fromEntries(counts) };
}

/** Each sample gets as many copies as the others, or one more where it has that many. */
function* shared(
  samples: readonly Sample[],
  missing: number,
): Generator<Sample & { readonly wanted: number }> {
  const least = Math.floor(missing / samples.length);
  const order = samples.toSorted((a, b) => b.copies.length - a.copies.length);
  for (const [place, sample] of order.entries())
    yield { ...sample, wanted: least + (place < missing % samples.length ? 1 : 0) };
}
